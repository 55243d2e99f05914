/*
 * kernels/pairing_tmpl.h: what the pairings of both curves share, written once. kernels/pairing.h includes this file
 * with
 *
 *   PAIRING prefix, e.g. bn254    PAIRING_LOOP digits of the Miller loop, without the leading one
 *   PAIRING_HALF 1/2 in Fq        PAIRING_B2 b of the twist              PAIRING_PSI_X, _Y coefficients of psi
 *   PAIRING_TWIST_D               1: x = w^2 x', y = w^3 y' untwists (b' = b/xi); 0: M type, division (b' = b xi)
 *
 * No include guard.
 */
#define T(name) KRN_PASTE(PAIRING, name)

/* ---- endomorphisms ---- */

/* psi = twist o Frobenius o untwist. */
KRN_FN_CALL void T(psi_affine)(T(g2_affine) *r, const T(g2_affine) *a)
{
    const T(fq2) psi_x = PAIRING_PSI_X, psi_y = PAIRING_PSI_Y;
    T(fq2_conj)(&r->x, &a->x);
    T(fq2_mul)(&r->x, &r->x, &psi_x);
    T(fq2_conj)(&r->y, &a->y);
    T(fq2_mul)(&r->y, &r->y, &psi_y);
}

KRN_FN_CALL void T(psi)(T(g2_xyzz) *r, const T(g2_xyzz) *a)
{
    const T(fq2) psi_x = PAIRING_PSI_X, psi_y = PAIRING_PSI_Y;
    T(fq2_conj)(&r->x, &a->x);
    T(fq2_mul)(&r->x, &r->x, &psi_x);
    T(fq2_conj)(&r->y, &a->y);
    T(fq2_mul)(&r->y, &r->y, &psi_y);
    T(fq2_conj)(&r->zz, &a->zz);
    T(fq2_conj)(&r->zzz, &a->zzz);
}

/* ---- Miller loop ---- */

/* A point of the twist in homogeneous coordinates: x = X/Z, y = Y/Z. */
typedef struct {
    T(fq2) x, y, z;
} T(g2_homogeneous);

/* A line without P: at P = (x, y) it is at_y y + at_x x + at_1, each at its place in Fq12. */
typedef struct {
    T(fq2) at_y, at_x, at_1;
} T(line);

/* r = 2 r and the tangent at r. Costello, Lange, Naehrig 2010, section 5, in the order of Aranha et al. 2013 (eprint
 * 2013/722), section 4. */
KRN_FN_CALL void T(line_dbl)(T(line) *l, T(g2_homogeneous) *r)
{
    const KRN_PASTE(PAIRING, fq) half = PAIRING_HALF;
    const T(fq2) b2 = PAIRING_B2;
    T(fq2) a, b, c, e, f, g, h, i, j, ee;
    T(fq2_mul)(&a, &r->x, &r->y);
    T(fq2_mul_base)(&a, &a, &half);     /* A = X Y / 2 */
    T(fq2_sqr)(&b, &r->y);              /* B = Y^2 */
    T(fq2_sqr)(&c, &r->z);              /* C = Z^2 */
    T(fq2_dbl)(&e, &c);
    T(fq2_add)(&e, &e, &c);
    T(fq2_mul)(&e, &e, &b2);            /* E = 3 b' C */
    T(fq2_dbl)(&f, &e);
    T(fq2_add)(&f, &f, &e);             /* F = 3 E */
    T(fq2_add)(&g, &b, &f);
    T(fq2_mul_base)(&g, &g, &half);     /* G = (B + F) / 2 */
    T(fq2_add)(&h, &r->y, &r->z);
    T(fq2_sqr)(&h, &h);
    T(fq2_sub)(&h, &h, &b);
    T(fq2_sub)(&h, &h, &c);             /* H = (Y + Z)^2 - B - C */
    T(fq2_sub)(&i, &e, &b);             /* I = E - B */
    T(fq2_sqr)(&j, &r->x);              /* J = X^2 */
    T(fq2_sqr)(&ee, &e);
    T(fq2_sub)(&r->x, &b, &f);
    T(fq2_mul)(&r->x, &r->x, &a);       /* X3 = A (B - F) */
    T(fq2_sqr)(&r->y, &g);
    T(fq2_sub)(&r->y, &r->y, &ee);
    T(fq2_sub)(&r->y, &r->y, &ee);
    T(fq2_sub)(&r->y, &r->y, &ee);      /* Y3 = G^2 - 3 E^2 */
    T(fq2_mul)(&r->z, &b, &h);          /* Z3 = B H */
    T(fq2_neg)(&l->at_y, &h);
    T(fq2_dbl)(&l->at_x, &j);
    T(fq2_add)(&l->at_x, &l->at_x, &j);
    l->at_1 = i;
}

/* r = r + q and the line through both; same sources. */
KRN_FN_CALL void T(line_add)(T(line) *l, T(g2_homogeneous) *r, const T(g2_affine) *q)
{
    T(fq2) theta, lambda, c, d, e, f, g, h, t;
    T(fq2_mul)(&theta, &q->y, &r->z);
    T(fq2_sub)(&theta, &r->y, &theta);      /* theta = Y - y_Q Z */
    T(fq2_mul)(&lambda, &q->x, &r->z);
    T(fq2_sub)(&lambda, &r->x, &lambda);    /* lambda = X - x_Q Z */
    T(fq2_sqr)(&c, &theta);
    T(fq2_sqr)(&d, &lambda);
    T(fq2_mul)(&e, &lambda, &d);            /* E = lambda^3 */
    T(fq2_mul)(&f, &r->z, &c);              /* F = Z theta^2 */
    T(fq2_mul)(&g, &r->x, &d);              /* G = X lambda^2 */
    T(fq2_add)(&h, &e, &f);
    T(fq2_sub)(&h, &h, &g);
    T(fq2_sub)(&h, &h, &g);                 /* H = E + F - 2 G */
    T(fq2_mul)(&r->x, &lambda, &h);         /* X3 = lambda H */
    T(fq2_sub)(&g, &g, &h);
    T(fq2_mul)(&g, &theta, &g);
    T(fq2_mul)(&t, &e, &r->y);
    T(fq2_sub)(&r->y, &g, &t);              /* Y3 = theta (G - H) - E Y */
    T(fq2_mul)(&r->z, &r->z, &e);           /* Z3 = Z E */
    l->at_y = lambda;
    T(fq2_neg)(&l->at_x, &theta);
    T(fq2_mul)(&t, &theta, &q->x);
    T(fq2_mul)(&d, &lambda, &q->y);
    T(fq2_sub)(&l->at_1, &t, &d);           /* theta x_Q - lambda y_Q */
}

/* f = f l(p) */
KRN_FN_CALL void T(mul_line)(T(fq12) *f, const T(line) *l, const T(g1_affine) *p)
{
    T(fq2) y, x;
    T(fq2_mul_base)(&y, &l->at_y, &p->y);
    T(fq2_mul_base)(&x, &l->at_x, &p->x);
    if (PAIRING_TWIST_D)
        T(fq12_mul_034)(f, &y, &x, &l->at_1);
    else
        T(fq12_mul_014)(f, &l->at_1, &x, &y);
}

/* One pair under way. */
typedef struct {
    T(g1_affine) p;
    T(g2_affine) q, minus_q;
    T(g2_homogeneous) r;
} T(pair);

KRN_FN_CALL void T(step_add)(T(fq12) *f, T(pair) *pair, const T(g2_affine) *q)
{
    T(line) l;
    T(line_add)(&l, &pair->r, q);
    T(mul_line)(f, &l, &pair->p);
}

/* Fills pairs with those that have no infinity; returns how many. */
KRN_FN_CALL size_t T(start_pairs)(T(pair) pairs[PAIRING_MAX], const T(g1_affine) *p, const T(g2_affine) *q, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        T(pair) *pair = &pairs[used];
        if (T(g1_affine_is_inf)(&p[i]) || T(g2_affine_is_inf)(&q[i]))
            continue;
        pair->p = p[i];
        pair->q = q[i];
        T(g2_affine_neg)(&pair->minus_q, &q[i]);
        pair->r.x = q[i].x;
        pair->r.y = q[i].y;
        pair->r.z = T(fq2_one)();
        used++;
    }
    return used;
}

/* f = product of the Miller functions of all pairs: the squarings are shared. */
KRN_FN_CALL void T(miller_loop)(T(fq12) *f, T(pair) *pairs, size_t n)
{
    static const int8_t digits[] = PAIRING_LOOP;
    *f = T(fq12_one)();
    for (size_t d = 0; d < sizeof digits; d++) {
        if (d > 0)
            T(fq12_sqr)(f, f);
        for (size_t i = 0; i < n; i++) {
            T(line) l;
            T(line_dbl)(&l, &pairs[i].r);
            T(mul_line)(f, &l, &pairs[i].p);
            if (digits[d] != 0)
                T(step_add)(f, &pairs[i], digits[d] > 0 ? &pairs[i].q : &pairs[i].minus_q);
        }
    }
}

/* ---- final exponentiation, first part ---- */

/* f^((q^6 - 1)(q^2 + 1)), an element of the cyclotomic subgroup. */
KRN_FN_CALL void T(easy_part)(T(fq12) *r, const T(fq12) *f)
{
    T(fq12) t, u;
    T(fq12_inv)(&t, f);
    T(fq12_conj)(&u, f);
    T(fq12_mul)(&t, &t, &u);
    T(fq12_frobenius)(&u, &t);
    T(fq12_frobenius)(&u, &u);
    T(fq12_mul)(r, &t, &u);
}

#undef T
#undef PAIRING
#undef PAIRING_LOOP
#undef PAIRING_HALF
#undef PAIRING_B2
#undef PAIRING_PSI_X
#undef PAIRING_PSI_Y
#undef PAIRING_TWIST_D
