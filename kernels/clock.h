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

/* Processor time of all threads so far: what to compare where others use the machine too. */
static inline double krn_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
