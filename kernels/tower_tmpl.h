/*
 * kernels/tower_tmpl.h: the tower above Fq2 of one curve, written once. kernels/tower.h includes this file with
 *
 *   TOWER prefix, e.g. bn254    TOWER_GAMMA1 .. TOWER_GAMMA5 initialisers of xi^(j (q-1)/6)
 *
 * No include guard.
 */
#define T(name) KRN_PASTE(TOWER, name)

typedef struct {
    T(fq2) c0, c1, c2;
} T(fq6);

typedef struct {
    T(fq6) c0, c1;
} T(fq12);

/* ---- Fq6 ---- */

KRN_FN void T(fq6_add)(T(fq6) *r, const T(fq6) *a, const T(fq6) *b)
{
    T(fq2_add)(&r->c0, &a->c0, &b->c0);
    T(fq2_add)(&r->c1, &a->c1, &b->c1);
    T(fq2_add)(&r->c2, &a->c2, &b->c2);
}

KRN_FN void T(fq6_sub)(T(fq6) *r, const T(fq6) *a, const T(fq6) *b)
{
    T(fq2_sub)(&r->c0, &a->c0, &b->c0);
    T(fq2_sub)(&r->c1, &a->c1, &b->c1);
    T(fq2_sub)(&r->c2, &a->c2, &b->c2);
}

KRN_FN void T(fq6_neg)(T(fq6) *r, const T(fq6) *a)
{
    T(fq2_neg)(&r->c0, &a->c0);
    T(fq2_neg)(&r->c1, &a->c1);
    T(fq2_neg)(&r->c2, &a->c2);
}

/* Times v: (c0, c1, c2) -> (xi c2, c0, c1). */
KRN_FN void T(fq6_mul_v)(T(fq6) *r, const T(fq6) *a)
{
    T(fq2) t;
    T(fq2_mul_xi)(&t, &a->c2);
    r->c2 = a->c1;
    r->c1 = a->c0;
    r->c0 = t;
}

/* (a + b)(c + d) - ac - bd = ad + bc. */
KRN_FN void T(fq2_cross)(T(fq2) *r, const T(fq2) *a, const T(fq2) *b, const T(fq2) *c, const T(fq2) *d,
                         const T(fq2) *ac, const T(fq2) *bd)
{
    T(fq2) s, t;
    T(fq2_add)(&s, a, b);
    T(fq2_add)(&t, c, d);
    T(fq2_mul)(&s, &s, &t);
    T(fq2_sub)(&s, &s, ac);
    T(fq2_sub)(r, &s, bd);
}

/* Karatsuba, six products (Devegili, O hEigeartaigh, Scott, Dahab 2006, section 4). */
KRN_FN_CALL void T(fq6_mul)(T(fq6) *r, const T(fq6) *a, const T(fq6) *b)
{
    T(fq2) v0, v1, v2, t0, t1, t2;
    T(fq2_mul)(&v0, &a->c0, &b->c0);
    T(fq2_mul)(&v1, &a->c1, &b->c1);
    T(fq2_mul)(&v2, &a->c2, &b->c2);
    T(fq2_cross)(&t0, &a->c1, &a->c2, &b->c1, &b->c2, &v1, &v2);
    T(fq2_cross)(&t1, &a->c0, &a->c1, &b->c0, &b->c1, &v0, &v1);
    T(fq2_cross)(&t2, &a->c0, &a->c2, &b->c0, &b->c2, &v0, &v2);
    T(fq2_mul_xi)(&t0, &t0);
    T(fq2_add)(&r->c0, &v0, &t0);
    T(fq2_mul_xi)(&v2, &v2);
    T(fq2_add)(&r->c1, &t1, &v2);
    T(fq2_add)(&r->c2, &t2, &v1);
}

/* Times b0 + b1 v: five products. */
KRN_FN_CALL void T(fq6_mul_01)(T(fq6) *r, const T(fq6) *a, const T(fq2) *b0, const T(fq2) *b1)
{
    T(fq2) v0, v1, t0, t1, t2;
    T(fq2_mul)(&v0, &a->c0, b0);
    T(fq2_mul)(&v1, &a->c1, b1);
    T(fq2_cross)(&t1, &a->c0, &a->c1, b0, b1, &v0, &v1);
    T(fq2_mul)(&t0, &a->c2, b1);
    T(fq2_mul)(&t2, &a->c2, b0);
    T(fq2_mul_xi)(&t0, &t0);
    T(fq2_add)(&r->c0, &v0, &t0);
    T(fq2_add)(&r->c2, &t2, &v1);
    r->c1 = t1;
}

/* Times b1 v. */
KRN_FN void T(fq6_mul_1)(T(fq6) *r, const T(fq6) *a, const T(fq2) *b1)
{
    T(fq2) t;
    T(fq2_mul)(&t, &a->c2, b1);
    T(fq2_mul)(&r->c2, &a->c1, b1);
    T(fq2_mul)(&r->c1, &a->c0, b1);
    T(fq2_mul_xi)(&r->c0, &t);
}

/* Times b0, from Fq2. */
KRN_FN void T(fq6_mul_0)(T(fq6) *r, const T(fq6) *a, const T(fq2) *b0)
{
    T(fq2_mul)(&r->c0, &a->c0, b0);
    T(fq2_mul)(&r->c1, &a->c1, b0);
    T(fq2_mul)(&r->c2, &a->c2, b0);
}

/* From the norm to Fq2 (Beuchat et al. 2010, algorithm 17). */
KRN_FN_CALL void T(fq6_inv)(T(fq6) *r, const T(fq6) *a)
{
    T(fq2) t0, t1, t2, n, s;
    T(fq2_sqr)(&t0, &a->c0);
    T(fq2_mul)(&s, &a->c1, &a->c2);
    T(fq2_mul_xi)(&s, &s);
    T(fq2_sub)(&t0, &t0, &s);           /* t0 = c0^2 - xi c1 c2 */
    T(fq2_sqr)(&t1, &a->c2);
    T(fq2_mul_xi)(&t1, &t1);
    T(fq2_mul)(&s, &a->c0, &a->c1);
    T(fq2_sub)(&t1, &t1, &s);           /* t1 = xi c2^2 - c0 c1 */
    T(fq2_sqr)(&t2, &a->c1);
    T(fq2_mul)(&s, &a->c0, &a->c2);
    T(fq2_sub)(&t2, &t2, &s);           /* t2 = c1^2 - c0 c2 */
    T(fq2_mul)(&n, &a->c2, &t1);
    T(fq2_mul)(&s, &a->c1, &t2);
    T(fq2_add)(&n, &n, &s);
    T(fq2_mul_xi)(&n, &n);
    T(fq2_mul)(&s, &a->c0, &t0);
    T(fq2_add)(&n, &n, &s);             /* n = c0 t0 + xi (c2 t1 + c1 t2) */
    T(fq2_inv)(&n, &n);
    T(fq2_mul)(&r->c0, &t0, &n);
    T(fq2_mul)(&r->c1, &t1, &n);
    T(fq2_mul)(&r->c2, &t2, &n);
}

/* ---- Fq12 ---- */

KRN_FN T(fq12) T(fq12_one)(void)
{
    T(fq12) one;
    memset(&one, 0, sizeof one);
    one.c0.c0 = T(fq2_one)();
    return one;
}

KRN_FN int T(fq12_eq)(const T(fq12) *a, const T(fq12) *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* r = c0 + c1 w from v0 = a0 b0, v1 = a1 b1 and m = (a0 + a1)(b0 + b1). */
KRN_FN void T(fq12_join)(T(fq12) *r, const T(fq6) *v0, const T(fq6) *v1, const T(fq6) *m)
{
    T(fq6) t;
    T(fq6_sub)(&t, m, v0);
    T(fq6_sub)(&r->c1, &t, v1);
    T(fq6_mul_v)(&t, v1);
    T(fq6_add)(&r->c0, v0, &t);
}

KRN_FN_CALL void T(fq12_mul)(T(fq12) *r, const T(fq12) *a, const T(fq12) *b)
{
    T(fq6) v0, v1, s, t;
    T(fq6_add)(&s, &a->c0, &a->c1);
    T(fq6_add)(&t, &b->c0, &b->c1);
    T(fq6_mul)(&s, &s, &t);
    T(fq6_mul)(&v0, &a->c0, &b->c0);
    T(fq6_mul)(&v1, &a->c1, &b->c1);
    T(fq12_join)(r, &v0, &v1, &s);
}

/* (a0 + a1)(a0 + v a1) - a0 a1 - v a0 a1, 2 a0 a1. */
KRN_FN_CALL void T(fq12_sqr)(T(fq12) *r, const T(fq12) *a)
{
    T(fq6) m, s, t;
    T(fq6_mul)(&m, &a->c0, &a->c1);
    T(fq6_add)(&s, &a->c0, &a->c1);
    T(fq6_mul_v)(&t, &a->c1);
    T(fq6_add)(&t, &t, &a->c0);
    T(fq6_mul)(&s, &s, &t);
    T(fq6_sub)(&s, &s, &m);
    T(fq6_mul_v)(&t, &m);
    T(fq6_sub)(&r->c0, &s, &t);
    T(fq6_add)(&r->c1, &m, &m);
}

/* Times b0 + b1 v + b4 v w, a line of an M-type twist. */
KRN_FN_CALL void T(fq12_mul_014)(T(fq12) *r, const T(fq2) *b0, const T(fq2) *b1, const T(fq2) *b4)
{
    T(fq6) v0, v1, s;
    T(fq2) sum;
    T(fq2_add)(&sum, b1, b4);
    T(fq6_add)(&s, &r->c0, &r->c1);
    T(fq6_mul_01)(&s, &s, b0, &sum);
    T(fq6_mul_01)(&v0, &r->c0, b0, b1);
    T(fq6_mul_1)(&v1, &r->c1, b4);
    T(fq12_join)(r, &v0, &v1, &s);
}

/* Times b0 + b3 w + b4 v w, a line of a D-type twist. */
KRN_FN_CALL void T(fq12_mul_034)(T(fq12) *r, const T(fq2) *b0, const T(fq2) *b3, const T(fq2) *b4)
{
    T(fq6) v0, v1, s;
    T(fq2) sum;
    T(fq2_add)(&sum, b0, b3);
    T(fq6_add)(&s, &r->c0, &r->c1);
    T(fq6_mul_01)(&s, &s, &sum, b4);
    T(fq6_mul_0)(&v0, &r->c0, b0);
    T(fq6_mul_01)(&v1, &r->c1, b3, b4);
    T(fq12_join)(r, &v0, &v1, &s);
}

/* a^(q^6), which is 1/a for a of the cyclotomic subgroup. */
KRN_FN void T(fq12_conj)(T(fq12) *r, const T(fq12) *a)
{
    r->c0 = a->c0;
    T(fq6_neg)(&r->c1, &a->c1);
}

KRN_FN_CALL void T(fq12_inv)(T(fq12) *r, const T(fq12) *a)
{
    T(fq6) n, t;
    T(fq6_mul)(&n, &a->c0, &a->c0);
    T(fq6_mul)(&t, &a->c1, &a->c1);
    T(fq6_mul_v)(&t, &t);
    T(fq6_sub)(&n, &n, &t);
    T(fq6_inv)(&n, &n);
    T(fq12_conj)(r, a);
    T(fq6_mul)(&r->c0, &r->c0, &n);
    T(fq6_mul)(&r->c1, &r->c1, &n);
}

/* a^q: the coefficient of w^j is conjugated and takes xi^(j (q-1)/6), since w^6 = xi. v = w^2. */
KRN_FN_CALL void T(fq12_frobenius)(T(fq12) *r, const T(fq12) *a)
{
    const T(fq2) gamma[5] = {TOWER_GAMMA1, TOWER_GAMMA2, TOWER_GAMMA3, TOWER_GAMMA4, TOWER_GAMMA5};
    T(fq2) *out[6] = {&r->c0.c0, &r->c1.c0, &r->c0.c1, &r->c1.c1, &r->c0.c2, &r->c1.c2};
    const T(fq2) *in[6] = {&a->c0.c0, &a->c1.c0, &a->c0.c1, &a->c1.c1, &a->c0.c2, &a->c1.c2};
    for (int j = 0; j < 6; j++) {
        T(fq2_conj)(out[j], in[j]);
        if (j > 0)
            T(fq2_mul)(out[j], out[j], &gamma[j - 1]);
    }
}

/* (x + y s)^2 over Fq4 = Fq2[s] / (s^2 - xi). */
KRN_FN void T(fq4_sqr)(T(fq2) *rx, T(fq2) *ry, const T(fq2) *x, const T(fq2) *y)
{
    T(fq2) xx, yy, t;
    T(fq2_sqr)(&xx, x);
    T(fq2_sqr)(&yy, y);
    T(fq2_add)(&t, x, y);
    T(fq2_sqr)(&t, &t);
    T(fq2_sub)(&t, &t, &xx);
    T(fq2_sub)(ry, &t, &yy);
    T(fq2_mul_xi)(&yy, &yy);
    T(fq2_add)(rx, &xx, &yy);
}

/* 3 t - 2 z with sign -1, 3 t + 2 z with sign 1. */
KRN_FN void T(fq2_thrice)(T(fq2) *r, const T(fq2) *t, const T(fq2) *z, int sign)
{
    T(fq2) d;
    if (sign < 0)
        T(fq2_sub)(&d, t, z);
    else
        T(fq2_add)(&d, t, z);
    T(fq2_dbl)(&d, &d);
    T(fq2_add)(r, &d, t);
}

/* Square in the cyclotomic subgroup (Granger, Scott 2010, section 3.2): three squares in Fq4. */
KRN_FN_CALL void T(fq12_cyclotomic_sqr)(T(fq12) *r, const T(fq12) *a)
{
    T(fq2) x, y, x1, y1, x2, y2;
    T(fq4_sqr)(&x, &y, &a->c0.c0, &a->c1.c1);
    T(fq4_sqr)(&x1, &y1, &a->c1.c0, &a->c0.c2);
    T(fq4_sqr)(&x2, &y2, &a->c0.c1, &a->c1.c2);
    T(fq2_mul_xi)(&y2, &y2);
    T(fq2_thrice)(&r->c0.c0, &x, &a->c0.c0, -1);
    T(fq2_thrice)(&r->c1.c1, &y, &a->c1.c1, 1);
    T(fq2_thrice)(&r->c0.c1, &x1, &a->c0.c1, -1);
    T(fq2_thrice)(&r->c1.c2, &y1, &a->c1.c2, 1);
    T(fq2_thrice)(&r->c0.c2, &x2, &a->c0.c2, -1);
    T(fq2_thrice)(&r->c1.c0, &y2, &a->c1.c0, 1);
}

/* a^e for a of the cyclotomic subgroup. */
KRN_FN_CALL void T(fq12_cyclotomic_pow)(T(fq12) *r, const T(fq12) *a, uint64_t e)
{
    const T(fq12) base = *a;
    T(fq12) acc = T(fq12_one)();
    for (int i = 63; i >= 0; i--) {
        T(fq12_cyclotomic_sqr)(&acc, &acc);
        if (e >> i & 1)
            T(fq12_mul)(&acc, &acc, &base);
    }
    *r = acc;
}

#undef T
#undef TOWER
#undef TOWER_GAMMA1
#undef TOWER_GAMMA2
#undef TOWER_GAMMA3
#undef TOWER_GAMMA4
#undef TOWER_GAMMA5
