#include "gpud/hammer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/clock.h"
#include "kernels/parallel.h"

enum {
    HALF = 32 << 20,            /* of a thread's buffer: far beyond its share of the last cache */
    LOOK_MS = 1,
};

struct hand {
    struct gpud_hammer *hammer;
    pthread_t thread;
    uint8_t *buffer;
    uint64_t copied;            /* bytes; by the thread, read after its end */
};

struct gpud_hammer {
    atomic_bool stop;
    atomic_uint warm;           /* threads whose pages are all there */
    double started;
    unsigned n;
    struct hand hands[KRN_MAX_THREADS];
};

static void *strike(void *arg) {
    struct hand *h = arg;
    memset(h->buffer, (int)(h - h->hammer->hands) + 1, 2 * (size_t)HALF);
    atomic_fetch_add(&h->hammer->warm, 1);
    do {
        memcpy(h->buffer + HALF, h->buffer, HALF);      /* at least once, so that the rate is never of nothing */
        h->buffer[0] = h->buffer[HALF] + 1;     /* the next copy is of other bytes: none can be left out */
        h->copied += HALF;
    } while (!atomic_load_explicit(&h->hammer->stop, memory_order_relaxed));
    return NULL;
}

static int start_hand(struct gpud_hammer *h) {
    struct hand *hand = &h->hands[h->n];
    hand->hammer = h;
    hand->buffer = malloc(2 * (size_t)HALF);
    if (!hand->buffer || pthread_create(&hand->thread, NULL, strike, hand)) {
        free(hand->buffer);
        return -1;
    }
    h->n++;
    return 0;
}

struct gpud_hammer *gpud_hammer_start(struct gpud_error *err) {
    unsigned wanted = krn_cpus();
    struct gpud_hammer *h = calloc(1, sizeof *h);
    while (h && h->n < wanted) {
        if (start_hand(h) == 0) continue;
        gpud_hammer_stop(h);
        h = NULL;
    }
    if (!h) {
        gpud_fail(err, "no memory or threads for a load on %u processors", wanted);
        return NULL;
    }
    while (atomic_load(&h->warm) < h->n) nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
    h->started = krn_seconds();
    return h;
}

unsigned gpud_hammer_threads(const struct gpud_hammer *h) {
    return h->n;
}

double gpud_hammer_stop(struct gpud_hammer *h) {
    if (!h) return 0;
    uint64_t copied = 0;
    atomic_store(&h->stop, true);
    for (unsigned i = 0; i < h->n; i++) {
        pthread_join(h->hands[i].thread, NULL);
        copied += h->hands[i].copied;
        free(h->hands[i].buffer);
    }
    double seconds = krn_seconds() - h->started;
    free(h);
    return seconds > 0 ? (double)copied / seconds : 0;
}
