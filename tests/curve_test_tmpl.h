/*
 * tests/curve_test_tmpl.h: the checks of one group, GROUP with its scalars GROUP_FR, included by tests/curve_test.c
 * for each.
 */
#define P(name) KRN_PASTE(GROUP, name)
#define NAME VECTORS_NAME(GROUP)
#define S GROUP_FR
#define SN(name) KRN_PASTE(GROUP_FR, name)

/* Coordinates are read as rows of base-field elements: 2 of them in G1, 4 in G2. */
static P(affine) P(read)(struct vectors *v)
{
    P(affine) a;
    for (size_t i = 0; i < sizeof a / sizeof(GROUP_BASE); i++) {
        uint8_t bytes[sizeof(GROUP_BASE)];
        GROUP_BASE x;
        vectors_number(v, bytes, sizeof bytes);
        memcpy(&x, bytes, sizeof x);
        KRN_PASTE(GROUP_BASE, to_mont)(&x, &x);
        memcpy((uint8_t *)&a + i * sizeof x, &x, sizeof x);
    }
    return a;
}

static void P(check)(struct vectors *v, int ok, const char *what)
{
    vectors_check(v, ok, NAME, what);
}

static void P(expect)(struct vectors *v, const P(xyzz) *got, const P(affine) *want, const char *what)
{
    P(affine) a;
    P(to_affine)(&a, got);
    P(check)(v, memcmp(&a, want, sizeof a) == 0, what);
}

/* The same point with another ZZ: l^2 X, l^3 Y, l^2 ZZ, l^3 ZZZ. */
static P(xyzz) P(disguised)(const P(affine) *a, uint64_t seed)
{
    P(xyzz) r;
    P(affine) g = P(generator)();
    GROUP_FIELD l = g.x, l2, l3;
    P(from_affine)(&r, a);
    for (uint64_t i = 0; i < seed; i++)
        KRN_PASTE(GROUP_FIELD, mul)(&l, &l, &g.y);
    KRN_PASTE(GROUP_FIELD, sqr)(&l2, &l);
    KRN_PASTE(GROUP_FIELD, mul)(&l3, &l2, &l);
    KRN_PASTE(GROUP_FIELD, mul)(&r.x, &r.x, &l2);
    KRN_PASTE(GROUP_FIELD, mul)(&r.y, &r.y, &l3);
    KRN_PASTE(GROUP_FIELD, mul)(&r.zz, &r.zz, &l2);
    KRN_PASTE(GROUP_FIELD, mul)(&r.zzz, &r.zzz, &l3);
    return r;
}

/* K -> K G */
static void P(check_mul)(struct vectors *v)
{
    const P(affine) g = P(generator)();
    P(xyzz) r, negative;
    P(affine) want, altered;
    uint8_t bytes[sizeof(S)];
    S k;

    vectors_number(v, bytes, sizeof bytes);
    SN(load)(&k, bytes);
    const uint64_t word = k.l[0];
    const int k_is_word = (k.l[1] | k.l[2] | k.l[3]) == 0;
    want = P(read)(v);
    r = P(disguised)(&g, 3);
    P(mul)(&r, &r, k.l, SN(limbs));
    P(expect)(v, &r, &want, "mul");

    /* (r - k) G = -(k G) */
    S order = SN(modulus)();
    limbs_sub(k.l, order.l, k.l, SN(limbs));
    P(from_affine)(&negative, &g);
    P(mul)(&negative, &negative, k.l, SN(limbs));
    P(neg)(&negative, &negative);
    P(check)(v, P(eq)(&negative, &r), "(order - k) G");
    P(check)(v, P(affine_is_inf)(&want) == P(is_inf)(&r), "is_inf");
    if (k_is_word) {
        P(from_affine)(&negative, &g);
        P(mul_sparse)(&negative, &negative, word);
        P(check)(v, P(eq)(&negative, &r), "mul_sparse");
    }
    P(check)(v, P(affine_is_reduced)(&want) && P(affine_on_curve)(&want), "on_curve");
    altered = want;
    KRN_PASTE(GROUP_FIELD, add)(&altered.y, &want.y, &g.x);
    P(check)(v, !P(affine_on_curve)(&altered), "on_curve for a point beside it");
}

/* A B A+B, by every way of adding, with the result in either operand's place. */
static void P(check_add)(struct vectors *v)
{
    const P(affine) a = P(read)(v), b = P(read)(v), want = P(read)(v);
    const P(xyzz) x = P(disguised)(&a, 1), y = P(disguised)(&b, 2);
    P(xyzz) r, s;
    int same = memcmp(&a, &b, sizeof a) == 0;

    P(add)(&r, &x, &y);
    P(expect)(v, &r, &want, "add");
    s = x;
    P(add)(&s, &s, &y);
    P(check)(v, P(eq)(&s, &r), "add over the first");
    s = y;
    P(add)(&s, &x, &s);
    P(check)(v, P(eq)(&s, &r), "add over the second");
    s = x;
    P(madd)(&s, &s, &b);
    P(expect)(v, &s, &want, "madd");
    P(add_affine)(&s, &a, &b);
    P(expect)(v, &s, &want, "add_affine");
    if (same) {
        s = x;
        P(dbl)(&s, &s);
        P(expect)(v, &s, &want, "dbl");
    }
    P(check)(v, P(eq)(&x, &y) == same, "eq");

    /* A + B - B = A */
    P(affine) minus_b;
    P(affine_neg)(&minus_b, &b);
    P(madd)(&s, &r, &minus_b);
    P(expect)(v, &s, &a, "affine_neg");

    const P(xyzz) three[] = {x, y, r};
    P(affine) out[3];
    GROUP_FIELD scratch[6];
    P(batch_to_affine)(out, three, scratch, 3);
    P(check)(v, !memcmp(&out[0], &a, sizeof a) && !memcmp(&out[1], &b, sizeof b) &&
                !memcmp(&out[2], &want, sizeof want), "batch_to_affine");
}

#undef P
#undef NAME
#undef S
#undef SN
#undef GROUP
#undef GROUP_FR
#undef GROUP_FIELD
#undef GROUP_BASE
