/*
 * Sums of points times scalars: time, and nanoseconds a scalar, for random scalars and for a witness of bits, beside
 * what the additions alone would take if the multiplier never waited.
 *
 *   msm_bench [log2 of n, default 16] [threads, default all]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/fixed_base.h"
#include "kernels/msm.h"

static uint64_t state = 1;

/* splitmix64 */
static uint64_t next_random(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Below both orders. One in `wide` is of full width, the others are bits. */
static void fill(uint64_t *scalars, size_t n, unsigned wide)
{
    for (size_t i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            scalars[4 * i + j] = i % wide == 0 ? next_random() >> (j == 3 ? 3 : 0) : j == 0 ? next_random() & 1 : 0;
}

static void measure(enum krn_curve_id curve, int group, size_t n, unsigned threads)
{
    const struct krn_curve *c = krn_curve(curve);
    const size_t bytes = 2 * (size_t)group * c->fq_bytes;
    uint64_t *scalars = malloc(n * KRN_FR_BYTES);
    uint8_t *points = malloc(n * bytes), out[KRN_G2_MAX];
    struct krn_fixed_base *base = krn_fixed_base_new(curve, group, n, threads);
    if (scalars == NULL || points == NULL || base == NULL) {
        printf("no memory\n");
        exit(1);
    }
    fill(scalars, n, 1);
    if (krn_fixed_base_mul(base, points, (uint8_t *)scalars, n, threads) != 0)
        exit(1);
    for (unsigned wide = 1; wide <= 64; wide += 63) {
        double best = 1e9, best_cpu = 1e9;
        fill(scalars, n, wide);
        for (int i = 0; i < 5; i++) {
            double start = krn_seconds(), cpu = krn_cpu_seconds();
            if (krn_msm(curve, group, points, (uint8_t *)scalars, n, threads, out) != 0)
                exit(1);
            double t = krn_seconds() - start;
            best = t < best ? t : best;
            cpu = krn_cpu_seconds() - cpu;
            best_cpu = cpu < best_cpu ? cpu : best_cpu;
        }
        printf("%-10s G%d  %s  %9.3f ms  %9.3f ms of processor, %8.1f ns a scalar\n", c->name, group,
               wide == 1 ? "random" : "bits  ", 1e3 * best, 1e3 * best_cpu, 1e9 * best_cpu / (double)n);
    }
    free(scalars);
    free(points);
    krn_fixed_base_free(base);
}

int main(int argc, char **argv)
{
    const size_t n = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 16);
    const unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    printf("%zu scalars, %u threads\n", n, threads == 0 ? krn_cpus() : threads);
    for (int curve = 0; curve < KRN_CURVES; curve++)
        for (int group = 1; group <= 2; group++)
            measure((enum krn_curve_id)curve, group, n, threads);
    return 0;
}
