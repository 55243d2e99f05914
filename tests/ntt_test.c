/*
 * Transforms against ffjavascript's (tests/data/gen_ntt.mjs), against sums computed term by term, and each against its
 * inverse; the quotient of a proof against its definition, point by point. With one thread and several, and in each
 * of the arithmetic's twins.
 * RUN_VALGRIND RUN_TSAN
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/memory.h"
#include "kernels/ntt.h"
#include "tests/random.h"
#include "tests/vectors.h"

enum { MAX_LOG = 15, NAIVE_LOG = 8 };

static const char *const twins[] = {"portable", "adx", "best"};
static const char *const field_names[KRN_CURVES] = {"bn254_fr", "bls381_fr"};
static int failures;

static void fail(enum krn_curve_id curve, const char *what, size_t n)
{
    printf("%s, %s twin, n = %zu: %s\n", field_names[curve], getenv("PINWHEEL_CPU_ISA"), n, what);
    failures++;
}

/* The sequence of gen_ntt.mjs, from a seed: splitmix64. Below both orders. */
static void fill(struct krn_scalar *v, size_t n, uint64_t state)
{
    for (size_t i = 0; i < n; i++)
        for (int j = 0; j < KRN_SCALAR_LIMBS; j++)
            v[i].l[j] = rnd(&state) >> (j == 3 ? 3 : 0);
}

static struct krn_scalar *array(size_t n)
{
    struct krn_scalar *v = malloc(n * sizeof *v);
    if (v == NULL) {
        printf("no memory\n");
        exit(1);
    }
    return v;
}

static void transform(enum krn_curve_id curve, enum krn_ntt_direction direction, struct krn_scalar *v, size_t n,
                      unsigned threads)
{
    if (krn_ntt_transform(curve, direction, (uint8_t *)v, n, threads) != 0)
        fail(curve, "refused", n);
}

/* One line "FIELD fft|ifft LOG_N K v". */
static void check_line(struct vectors *v, enum krn_curve_id curve)
{
    const int inverse = strcmp(vectors_word(v), "ifft") == 0;
    const size_t n = (size_t)1 << atoi(vectors_word(v)), k = (size_t)atoi(vectors_word(v));
    struct krn_scalar *x = array(n), want;
    vectors_number(v, (uint8_t *)&want, sizeof want);
    fill(x, n, 0);
    transform(curve, inverse ? KRN_NTT_INVERSE : KRN_NTT_FORWARD, x, n, 1);
    vectors_check(v, krn_scalar_eq(&x[k], &want), getenv("PINWHEEL_CPU_ISA"), "the transform");
    free(x);
}

static void known_values(void)
{
    struct vectors v;
    const char *word;
    int lines = 0;
    vectors_open(&v, "tests/data/ntt.txt");
    while ((word = vectors_next(&v)) != NULL) {
        check_line(&v, strcmp(word, field_names[KRN_BN254]) == 0 ? KRN_BN254 : KRN_BLS12_381);
        lines++;
    }
    failures += v.failures + (lines < 100);
}

/* The value at x (Montgomery) of the polynomial with these coefficients. */
static struct krn_scalar value(const struct krn_scalar_field *f, const struct krn_scalar *coefficients, size_t n,
                               const struct krn_scalar *x)
{
    struct krn_scalar sum = {{0}};
    for (size_t i = n; i-- > 0;) {
        krn_scalar_mul(f, &sum, &sum, x);
        krn_scalar_add(f, &sum, &sum, &coefficients[i]);
    }
    return sum;
}

static void naive_transform(enum krn_curve_id curve, unsigned log)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    const size_t n = (size_t)1 << log;
    struct krn_scalar *v = array(n), *x = array(n), root, point = f.one;
    fill(v, n, log);
    memcpy(x, v, n * sizeof *x);
    transform(curve, KRN_NTT_FORWARD, x, n, 2);
    krn_scalar_root(&f, &root, log);
    for (size_t k = 0; k < n; k++) {
        struct krn_scalar want = value(&f, v, n, &point);
        if (!krn_scalar_eq(&x[k], &want)) {
            fail(curve, "not the polynomial's values", n);
            break;
        }
        krn_scalar_mul(&f, &point, &point, &root);
    }
    free(v);
    free(x);
}

/* Forth and back, with any number of threads the same. */
static void round_trip(enum krn_curve_id curve, unsigned log)
{
    const size_t n = (size_t)1 << log;
    struct krn_scalar *v = array(n), *x = array(n), *y = array(n);
    fill(v, n, 7);
    memcpy(x, v, n * sizeof *x);
    memcpy(y, v, n * sizeof *y);
    transform(curve, KRN_NTT_INVERSE, x, n, 1);
    transform(curve, KRN_NTT_INVERSE, y, n, 3);
    if (memcmp(x, y, n * sizeof *x) != 0)
        fail(curve, "threads change the result", n);
    transform(curve, KRN_NTT_FORWARD, x, n, 2);
    if (memcmp(x, v, n * sizeof *x) != 0)
        fail(curve, "forth and back is not the identity", n);
    free(v);
    free(x);
    free(y);
}

/* The largest value everywhere: what grows without reduction grows most. */
static void largest_values(enum krn_curve_id curve, unsigned log)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    const size_t n = (size_t)1 << log;
    struct krn_scalar *v = array(n), one = {{1}}, zero = {{0}}, top;
    krn_scalar_sub(&f, &top, &zero, &one);
    for (size_t i = 0; i < n; i++)
        v[i] = top;
    transform(curve, KRN_NTT_INVERSE, v, n, 1);
    for (size_t i = 0; i < n; i++)
        if (!krn_scalar_eq(&v[i], i == 0 ? &top : &zero)) {
            fail(curve, "a constant's coefficients", n);
            break;
        }
    transform(curve, KRN_NTT_FORWARD, v, n, 1);
    for (size_t i = 0; i < n; i++)
        if (!krn_scalar_eq(&v[i], &top)) {
            fail(curve, "a constant's values", n);
            break;
        }
    free(v);
}

/* ---- the quotient ---- */

struct quotient {
    enum krn_curve_id curve;
    struct krn_scalar_field field;
    unsigned log;
    size_t n;
    struct krn_scalar *a, *b, *c, *h;   /* rows in Montgomery form; h plain */
};

static struct quotient quotient_new(enum krn_curve_id curve, unsigned log)
{
    struct quotient q = {.curve = curve, .field = krn_scalar_field(curve), .log = log, .n = (size_t)1 << log};
    q.a = array(q.n);
    q.b = array(q.n);
    q.c = array(q.n);
    q.h = array(q.n);
    fill(q.a, q.n, 11);
    fill(q.b, q.n, 12);
    for (size_t i = 0; i < q.n; i++)
        krn_scalar_mul(&q.field, &q.c[i], &q.a[i], &q.b[i]);
    return q;
}

static void quotient_free(struct quotient *q)
{
    free(q->a);
    free(q->b);
    free(q->c);
    free(q->h);
}

static size_t run_quotient(struct quotient *q, unsigned threads, const struct krn_scalar *c)
{
    struct krn_pool *pool = krn_pool_new(threads);
    struct krn_ntt *t = pool == NULL ? NULL : krn_ntt_new(q->curve, q->log, pool);
    void *work = t == NULL ? NULL : krn_memory_map(krn_ntt_work_bytes(t));
    if (work == NULL) {
        printf("no memory\n");
        exit(1);
    }
    krn_ntt_use(t, work);
    size_t row = krn_ntt_quotient(t, (uint8_t *)q->a, (uint8_t *)q->b, (const uint8_t *)c, (uint8_t *)q->h);
    krn_memory_unmap(work, krn_ntt_work_bytes(t));
    krn_ntt_free(t);
    krn_pool_free(pool);
    return row;
}

/* By values of the polynomials at points of the coset; the coefficients from transforms checked above. */
static void check_quotient(struct quotient *q, size_t points)
{
    const struct krn_scalar_field *f = &q->field;
    struct krn_scalar *p[3] = {array(q->n), array(q->n), array(q->n)}, shift, root, v[3];
    const struct krn_scalar *rows[3] = {q->a, q->b, q->c};
    for (int i = 0; i < 3; i++) {
        memcpy(p[i], rows[i], q->n * sizeof *p[i]);
        transform(q->curve, KRN_NTT_INVERSE, p[i], q->n, 1);
    }
    krn_scalar_root(f, &shift, q->log + 1);
    krn_scalar_root(f, &root, q->log);
    for (size_t k = 0; k < points; k++) {
        size_t i = k * 37 % q->n;
        struct krn_scalar x, e = {{i}};
        krn_scalar_pow(f, &x, &root, &e);
        krn_scalar_mul(f, &x, &x, &shift);
        for (int j = 0; j < 3; j++)
            v[j] = value(f, p[j], q->n, &x);
        krn_scalar_mul(f, &v[0], &v[0], &v[1]);
        krn_scalar_sub(f, &v[0], &v[0], &v[2]);
        krn_scalar_from_mont(f, &v[0], &v[0]);
        if (!krn_scalar_eq(&v[0], &q->h[i])) {
            fail(q->curve, "the quotient", q->n);
            break;
        }
    }
    for (int i = 0; i < 3; i++)
        free(p[i]);
}

static void quotient(enum krn_curve_id curve, unsigned log)
{
    struct quotient q = quotient_new(curve, log);
    struct krn_scalar *first = array(q.n), one = {{1}};
    if (run_quotient(&q, 1, NULL) != q.n)
        fail(curve, "a row differs where none was sent", q.n);
    check_quotient(&q, log > NAIVE_LOG ? 4 : q.n);
    memcpy(first, q.h, q.n * sizeof *first);
    if (run_quotient(&q, 3, q.c) != q.n)
        fail(curve, "a row differs where none does", q.n);
    if (memcmp(first, q.h, q.n * sizeof *first) != 0)
        fail(curve, "threads or c change the quotient", q.n);
    for (size_t bad = 0; bad < q.n; bad = 3 * bad + 1) {
        size_t second = bad + (q.n - bad) / 2;
        struct krn_scalar kept[2] = {q.c[bad], q.c[second]};
        krn_scalar_add(&q.field, &q.c[bad], &kept[0], &one);
        if (second != bad)
            krn_scalar_add(&q.field, &q.c[second], &kept[1], &one);
        if (run_quotient(&q, 3, q.c) != bad)
            fail(curve, "the first row that differs", q.n);
        q.c[second] = kept[1];
        q.c[bad] = kept[0];
    }
    free(first);
    quotient_free(&q);
}

static void refusals(enum krn_curve_id curve)
{
    struct krn_scalar v[24];
    fill(v, 24, 1);
    for (size_t n = 0; n <= 24; n++) {
        int want = n != 0 && (n & (n - 1)) == 0 ? 0 : -EINVAL;
        if (krn_ntt_transform(curve, KRN_NTT_FORWARD, (uint8_t *)v, n, 1) != want)
            fail(curve, "sizes that are no power of two are to be refused, and no others", n);
    }
    if (krn_ntt_transform(curve, KRN_NTT_FORWARD, (uint8_t *)v, (size_t)1 << 33, 1) != -EINVAL)
        fail(curve, "a size without root was taken", (size_t)1 << 33);
}

int main(void)
{
    const unsigned max_log = getenv("PINWHEEL_TEST_SHORT") != NULL ? 11 : MAX_LOG;
    for (int twin = 0; twin < 3; twin++) {
        setenv("PINWHEEL_CPU_ISA", twins[twin], 1);
        known_values();
        for (int curve = 0; curve < KRN_CURVES; curve++) {
            refusals((enum krn_curve_id)curve);
            for (unsigned log = 0; log <= NAIVE_LOG; log++)
                naive_transform((enum krn_curve_id)curve, log);
            for (unsigned log = 0; log <= max_log; log++) {
                round_trip((enum krn_curve_id)curve, log);
                largest_values((enum krn_curve_id)curve, log);
                quotient((enum krn_curve_id)curve, log);
            }
        }
    }
    return failures > 0;
}
