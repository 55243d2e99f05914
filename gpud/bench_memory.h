/*
 * gpud/bench_memory.h: what the kind of memory costs that a, b, c and w lie in when they travel to the device: the
 * experiment behind the region that is registered once (docs/PERFORMANCE.md).
 *
 * Each kind holds random bytes, written before anything is timed: all pages are there, and no time has the first touch
 * of a page in it. Every copy is checked against its source at three places. The kinds are measured by turns, so that
 * a slow drift of the machine falls on all of them.
 */
#ifndef GPUD_BENCH_MEMORY_H
#define GPUD_BENCH_MEMORY_H

#include <stdbool.h>

#include "gpud/error.h"
#include "kernels/copy.h"

enum gpud_bench_kind {
    GPUD_BENCH_HEAP,            /* malloc */
    GPUD_BENCH_SHM,             /* a slot of a region, as it is */
    GPUD_BENCH_EACH,            /* the same, registered, copied and unregistered every time */
    GPUD_BENCH_LOCKED,          /* memory that the driver allocates page-locked */
    GPUD_BENCH_REGISTERED,      /* a slot of a region, registered once: what proofs use */
    GPUD_BENCH_KINDS
};

enum { GPUD_BENCH_IDLE, GPUD_BENCH_LOADED, GPUD_BENCH_LOADS };

enum { GPUD_BENCH_RUNS_MAX = 1000 };

struct gpud_bench_memory {
    /* in */
    int device;
    size_t bytes;               /* of one copy; a multiple of SHM_PAGE is taken */
    unsigned runs;              /* of each kind and load, 1 .. GPUD_BENCH_RUNS_MAX; one more at first does not count */
    uint64_t seed;
    void (*step)(void *ctx, unsigned done, unsigned total);     /* progress, or NULL */
    void *ctx;
    /* out; seconds */
    char card[KRN_COPY_TEXT];
    struct gpud_bench_spread {
        double median, min, max;
    } time[GPUD_BENCH_KINDS][GPUD_BENCH_LOADS];
    struct gpud_bench_spread lock[GPUD_BENCH_LOADS], unlock[GPUD_BENCH_LOADS];  /* parts of GPUD_BENCH_EACH */
    double locked_alloc, register_once;         /* seconds, once, at start */
    unsigned hammers;           /* threads of the load, one a processor */
    double hammer_rate;         /* bytes a second that they copied meanwhile, all together */
    double huge;                /* share of the region in 2 MiB pages */
};

extern const char *const gpud_bench_kind_names[GPUD_BENCH_KINDS];

/* Takes about five times `bytes` of memory while it runs. 0, or -1 with err. */
int gpud_bench_memory(struct gpud_bench_memory *b, const struct krn_copies *copies, struct gpud_error *err);

#endif
