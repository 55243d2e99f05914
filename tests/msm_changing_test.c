/*
 * Sums over scalars that another process may write at any moment: numbers far above the order, and a thread that
 * changes them while they are measured, recoded and sorted. The sum may be any; nothing outside may be touched (the
 * sanitizer's business), and the next sum over good scalars is right. Not for ThreadSanitizer: the race is what is
 * tested.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fixed_base.h"
#include "kernels/group.h"
#include "kernels/msm.h"
#include "kernels/pool.h"
#include "tests/random.h"

enum { N = 3000, ROUNDS = 400 };

static _Alignas(64) uint8_t scalars[N * KRN_FR_BYTES];
static _Atomic int stop;

/* Small, then large, then small again: a length that was measured is not the one that is recoded. */
static void *scribble(void *arg) {
    uint64_t state = *(const uint64_t *)arg;
    while (!atomic_load(&stop)) {
        uint64_t fill = rnd(&state) % 2 ? rnd(&state) : 0;
        for (size_t i = 0; i < N * 4; i++) ((volatile uint64_t *)scalars)[i] = i % 4 ? fill : i / 4 % 8;
    }
    return NULL;
}

static void small_scalars(void) {
    memset(scalars, 0, sizeof scalars);
    for (size_t i = 0; i < N; i++) {
        uint16_t v = (uint16_t)(i + 1);
        memcpy(scalars + i * KRN_FR_BYTES, &v, sizeof v);
    }
}

static void sum(struct krn_msm *msm, const uint8_t *points, const uint64_t *skip, uint8_t out[KRN_G1_MAX]) {
    struct krn_msm_set set = {.group = 1, .src = {.points = points, .skip = skip}};
    krn_msm_run(msm, scalars, N, &set, 1);
    group_ops(KRN_BN254, 1)->to_affine(out, &set.sum);
}

static int run(struct krn_pool *pool, uint64_t seed) {
    static uint8_t points[N * KRN_G1_MAX];
    static uint64_t skip[(N + 63) / 64];
    uint8_t before[KRN_G1_MAX] = {0}, after[KRN_G1_MAX] = {0};
    const size_t point_bytes = 2 * (size_t)krn_curve(KRN_BN254)->fq_bytes;
    small_scalars();
    struct krn_fixed_base *base = krn_fixed_base_new(KRN_BN254, 1, N, 1);
    if (!base || krn_fixed_base_mul(base, points, scalars, N, 1)) return printf("no memory\n");
    krn_fixed_base_free(base);
    struct krn_msm *msm = krn_msm_new(KRN_BN254, 2, N, pool);
    void *work = msm ? malloc(krn_msm_bytes(msm) + 64) : NULL;
    if (!work) return printf("no memory\n");
    krn_msm_use(msm, (void *)(((uintptr_t)work + 63) & ~(uintptr_t)63));

    sum(msm, points, skip, before);
    memset(scalars, 0xff, sizeof scalars);
    sum(msm, points, skip, after);

    pthread_t thread;
    pthread_create(&thread, NULL, scribble, &seed);
    for (int i = 0; i < ROUNDS; i++) sum(msm, points, skip, after);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);

    small_scalars();
    sum(msm, points, skip, after);
    krn_msm_free(msm);
    free(work);
    return memcmp(before, after, point_bytes) != 0;
}

int main(void) {
    const uint64_t seed = 20261201;
    struct krn_pool *pool = krn_pool_new(2);
    if (!pool) return 1;
    int rc = run(pool, seed);
    krn_pool_free(pool);
    if (rc)
        printf("a sum over good scalars is wrong after sums over changing ones; seed %llu\n", (unsigned long long)seed);
    return rc != 0;
}
