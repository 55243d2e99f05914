#include "kernels/parallel.h"

#include <pthread.h>
#include <sched.h>

struct part {
    void (*fn)(void *ctx, unsigned i, unsigned n);
    void *ctx;
    unsigned i, n;
    pthread_t thread;
};

unsigned krn_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;   /* more processors than the set holds, or none to be asked */
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > KRN_MAX_THREADS ? KRN_MAX_THREADS : (unsigned)n;
}

static void *run_part(void *arg)
{
    struct part *p = arg;
    p->fn(p->ctx, p->i, p->n);
    return NULL;
}

void krn_parallel(unsigned threads, void (*fn)(void *ctx, unsigned i, unsigned n), void *ctx)
{
    struct part parts[KRN_MAX_THREADS];
    unsigned n = threads == 0 ? krn_cpus() : threads > KRN_MAX_THREADS ? KRN_MAX_THREADS : threads;
    unsigned started = 1;

    for (; started < n; started++) {
        struct part *p = &parts[started];
        *p = (struct part){.fn = fn, .ctx = ctx, .i = started, .n = n};
        if (pthread_create(&p->thread, NULL, run_part, p) != 0)
            break;
    }
    fn(ctx, 0, n);
    for (unsigned i = started; i < n; i++)
        fn(ctx, i, n);
    for (unsigned i = 1; i < started; i++)
        pthread_join(parts[i].thread, NULL);
}
