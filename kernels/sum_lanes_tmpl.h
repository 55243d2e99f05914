/*
 * kernels/sum_lanes_tmpl.h: the IFMA twin for one group, written once. kernels/sum_ifma.c includes this file with
 *
 *   EC the group, e.g. bn254_g1     EC_BASE its base field, e.g. bn254_fq    N that field's limbs of 52 bits
 *   DEGREE 1 where coordinates lie in the base field, 2 for its quadratic extension
 *   Y_SHIFT log2 of 1/u, see there
 *
 * No include guard.
 */
#define L(name) KRN_PASTE(EC, KRN_PASTE(lanes, name))
#define B(name) KRN_PASTE(EC_BASE, name)
#define MUL KRN_PASTE(mul, N)
#define SQR KRN_PASTE(sqr, N)
#define COORD L(coord)
#define POINTS L(points)

enum { L(bytes) = 2 * DEGREE * B(bytes) };  /* of a point in memory */

/* A coordinate, and points, of eight lanes. */
typedef lanes_v COORD[DEGREE][N];

typedef struct {
    COORD x, y;
} POINTS;

/* ---- coordinates ---- */

/* a - b + k p */
KRN_FN void L(sub)(COORD r, COORD a, COORD b, uint64_t k, const struct lanes_prime *m)
{
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++)
        lanes_sub(r[i], a[i], b[i], k, m, N);
}

KRN_FN void L(select)(COORD r, __mmask8 mask, COORD a, COORD b)
{
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++)
        lanes_select(r[i], mask, a[i], b[i], N);
}

KRN_FN __mmask8 L(zero_mask)(COORD a)
{
    __mmask8 mask = lanes_zero_mask(a[0], N);
    KRN_UNROLL
    for (int i = 1; i < DEGREE; i++)
        mask &= lanes_zero_mask(a[i], N);
    return mask;
}

KRN_FN __mmask8 L(equal_mask)(COORD a, COORD b)
{
    __mmask8 mask = lanes_equal_mask(a[0], b[0], N);
    KRN_UNROLL
    for (int i = 1; i < DEGREE; i++)
        mask &= lanes_equal_mask(a[i], b[i], N);
    return mask;
}

#if DEGREE == 1

/* Of factors below 5p, one of them below 3p; below 2p. */
KRN_FN void L(mul)(COORD r, COORD a, COORD b, const struct lanes_prime *m)
{
    MUL(r[0], a[0], b[0], m);
}

/* Of a below 3p; below 2p. */
KRN_FN void L(sqr)(COORD r, COORD a, const struct lanes_prime *m)
{
    SQR(r[0], a[0], m);
}

/* What stands for a in the shared inversion: an element of the base field whose inverse gives a's. */
KRN_FN void L(norm)(lanes_v *r, COORD a, const struct lanes_prime *m)
{
    (void)m;
    lanes_copy(r, a[0], N);
}

/* 1/a from a, below 2p, and the inverse of its norm. */
KRN_FN void L(inverse)(COORD r, COORD a, const lanes_v *norm_inverse, const struct lanes_prime *m)
{
    (void)a, (void)m;
    lanes_copy(r[0], norm_inverse, N);
}

#else

/* Karatsuba on unreduced products: 3 multiplications, 2 reductions. Of factors below 5p, one of them below 3p; below
 * 3p, because c0 has p S added to stay positive. */
static __attribute__((noinline)) void L(mul)(COORD r, COORD a, COORD b, const struct lanes_prime *m)
{
    lanes_v sa[N], sb[N], t0[2 * N], t1[2 * N], t2[2 * N];
    lanes_add(sa, a[0], a[1], N);
    lanes_add(sb, b[0], b[1], N);
    lanes_wide_mul(t0, a[0], b[0], N);
    lanes_wide_mul(t1, a[1], b[1], N);
    lanes_wide_mul(t2, sa, sb, N);
    KRN_UNROLL
    for (int j = 0; j < 2 * N; j++) {
        t2[j] = _mm512_sub_epi64(t2[j], _mm512_add_epi64(t0[j], t1[j]));
        t0[j] = _mm512_sub_epi64(t0[j], t1[j]);
        if (j >= N)
            t0[j] = _mm512_add_epi64(t0[j], lanes_set(m->p[j - N]));
    }
    lanes_redc(r[0], t0, m, N);
    lanes_redc(r[1], t2, m, N);
}

/* (a0 + a1)(a0 - a1) + 2 a0 a1 u, of a below 3p; below 2p. */
KRN_FN void L(sqr)(COORD r, COORD a, const struct lanes_prime *m)
{
    lanes_v sum[N], difference[N], twice[N];
    lanes_add(sum, a[0], a[1], N);
    lanes_sub(difference, a[0], a[1], 3, m, N);
    lanes_add(twice, a[0], a[0], N);
    MUL(r[1], twice, a[1], m);
    MUL(r[0], sum, difference, m);
}

/* a0^2 + a1^2 */
static __attribute__((noinline)) void L(norm)(lanes_v *r, COORD a, const struct lanes_prime *m)
{
    lanes_v t0[2 * N], t1[2 * N];
    lanes_wide_sqr(t0, a[0], N);
    lanes_wide_sqr(t1, a[1], N);
    KRN_UNROLL
    for (int j = 0; j < 2 * N; j++)
        t0[j] = _mm512_add_epi64(t0[j], t1[j]);
    lanes_redc(r, t0, m, N);
}

/* The conjugate over the norm. */
KRN_FN void L(inverse)(COORD r, COORD a, const lanes_v *norm_inverse, const struct lanes_prime *m)
{
    lanes_v zero[N] = {0}, minus[N];
    lanes_sub(minus, zero, a[1], 2, m, N);
    MUL(r[0], a[0], norm_inverse, m);
    MUL(r[1], minus, norm_inverse, m);
}

#endif

/* ---- points in memory ---- */

/* y / 2^Y_SHIFT: a multiple of p is added that makes it divisible. Canonical in, canonical out. */
KRN_FN void L(divide)(lanes_v *y, const struct lanes_prime *m)
{
    lanes_v k = _mm512_madd52lo_epu64(_mm512_setzero_si512(), y[0], lanes_set(m->np0)), t[N + 1];
    k = _mm512_and_si512(k, lanes_set((1ull << Y_SHIFT) - 1));
    lanes_copy(t, y, N);
    t[N] = _mm512_setzero_si512();
    KRN_UNROLL
    for (int j = 0; j < N; j++) {
        t[j] = _mm512_madd52lo_epu64(t[j], k, lanes_set(m->p[j]));
        t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], k, lanes_set(m->p[j]));
    }
    lanes_carry(t, t, N + 1);
    KRN_UNROLL
    for (int j = 0; j < N; j++)
        y[j] = _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(t[j], Y_SHIFT),
                                                _mm512_slli_epi64(t[j + 1], LANES_BITS - Y_SHIFT)),
                                lanes_set(LANES_MASK));
}

/* -y in some lanes; 0 stays 0. */
KRN_FN void L(negate)(lanes_v *y, __mmask8 where, const struct lanes_prime *m)
{
    lanes_v zero[N] = {0}, minus[N];
    lanes_sub(minus, zero, y, 1, m, N);
    lanes_select(y, where & ~lanes_zero_mask(y, N), minus, y, N);
}

/* Where the points of eight terms lie, and which are to be negated. */
KRN_FN __mmask8 L(locate)(const uint8_t **at, const uint32_t *terms, const uint8_t *arena, const struct sum_source *src)
{
    unsigned minus = 0;
    if (src == NULL) {
        for (int i = 0; i < LANES; i++)
            at[i] = arena + (size_t)terms[3 * i] * L(bytes);
        return 0;
    }
    for (int i = 0; i < LANES; i++) {
        at[i] = src->points + ((size_t)(terms[3 * i] >> 1) - src->first) * L(bytes);
        minus |= (terms[3 * i] & 1) << i;
    }
    return (__mmask8)minus;
}

/* The coordinate that lies `offset` bytes into each point. */
KRN_FN void L(load_coord)(COORD r, const uint8_t *const *at, size_t offset)
{
    const uint8_t *from[LANES];
    lanes_v w[DEGREE * B(limbs)];
    for (int i = 0; i < LANES; i++)
        from[i] = at[i] + offset;
    lanes_gather(w, from, DEGREE * B(limbs));
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++)
        lanes_from_words(r[i], w + i * B(limbs), B(limbs), N);
}

KRN_FN void L(load_x)(COORD x, const uint8_t *const *at)
{
    L(load_coord)(x, at, 0);
}

KRN_FN void L(load)(POINTS *p, const uint32_t *terms, const uint8_t *arena,
                                              const struct sum_source *src, const struct lanes_prime *m)
{
    const uint8_t *at[LANES];
    __mmask8 minus = L(locate)(at, terms, arena, src);
    L(load_coord)(p->x, at, 0);
    L(load_coord)(p->y, at, L(bytes) / 2);
    if (src == NULL)
        return;
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        L(divide)(p->y[i], m);
        L(negate)(p->y[i], minus, m);
    }
}

/* Canonical points, to the third member of each pair. */
KRN_FN void L(store)(uint8_t *arena, const struct sum_pair *pairs, POINTS *p)
{
    uint8_t *at[LANES];
    lanes_v w[2 * DEGREE * B(limbs)];
    for (int i = 0; i < LANES; i++)
        at[i] = arena + (size_t)pairs[i].to * L(bytes);
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        lanes_to_words(w + i * B(limbs), p->x[i], B(limbs), N);
        lanes_to_words(w + (DEGREE + i) * B(limbs), p->y[i], B(limbs), N);
    }
    lanes_scatter(at, w, 2 * DEGREE * B(limbs));
}

KRN_FN void L(prefetch)(const struct sum_pair *pairs, const uint8_t *arena, const struct sum_source *src)
{
    const uint8_t *at[2 * LANES];
    L(locate)(at, &pairs->a, arena, src);
    L(locate)(at + LANES, &pairs->b, arena, src);
    for (int i = 0; i < 2 * LANES; i++) {
        for (size_t byte = 0; byte < L(bytes); byte += 64)
            __builtin_prefetch(at[i] + byte);
        __builtin_prefetch(at[i] + L(bytes) - 1);
    }
}

/* ---- lanes without an ordinary slope ---- */

KRN_FN int L(any_special)(COORD ax, COORD bx)
{
    return (L(equal_mask)(ax, bx) | L(zero_mask)(ax) | L(zero_mask)(bx)) != 0;
}

KRN_FN struct special L(classify)(POINTS *a, POINTS *b, const struct lanes_prime *m)
{
    struct special s;
    COORD sum;
    s.a_inf = L(zero_mask)(a->x) & L(zero_mask)(a->y);
    s.b_inf = L(zero_mask)(b->x) & L(zero_mask)(b->y);
    const __mmask8 same_x = L(equal_mask)(a->x, b->x) & ~(s.a_inf | s.b_inf);
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        lanes_add(sum[i], a->y[i], b->y[i], N);
        lanes_reduce(sum[i], sum[i], m, N);
    }
    s.opposite = same_x & L(zero_mask)(sum);
    s.equal = same_x & ~s.opposite;
    return s;
}

static __attribute__((noinline, cold)) void L(load_again)(POINTS *p, const uint32_t *terms, const uint8_t *arena,
                                                          const struct sum_source *src, const struct lanes_prime *m)
{
    L(load)(p, terms, arena, src, m);
}

/* The denominator b.x - a.x becomes 2 y for a tangent and 1 where no slope is needed: below 2p, nowhere 0. */
static __attribute__((noinline, cold)) void L(mend_denominator)(COORD d, POINTS *a, POINTS *b,
                                                                const struct lanes_prime *m)
{
    const struct special s = L(classify)(a, b, m);
    lanes_v one[N] = {lanes_set(1)}, zero[N] = {0}, twice[N];
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        lanes_add(twice, a->y[i], a->y[i], N);
        lanes_select(d[i], s.equal, twice, d[i], N);
        lanes_select(d[i], s.a_inf | s.b_inf | s.opposite, i == 0 ? one : zero, d[i], N);
    }
}

/* The numerator b.y - a.y becomes 3 x^2 for a tangent: below 3p. */
static __attribute__((noinline, cold)) void L(mend_numerator)(COORD r, POINTS *a, POINTS *b,
                                                              const struct lanes_prime *m)
{
    COORD t;
    L(sqr)(t, a->x, m);
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        lanes_reduce(t[i], t[i], m, N);
        lanes_times(t[i], t[i], 3, N);
    }
    L(select)(r, L(equal_mask)(a->x, b->x), t, r);
}

static __attribute__((noinline, cold)) void L(mend_sum)(POINTS *sum, POINTS *a, POINTS *b, const struct lanes_prime *m)
{
    const struct special s = L(classify)(a, b, m);
    COORD zero = {0};
    L(select)(sum->x, s.opposite, zero, sum->x);
    L(select)(sum->y, s.opposite, zero, sum->y);
    L(select)(sum->x, s.b_inf, a->x, sum->x);
    L(select)(sum->y, s.b_inf, a->y, sum->y);
    L(select)(sum->x, s.a_inf, b->x, sum->x);
    L(select)(sum->y, s.a_inf, b->y, sum->y);
}

/* ---- the inversion ---- */

/* Inverts every lane of a by one inversion: products of 2, 4 and 8 neighbouring lanes on the way up; down again, the
 * inverse of a product times the other half's product is the inverse of this half's. */
static void L(invert)(lanes_v *a, const struct lanes_prime *m)
{
    lanes_v product[4][N], t[N], w[B(limbs)];
    EC_BASE whole, ratio;
    lanes_copy(product[0], a, N);
    for (int i = 0; i < 3; i++) {
        lanes_rotate(t, product[i], LANES >> (i + 1), N);
        MUL(product[i + 1], product[i], t, m);
    }
    lanes_reduce(t, product[3], m, N);
    lanes_to_words(w, t, B(limbs), N);
    for (int k = 0; k < B(limbs); k++)
        whole.l[k] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(w[k]));
    B(inv)(&whole, &whole);     /* of x S, R^2 / (x S): times (S / R)^2 it is S / x */
    B(set_u64)(&ratio, 1ull << (LANES_BITS * N - 64 * B(limbs)));
    B(mul)(&whole, &whole, &ratio);
    B(mul)(&whole, &whole, &ratio);
    for (int k = 0; k < B(limbs); k++)
        w[k] = lanes_set(whole.l[k]);
    lanes_from_words(a, w, B(limbs), N);
    for (int i = 3; i-- > 0;) {
        lanes_rotate(t, product[i], LANES >> (i + 1), N);
        MUL(a, a, t, m);
    }
}

/* ---- a batch ---- */

/* Scratch of one step. */
struct L(step) {
    lanes_v norm[BLOCKS][N];    /* of the denominators */
    lanes_v before[BLOCKS][N];  /* product of the norms before it in its chain */
};

/* The denominators' norms of one vector of additions; returns whether any lane is special. */
KRN_FN int L(begin_block)(lanes_v *norm, const struct sum_pair *pairs, const uint8_t *arena,
                          const struct sum_source *src, const struct lanes_prime *m)
{
    const uint8_t *at_a[LANES], *at_b[LANES];
    COORD ax, bx, d;
    L(locate)(at_a, &pairs->a, arena, src);
    L(locate)(at_b, &pairs->b, arena, src);
    L(load_x)(ax, at_a);
    L(load_x)(bx, at_b);
    L(sub)(d, bx, ax, 1, m);
    const int special = L(any_special)(ax, bx);
    if (__builtin_expect(special, 0)) {
        POINTS a, b;
        L(load_again)(&a, &pairs->a, arena, src, m);
        L(load_again)(&b, &pairs->b, arena, src, m);
        L(mend_denominator)(d, &a, &b, m);
    }
    L(norm)(norm, d, m);
    return special;
}

/* The slopes of one vector of additions, below 3p. */
KRN_FN void L(slope)(COORD slope, POINTS *a, POINTS *b, int special, const lanes_v *norm_inverse,
                     const struct lanes_prime *m)
{
    COORD denominator, inverse;
    L(sub)(slope, b->y, a->y, 1, m);
    L(sub)(denominator, b->x, a->x, 1, m);
    if (__builtin_expect(special, 0)) {
        L(mend_numerator)(slope, a, b, m);
        L(mend_denominator)(denominator, a, b, m);
    }
    L(inverse)(inverse, denominator, norm_inverse, m);
    L(mul)(slope, slope, inverse, m);
}

/* x = slope^2 - a.x - b.x, below 4p, and a.x - x, below 5p, of slope^2 below 2p: each one sum and one carry, so that
 * the product that waits for them waits little. square may be difference. */
KRN_FN void L(chord_x)(COORD x, COORD difference, COORD square, POINTS *a, POINTS *b, const struct lanes_prime *m)
{
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        lanes_v t[N], minus_x[N];
        KRN_UNROLL
        for (int j = 0; j < N; j++) {
            lanes_v less = _mm512_sub_epi64(_mm512_add_epi64(a->x[i][j], b->x[i][j]), square[i][j]);
            minus_x[j] = _mm512_sub_epi64(lanes_set(2 * m->p[j]), less);
            t[j] = _mm512_add_epi64(_mm512_add_epi64(a->x[i][j], less), lanes_set(2 * m->p[j]));
        }
        lanes_carry(difference[i], t, N);
        lanes_carry(x[i], minus_x, N);
    }
}

/* Makes the sum canonical, of x below 4p and product = slope (a.x - x), below 3p. */
KRN_FN void L(chord_end)(POINTS *sum, COORD product, POINTS *a, const struct lanes_prime *m)
{
    L(sub)(product, product, a->y, 1, m);
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        lanes_reduce(sum->x[i], sum->x[i], m, N);
        lanes_reduce(sum->y[i], product[i], m, N);
    }
}

/* The next inverse of a chain, from its end, and the chain's inverse without it. */
KRN_FN void L(take_inverse)(lanes_v *inverse, lanes_v *acc, const struct L(step) *step, int k,
                            const struct lanes_prime *m)
{
    MUL(inverse, acc, step->before[k], m);
    MUL(acc, acc, step->norm[k], m);
}

/*
 * Forwards, the product of all denominators' norms, in BLOCKS chains of eight lanes side by side; one inversion; and
 * from the end backwards each denominator's inverse, and with it the addition. Work that does not multiply stands
 * between products that do not wait for it.
 */
static void L(add)(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count, void *scratch)
{
    const struct lanes_prime m = lanes_prime_of(B(modulus)().l, B(limbs), B(np0)(), N);
    const size_t steps = fill_up(pairs, count, STEP) / STEP;
    struct L(step) *step = scratch;
    uint8_t special[SUM_CHUNK / 2 / STEP + 1];
    lanes_v acc[BLOCKS][N] = {0}, norm_inverse[BLOCKS][N], both[N], first[N];

    for (int k = 0; k < BLOCKS; k++)
        acc[k][0] = lanes_set(1);
    for (size_t i = 0; i < steps; i++) {
        const struct sum_pair *at = pairs + i * STEP;
        special[i] = 0;
        for (int k = 0; k < BLOCKS; k++) {
            if (src != NULL && i + 2 < steps)
                L(prefetch)(at + 2 * STEP + k * LANES, arena, src);
            special[i] |= (uint8_t)(L(begin_block)(step[i].norm[k], at + k * LANES, arena, src, &m) << k);
            lanes_copy(step[i].before[k], acc[k], N);
            MUL(acc[k], acc[k], step[i].norm[k], &m);
        }
    }

    MUL(both, acc[0], acc[1], &m);
    L(invert)(both, &m);
    MUL(first, both, acc[1], &m);
    MUL(acc[1], both, acc[0], &m);
    lanes_copy(acc[0], first, N);

    for (int k = 0; k < BLOCKS; k++)
        L(take_inverse)(norm_inverse[k], acc[k], &step[steps - 1], k, &m);
    for (size_t i = steps; i-- > 0;) {
        const struct sum_pair *at = pairs + i * STEP;
        POINTS a[BLOCKS], b[BLOCKS], sum[BLOCKS];
        COORD slope[BLOCKS], t[BLOCKS];
        for (int k = 0; k < BLOCKS; k++) {
            L(load)(&a[k], &at[k * LANES].a, arena, src, &m);
            L(load)(&b[k], &at[k * LANES].b, arena, src, &m);
            L(slope)(slope[k], &a[k], &b[k], special[i] >> k & 1, norm_inverse[k], &m);
        }
        for (int k = 0; k < BLOCKS; k++)
            L(sqr)(t[k], slope[k], &m);
        for (int k = 0; k < BLOCKS; k++)
            L(chord_x)(sum[k].x, t[k], t[k], &a[k], &b[k], &m);
        for (int k = 0; k < BLOCKS; k++)
            L(mul)(t[k], slope[k], t[k], &m);
        for (int k = 0; k < BLOCKS; k++) {
            if (i > 0)
                L(take_inverse)(norm_inverse[k], acc[k], &step[i - 1], k, &m);
            L(chord_end)(&sum[k], t[k], &a[k], &m);
            if (__builtin_expect(special[i] >> k & 1, 0))
                L(mend_sum)(&sum[k], &a[k], &b[k], &m);
            L(store)(arena, at + k * LANES, &sum[k]);
        }
    }
}

static void L(take)(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t count)
{
    const struct lanes_prime m = lanes_prime_of(B(modulus)().l, B(limbs), B(np0)(), N);
    const size_t end = fill_up(pairs, count, LANES);
    for (size_t i = 0; i < end; i += LANES) {
        POINTS p;
        L(load)(&p, &pairs[i].a, arena, src, &m);
        L(store)(arena, pairs + i, &p);
    }
}

static void L(leave)(uint8_t *point, const uint8_t *arena, uint32_t index)
{
    EC_BASE y[DEGREE], factor;
    memcpy(point, arena + (size_t)index * L(bytes), L(bytes));
    memcpy(y, point + sizeof y, sizeof y);
    B(set_u64)(&factor, 1ull << Y_SHIFT);
    for (int i = 0; i < DEGREE; i++)
        B(mul)(&y[i], &y[i], &factor);
    memcpy(point + sizeof y, y, sizeof y);
}

/* ---- checking ---- */

/* All lanes one element of the base field, as its words are. */
KRN_FN void L(same)(lanes_v *r, const EC_BASE *a)
{
    lanes_v w[B(limbs)];
    for (int k = 0; k < B(limbs); k++)
        w[k] = lanes_set(a->l[k]);
    lanes_from_words(r, w, B(limbs), N);
}

/* y^2 = x^3 + b for x R and y R: x^3 comes as x^3 R^3 / S^2, so y^2 R^2 / S is multiplied by R, and b R by R^2. */
KRN_FN __mmask8 L(on_curve)(POINTS *p, COORD b, const lanes_v *r, const struct lanes_prime *m)
{
    COORD left, right;
    L(sqr)(left, p->y, m);
    L(sqr)(right, p->x, m);
    L(mul)(right, right, p->x, m);
    KRN_UNROLL
    for (int i = 0; i < DEGREE; i++) {
        MUL(left[i], left[i], r, m);
        lanes_reduce(left[i], left[i], m, N);
        lanes_add(right[i], right[i], b[i], N);
        lanes_reduce(right[i], right[i], m, N);
    }
    return L(equal_mask)(left, right);
}

static size_t L(lead)(const uint8_t *points, size_t n)
{
    const struct lanes_prime m = lanes_prime_of(B(modulus)().l, B(limbs), B(np0)(), N);
    const KRN_PASTE(EC, affine) curve = {.x = KRN_PASTE(EC, b)()};
    EC_BASE one = B(one)(), b_words[DEGREE];
    COORD b;
    lanes_v r[N];
    memcpy(b_words, &curve.x, sizeof b_words);
    L(same)(r, &one);
    for (int i = 0; i < DEGREE; i++) {
        L(same)(b[i], &b_words[i]);
        MUL(b[i], b[i], r, &m);
        MUL(b[i], b[i], r, &m);
        lanes_reduce(b[i], b[i], &m, N);
    }
    size_t done = 0;
    for (; n - done >= LANES; done += LANES) {
        const uint8_t *at[LANES];
        POINTS p;
        for (size_t i = 0; i < LANES; i++)
            at[i] = points + (done + i) * L(bytes);
        L(load_coord)(p.x, at, 0);
        L(load_coord)(p.y, at, L(bytes) / 2);
        __mmask8 good = L(on_curve)(&p, b, r, &m) | (L(zero_mask)(p.x) & L(zero_mask)(p.y));
        for (int i = 0; i < DEGREE; i++)
            good &= lanes_below_mask(p.x[i], &m, N) & lanes_below_mask(p.y[i], &m, N);
        if (good != 0xff)
            break;
    }
    return done;
}

static const struct sum_ops L(ops) = {
    .point_bytes = L(bytes),
    .scratch_bytes = sizeof(struct L(step)) / STEP,
    .add = L(add),
    .take = L(take),
    .leave = L(leave),
    .lead = L(lead),
};

#undef L
#undef B
#undef MUL
#undef SQR
#undef COORD
#undef POINTS
#undef EC
#undef DEGREE
