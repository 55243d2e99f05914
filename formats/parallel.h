/*
 * formats/parallel.h: one function on several threads, each with its own part.
 */
#ifndef FORMATS_PARALLEL_H
#define FORMATS_PARALLEL_H

enum { FMT_MAX_THREADS = 256 };

/* Calls work(arg, i, n) for i = 0..n-1, the caller's thread being one of them, and returns when all have ended; n is
 * `threads` within 1..FMT_MAX_THREADS. Parts whose thread cannot be started are done by the caller. */
void fmt_parallel(unsigned threads, void (*work)(void *arg, unsigned i, unsigned n), void *arg);

#endif
