/*
 * kernels/pool.h: a fixed set of threads that work through one call after another.
 *
 * A proof is a chain of some twenty steps, each shared by all threads: too many for kernels/parallel.h, which starts
 * threads for each call. One thread drives a pool; it is one of the n.
 */
#ifndef KERNELS_POOL_H
#define KERNELS_POOL_H

#include <stdatomic.h>
#include <stddef.h>

#include "kernels/parallel.h"

struct krn_pool;

/* A pool of exactly `threads` threads, the caller's included (0: krn_cpus()). NULL with errno set where they cannot
 * be had. The new threads take no signals but SIGBUS. */
struct krn_pool *krn_pool_new(unsigned threads);
void krn_pool_free(struct krn_pool *pool);
unsigned krn_pool_threads(const struct krn_pool *pool);

/* Calls fn(ctx, i, n) for each i in 0 .. n-1, n the pool's threads, and returns when all have returned. */
void krn_pool_run(struct krn_pool *pool, void (*fn)(void *ctx, unsigned i, unsigned n), void *ctx);

/* Calls fn(ctx, task, thread) once for each task in 0 .. tasks-1; threads take tasks in this order as they get free. */
void krn_pool_tasks(struct krn_pool *pool, size_t tasks, void (*fn)(void *ctx, size_t task, unsigned thread),
                    void *ctx);

#endif
