/*
 * kernels/clock.h: time for the figures of struct krn_times.
 */
#ifndef KERNELS_CLOCK_H
#define KERNELS_CLOCK_H

#include <time.h>

static inline double krn_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
