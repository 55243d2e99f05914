/*
 * kernels/ec_tmpl.h: one group of points of y^2 = x^3 + b, written once. kernels/ec.h includes this file with
 *
 *   EC name and prefix, e.g. bn254_g1    EC_FIELD where its coordinates lie    EC_B, EC_GENERATOR initialisers
 *
 * and says what the functions promise. Formulas: Bernstein and Lange, Explicit-Formulas Database, short Weierstrass
 * curves with a = 0, "XYZZ coordinates" (hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html), by name below.
 * No include guard.
 */
#define F EC_FIELD
#define FN(name) KRN_PASTE(EC_FIELD, name)
#define P(name) KRN_PASTE(EC, name)

typedef struct {
    F x, y;
} P(affine);

typedef struct {
    F x, y, zz, zzz;
} P(xyzz);

enum { P(bytes) = 2 * FN(bytes) };

KRN_FN P(affine) P(generator)(void)
{
    const P(affine) g = EC_GENERATOR;
    return g;
}

KRN_FN F P(b)(void)
{
    const F b = EC_B;
    return b;
}

KRN_FN int P(affine_is_inf)(const P(affine) *a)
{
    return FN(is_zero)(&a->x) & FN(is_zero)(&a->y);
}

KRN_FN int P(is_inf)(const P(xyzz) *a)
{
    return FN(is_zero)(&a->zz);
}

KRN_FN void P(set_inf)(P(xyzz) *r)
{
    r->x = r->y = r->zz = r->zzz = FN(zero)();
}

KRN_FN void P(from_affine)(P(xyzz) *r, const P(affine) *a)
{
    r->x = a->x;
    r->y = a->y;
    r->zz = r->zzz = P(affine_is_inf)(a) ? FN(zero)() : FN(one)();
}

KRN_FN void P(affine_neg)(P(affine) *r, const P(affine) *a)
{
    r->x = a->x;
    FN(neg)(&r->y, &a->y);
}

KRN_FN void P(neg)(P(xyzz) *r, const P(xyzz) *a)
{
    *r = *a;
    FN(neg)(&r->y, &a->y);
}

KRN_FN void P(affine_to_mont)(P(affine) *r, const P(affine) *a)
{
    FN(to_mont)(&r->x, &a->x);
    FN(to_mont)(&r->y, &a->y);
}

KRN_FN int P(affine_is_reduced)(const P(affine) *a)
{
    return FN(is_reduced)(&a->x) & FN(is_reduced)(&a->y);
}

KRN_FN_LARGE int P(affine_on_curve)(const P(affine) *a)
{
    const F b = P(b)();
    F left, right;
    FN(sqr)(&left, &a->y);
    FN(sqr)(&right, &a->x);
    FN(mul)(&right, &right, &a->x);
    FN(add)(&right, &right, &b);
    return FN(eq)(&left, &right) | P(affine_is_inf)(a);
}

/* dbl-2008-s-1: 6M + 3S, two of the products in one reduction. Infinity doubles to itself because zz = 0. */
KRN_FN_LARGE void P(dbl)(P(xyzz) *r, const P(xyzz) *a)
{
    F u, v, w, s, m;
    FN(dbl)(&u, &a->y);             /* U = 2 Y1 */
    FN(sqr)(&v, &u);                /* V = U^2 */
    FN(mul)(&w, &u, &v);            /* W = U V */
    FN(mul)(&s, &a->x, &v);         /* S = X1 V */
    FN(sqr)(&m, &a->x);
    FN(dbl)(&u, &m);
    FN(add)(&m, &u, &m);            /* M = 3 X1^2 */
    FN(mul)(&r->zz, &v, &a->zz);    /* ZZ3 = V ZZ1 */
    FN(mul)(&r->zzz, &w, &a->zzz);  /* ZZZ3 = W ZZZ1 */
    FN(sqr)(&r->x, &m);
    FN(sub)(&r->x, &r->x, &s);
    FN(sub)(&r->x, &r->x, &s);      /* X3 = M^2 - 2 S */
    FN(sub)(&s, &s, &r->x);
    FN(mul_sub)(&r->y, &m, &s, &w, &a->y);  /* Y3 = M (S - X3) - W Y1 */
}

/* The end that madd-2008-s and add-2008-s share: r from P, R, X1 = U1, Y1 = S1 and the products of both ZZ, ZZZ. */
KRN_FN void P(add_tail)(P(xyzz) *r, const F *p, const F *rr, const F *u1, const F *s1, const F *zz, const F *zzz)
{
    F pp, ppp, q;
    FN(sqr)(&pp, p);                /* PP = P^2 */
    FN(mul)(&ppp, p, &pp);          /* PPP = P PP */
    FN(mul)(&q, u1, &pp);           /* Q = X1 PP */
    FN(mul)(&r->zz, zz, &pp);
    FN(mul)(&r->zzz, zzz, &ppp);
    FN(sqr)(&r->x, rr);
    FN(sub)(&r->x, &r->x, &ppp);
    FN(sub)(&r->x, &r->x, &q);
    FN(sub)(&r->x, &r->x, &q);      /* X3 = R^2 - PPP - 2 Q */
    FN(sub)(&q, &q, &r->x);
    FN(mul_sub)(&r->y, rr, &q, s1, &ppp);   /* Y3 = R (Q - X3) - Y1 PPP */
}

/* mmadd-2008-s: 4M + 2S. */
KRN_FN_LARGE void P(add_affine)(P(xyzz) *r, const P(affine) *a, const P(affine) *b)
{
    F p, rr, q;
    if (P(affine_is_inf)(a)) {
        P(from_affine)(r, b);
        return;
    }
    if (P(affine_is_inf)(b)) {
        P(from_affine)(r, a);
        return;
    }
    FN(sub)(&p, &b->x, &a->x);      /* P = X2 - X1 */
    FN(sub)(&rr, &b->y, &a->y);     /* R = Y2 - Y1 */
    if (FN(is_zero)(&p)) {
        P(from_affine)(r, a);
        if (FN(is_zero)(&rr))
            P(dbl)(r, r);
        else
            P(set_inf)(r);
        return;
    }
    FN(sqr)(&r->zz, &p);            /* ZZ3 = PP = P^2 */
    FN(mul)(&r->zzz, &p, &r->zz);   /* ZZZ3 = PPP = P PP */
    FN(mul)(&q, &a->x, &r->zz);     /* Q = X1 PP */
    FN(sqr)(&r->x, &rr);
    FN(sub)(&r->x, &r->x, &r->zzz);
    FN(sub)(&r->x, &r->x, &q);
    FN(sub)(&r->x, &r->x, &q);      /* X3 = R^2 - PPP - 2 Q */
    FN(sub)(&q, &q, &r->x);
    FN(mul_sub)(&r->y, &rr, &q, &a->y, &r->zzz);    /* Y3 = R (Q - X3) - Y1 PPP */
}

/* madd-2008-s: 8M + 2S, the last two products in one reduction. */
KRN_FN_LARGE void P(madd)(P(xyzz) *r, const P(xyzz) *a, const P(affine) *b)
{
    F p, rr;
    if (P(affine_is_inf)(b)) {
        *r = *a;
        return;
    }
    if (P(is_inf)(a)) {
        P(from_affine)(r, b);
        return;
    }
    FN(mul)(&p, &b->x, &a->zz);
    FN(sub)(&p, &p, &a->x);         /* P = X2 ZZ1 - X1 */
    FN(mul)(&rr, &b->y, &a->zzz);
    FN(sub)(&rr, &rr, &a->y);       /* R = Y2 ZZZ1 - Y1 */
    if (!FN(is_zero)(&p))
        P(add_tail)(r, &p, &rr, &a->x, &a->y, &a->zz, &a->zzz);
    else if (FN(is_zero)(&rr))
        P(dbl)(r, a);
    else
        P(set_inf)(r);
}

/* add-2008-s: 12M + 2S, likewise. */
KRN_FN_LARGE void P(add)(P(xyzz) *r, const P(xyzz) *a, const P(xyzz) *b)
{
    F p, rr, u1, s1, zz, zzz;
    if (P(is_inf)(b)) {
        *r = *a;
        return;
    }
    if (P(is_inf)(a)) {
        *r = *b;
        return;
    }
    FN(mul)(&u1, &a->x, &b->zz);
    FN(mul)(&p, &b->x, &a->zz);
    FN(sub)(&p, &p, &u1);           /* P = X2 ZZ1 - X1 ZZ2 */
    FN(mul)(&s1, &a->y, &b->zzz);
    FN(mul)(&rr, &b->y, &a->zzz);
    FN(sub)(&rr, &rr, &s1);         /* R = Y2 ZZZ1 - Y1 ZZZ2 */
    if (!FN(is_zero)(&p)) {
        FN(mul)(&zz, &a->zz, &b->zz);
        FN(mul)(&zzz, &a->zzz, &b->zzz);
        P(add_tail)(r, &p, &rr, &u1, &s1, &zz, &zzz);
    } else if (FN(is_zero)(&rr)) {
        P(dbl)(r, a);
    } else {
        P(set_inf)(r);
    }
}

KRN_FN_LARGE int P(eq)(const P(xyzz) *a, const P(xyzz) *b)
{
    F left, right;
    if (P(is_inf)(a) | P(is_inf)(b))
        return P(is_inf)(a) & P(is_inf)(b);
    FN(mul)(&left, &a->x, &b->zz);
    FN(mul)(&right, &b->x, &a->zz);
    int same_x = FN(eq)(&left, &right);
    FN(mul)(&left, &a->y, &b->zzz);
    FN(mul)(&right, &b->y, &a->zzz);
    return same_x & FN(eq)(&left, &right);
}

/* Windows of four bits from the top. */
KRN_FN_CALL void P(mul)(P(xyzz) *r, const P(xyzz) *a, const uint64_t *k, int k_limbs)
{
    P(xyzz) table[16], acc;
    P(set_inf)(&table[0]);
    for (int i = 1; i < 16; i++)
        P(add)(&table[i], &table[i - 1], a);
    P(set_inf)(&acc);
    for (int i = 16 * k_limbs - 1; i >= 0; i--) {
        for (int j = 0; j < 4; j++)
            P(dbl)(&acc, &acc);
        P(add)(&acc, &acc, &table[k[i / 16] >> (4 * (i % 16)) & 15]);
    }
    *r = acc;
}

KRN_FN_CALL void P(mul_sparse)(P(xyzz) *r, const P(xyzz) *a, uint64_t k)
{
    const P(xyzz) base = *a;
    P(set_inf)(r);
    for (int i = 63; i >= 0; i--) {
        P(dbl)(r, r);
        if (k >> i & 1)
            P(add)(r, r, &base);
    }
}

/* Given 1/ZZZ: 1/Z = ZZ/ZZZ, 1/ZZ is its square. Infinity has ZZZ = 0, whose "inverse" 0 gives (0, 0). */
KRN_FN void P(scale)(P(affine) *r, const P(xyzz) *a, const F *zzz_inv)
{
    F t;
    FN(mul)(&t, &a->zz, zzz_inv);
    FN(sqr)(&t, &t);
    FN(mul)(&r->x, &a->x, &t);
    FN(mul)(&r->y, &a->y, zzz_inv);
}

KRN_FN_CALL void P(to_affine)(P(affine) *r, const P(xyzz) *a)
{
    F t;
    FN(inv)(&t, &a->zzz);
    P(scale)(r, a, &t);
}

KRN_FN_CALL void P(batch_to_affine)(P(affine) *r, const P(xyzz) *a, F *scratch, size_t n)
{
    F *inverses = scratch + n;
    for (size_t i = 0; i < n; i++)
        inverses[i] = a[i].zzz;
    FN(batch_inv)(inverses, scratch, n);
    for (size_t i = 0; i < n; i++)
        P(scale)(&r[i], &a[i], &inverses[i]);
}

#undef F
#undef FN
#undef P
#undef EC
#undef EC_FIELD
#undef EC_B
#undef EC_GENERATOR
