/*
 * launcher/bench_figures.h: what a run of proofs amounts to.
 */
#ifndef LAUNCHER_BENCH_FIGURES_H
#define LAUNCHER_BENCH_FIGURES_H

#include "launcher/bench_run.h"

enum { BENCH_WINDOWS_MAX = 1024, BENCH_DEVICES_MAX = 16 };

/* Milliseconds over all proofs. */
struct bench_spread {
    double p50, p99, max, mean;
};

/* One device from its first computing to its last: seconds, and why it did not compute between two proofs. */
struct bench_device {
    uint64_t proofs;
    double span;
    double busy;                /* kernels ran */
    double within;              /* a proof was computed and no kernel ran: the host's word was awaited */
    double no_slot;             /* no slot was READY */
    double hand_off;            /* one was, and was not taken yet */
    double upload;              /* it was taken, and its upload was not over; or a and b were late within a proof */
    double between;             /* it was there: the host's part between two proofs */
};

struct bench_figures {
    double seconds;
    uint64_t proofs;            /* done within them */
    double per_minute;
    struct bench_spread phases[BENCH_PHASES];
    struct bench_device devices[BENCH_DEVICES_MAX];
    double bus;                 /* GB/s of an upload, median; 0: there are none */
    double bus_all;             /* GB/s over the whole time */
    double window;              /* seconds */
    uint64_t windows[BENCH_WINDOWS_MAX];    /* proofs done in each whole one */
    unsigned n_windows;
};

/* window: seconds of a window of throughput. 0, or -1 with err where memory is short or there is no proof. */
int bench_figures_make(struct bench_figures *f, const struct bench_run *b, double window, struct gpud_error *err);

#endif
