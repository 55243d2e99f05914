/*
 * Sums of points times scalars, random ones and a witness of bits, on one thread and on all: nanoseconds of processor
 * a scalar, beside what the additions' products alone would take if the multiplier never waited (tests/bench/limit.h).
 *
 *   msm_bench [log2 of n, default 16]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/fixed_base.h"
#include "kernels/msm.h"
#include "tests/bench/limit.h"
#include "tests/random.h"

static uint64_t state = 1;

enum { RUNS = 5, SCALAR_BITS = 255, MAX_WINDOW = 17 };

/* Below both orders. One in `wide` is of full width, the others are bits. */
static void fill(uint64_t *scalars, size_t n, unsigned wide)
{
    for (size_t i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            scalars[4 * i + j] = i % wide == 0 ? rnd(&state) >> (j == 3 ? 3 : 0) : j == 0 ? rnd(&state) & 1 : 0;
}

/* Products of the additions: one for each digit, two for each bucket, half of the bits adding nothing. */
static double products(size_t n, unsigned wide, int group)
{
    const double full = (double)(n / wide), bits = (double)(n - n / wide) / 2;
    double best = 1e300;
    for (unsigned window = 3; window <= MAX_WINDOW; window++) {
        const double windows = (SCALAR_BITS + window - 1) / window;
        const double additions = bits + windows * (full + (double)(1u << window));
        best = additions < best ? additions : best;
    }
    return best * (group == 1 ? 6 : 17);
}

static void measure(enum krn_curve_id curve, int group, size_t n, unsigned threads, const struct limit *limit)
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
        for (int i = 0; i < RUNS; i++) {
            const double start = krn_seconds(), cpu = krn_cpu_seconds();
            if (krn_msm(curve, group, points, (uint8_t *)scalars, n, threads, out) != 0)
                exit(1);
            const double t = krn_seconds() - start, t_cpu = krn_cpu_seconds() - cpu;
            best = t < best ? t : best;
            best_cpu = t_cpu < best_cpu ? t_cpu : best_cpu;
        }
        const double floor = products(n, wide, group) * limit_product(limit, c->fq_bytes == 32 ? 254 : 381);
        printf("%-10s G%d %-7s %7u %10.2f %10.2f %10.1f %8.1f\n", c->name, group, wide == 1 ? "random" : "bits",
               threads, 1e3 * best, 1e3 * best_cpu, 1e9 * best_cpu / (double)n, 1e9 * floor / (double)n);
    }
    free(scalars);
    free(points);
    krn_fixed_base_free(base);
}

int main(int argc, char **argv)
{
    const size_t n = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 16);
    const struct limit limit = limit_measure(1);
    printf("%zu scalars\n%-10s    %-7s %7s %10s %10s %10s %8s\n", n, "curve", "scalars", "threads", "ms", "cpu ms",
           "ns each", "floor");
    for (unsigned threads = 1; threads <= krn_cpus(); threads += threads == krn_cpus() ? 1 : krn_cpus() - threads)
        for (int curve = 0; curve < KRN_CURVES; curve++)
            for (int group = 1; group <= 2; group++)
                measure((enum krn_curve_id)curve, group, n, threads, &limit);
    return 0;
}
