/*
 * gpud/bench_plot.h: the figures of gpud/bench_memory.h as a picture: one SVG file, whole or not at all.
 */
#ifndef GPUD_BENCH_PLOT_H
#define GPUD_BENCH_PLOT_H

#include "gpud/bench_memory.h"

/* 0, or -1 with err. */
int gpud_bench_plot(const struct gpud_bench_memory *b, const char *path, struct gpud_error *err);

#endif
