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

/* In Fq2, of factors below 4p: Karatsuba on unreduced products, 3 multiplications and 2 reductions. c0 has p S added
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

/* Of factors below 4p; the result is below 2p in degree 1, 3p in degree 2. */
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

/* 1/a from a, below 2p, and the inverse of its norm. */
KRN_FN void coord_inverse(coord r, coord a, const lanes_v *norm_inverse, SHAPE)
{
    if (degree == 1) {
        lanes_copy(r[0], norm_inverse, n);
        return;
    }
    lanes_v zero[LANES_LIMBS_MAX] = {0}, minus[LANES_LIMBS_MAX];
    lanes_sub(minus, zero, a[1], 2, m, n);
    mul(r[0], a[0], norm_inverse, m, n);
    mul(r[1], minus, norm_inverse, m, n);
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

/* Where the points of eight terms lie, and which are to be negated. */
KRN_FN __mmask8 locate(const uint8_t **at, const uint32_t *terms, const uint8_t *arena, const struct sum_source *src,
                       SHAPE)
{
    unsigned minus = 0;
    for (int i = 0; i < LANES; i++) {
        if (src == NULL) {
            at[i] = arena + (size_t)terms[i] * point_bytes(n, degree);
        } else {
            at[i] = src->points + ((size_t)(terms[i] >> 1) - src->first) * point_bytes(n, degree);
            minus |= (terms[i] & 1) << i;
        }
    }
    return (__mmask8)minus;
}

KRN_FN void load(struct points *p, const uint32_t *terms, const uint8_t *arena, const struct sum_source *src,
                 SHAPE)
{
    const int words = words_of(n);
    const uint8_t *at[LANES];
    lanes_v w[4 * 6];
    __mmask8 minus = locate(at, terms, arena, src, m, n, degree);
    lanes_gather(w, at, 2 * degree * words);
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_from_words(p->x[i], w + i * words, words, n);
        lanes_from_words(p->y[i], w + (degree + i) * words, words, n);
        if (src != NULL)
            divide_y(p->y[i], m, n, degree);
    }
    if (src != NULL)
        negate(p->y, minus, m, n, degree);
}

KRN_FN void store(uint8_t *arena, const uint32_t *to, struct points *p, SHAPE)
{
    const int words = words_of(n);
    uint8_t *at[LANES];
    lanes_v w[4 * 6];
    for (int i = 0; i < LANES; i++)
        at[i] = arena + (size_t)to[i] * point_bytes(n, degree);
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

KRN_FN __mmask8 any_special(struct points *a, struct points *b, SHAPE)
{
    return coord_equal_mask(a->x, b->x, m, n, degree) | coord_zero_mask(a->x, m, n, degree) | coord_zero_mask(b->x, m, n, degree);
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

/* The denominator of the slope, below 2p, not 0 in any lane. */
KRN_FN void denominator(coord d, struct points *a, struct points *b, SHAPE)
{
    coord_sub(d, b->x, a->x, 1, m, n, degree);
    if (__builtin_expect(any_special(a, b, m, n, degree) == 0, 1))
        return;
    struct special s = classify(a, b, m, n, degree);
    lanes_v one[LANES_LIMBS_MAX] = {lanes_set(1)}, zero[LANES_LIMBS_MAX] = {0}, twice[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_add(twice, a->y[i], a->y[i], n);
        lanes_select(d[i], s.equal, twice, d[i], n);
        lanes_select(d[i], s.a_inf | s.b_inf | s.opposite, i == 0 ? one : zero, d[i], n);
    }
}

/* The slope's numerator, below 4p and, in degree 2, below 3p. */
KRN_FN void numerator(coord r, struct points *a, struct points *b, SHAPE)
{
    coord_sub(r, b->y, a->y, 1, m, n, degree);
    __mmask8 same_x = coord_equal_mask(a->x, b->x, m, n, degree);
    if (__builtin_expect(same_x == 0, 1))
        return;
    coord t;
    coord_sqr(t, a->x, m, n, degree);
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_reduce(t[i], t[i], m, n);
        lanes_times(t[i], t[i], 3, n);
    }
    coord_select(r, same_x, t, r, m, n, degree);
}

/* sum = a + b; slope below 3p. */
KRN_FN void chord(struct points *sum, struct points *a, struct points *b, coord slope, SHAPE)
{
    coord t;
    coord_sqr(t, slope, m, n, degree);
    KRN_UNROLL
    for (int i = 0; i < degree; i++) {
        lanes_v both[LANES_LIMBS_MAX];
        lanes_add(both, a->x[i], b->x[i], n);
        lanes_sub(t[i], t[i], both, 2, m, n);
        lanes_reduce(sum->x[i], t[i], m, n);
    }
    coord_sub(t, a->x, sum->x, 1, m, n, degree);
    coord_mul(t, slope, t, m, n, degree);
    coord_sub(t, t, a->y, 1, m, n, degree);
    KRN_UNROLL
    for (int i = 0; i < degree; i++)
        lanes_reduce(sum->y[i], t[i], m, n);
}

/* What the slope does not give. */
KRN_FN void mend(struct points *sum, struct points *a, struct points *b, SHAPE)
{
    if (__builtin_expect(any_special(a, b, m, n, degree) == 0, 1))
        return;
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

KRN_FN void terms_of(uint32_t *a, uint32_t *b, uint32_t *to, const struct sum_pair *pairs)
{
    for (int i = 0; i < LANES; i++) {
        a[i] = pairs[i].a;
        b[i] = pairs[i].b;
        to[i] = pairs[i].to;
    }
}

KRN_FN void load_pairs(struct points *a, struct points *b, uint32_t *to, const struct sum_pair *pairs,
                       const uint8_t *arena, const struct sum_source *src, SHAPE)
{
    uint32_t ta[LANES], tb[LANES];
    terms_of(ta, tb, to, pairs);
    load(a, ta, arena, src, m, n, degree);
    load(b, tb, arena, src, m, n, degree);
}

KRN_FN void prefetch(const struct sum_pair *pairs, const uint8_t *arena, const struct sum_source *src,
                     SHAPE)
{
    uint32_t ta[LANES], tb[LANES], to[LANES];
    const uint8_t *at[LANES];
    terms_of(ta, tb, to, pairs);
    for (int side = 0; side < 2; side++) {
        locate(at, side == 0 ? ta : tb, arena, src, m, n, degree);
        for (int i = 0; i < LANES; i++)
            for (uint32_t line = 0; line < point_bytes(n, degree) + 63; line += 64)
                __builtin_prefetch(at[i] + (line < point_bytes(n, degree) ? line : point_bytes(n, degree) - 1));
    }
}

/*
 * One batch. Scratch: for each vector of eight additions the norm of the denominator and the product of those before
 * it in its chain; BLOCKS chains run side by side. The denominators are then inverted from the end backwards, and
 * the additions are done on the way.
 */
KRN_FN void add_pairs(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count,
                      void *scratch, SHAPE)
{
    const size_t end = fill_up(pairs, count, STEP);
    lanes_v (*norms)[BLOCKS][2][LANES_LIMBS_MAX] = scratch;
    lanes_v acc[BLOCKS][LANES_LIMBS_MAX] = {0};
    struct points a[BLOCKS], b[BLOCKS];
    uint32_t to[BLOCKS][LANES];

    for (int k = 0; k < BLOCKS; k++)
        acc[k][0] = lanes_set(1);
    for (size_t i = 0; i < end; i += STEP) {
        lanes_v (*at)[2][LANES_LIMBS_MAX] = norms[i / STEP];
        if (i + 3 * STEP <= end)
            for (int k = 0; k < BLOCKS; k++)
                prefetch(&pairs[i + 2 * STEP + (size_t)k * LANES], arena, src, m, n, degree);
        for (int k = 0; k < BLOCKS; k++) {
            coord d;
            load_pairs(&a[k], &b[k], to[k], &pairs[i + (size_t)k * LANES], arena, src, m, n, degree);
            denominator(d, &a[k], &b[k], m, n, degree);
            coord_norm(at[k][0], d, m, n, degree);
        }
        for (int k = 0; k < BLOCKS; k++) {
            lanes_copy(at[k][1], acc[k], n);
            mul(acc[k], acc[k], at[k][0], m, n);
        }
    }

    lanes_v both[LANES_LIMBS_MAX], t[LANES_LIMBS_MAX];
    mul(both, acc[0], acc[1], m, n);
    invert_lanes(both, m, n, degree);
    mul(t, both, acc[1], m, n);
    mul(acc[1], both, acc[0], m, n);
    lanes_copy(acc[0], t, n);

    for (size_t i = end; i > 0;) {
        i -= STEP;
        lanes_v (*at)[2][LANES_LIMBS_MAX] = norms[i / STEP];
        coord inverse[BLOCKS], d[BLOCKS], slope[BLOCKS];
        struct points sum[BLOCKS];
        for (int k = 0; k < BLOCKS; k++)
            load_pairs(&a[k], &b[k], to[k], &pairs[i + (size_t)k * LANES], arena, src, m, n, degree);
        for (int k = 0; k < BLOCKS; k++) {
            mul(t, acc[k], at[k][1], m, n);
            mul(acc[k], acc[k], at[k][0], m, n);
            if (degree == 2)
                denominator(d[k], &a[k], &b[k], m, n, degree);
            coord_inverse(inverse[k], d[k], t, m, n, degree);
        }
        for (int k = 0; k < BLOCKS; k++) {
            numerator(slope[k], &a[k], &b[k], m, n, degree);
            coord_mul(slope[k], slope[k], inverse[k], m, n, degree);
        }
        for (int k = 0; k < BLOCKS; k++)
            chord(&sum[k], &a[k], &b[k], slope[k], m, n, degree);
        for (int k = 0; k < BLOCKS; k++) {
            mend(&sum[k], &a[k], &b[k], m, n, degree);
            store(arena, to[k], &sum[k], m, n, degree);
        }
    }
}

KRN_FN void take_points(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count,
                        SHAPE)
{
    const size_t end = fill_up(pairs, count, LANES);
    for (size_t i = 0; i < end; i += LANES) {
        struct points p;
        uint32_t from[LANES], none[LANES], to[LANES];
        terms_of(from, none, to, &pairs[i]);
        load(&p, from, arena, src, m, n, degree);
        store(arena, to, &p, m, n, degree);
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
        .scratch_bytes = sizeof(lanes_v[2][LANES_LIMBS_MAX]) / LANES, \
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
