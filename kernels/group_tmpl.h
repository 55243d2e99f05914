/*
 * kernels/group_tmpl.h: one group's table. kernels/group.c includes this file with EC, the group. No include guard.
 */
#define P(name) KRN_PASTE(EC, name)
#define GROUP(name) KRN_PASTE(EC, KRN_PASTE(group, name))

static void GROUP(set_inf)(union krn_sum *r)
{
    P(set_inf)(&r->EC);
}

static void GROUP(from_affine)(union krn_sum *r, const uint8_t *point)
{
    P(affine) a;
    memcpy(&a, point, sizeof a);
    P(from_affine)(&r->EC, &a);
}

static void GROUP(to_affine)(uint8_t *point, const union krn_sum *a)
{
    P(affine) r;
    P(to_affine)(&r, &a->EC);
    memcpy(point, &r, sizeof r);
}

static void GROUP(dbl)(union krn_sum *r)
{
    P(dbl)(&r->EC, &r->EC);
}

static void GROUP(add)(union krn_sum *r, const union krn_sum *a)
{
    P(add)(&r->EC, &r->EC, &a->EC);
}

static void GROUP(neg)(union krn_sum *r)
{
    P(neg)(&r->EC, &r->EC);
}

static void GROUP(mul)(union krn_sum *r, const uint8_t k[KRN_FR_BYTES])
{
    uint64_t words[KRN_FR_BYTES / 8];
    memcpy(words, k, sizeof words);
    P(mul)(&r->EC, &r->EC, words, KRN_FR_BYTES / 8);
}

static const struct group_ops GROUP(table) = {
    .point_bytes = sizeof(P(affine)),
    .set_inf = GROUP(set_inf),
    .from_affine = GROUP(from_affine),
    .to_affine = GROUP(to_affine),
    .dbl = GROUP(dbl),
    .add = GROUP(add),
    .neg = GROUP(neg),
    .mul = GROUP(mul),
};

#undef P
#undef GROUP
#undef EC
