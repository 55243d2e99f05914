/*
 * tests/bench/limit.h: how fast this machine multiplies, measured, and what that allows field arithmetic at best.
 *
 * A Montgomery product of n limbs takes n^2 full products and n^2 + n for its reduction. With 64-bit limbs each is one
 * instruction (mul, both halves); with AVX-512 IFMA's 52-bit limbs two, one for each half, but for eight numbers at
 * once (the n factors of the reduction need the low half only): 2 n^2 + n or (4 n^2 + n) / 8.
 */
#ifndef TESTS_BENCH_LIMIT_H
#define TESTS_BENCH_LIMIT_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "kernels/krn.h"
#include "kernels/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Instructions a second, over all threads. */
struct limit {
    double mul64, madd52;       /* madd52: vectors of eight; 0 where there is no IFMA */
};

enum { LIMIT_ROUNDS = 1 << 22, LIMIT_CHAINS = 16 };

/* Chains of multiplications that do not depend on one another, enough to fill the pipeline. */
static inline uint64_t limit_run_mul64(void)
{
    uint64_t x[LIMIT_CHAINS];

    for (int j = 0; j < LIMIT_CHAINS; j++)
        x[j] = 0x9e3779b97f4a7c15 * (unsigned)(j + 1);
    for (int i = 0; i < LIMIT_ROUNDS; i++) {
        _Pragma("GCC unroll 16")
        for (int j = 0; j < LIMIT_CHAINS; j++) {
            x[j] = (uint64_t)((unsigned __int128)x[j] * 0x9e3779b97f4a7c15 >> 64);
            __asm__ volatile("" : "+r"(x[j]));
        }
    }
    return x[0];
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512ifma"))) static inline uint64_t limit_run_madd52(void)
{
    __m512i x[LIMIT_CHAINS];
    const __m512i k = _mm512_set1_epi64(0x123456789abcd);

    for (int j = 0; j < LIMIT_CHAINS; j++)
        x[j] = _mm512_set1_epi64(j);
    for (int i = 0; i < LIMIT_ROUNDS; i++) {
        _Pragma("GCC unroll 16")
        for (int j = 0; j < LIMIT_CHAINS; j++) {
            x[j] = _mm512_madd52lo_epu64(x[j], k, k);
            __asm__ volatile("" : "+v"(x[j]));
        }
    }
    return (uint64_t)_mm512_reduce_add_epi64(x[0]);
}

static inline int limit_has_madd52(void)
{
    return __builtin_cpu_supports("avx512ifma") != 0;
}
#else
static inline uint64_t limit_run_madd52(void)
{
    return 0;
}

static inline int limit_has_madd52(void)
{
    return 0;
}
#endif

struct limit_job {
    uint64_t (*run)(void);
    _Atomic uint64_t sink;
    double rates[KRN_MAX_THREADS];
};

static inline double limit_processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In processor time, and the best of five: a limit is what the machine can do, not what it did while others used it. */
static inline void limit_thread(void *arg, unsigned i, unsigned n)
{
    struct limit_job *job = arg;
    (void)n;
    for (int round = 0; round < 5; round++) {
        double start = limit_processor_seconds();
        atomic_fetch_add_explicit(&job->sink, job->run(), memory_order_relaxed);
        double rate = (double)LIMIT_ROUNDS * LIMIT_CHAINS / (limit_processor_seconds() - start);
        if (rate > job->rates[i])
            job->rates[i] = rate;
    }
}

static inline double limit_rate(uint64_t (*run)(void), unsigned threads)
{
    struct limit_job job = {.run = run};
    double sum = 0;
    krn_parallel(threads, limit_thread, &job);
    for (unsigned i = 0; i < threads; i++)
        sum += job.rates[i];
    return sum;
}

static inline struct limit limit_measure(unsigned threads)
{
    return (struct limit){
        .mul64 = limit_rate(limit_run_mul64, threads),
        .madd52 = limit_has_madd52() ? limit_rate(limit_run_madd52, threads) : 0,
    };
}

/* Seconds that one Montgomery product of `bits` bits takes at least, all threads at work. */
static inline double limit_product(const struct limit *l, unsigned bits)
{
    const double n64 = (bits + 63) / 64, n52 = (bits + 51) / 52;
    const double by_mul64 = (2 * n64 * n64 + n64) / l->mul64;
    const double by_madd52 = l->madd52 > 0 ? (4 * n52 * n52 + n52) / 8 / l->madd52 : by_mul64;
    return by_mul64 < by_madd52 ? by_mul64 : by_madd52;
}

#endif
