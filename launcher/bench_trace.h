/*
 * launcher/bench_trace.h: a timeline of proofs as Chrome's trace events, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing open: a row for each worker, each device's copies and computing, and the host's part.
 */
#ifndef LAUNCHER_BENCH_TRACE_H
#define LAUNCHER_BENCH_TRACE_H

#include <stdbool.h>

#include "launcher/bench_record.h"

enum { BENCH_TRACE_DEVICES = 16 };    /* as many as a daemon drives */

struct bench_trace {
    const struct bench_record *records;
    size_t n;
    const char *const *circuits;        /* names, by bench_record.circuit */
    bool cpu;                           /* the CPU computes transforms and H before the sums over w, a GPU after them */
    uint64_t zero_ns;                   /* what the timeline calls 0; no later than any event */
};

/* Writes the file whole or not at all. 0, or -1 with err. */
int bench_trace_write(const struct bench_trace *t, const char *path, struct fmt_error *err);

#endif
