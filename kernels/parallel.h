/*
 * kernels/parallel.h: fork and join.
 */
#ifndef KERNELS_PARALLEL_H
#define KERNELS_PARALLEL_H

#include <stddef.h>

enum { KRN_MAX_THREADS = 256 };

/* The processors that the calling thread may run on, 1 .. KRN_MAX_THREADS. */
unsigned krn_cpus(void);

/* Calls fn(ctx, i, n) once for each i in 0 .. n-1, at the same time, and returns when all have returned. n is
 * `threads` (0: krn_cpus()), at most KRN_MAX_THREADS. The caller's thread takes part; where no thread can be had it
 * does the rest alone, so the call cannot fail. */
void krn_parallel(unsigned threads, void (*fn)(void *ctx, unsigned i, unsigned n), void *ctx);

/* Part i of n of the range 0 .. total: first index here, and that of i + 1 is the end. */
static inline size_t krn_part(size_t total, unsigned i, unsigned n)
{
    return total / n * i + total % n * i / n;
}

#endif
