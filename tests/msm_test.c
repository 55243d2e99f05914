/*
 * Sums of points times scalars. Points are known multiples k_i of the generator, so the right result is
 * (sum of s_i k_i) G, one multiplication of the generator by a number from kernels/scalar.h. Every case runs in both
 * groups of both curves, with one thread and with several, and in each of the arithmetic's twins: the same bytes.
 * RUN_VALGRIND RUN_TSAN
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fixed_base.h"
#include "kernels/msm.h"
#include "kernels/scalar.h"
#include "tests/random.h"

enum { MAX_N = 70000 };

static const uint64_t seed = 20240611;
static uint64_t state;
static int failures;

struct world {
    enum krn_curve_id curve;
    int group;
    size_t point_bytes;
    struct krn_scalar_field field;
    struct krn_scalar *logs, *scalars;  /* plain */
    uint8_t *points;                    /* at an address that is a multiple of 4 only */
    struct krn_fixed_base *base;
    char what[64];
};

static void random_scalar(const struct world *w, struct krn_scalar *s)
{
    do {
        for (int i = 0; i < KRN_SCALAR_LIMBS; i++)
            s->l[i] = rnd(&state);
        s->l[KRN_SCALAR_LIMBS - 1] &= ~0ull >> 1;
    } while (!krn_scalar_is_reduced(&w->field, s));
}

/* r - k for small k */
static struct krn_scalar order_less(const struct world *w, uint64_t k)
{
    struct krn_scalar s = w->field.p;
    s.l[0] -= k;    /* both orders end in 1 and have no low limb below 2^32 */
    if (s.l[0] > w->field.p.l[0])
        s.l[1]--;
    return s;
}

/* ---- bases, by their logarithms ---- */

static void logs_random(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        random_scalar(w, &w->logs[i]);
}

static void logs_equal(struct world *w, size_t n)
{
    random_scalar(w, &w->logs[0]);
    for (size_t i = 1; i < n; i++)
        w->logs[i] = w->logs[0];
}

/* P, -P, P, -P .. with infinities between: whatever meets in a bucket is equal, opposite or nothing. */
static void logs_opposite(struct world *w, size_t n)
{
    const struct krn_scalar zero = {{0}};
    for (size_t i = 0; i < n; i++) {
        if (i % 7 == 3)
            w->logs[i] = zero;
        else if (i % 2 == 0 || i == 0)
            random_scalar(w, &w->logs[i]);
        else
            krn_scalar_sub(&w->field, &w->logs[i], &zero, &w->logs[i - 1]);
        if (i % 5 == 4)
            w->logs[i] = w->logs[i - 4];
    }
}

static void logs_infinity(struct world *w, size_t n)
{
    memset(w->logs, 0, n * sizeof *w->logs);
}

/* Half of them infinity, as in the B of real keys. */
static void logs_sparse(struct world *w, size_t n)
{
    logs_random(w, n);
    for (size_t i = 0; i < n; i++)
        if (rnd(&state) & 1)
            memset(&w->logs[i], 0, sizeof w->logs[i]);
}

/* ---- scalars ---- */

static void scalars_random(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        random_scalar(w, &w->scalars[i]);
}

static void scalars_zero(struct world *w, size_t n)
{
    memset(w->scalars, 0, n * sizeof *w->scalars);
}

static void scalars_one(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->scalars[i] = (struct krn_scalar){{1}};
}

static void scalars_minus_one(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->scalars[i] = order_less(w, 1);
}

static void scalars_equal(struct world *w, size_t n)
{
    struct krn_scalar s;
    random_scalar(w, &s);
    for (size_t i = 0; i < n; i++)
        w->scalars[i] = s;
}

/* A witness of bits, a few of full width, some negative. */
static void scalars_bits(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t kind = rnd(&state) % 64;
        if (kind == 0)
            random_scalar(w, &w->scalars[i]);
        else if (kind == 1)
            w->scalars[i] = order_less(w, 1 + rnd(&state) % 1000);
        else
            w->scalars[i] = (struct krn_scalar){{kind & 1}};
    }
}

static void scalars_words(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->scalars[i] = (struct krn_scalar){{rnd(&state) >> (rnd(&state) % 64)}};
}

/* Around every power of two: digits at both ends of their range, with and without carries. */
static void scalars_powers(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned bit = (unsigned)(i / 3 % 253);
        struct krn_scalar s = {{0}}, one = {{1}};
        s.l[bit / 64] = 1ull << bit % 64;
        if (i % 3 == 1)
            krn_scalar_sub(&w->field, &s, &s, &one);
        else if (i % 3 == 2)
            krn_scalar_add(&w->field, &s, &s, &one);
        w->scalars[i] = s;
    }
}

/* The largest magnitudes, (r - 1) / 2 and (r + 1) / 2, and all ones below them. */
static void scalars_largest(struct world *w, size_t n)
{
    struct krn_scalar half;
    for (int i = 0; i < KRN_SCALAR_LIMBS; i++)
        half.l[i] = w->field.p.l[i] >> 1 | (i + 1 < KRN_SCALAR_LIMBS ? w->field.p.l[i + 1] << 63 : 0);
    for (size_t i = 0; i < n; i++) {
        w->scalars[i] = half;
        if (i % 3 == 1)
            w->scalars[i].l[0]++;   /* even below, as r ends in 01 */
        if (i % 3 == 2) {
            memset(w->scalars[i].l, 0xff, sizeof half);
            w->scalars[i].l[KRN_SCALAR_LIMBS - 1] = half.l[KRN_SCALAR_LIMBS - 1] - 1;
        }
    }
}

/* ---- checking ---- */

static void expected(const struct world *w, size_t n, uint8_t *point)
{
    const struct krn_scalar zero = {{0}};
    struct krn_scalar sum = zero, t;
    for (size_t i = 0; i < n; i++) {
        krn_scalar_to_mont(&w->field, &t, &w->logs[i]);
        krn_scalar_mul(&w->field, &t, &t, &w->scalars[i]);
        krn_scalar_add(&w->field, &sum, &sum, &t);
    }
    if (krn_fixed_base_mul(w->base, point, (const uint8_t *)&sum, 1, 1) != 0) {
        printf("no memory\n");
        exit(1);
    }
}

static void check(struct world *w, size_t n, unsigned threads)
{
    uint8_t want[KRN_G2_MAX], got[KRN_G2_MAX];
    static const char *const twins[] = {"portable", "adx", "best"};
    expected(w, n, want);
    for (int twin = 0; twin < 3; twin++) {
        setenv("PINWHEEL_CPU_ISA", twins[twin], 1);
        int err = krn_msm(w->curve, w->group, w->points, (const uint8_t *)w->scalars, n, threads, got);
        if (err != 0 || memcmp(got, want, w->point_bytes) != 0) {
            printf("%s G%d, %s, n = %zu, %u threads, %s twin: wrong (%d), seed %llu\n", krn_curve(w->curve)->name,
                   w->group, w->what, n, threads, twins[twin], err, (unsigned long long)seed);
            failures++;
        }
    }
}

static void make_points(struct world *w, size_t n)
{
    if (krn_fixed_base_mul(w->base, w->points, (const uint8_t *)w->logs, n, 1) != 0) {
        printf("no memory\n");
        exit(1);
    }
}

struct kind {
    const char *name;
    void (*fill)(struct world *w, size_t n);
};

static const struct kind bases[] = {
    {"random bases", logs_random}, {"equal bases", logs_equal}, {"P and -P", logs_opposite},
    {"all infinity", logs_infinity}, {"half infinity", logs_sparse},
};

static const struct kind scalars[] = {
    {"random scalars", scalars_random}, {"zeros", scalars_zero},       {"ones", scalars_one},
    {"all r - 1", scalars_minus_one},   {"equal scalars", scalars_equal}, {"bits", scalars_bits},
    {"words", scalars_words},           {"powers of two", scalars_powers}, {"largest", scalars_largest},
};

enum { N_BASES = sizeof bases / sizeof bases[0], N_SCALARS = sizeof scalars / sizeof scalars[0] };

static void every_kind(struct world *w, size_t n, unsigned threads)
{
    for (int b = 0; b < N_BASES; b++) {
        bases[b].fill(w, n);
        make_points(w, n);
        for (int s = 0; s < N_SCALARS; s++) {
            snprintf(w->what, sizeof w->what, "%s, %s", bases[b].name, scalars[s].name);
            scalars[s].fill(w, n);
            check(w, n, threads);
        }
    }
}

static void every_size(struct world *w, size_t limit)
{
    static const size_t sizes[] = {0,  1,  2,  3,  7,   8,   9,   15,   16,   17,  31,
                                   33, 63, 64, 65, 255, 256, 257, 1023, 1025, 4097};
    strcpy(w->what, "random");
    logs_random(w, limit);
    make_points(w, limit);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= limit; i++) {
        scalars_random(w, sizes[i]);
        check(w, sizes[i], 1);
        check(w, sizes[i], 3);
    }
}

/* Chunks of many terms of one bucket, and windows of many buckets. */
static void large(struct world *w, size_t n)
{
    logs_sparse(w, n);
    make_points(w, n);
    strcpy(w->what, "large, random");
    scalars_random(w, n);
    check(w, n, 1);
    check(w, n, 4);
    strcpy(w->what, "large, ones");
    scalars_one(w, n);
    check(w, n, 4);
    strcpy(w->what, "large, equal scalars");
    scalars_equal(w, n);
    check(w, n, 4);
    strcpy(w->what, "large, bits");
    scalars_bits(w, n);
    check(w, n, 2);
}

/* Refused: scalars at and above the order, wherever they stand. */
static void refusals(struct world *w)
{
    uint8_t out[KRN_G2_MAX];
    for (size_t bad = 0; bad < 40; bad += 13) {
        for (int above = 0; above < 2; above++) {
            scalars_random(w, 40);
            w->scalars[bad] = w->field.p;
            if (above)
                memset(w->scalars[bad].l, 0xff, sizeof w->scalars[bad].l);
            if (krn_msm(w->curve, w->group, w->points, (const uint8_t *)w->scalars, 40, 1, out) != -EINVAL) {
                printf("a scalar that is not below the order was taken\n");
                failures++;
            }
        }
    }
}

static void run(enum krn_curve_id curve, int group, int brief)
{
    struct world w = {.curve = curve, .group = group, .field = krn_scalar_field(curve)};
    w.point_bytes = 2 * (size_t)group * krn_curve(curve)->fq_bytes;
    w.logs = malloc(MAX_N * sizeof *w.logs);
    w.scalars = malloc(MAX_N * sizeof *w.scalars);
    uint8_t *memory = malloc(MAX_N * w.point_bytes + 4);
    w.base = krn_fixed_base_new(curve, group, 1000, 1);
    if (w.logs == NULL || w.scalars == NULL || memory == NULL || w.base == NULL) {
        printf("no memory\n");
        exit(1);
    }
    w.points = memory + 4;
    every_size(&w, brief ? 257 : 4097);
    every_kind(&w, 5, 1);
    every_kind(&w, brief ? 60 : 200, 2);
    refusals(&w);
    if (!brief)
        large(&w, group == 1 && curve == KRN_BN254 ? MAX_N : 9000);
    free(w.logs);
    free(w.scalars);
    free(memory);
    krn_fixed_base_free(w.base);
}

int main(void)
{
    const int brief = getenv("PINWHEEL_TEST_SHORT") != NULL;
    state = seed;
    for (int curve = 0; curve < KRN_CURVES; curve++)
        for (int group = 1; group <= 2; group++)
            run((enum krn_curve_id)curve, group, brief);
    if (failures > 0)
        printf("%d failures, seed %llu\n", failures, (unsigned long long)seed);
    return failures > 0;
}
