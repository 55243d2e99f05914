/*
 * gpud/bench.h: `pinwheel-gpud --bench-memory`, which `pinwheel bench memory` runs. It lives in this program since only
 * this one is linked with CUDA.
 */
#ifndef GPUD_BENCH_H
#define GPUD_BENCH_H

#include "kernels/choice.h"
#include "kernels/copy.h"

/* argv[0] is the option itself. cuda, copies: NULL where CUDA was not built in. Prints a table; returns the exit
 * status. */
int gpud_bench(int argc, char **argv, const struct krn_backend *cuda, const struct krn_copies *copies);

#endif
