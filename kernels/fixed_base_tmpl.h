/*
 * kernels/fixed_base_tmpl.h: the work of fixed_base.c in one group, written once. Included there with
 *
 *   EC name and prefix of the group, e.g. bn254_g1    EC_FIELD where its coordinates lie
 *
 * No include guard.
 */
#define F EC_FIELD
#define FN(name) KRN_PASTE(EC_FIELD, name)
#define P(name) KRN_PASTE(EC, name)
#define FB(name) KRN_PASTE(fixed_base, P(name))

/* What one thread needs. */
struct FB(work) {
    P(affine) sum[BLOCK], addend[BLOCK];
    F slope[BLOCK], scratch[BLOCK];
    uint8_t carry[BLOCK];
};

/* The denominator of the slope through a and b: x2 - x1, or 2 y1 where the points are equal. 0 where no slope is
 * needed: one of them is infinity, or they are opposite. */
static void FB(denominator)(F *r, const P(affine) *a, const P(affine) *b)
{
    *r = FN(zero)();
    if (P(affine_is_inf)(a) | P(affine_is_inf)(b))
        return;
    FN(sub)(r, &b->x, &a->x);
    if (FN(is_zero)(r))
        FN(add)(r, &a->y, &b->y);
}

/* a += b, given 1 / denominator. */
static void FB(finish)(P(affine) *a, const P(affine) *b, const F *inverse)
{
    F slope, x;

    if (P(affine_is_inf)(b))
        return;
    if (P(affine_is_inf)(a)) {
        *a = *b;
        return;
    }
    if (FN(is_zero)(inverse)) {
        a->x = a->y = FN(zero)();
        return;
    }
    FN(sub)(&slope, &b->y, &a->y);
    if (FN(eq)(&a->x, &b->x)) {
        FN(sqr)(&x, &a->x);
        FN(dbl)(&slope, &x);
        FN(add)(&slope, &slope, &x);    /* 3 x^2 / 2 y */
    }
    FN(mul)(&slope, &slope, inverse);
    FN(sqr)(&x, &slope);
    FN(sub)(&x, &x, &a->x);
    FN(sub)(&x, &x, &b->x);             /* x3 = slope^2 - x1 - x2 */
    FN(sub)(&a->x, &a->x, &x);
    FN(mul)(&slope, &slope, &a->x);
    FN(sub)(&a->y, &slope, &a->y);      /* y3 = slope (x1 - x3) - y1 */
    a->x = x;
}

/* sum[i] += addend[i] for i < n <= BLOCK */
static void FB(add)(struct FB(work) *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        FB(denominator)(&w->slope[i], &w->sum[i], &w->addend[i]);
    FN(batch_inv)(w->slope, w->scratch, n);
    for (size_t i = 0; i < n; i++)
        FB(finish)(&w->sum[i], &w->addend[i], &w->slope[i]);
}

/* Window k of the table: multiples 1 .. size of 2^(bits k) G. Known multiples 1 .. m and m times the base added to each
 * give as many again. */
static void FB(build)(const struct krn_fixed_base *t, unsigned k, void *work)
{
    struct FB(work) *w = work;
    size_t size = window_size(t);
    P(affine) *table = (P(affine) *)t->table + size * k;
    const P(affine) g = P(generator)();
    P(xyzz) base;

    P(from_affine)(&base, &g);
    for (unsigned i = 0; i < t->bits * k; i++)
        P(dbl)(&base, &base);
    P(to_affine)(&table[0], &base);
    for (size_t known = 1; known < size; known *= 2) {
        for (size_t i = 0, n; i < known; i += n) {
            n = known - i < BLOCK ? known - i : BLOCK;
            memcpy(w->sum, table + i, n * sizeof *table);
            for (size_t j = 0; j < n; j++)
                w->addend[j] = table[known - 1];
            FB(add)(w, n);
            memcpy(table + known + i, w->sum, n * sizeof *table);
        }
    }
}

/* addend[i] = the table's entry for digit k of scalars[i] */
static void FB(look_up)(const struct krn_fixed_base *t, struct FB(work) *w, const uint8_t *scalars, size_t n,
                        unsigned k)
{
    const P(affine) *table = (const P(affine) *)t->table + window_size(t) * k;

    for (size_t i = 0; i < n; i++) {
        int32_t d = signed_digit(scalars + i * KRN_FR_BYTES, t->bits, k, &w->carry[i]);
        if (d == 0)
            memset(&w->addend[i], 0, sizeof w->addend[i]);
        else if (d > 0)
            w->addend[i] = table[d - 1];
        else
            P(affine_neg)(&w->addend[i], &table[-d - 1]);
    }
}

/* n <= BLOCK */
static void FB(mul)(const struct krn_fixed_base *t, uint8_t *out, const uint8_t *scalars, size_t n, void *work)
{
    struct FB(work) *w = work;

    memset(w->sum, 0, n * sizeof *w->sum);
    memset(w->carry, 0, n);
    for (unsigned k = 0; k < t->windows; k++) {
        FB(look_up)(t, w, scalars, n, k);
        FB(add)(w, n);
    }
    memcpy(out, w->sum, n * sizeof *w->sum);
}

static const struct group FB(group) = {
    .point_bytes = P(bytes), .work_bytes = sizeof(struct FB(work)), .build = FB(build), .mul = FB(mul),
};

#undef F
#undef FN
#undef P
#undef FB
#undef EC
#undef EC_FIELD
