/*
 * The twin of kernels/sum_tmpl.h in eight lanes of AVX-512 IFMA, for all four groups. Entered only where
 * krn_cpu_isa() says so.
 *
 * The arena's points are those of an isomorphic curve, chosen so that next to nothing has to be converted. Keys hold
 * x R and y R; products here divide by S = 2^(52 n) in place of R. The map (x, y) -> (u^2 x, u^3 y) with u^2 = R / S
 * leaves the bytes of x as they are, and makes of y R the number y u^3 S = y R u: so y is divided by 1/u, a small
 * power of two (4 for BN254, 2^16 for BLS12-381), and the formulas, which do not use the curve's constant, stay as
 * they are. Both coordinates are kept canonical, so equal points are equal bytes.
 *
 * Cost of an addition in G1: 6 multiplications of 21 n - .. instructions on two ports: at n = 5, 105 of them, 52 cycles
 * for eight; so 40 cycles an addition when nothing else is in the way.
 */
#include "kernels/sum.h"

#include <string.h>

#include "kernels/ec.h"
#include "kernels/lanes.h"

#ifdef __x86_64__

enum {
    BLOCKS = 2,                 /* vectors of additions under way together: hides the latency of the carry chains */
    STEP = BLOCKS * LANES,      /* additions a step */
};

_Static_assert((int)SUM_PAD >= STEP, "a list of pairs is filled up to whole steps");

/*
 * A group is a prime and two constants that every function here is given and folds: n limbs of the base field (5 or 8),
 * and the degree of the field of coordinates (1: Fq, 2: Fq2).
 */
#define UNUSED __attribute__((unused))
#define SHAPE UNUSED const struct lanes_prime *m, UNUSED const int n, UNUSED const int degree

KRN_FN int words_of(const int n)
{
    return n == 5 ? 4 : 6;
}

/* log2 of 1/u, above. */
KRN_FN int y_shift(const int n)
{
    return n == 5 ? 2 : 16;
}

KRN_FN uint32_t point_bytes(const int n, const int degree)
{
    return 16u * (uint32_t)(words_of(n) * degree);
}

/* Calls: inlined everywhere, the products would not fit the instruction cache. */
static __attribute__((noinline)) void mul_5(lanes_v *r, const lanes_v *a, const lanes_v *b, const struct lanes_prime *m)
{
    lanes_mul(r, a, b, m, 5);
}

static __attribute__((noinline)) void mul_8(lanes_v *r, const lanes_v *a, const lanes_v *b, const struct lanes_prime *m)
{
    lanes_mul(r, a, b, m, 8);
}

static __attribute__((noinline)) void sqr_5(lanes_v *r, const lanes_v *a, const struct lanes_prime *m)
{
    lanes_sqr(r, a, m, 5);
}

static __attribute__((noinline)) void sqr_8(lanes_v *r, const lanes_v *a, const struct lanes_prime *m)
{
    lanes_sqr(r, a, m, 8);
}

KRN_FN void mul(lanes_v *r, const lanes_v *a, const lanes_v *b, const struct lanes_prime *m, const int n)
{
    if (n == 5)
        mul_5(r, a, b, m);
    else
        mul_8(r, a, b, m);
}

KRN_FN void sqr(lanes_v *r, const lanes_v *a, const struct lanes_prime *m, const int n)
{
    if (n == 5)
        sqr_5(r, a, m);
    else
        sqr_8(r, a, m);
}

/* A coordinate: one or two elements of the base field. */
typedef lanes_v coord[2][LANES_LIMBS_MAX];

struct points {
    coord x, y;
};

KRN_FN void coord_sub(coord r, coord a, coord b, uint64_t k, SHAPE)
{
    KRN_UNROLL
    for (int i = 0; i < degree; i++)
        lanes_sub(r[i], a[i], b[i], k, m, n);
}

KRN_FN void coord_select(coord r, __mmask8 mask, coord a, coord b, SHAPE)
{
    KRN_UNROLL
    for (int i = 0; i < degree; i++)
        lanes_select(r[i], mask, a[i], b[i], n);
}

KRN_FN __mmask8 coord_zero_mask(coord a, SHAPE)
{
    __mmask8 mask = lanes_zero_mask(a[0], n);
    return degree == 1 ? mask : mask & lanes_zero_mask(a[1], n);
}

KRN_FN __mmask8 coord_equal_mask(coord a, coord b, SHAPE)
{
    __mmask8 mask = lanes_equal_mask(a[0], b[0], n);
    return degree == 1 ? mask : mask & lanes_equal_mask(a[1], b[1], n);
}

/* In Fq2, of factors below 5p: Karatsuba on unreduced products, 3 multiplications and 2 reductions. c0 has p S added
 * to stay positive, so it is below 3p. */
KRN_FN void fq2_mul(coord r, coord a, coord b, const struct lanes_prime *m, const int n)
{
    lanes_v sa[LANES_LIMBS_MAX], sb[LANES_LIMBS_MAX];
    lanes_v t0[2 * LANES_LIMBS_MAX], t1[2 * LANES_LIMBS_MAX], t2[2 * LANES_LIMBS_MAX];
    lanes_add(sa, a[0], a[1], n);
    lanes_add(sb, b[0], b[1], n);
    lanes_wide_mul(t0, a[0], b[0], n);
    lanes_wide_mul(t1, a[1], b[1], n);
    lanes_wide_mul(t2, sa, sb, n);
    KRN_UNROLL
    for (int j = 0; j < 2 * n; j++) {
        t2[j] = _mm512_sub_epi64(t2[j], _mm512_add_epi64(t0[j], t1[j]));
        t0[j] = _mm512_sub_epi64(t0[j], t1[j]);
        if (j >= n)
            t0[j] = _mm512_add_epi64(t0[j], lanes_set(m->p[j - n]));
    }
    lanes_redc(r[0], t0, m, n);
    lanes_redc(r[1], t2, m, n);
}

static __attribute__((noinline)) void fq2_mul_5(coord r, coord a, coord b, const struct lanes_prime *m)
{
    fq2_mul(r, a, b, m, 5);
}

static __attribute__((noinline)) void fq2_mul_8(coord r, coord a, coord b, const struct lanes_prime *m)
{
    fq2_mul(r, a, b, m, 8);
}

/* Of factors below 5p, one of them below 3p; the result is below 2p in degree 1, 3p in degree 2. */
KRN_FN void coord_mul(coord r, coord a, coord b, SHAPE)
{
    if (degree == 1)
        mul(r[0], a[0], b[0], m, n);
    else if (n == 5)
        fq2_mul_5(r, a, b, m);
    else
        fq2_mul_8(r, a, b, m);
}

/* Of a below 3p; the result is below 2p. Degree 2: (a0 + a1)(a0 - a1) + 2 a0 a1 u. */
KRN_FN void coord_sqr(coord r, coord a, SHAPE)
{
    if (degree == 1) {
        sqr(r[0], a[0], m, n);
        return;
    }
    lanes_v sum[LANES_LIMBS_MAX], difference[LANES_LIMBS_MAX], twice[LANES_LIMBS_MAX];
    lanes_add(sum, a[0], a[1], n);
    lanes_sub(difference, a[0], a[1], 3, m, n);
    lanes_add(twice, a[0], a[0], n);
    mul(r[1], twice, a[1], m, n);
    mul(r[0], sum, difference, m, n);
}

/* The element of the base field that stands for a in the shared inversion: a itself, or its norm a0^2 + a1^2. */
KRN_FN void coord_norm(lanes_v *r, coord a, SHAPE)
{
    if (degree == 1) {
        lanes_copy(r, a[0], n);
        return;
    }
    lanes_v t0[2 * LANES_LIMBS_MAX], t1[2 * LANES_LIMBS_MAX];
    lanes_wide_sqr(t0, a[0], n);
    lanes_wide_sqr(t1, a[1], n);
    KRN_UNROLL
    for (int j = 0; j < 2 * n; j++)
        t0[j] = _mm512_add_epi64(t0[j], t1[j]);
    lanes_redc(r, t0, m, n);
}

/* 1/a from a, below 2p, and the inverse of its norm: the conjugate over the norm. */
KRN_FN void coord_inverse(coord r, coord a, const lanes_v *norm_inverse, SHAPE)
{
    if (degree == 1) {
        lanes_copy(r[0], norm_inverse, n);
        return;
    }
    lanes_v zero[LANES_LIMBS_MAX] = {0}, minus[LANES_LIMBS_MAX];
    lanes_sub(minus, zero, a[1], 2, m, n);
    mul(r[1], minus, norm_inverse, m, n);
    mul(r[0], a[0], norm_inverse, m, n);
}

/* y / 2^y_shift: a multiple of p is added that makes it divisible. Canonical in, canonical out. */
KRN_FN void divide_y(lanes_v *y, SHAPE)
{
    const int s = y_shift(n);
    const lanes_v mask = lanes_set(LANES_MASK);
    lanes_v k = _mm512_madd52lo_epu64(_mm512_setzero_si512(), y[0], lanes_set(m->np0));
    lanes_v t[LANES_LIMBS_MAX + 1];
    k = _mm512_and_si512(k, lanes_set((1ull << s) - 1));
    lanes_copy(t, y, n);
    t[n] = _mm512_setzero_si512();
    KRN_UNROLL
    for (int j = 0; j < n; j++) {
        t[j] = _mm512_madd52lo_epu64(t[j], k, lanes_set(m->p[j]));
        t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], k, lanes_set(m->p[j]));
    }
    lanes_carry(t, t, n + 1);
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        y[j] = _mm512_and_si512(
            _mm512_or_si512(_mm512_srli_epi64(t[j], s), _mm512_slli_epi64(t[j + 1], LANES_BITS - s)), mask);
}

KRN_FN void negate(coord y, __mmask8 lanes, SHAPE)
{
    lanes_v zero[LANES_LIMBS_MAX] = {0}, minus[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_sub(minus, zero, y[i], 1, m, n);
        lanes_select(y[i], lanes & ~lanes_zero_mask(y[i], n), minus, y[i], n);
    }
}

/* Eight pairs, taken apart: vectors of eight 32-bit numbers. */
struct terms {
    __m256i a, b, to;
};

KRN_FN struct terms terms_of(const struct sum_pair *pairs)
{
    const __m512i low = _mm512_loadu_si512(pairs), high = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)pairs + 2));
    const __m512i a = _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i b = _mm512_add_epi32(a, one), to = _mm512_add_epi32(b, one);
    return (struct terms){
        .a = _mm512_castsi512_si256(_mm512_permutex2var_epi32(low, a, high)),
        .b = _mm512_castsi512_si256(_mm512_permutex2var_epi32(low, b, high)),
        .to = _mm512_castsi512_si256(_mm512_permutex2var_epi32(low, to, high)),
    };
}

/* Addresses of eight points of `bytes` each. */
KRN_FN void addresses(uint8_t **at, const uint8_t *base, __m256i index, uint32_t bytes)
{
    __m512i offset = _mm512_mullo_epi64(_mm512_cvtepu32_epi64(index), lanes_set(bytes));
    _mm512_storeu_si512(at, _mm512_add_epi64(offset, lanes_set((uint64_t)(uintptr_t)base)));
}

/* Where the points of eight terms lie. */
KRN_FN void locate(const uint8_t **at, __m256i terms, const uint8_t *arena, const struct sum_source *src, SHAPE)
{
    const uint8_t *base = arena;
    if (src != NULL) {
        terms = _mm256_sub_epi32(_mm256_srli_epi32(terms, 1), _mm256_set1_epi32((int)src->first));
        base = src->points;
    }
    addresses((uint8_t **)at, base, terms, point_bytes(n, degree));
}

KRN_FN void load_x(coord x, const uint8_t *const *at, SHAPE)
{
    lanes_v w[2 * 6];
    lanes_gather(w, at, degree * words_of(n));
    KRN_UNROLL
    for (int i = 0; i < degree; i++)
        lanes_from_words(x[i], w + i * words_of(n), words_of(n), n);
}

KRN_FN void load_y(coord y, const uint8_t *const *at, __m256i terms, const struct sum_source *src, SHAPE)
{
    const uint8_t *second[LANES];
    KRN_UNROLL
    for (int i = 0; i < LANES; i++)
        second[i] = at[i] + point_bytes(n, degree) / 2;
    load_x(y, second, m, n, degree);
    if (src == NULL)
        return;
    KRN_UNROLL
    for (int i = 0; i < degree; i++)
        divide_y(y[i], m, n, degree);
    negate(y, _mm256_test_epi32_mask(terms, _mm256_set1_epi32(1)), m, n, degree);
}

KRN_FN void load(struct points *p, __m256i terms, const uint8_t *arena, const struct sum_source *src, SHAPE)
{
    const uint8_t *at[LANES];
    locate(at, terms, arena, src, m, n, degree);
    load_x(p->x, at, m, n, degree);
    load_y(p->y, at, terms, src, m, n, degree);
}

KRN_FN void store(uint8_t *arena, __m256i to, struct points *p, SHAPE)
{
    const int words = words_of(n);
    uint8_t *at[LANES];
    lanes_v w[4 * 6];
    addresses(at, arena, to, point_bytes(n, degree));
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_to_words(w + i * words, p->x[i], words, n);
        lanes_to_words(w + (degree + i) * words, p->y[i], words, n);
    }
    lanes_scatter(at, w, 2 * degree * words);
}

/* Lanes in which a + b has no slope, or a tangent's. */
struct special {
    __mmask8 a_inf, b_inf, equal, opposite;
};

KRN_FN __mmask8 any_special(coord ax, coord bx, SHAPE)
{
    return coord_equal_mask(ax, bx, m, n, degree) | coord_zero_mask(ax, m, n, degree) |
           coord_zero_mask(bx, m, n, degree);
}

KRN_FN struct special classify(struct points *a, struct points *b, SHAPE)
{
    struct special s;
    coord sum;
    s.a_inf = coord_zero_mask(a->x, m, n, degree) & coord_zero_mask(a->y, m, n, degree);
    s.b_inf = coord_zero_mask(b->x, m, n, degree) & coord_zero_mask(b->y, m, n, degree);
    __mmask8 same_x = coord_equal_mask(a->x, b->x, m, n, degree) & ~(s.a_inf | s.b_inf);
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_add(sum[i], a->y[i], b->y[i], n);
        lanes_reduce(sum[i], sum[i], m, n);
    }
    s.opposite = same_x & coord_zero_mask(sum, m, n, degree);
    s.equal = same_x & ~s.opposite;
    return s;
}

/* The denominator of the slope, below 2p, not 0 in any lane; d is b.x - a.x where there is nothing special. */
KRN_FN void mend_denominator(coord d, struct points *a, struct points *b, SHAPE)
{
    struct special s = classify(a, b, m, n, degree);
    lanes_v one[LANES_LIMBS_MAX] = {lanes_set(1)}, zero[LANES_LIMBS_MAX] = {0}, twice[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_add(twice, a->y[i], a->y[i], n);
        lanes_select(d[i], s.equal, twice, d[i], n);
        lanes_select(d[i], s.a_inf | s.b_inf | s.opposite, i == 0 ? one : zero, d[i], n);
    }
}

/* The slope's numerator, below 3p, where there may be tangents: 3 x^2. */
KRN_FN void mend_numerator(coord r, struct points *a, struct points *b, SHAPE)
{
    coord t;
    coord_sqr(t, a->x, m, n, degree);
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_reduce(t[i], t[i], m, n);
        lanes_times(t[i], t[i], 3, n);
    }
    coord_select(r, coord_equal_mask(a->x, b->x, m, n, degree), t, r, m, n, degree);
}

/* x = slope^2 - a.x - b.x, below 4p, and a.x - x, below 5p, of slope^2 below 2p: each one sum and one carry, so that the
 * product that waits for them waits little. */
KRN_FN void chord_x(coord x, coord difference, coord square, struct points *a, struct points *b, SHAPE)
{
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_v minus_x[LANES_LIMBS_MAX], t[LANES_LIMBS_MAX];
        KRN_UNROLL
        for (int j = 0; j < n; j++) {
            minus_x[j] = _mm512_sub_epi64(_mm512_add_epi64(a->x[i][j], b->x[i][j]), square[i][j]);
            t[j] = _mm512_add_epi64(_mm512_add_epi64(a->x[i][j], minus_x[j]), lanes_set(2 * m->p[j]));
            minus_x[j] = _mm512_sub_epi64(lanes_set(2 * m->p[j]), minus_x[j]);
        }
        lanes_carry(difference[i], t, n);
        lanes_carry(x[i], minus_x, n);
    }
}

/* The canonical sum, of x and of product = slope (a.x - x), below 3p. */
KRN_FN void chord_end(struct points *sum, coord product, struct points *a, SHAPE)
{
    coord_sub(product, product, a->y, 1, m, n, degree);
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_reduce(sum->x[i], sum->x[i], m, n);
        lanes_reduce(sum->y[i], product[i], m, n);
    }
}

/* What the slope does not give. */
KRN_FN void mend_sum(struct points *sum, struct points *a, struct points *b, SHAPE)
{
    struct special s = classify(a, b, m, n, degree);
    coord zero = {0};
    coord_select(sum->x, s.opposite, zero, sum->x, m, n, degree);
    coord_select(sum->y, s.opposite, zero, sum->y, m, n, degree);
    coord_select(sum->x, s.b_inf, a->x, sum->x, m, n, degree);
    coord_select(sum->y, s.b_inf, a->y, sum->y, m, n, degree);
    coord_select(sum->x, s.a_inf, b->x, sum->x, m, n, degree);
    coord_select(sum->y, s.a_inf, b->y, sum->y, m, n, degree);
}

/* 1/x S^2 of x S in 64-bit words: kernels/field.h inverts with R in place of S. */
static void invert_words(uint64_t *x, SHAPE)
{
    if (words_of(n) == 4) {
        bn254_fq v, factor;
        memcpy(&v, x, sizeof v);
        bn254_fq_inv(&v, &v);                       /* R^2 / x S */
        bn254_fq_set_u64(&factor, 1ull << (2 * 4)); /* (S / R)^2 */
        bn254_fq_mul(&v, &v, &factor);
        memcpy(x, &v, sizeof v);
    } else {
        bls381_fq v, factor;
        memcpy(&v, x, sizeof v);
        bls381_fq_inv(&v, &v);
        bls381_fq_set_u64(&factor, 1ull << 32);     /* S / R, twice */
        bls381_fq_mul(&v, &v, &factor);
        bls381_fq_mul(&v, &v, &factor);
        memcpy(x, &v, sizeof v);
    }
}

/* Lanes rotated by k. */
KRN_FN void rotate(lanes_v *r, const lanes_v *a, const int k, const int n)
{
    const lanes_v from = _mm512_and_si512(
        _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), lanes_set((uint64_t)k)), lanes_set(LANES - 1));
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        r[j] = _mm512_permutexvar_epi64(from, a[j]);
}

/* Inverts every lane of a by one inversion: products of 2, 4 and 8 lanes, each lane's neighbours, on the way up; down
 * again, the inverse of a product times the neighbours' product is the inverse of the rest. */
KRN_FN void invert_lanes(lanes_v *a, SHAPE)
{
    const int words = words_of(n);
    lanes_v product[4][LANES_LIMBS_MAX], t[LANES_LIMBS_MAX], w[6];
    uint64_t whole[6];
    lanes_copy(product[0], a, n);
    for (int i = 0; i < 3; i++) {
        rotate(t, product[i], LANES >> (i + 1), n);
        mul(product[i + 1], product[i], t, m, n);
    }
    lanes_reduce(t, product[3], m, n);
    lanes_to_words(w, t, words, n);
    for (int k = 0; k < words; k++)
        whole[k] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(w[k]));
    invert_words(whole, m, n, degree);
    for (int k = 0; k < words; k++)
        w[k] = lanes_set(whole[k]);
    lanes_from_words(a, w, words, n);
    for (int i = 3; i-- > 0;) {
        rotate(t, product[i], LANES >> (i + 1), n);
        mul(a, a, t, m, n);
    }
}

/* Fills the list up to whole steps with copies of its last pair. They compute the same and write the same. */
KRN_FN size_t fill_up(struct sum_pair *pairs, size_t n, size_t step)
{
    size_t end = (n + step - 1) / step * step;
    for (size_t i = n; i < end; i++)
        pairs[i] = pairs[n - 1];
    return end;
}

KRN_FN void prefetch(const struct sum_pair *pairs, const uint8_t *arena, const struct sum_source *src, SHAPE)
{
    const struct terms t = terms_of(pairs);
    const uint8_t *at[2 * LANES];
    locate(at, t.a, arena, src, m, n, degree);
    locate(at + LANES, t.b, arena, src, m, n, degree);
    KRN_UNROLL
    for (int i = 0; i < 2 * LANES; i++) {
        KRN_UNROLL
        for (uint32_t byte = 0; byte < point_bytes(n, degree); byte += 64)
            __builtin_prefetch(at[i] + byte);
        __builtin_prefetch(at[i] + point_bytes(n, degree) - 1);
    }
}

/* Scratch of one step. */
struct step {
    lanes_v norm[BLOCKS][LANES_LIMBS_MAX];      /* of the denominators */
    lanes_v before[BLOCKS][LANES_LIMBS_MAX];    /* product of the norms before it in its chain */
};

/* Denominators of one vector of additions; returns whether any is special. */
KRN_FN int begin_block(lanes_v *norm, const struct sum_pair *pairs, const uint8_t *arena, const struct sum_source *src,
                       SHAPE)
{
    const struct terms t = terms_of(pairs);
    const uint8_t *at_a[LANES], *at_b[LANES];
    struct points a, b;
    coord d;
    locate(at_a, t.a, arena, src, m, n, degree);
    locate(at_b, t.b, arena, src, m, n, degree);
    load_x(a.x, at_a, m, n, degree);
    load_x(b.x, at_b, m, n, degree);
    coord_sub(d, b.x, a.x, 1, m, n, degree);
    int special = any_special(a.x, b.x, m, n, degree) != 0;
    if (__builtin_expect(special, 0)) {
        load_y(a.y, at_a, t.a, src, m, n, degree);
        load_y(b.y, at_b, t.b, src, m, n, degree);
        mend_denominator(d, &a, &b, m, n, degree);
    }
    coord_norm(norm, d, m, n, degree);
    return special;
}

/* The slopes' numerator and denominator. */
KRN_FN void slope_parts(coord numerator, coord denominator, struct points *a, struct points *b, int special, SHAPE)
{
    coord_sub(numerator, b->y, a->y, 1, m, n, degree);
    if (degree == 2)
        coord_sub(denominator, b->x, a->x, 1, m, n, degree);
    if (__builtin_expect(special, 0)) {
        mend_numerator(numerator, a, b, m, n, degree);
        if (degree == 2)
            mend_denominator(denominator, a, b, m, n, degree);
    }
}

/* The next inverse of chain k, from the end, and the chain's inverse without it. */
KRN_FN void take_inverse(lanes_v *inverse, lanes_v *acc, const struct step *step, int k, const struct lanes_prime *m,
                         const int n)
{
    mul(inverse, acc, step->before[k], m, n);
    mul(acc, acc, step->norm[k], m, n);
}

/*
 * One batch. Forwards, the product of all denominators' norms, in BLOCKS chains of eight lanes, side by side; one
 * inversion; and from the end backwards each denominator's inverse, and with it the addition.
 */
KRN_FN void add_pairs(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count,
                      void *scratch, SHAPE)
{
    const size_t steps = fill_up(pairs, count, STEP) / STEP;
    struct step *step = scratch;
    uint8_t special[SUM_CHUNK / 2 / STEP + 1];
    lanes_v acc[BLOCKS][LANES_LIMBS_MAX] = {0}, norm_inverse[BLOCKS][LANES_LIMBS_MAX];
    lanes_v both[LANES_LIMBS_MAX], first[LANES_LIMBS_MAX];

    for (int k = 0; k < BLOCKS; k++)
        acc[k][0] = lanes_set(1);
    for (size_t i = 0; i < steps; i++) {
        const struct sum_pair *at = pairs + i * STEP;
        special[i] = 0;
        for (int k = 0; k < BLOCKS; k++) {
            if (src != NULL && i + 2 < steps)
                prefetch(at + 2 * STEP + k * LANES, arena, src, m, n, degree);
            special[i] |= (uint8_t)(begin_block(step[i].norm[k], at + k * LANES, arena, src, m, n, degree) << k);
            lanes_copy(step[i].before[k], acc[k], n);
            mul(acc[k], acc[k], step[i].norm[k], m, n);
        }
    }

    mul(both, acc[0], acc[1], m, n);
    invert_lanes(both, m, n, degree);
    mul(first, both, acc[1], m, n);
    mul(acc[1], both, acc[0], m, n);
    lanes_copy(acc[0], first, n);

    for (int k = 0; k < BLOCKS; k++)
        take_inverse(norm_inverse[k], acc[k], &step[steps - 1], k, m, n);
    for (size_t i = steps; i-- > 0;) {
        struct points a[BLOCKS], b[BLOCKS], sum[BLOCKS];
        coord slope[BLOCKS], t[BLOCKS];
        struct terms terms[BLOCKS];
        for (int k = 0; k < BLOCKS; k++) {
            coord denominator, inverse;
            terms[k] = terms_of(pairs + i * STEP + k * LANES);
            load(&a[k], terms[k].a, arena, src, m, n, degree);
            load(&b[k], terms[k].b, arena, src, m, n, degree);
            slope_parts(slope[k], denominator, &a[k], &b[k], special[i] >> k & 1, m, n, degree);
            coord_inverse(inverse, denominator, norm_inverse[k], m, n, degree);
            coord_mul(slope[k], slope[k], inverse, m, n, degree);
        }
        for (int k = 0; k < BLOCKS; k++)
            coord_sqr(t[k], slope[k], m, n, degree);
        for (int k = 0; k < BLOCKS; k++)
            chord_x(sum[k].x, t[k], t[k], &a[k], &b[k], m, n, degree);
        for (int k = 0; k < BLOCKS; k++)
            coord_mul(t[k], slope[k], t[k], m, n, degree);
        for (int k = 0; k < BLOCKS; k++) {
            if (i > 0)  /* here, because the multiplier would be idle else */
                take_inverse(norm_inverse[k], acc[k], &step[i - 1], k, m, n);
            chord_end(&sum[k], t[k], &a[k], m, n, degree);
            if (__builtin_expect(special[i] >> k & 1, 0))
                mend_sum(&sum[k], &a[k], &b[k], m, n, degree);
            store(arena, terms[k].to, &sum[k], m, n, degree);
        }
    }
}

KRN_FN void take_points(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count,
                        SHAPE)
{
    const size_t end = fill_up(pairs, count, LANES);
    for (size_t i = 0; i < end; i += LANES) {
        const struct terms t = terms_of(pairs + i);
        struct points p;
        load(&p, t.a, arena, src, m, n, degree);
        store(arena, t.to, &p, m, n, degree);
    }
}

KRN_FN void add_any(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count, void *scratch,
                    SHAPE)
{
    if (src == NULL)
        add_pairs(arena, NULL, pairs, count, scratch, m, n, degree);
    else
        add_pairs(arena, src, pairs, count, scratch, m, n, degree);
}

/* One group's entries of the table. */
#define TWIN(group, base, n, degree) \
    static void group##_lanes_add(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count, \
                            void *scratch) \
    { \
        const struct lanes_prime m = lanes_prime_of(base##_modulus().l, base##_limbs, base##_np0(), n); \
        add_any(arena, src, pairs, count, scratch, &m, n, degree); \
    } \
    static void group##_lanes_take(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count) \
    { \
        const struct lanes_prime m = lanes_prime_of(base##_modulus().l, base##_limbs, base##_np0(), n); \
        take_points(arena, src, pairs, count, &m, n, degree); \
    } \
    static void group##_lanes_leave(uint8_t *point, const uint8_t *arena, uint32_t index) \
    { \
        base y[degree], factor; \
        memcpy(point, arena + (size_t)index * 2 * sizeof y, 2 * sizeof y); \
        memcpy(y, point + sizeof y, sizeof y); \
        base##_set_u64(&factor, 1ull << y_shift(n)); \
        for (int i = 0; i < degree; i++) \
            base##_mul(&y[i], &y[i], &factor); \
        memcpy(point + sizeof y, y, sizeof y); \
    } \
    static const struct sum_ops group##_lanes_ops = { \
        .point_bytes = 2 * degree * sizeof(base), \
        .scratch_bytes = sizeof(struct step) / STEP, \
        .add = group##_lanes_add, \
        .take = group##_lanes_take, \
        .leave = group##_lanes_leave, \
    }

TWIN(bn254_g1, bn254_fq, 5, 1);
TWIN(bn254_g2, bn254_fq, 5, 2);
TWIN(bls381_g1, bls381_fq, 8, 1);
TWIN(bls381_g2, bls381_fq, 8, 2);

const struct sum_ops *const sum_ops_ifma[KRN_CURVES][2] = {
    [KRN_BN254] = {&bn254_g1_lanes_ops, &bn254_g2_lanes_ops},
    [KRN_BLS12_381] = {&bls381_g1_lanes_ops, &bls381_g2_lanes_ops},
};

#endif
