/*
 * The quotient of a proof, six transforms and what is between them, for sizes 2^12 to 2^20, on one thread and on all:
 * nanoseconds of processor a butterfly, beside its product at the rate at which this machine multiplies
 * (tests/bench/limit.h), and the time to make the tables.
 *
 *   ntt_bench [log2 of the largest n, default 20]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/memory.h"
#include "kernels/ntt.h"
#include "tests/bench/limit.h"

enum { RUNS = 5 };

static void fill(uint8_t *v, size_t bytes, uint64_t state)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t x = (state += 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ (x >> 31)) >> (i % 32 == 24 ? 3 : 0);
        memcpy(v + i, &x, sizeof x);
    }
}

static void measure(enum krn_curve_id curve, unsigned log, unsigned threads, const struct limit *limit)
{
    const size_t n = (size_t)1 << log, bytes = n * KRN_FR_BYTES;
    uint8_t *a = malloc(bytes), *b = malloc(bytes), *h = malloc(bytes);
    struct krn_pool *pool = krn_pool_new(threads);
    const double start = krn_cpu_seconds();
    struct krn_ntt *t = pool == NULL ? NULL : krn_ntt_new(curve, log, pool);
    const double tables = krn_cpu_seconds() - start;
    void *work = t == NULL ? NULL : krn_memory_map(krn_ntt_work_bytes(t));
    double best = 1e9, best_cpu = 1e9;
    if (work == NULL || a == NULL || b == NULL || h == NULL) {
        printf("no memory\n");
        exit(1);
    }
    krn_ntt_use(t, work);
    fill(a, bytes, 1);
    fill(b, bytes, 2);
    for (int i = 0; i < RUNS; i++) {
        const double wall = krn_seconds(), cpu = krn_cpu_seconds();
        krn_ntt_quotient(t, a, b, NULL, h);
        const double took = krn_seconds() - wall, took_cpu = krn_cpu_seconds() - cpu;
        best = took < best ? took : best;
        best_cpu = took_cpu < best_cpu ? took_cpu : best_cpu;
    }
    const double butterflies = 6.0 * (double)(n / 2) * log;
    printf("%-10s 2^%-3u %7u %10.3f %10.3f %10.2f %8.2f %10.2f\n", krn_curve(curve)->name, log, threads, 1e3 * best,
           1e3 * best_cpu, 1e9 * best_cpu / butterflies, 1e9 * limit_product(limit, 255), 1e3 * tables);
    krn_memory_unmap(work, krn_ntt_work_bytes(t));
    krn_ntt_free(t);
    krn_pool_free(pool);
    free(a);
    free(b);
    free(h);
}

int main(int argc, char **argv)
{
    const unsigned most = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
    const struct limit limit = limit_measure(1);
    printf("%-10s %-5s %7s %10s %10s %10s %8s %10s\n", "curve", "n", "threads", "ms", "cpu ms", "ns each", "floor",
           "tables ms");
    for (unsigned threads = 1; threads <= krn_cpus(); threads += threads == krn_cpus() ? 1 : krn_cpus() - threads)
        for (int curve = 0; curve < KRN_CURVES; curve++)
            for (unsigned log = 12; log <= most; log += 2)
                measure((enum krn_curve_id)curve, log, threads, &limit);
    return 0;
}
