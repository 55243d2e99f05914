/*
 * launcher/bench_feed.h: producers in threads of their own that keep slots READY: each fills slots with copies of
 * vectors that were evaluated once. It takes synthesis out of a measurement of all that comes after it.
 */
#ifndef LAUNCHER_BENCH_FEED_H
#define LAUNCHER_BENCH_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "gpud/error.h"

struct bench_circuit {
    const char *name, *witness;     /* the circuit's name at the service; an input or .wtns */
    unsigned weight;                /* so many of its jobs in a round */
};

struct bench_feed;

/* The circuit of job number i of an endless list: each as often in a round as its weight, spread evenly. */
unsigned bench_pick(const struct bench_circuit *circuits, unsigned n, uint64_t i);

/* Starts `producers` threads at the service; circuits must stay, and their witnesses be .wtns files. NULL with err. */
struct bench_feed *bench_feed_start(const char *instance, const struct bench_circuit *circuits, unsigned n,
                                    unsigned producers, struct gpud_error *err);
/* The next job that was handed over: 1 with its id and circuit; 0 none now; -1 a producer failed, with err. */
int bench_feed_next(struct bench_feed *f, uint64_t *id, unsigned *circuit, struct gpud_error *err);
/* No new jobs; those that were handed over can still be asked for. */
void bench_feed_end(struct bench_feed *f);
void bench_feed_free(struct bench_feed *f);     /* after bench_feed_end; NULL is harmless */

#endif
