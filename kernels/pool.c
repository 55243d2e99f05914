#include "kernels/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* Steps of a proof follow each other within microseconds: looking this often before sleeping saves most wake-ups. */
enum { SPINS = 400 };

struct krn_pool {
    unsigned n;
    pthread_mutex_t lock;
    pthread_cond_t start, end;
    _Atomic unsigned long round;    /* counts calls of run; written under lock, release: fn and ctx are set */
    _Atomic unsigned running;       /* helpers still at work; the last one's release pairs with run's acquire */
    int stop;
    void (*fn)(void *ctx, unsigned i, unsigned n);
    void *ctx;
    struct helper {
        struct krn_pool *pool;
        unsigned i;
        pthread_t thread;
    } helpers[];
};

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static void await_round(struct krn_pool *p, unsigned long seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->round, memory_order_acquire) != seen)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->round, memory_order_relaxed) == seen)
        pthread_cond_wait(&p->start, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void *help(void *arg)
{
    struct helper *h = arg;
    struct krn_pool *p = h->pool;
    for (unsigned long seen = 0;; seen++) {
        await_round(p, seen);
        if (p->stop)
            return NULL;
        p->fn(p->ctx, h->i, p->n);
        if (atomic_fetch_sub_explicit(&p->running, 1, memory_order_acq_rel) == 1) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->end);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

static void begin_round(struct krn_pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add_explicit(&p->round, 1, memory_order_release);
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
}

static void await_end(struct krn_pool *p)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->running, memory_order_acquire) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->running, memory_order_acquire) != 0)
        pthread_cond_wait(&p->end, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static int start_helpers(struct krn_pool *p)
{
    sigset_t all, old;
    int err = 0;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);    /* a touch of a mapped file that was cut short: the program may have an answer to it */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (unsigned i = 1; i < p->n && err == 0; i++) {
        struct helper *h = &p->helpers[i - 1];
        *h = (struct helper){.pool = p, .i = i};
        err = pthread_create(&h->thread, NULL, help, h);
        if (err != 0)
            p->n = i;   /* what krn_pool_free has to join */
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err;
}

struct krn_pool *krn_pool_new(unsigned threads)
{
    unsigned n = threads == 0 ? krn_cpus() : threads;
    if (n > KRN_MAX_THREADS) {
        errno = EINVAL;
        return NULL;
    }
    struct krn_pool *p = calloc(1, sizeof *p + (n - 1) * sizeof p->helpers[0]);
    if (p == NULL)
        return NULL;
    p->n = n;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->end, NULL);
    int err = start_helpers(p);
    if (err != 0) {
        krn_pool_free(p);
        errno = err;
        return NULL;
    }
    return p;
}

void krn_pool_free(struct krn_pool *p)
{
    if (p == NULL)
        return;
    p->stop = 1;
    begin_round(p);
    for (unsigned i = 1; i < p->n; i++)
        pthread_join(p->helpers[i - 1].thread, NULL);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->end);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

unsigned krn_pool_threads(const struct krn_pool *p)
{
    return p->n;
}

void krn_pool_run(struct krn_pool *p, void (*fn)(void *ctx, unsigned i, unsigned n), void *ctx)
{
    p->fn = fn;
    p->ctx = ctx;
    atomic_store_explicit(&p->running, p->n - 1, memory_order_relaxed);
    begin_round(p);
    fn(ctx, 0, p->n);
    await_end(p);
}

struct tasks {
    void (*fn)(void *ctx, size_t task, unsigned thread);
    void *ctx;
    size_t n;
    _Atomic size_t next;
};

static void take_tasks(void *ctx, unsigned i, unsigned n)
{
    struct tasks *t = ctx;
    (void)n;
    for (;;) {
        /* relaxed: only which task; what a task reads was there before the round began */
        size_t task = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
        if (task >= t->n)
            return;
        t->fn(t->ctx, task, i);
    }
}

void krn_pool_tasks(struct krn_pool *p, size_t n, void (*fn)(void *ctx, size_t task, unsigned thread), void *ctx)
{
    struct tasks t = {.fn = fn, .ctx = ctx, .n = n};
    if (n == 0)
        return;
    if (n == 1 || p->n == 1) {
        for (size_t i = 0; i < n; i++)
            fn(ctx, i, 0);
        return;
    }
    krn_pool_run(p, take_tasks, &t);
}
