/*
 * kernels/fq2_tmpl.h: Fq2 = Fq[u] / (u^2 + 1), c0 + c1 u, written once. kernels/fq2.h includes this file with
 *
 *   FQ2 name and prefix, e.g. bn254_fq2    FQ2_BASE the base field    FQ2_XI0: xi = FQ2_XI0 + u, the tower's next root
 *
 * and says what the functions promise. No include guard.
 */
#define F FQ2
#define FN(name) KRN_PASTE(FQ2, name)
#define B FQ2_BASE
#define BN(name) KRN_PASTE(FQ2_BASE, name)

typedef struct {
    B c0, c1;
} F;

enum { FN(bytes) = 2 * BN(bytes) };

KRN_FN F FN(zero)(void)
{
    F zero;
    zero.c0 = zero.c1 = BN(zero)();
    return zero;
}

KRN_FN F FN(one)(void)
{
    F one;
    one.c0 = BN(one)();
    one.c1 = BN(zero)();
    return one;
}

KRN_FN void FN(add)(F *r, const F *a, const F *b)
{
    BN(add)(&r->c0, &a->c0, &b->c0);
    BN(add)(&r->c1, &a->c1, &b->c1);
}

KRN_FN void FN(sub)(F *r, const F *a, const F *b)
{
    BN(sub)(&r->c0, &a->c0, &b->c0);
    BN(sub)(&r->c1, &a->c1, &b->c1);
}

KRN_FN void FN(dbl)(F *r, const F *a)
{
    FN(add)(r, a, a);
}

KRN_FN void FN(neg)(F *r, const F *a)
{
    BN(neg)(&r->c0, &a->c0);
    BN(neg)(&r->c1, &a->c1);
}

KRN_FN void FN(conj)(F *r, const F *a)
{
    r->c0 = a->c0;
    BN(neg)(&r->c1, &a->c1);
}

#ifdef __CUDA_ARCH__
/* By value and called: inlined, the dozen products of a point addition outgrow a GPU's instruction cache. */
static __device__ __noinline__ F FN(product)(const F a, const F b)
{
    F r;
    BN(mul_fq2)(&r.c0, &r.c1, &a.c0, &a.c1, &b.c0, &b.c1);
    return r;
}
#endif

KRN_FN_LARGE void FN(mul)(F *r, const F *a, const F *b)
{
#ifdef __CUDA_ARCH__
    *r = FN(product)(*a, *b);
#else
    BN(mul_fq2)(&r->c0, &r->c1, &a->c0, &a->c1, &b->c0, &b->c1);
#endif
}

/* (a0 + a1)(a0 - a1) + 2 a0 a1 u. */
KRN_FN_LARGE void FN(sqr)(F *r, const F *a)
{
    B s, d, m;
    BN(add)(&s, &a->c0, &a->c1);
    BN(sub)(&d, &a->c0, &a->c1);
    BN(mul)(&m, &a->c0, &a->c1);
    BN(mul)(&r->c0, &s, &d);
    BN(dbl)(&r->c1, &m);
}

/* a b - c d */
KRN_FN void FN(mul_sub)(F *r, const F *a, const F *b, const F *c, const F *d)
{
    F t;
    FN(mul)(&t, c, d);
    FN(mul)(r, a, b);
    FN(sub)(r, r, &t);
}

KRN_FN void FN(mul_base)(F *r, const F *a, const B *k)
{
    const B kept = *k;
    BN(mul)(&r->c0, &a->c0, &kept);
    BN(mul)(&r->c1, &a->c1, &kept);
}

/* (x + u)(a0 + a1 u) = x a0 - a1 + (x a1 + a0) u for x = 1 or 9. */
KRN_FN void FN(mul_xi)(F *r, const F *a)
{
    F x = *a;
    if (FQ2_XI0 == 9) {
        FN(dbl)(&x, &x);
        FN(dbl)(&x, &x);
        FN(dbl)(&x, &x);
        FN(add)(&x, &x, a);
    }
    BN(add)(&x.c1, &x.c1, &a->c0);
    BN(sub)(&r->c0, &x.c0, &a->c1);
    r->c1 = x.c1;
}

KRN_FN int FN(is_zero)(const F *a)
{
    return BN(is_zero)(&a->c0) & BN(is_zero)(&a->c1);
}

KRN_FN int FN(eq)(const F *a, const F *b)
{
    return BN(eq)(&a->c0, &b->c0) & BN(eq)(&a->c1, &b->c1);
}

KRN_FN int FN(is_reduced)(const F *a)
{
    return BN(is_reduced)(&a->c0) & BN(is_reduced)(&a->c1);
}

KRN_FN void FN(to_mont)(F *r, const F *a)
{
    BN(to_mont)(&r->c0, &a->c0);
    BN(to_mont)(&r->c1, &a->c1);
}

KRN_FN void FN(from_mont)(F *r, const F *a)
{
    BN(from_mont)(&r->c0, &a->c0);
    BN(from_mont)(&r->c1, &a->c1);
}

/* 1 / (a0 + a1 u) = (a0 - a1 u) / (a0^2 + a1^2); 0 for 0. */
KRN_FN_CALL void FN(inv)(F *r, const F *a)
{
    B n, t;
    BN(sqr)(&n, &a->c0);
    BN(sqr)(&t, &a->c1);
    BN(add)(&n, &n, &t);
    BN(inv)(&n, &n);
    FN(conj)(r, a);
    FN(mul_base)(r, r, &n);
}

#include "kernels/batch_inv_tmpl.h"

#undef F
#undef FN
#undef B
#undef BN
#undef FQ2
#undef FQ2_BASE
#undef FQ2_XI0
