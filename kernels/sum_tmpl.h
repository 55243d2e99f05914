/*
 * kernels/sum_tmpl.h: the portable twin for one group, written once. kernels/sum_words.h includes this file with
 *
 *   EC the group, e.g. bn254_g1    EC_FIELD where its coordinates lie
 *
 * No include guard.
 */
#define F EC_FIELD
#define FN(name) KRN_PASTE(EC_FIELD, name)
#define P(name) KRN_PASTE(EC, name)
#define SUM(name) KRN_PASTE(EC, KRN_PASTE(sum, name))

KRN_FN void SUM(load)(P(affine) *r, const uint8_t *arena, const struct sum_source *src, uint32_t term)
{
    if (src == NULL) {
        memcpy(r, arena + (size_t)term * sizeof *r, sizeof *r);
        return;
    }
    memcpy(r, src->points + ((size_t)(term >> 1) - src->first) * sizeof *r, sizeof *r);
    if (term & 1)
        P(affine_neg)(r, r);
}

KRN_FN void SUM(store)(uint8_t *arena, uint32_t index, const P(affine) *a)
{
    memcpy(arena + (size_t)index * sizeof *a, a, sizeof *a);
}

/* Keys are larger than caches, and the order of terms is as good as random. */
KRN_FN void SUM(prefetch)(const struct sum_source *src, uint32_t term)
{
    const uint8_t *at = src->points + ((size_t)(term >> 1) - src->first) * sizeof(P(affine));
    for (size_t byte = 0; byte < sizeof(P(affine)); byte += 64)
        __builtin_prefetch(at + byte);
    __builtin_prefetch(at + sizeof(P(affine)) - 1);
}

/* The denominator of a + b's slope; 1 where there is no slope to compute. */
KRN_FN void SUM(denominator)(F *d, const P(affine) *a, const P(affine) *b)
{
    F sum;
    FN(sub)(d, &b->x, &a->x);
    if (P(affine_is_inf)(a) | P(affine_is_inf)(b)) {
        *d = FN(one)();
    } else if (FN(is_zero)(d)) {
        FN(add)(&sum, &a->y, &b->y);
        *d = FN(is_zero)(&sum) ? FN(one)() : sum;   /* opposite, or equal: 2 y */
    }
}

/* r = a + b, given 1 over the denominator. */
KRN_FN void SUM(chord)(P(affine) *r, const P(affine) *a, const P(affine) *b, const F *inverse)
{
    F slope, t;
    P(affine) sum;
    if (P(affine_is_inf)(a) | P(affine_is_inf)(b)) {
        *r = P(affine_is_inf)(a) ? *b : *a;
        return;
    }
    if (FN(eq)(&a->x, &b->x)) {
        FN(add)(&t, &a->y, &b->y);
        if (FN(is_zero)(&t)) {
            r->x = r->y = FN(zero)();
            return;
        }
        FN(sqr)(&t, &a->x);
        FN(dbl)(&slope, &t);
        FN(add)(&slope, &slope, &t);
    } else {
        FN(sub)(&slope, &b->y, &a->y);
    }
    FN(mul)(&slope, &slope, inverse);
    FN(sqr)(&t, &slope);
    FN(sub)(&t, &t, &a->x);
    FN(sub)(&sum.x, &t, &b->x);
    FN(sub)(&t, &a->x, &sum.x);
    FN(mul)(&t, &slope, &t);
    FN(sub)(&sum.y, &t, &a->y);
    *r = sum;
}

static void SUM(add)(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t n, void *scratch)
{
    F *denominators = scratch, *products = denominators + n;
    F acc = FN(one)(), inverse;
    P(affine) a, b;
    for (size_t i = 0; i < n; i++) {
        if (src != NULL && i + 8 < n) {
            SUM(prefetch)(src, pairs[i + 8].a);
            SUM(prefetch)(src, pairs[i + 8].b);
        }
        SUM(load)(&a, arena, src, pairs[i].a);
        SUM(load)(&b, arena, src, pairs[i].b);
        SUM(denominator)(&denominators[i], &a, &b);
        products[i] = acc;
        FN(mul)(&acc, &acc, &denominators[i]);
    }
    FN(inv)(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        FN(mul)(&inverse, &acc, &products[i]);
        FN(mul)(&acc, &acc, &denominators[i]);
        SUM(load)(&a, arena, src, pairs[i].a);
        SUM(load)(&b, arena, src, pairs[i].b);
        SUM(chord)(&a, &a, &b, &inverse);
        SUM(store)(arena, pairs[i].to, &a);
    }
}

static void SUM(take)(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t n)
{
    P(affine) a;
    for (size_t i = 0; i < n; i++) {
        SUM(load)(&a, arena, src, pairs[i].a);
        SUM(store)(arena, pairs[i].to, &a);
    }
}

static void SUM(leave)(uint8_t *point, const uint8_t *arena, uint32_t index)
{
    memcpy(point, arena + (size_t)index * sizeof(P(affine)), sizeof(P(affine)));
}

static const struct sum_ops SUM(table) = {
    .point_bytes = sizeof(P(affine)),
    .scratch_bytes = 2 * sizeof(F),
    .add = SUM(add),
    .take = SUM(take),
    .leave = SUM(leave),
};

#undef F
#undef FN
#undef P
#undef SUM
#undef EC
#undef EC_FIELD
