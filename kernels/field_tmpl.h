/*
 * kernels/field_tmpl.h: one prime field, written once. kernels/field.h includes this file once a field, with
 *
 *   FIELD        name and prefix, e.g. bn254_fr        FIELD_LIMBS  its 64-bit limbs
 *   FIELD_P      limbs of the prime p                  FIELD_ONE    limbs of R mod p, R = 2^(64 limbs)
 *   FIELD_R2     limbs of R^2 mod p                    FIELD_NP0    -1/p mod 2^64
 *
 * and gives the type FIELD and the functions FIELD_NAME below; field.h says what they promise. No include guard.
 */
#define F FIELD
#define FN(name) KRN_PASTE(FIELD, name)

/* Ten inlined multiplications of six limbs, a mixed addition, overflow the host's instruction cache. */
#if FIELD_LIMBS > 4
#define FIELD_MUL_FN KRN_FN_LARGE
#else
#define FIELD_MUL_FN KRN_FN
#endif

typedef struct {
    uint64_t l[FIELD_LIMBS];
} F;

enum { FN(limbs) = FIELD_LIMBS, FN(bytes) = 8 * FIELD_LIMBS };

/* Constants are functions: what they return folds into the code, on the host and on a GPU alike. */
KRN_FN F FN(modulus)(void)
{
    const F p = {{FIELD_P}};
    return p;
}

KRN_FN F FN(one)(void)
{
    const F one = {{FIELD_ONE}};
    return one;
}

KRN_FN F FN(r2)(void)
{
    const F r2 = {{FIELD_R2}};
    return r2;
}

KRN_FN uint64_t FN(np0)(void)
{
    return FIELD_NP0;
}

KRN_FN F FN(zero)(void)
{
    const F zero = {{0}};
    return zero;
}

KRN_FN void FN(add)(F *r, const F *a, const F *b)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    limbs_mod_add(r->l, a->l, b->l, p.l, FIELD_LIMBS);
}

KRN_FN void FN(sub)(F *r, const F *a, const F *b)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    limbs_mod_sub(r->l, a->l, b->l, p.l, FIELD_LIMBS);
}

KRN_FN void FN(dbl)(F *r, const F *a)
{
    FN(add)(r, a, a);
}

KRN_FN void FN(neg)(F *r, const F *a)
{
    const F zero = FN(zero)();
    FN(sub)(r, &zero, a);
}

FIELD_MUL_FN void FN(mul)(F *r, const F *a, const F *b)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    limbs_mont_mul(r->l, a->l, b->l, p.l, FIELD_NP0, FIELD_LIMBS);
}

FIELD_MUL_FN void FN(sqr)(F *r, const F *a)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    limbs_mont_sqr(r->l, a->l, p.l, FIELD_NP0, FIELD_LIMBS);
}

FIELD_MUL_FN void FN(mul_sub)(F *r, const F *a, const F *b, const F *c, const F *d)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    F minus_c;
    limbs_sub(minus_c.l, p.l, c->l, FIELD_LIMBS);
    limbs_mont_dot2(r->l, a->l, b->l, d->l, minus_c.l, p.l, FIELD_NP0, FIELD_LIMBS);
}

KRN_FN void FN(div_pow2)(F *r, const F *a, int k)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    limbs_div_pow2(r->l, a->l, k, p.l, FIELD_NP0, FIELD_LIMBS);
}

/* The product in F[u] / (u^2 + 1); only for primes of two spare bits. */
FIELD_MUL_FN void FN(mul_fq2)(F *r0, F *r1, const F *a0, const F *a1, const F *b0, const F *b1)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    limbs_mont_mul_fq2(r0->l, r1->l, a0->l, a1->l, b0->l, b1->l, p.l, FIELD_NP0, FIELD_LIMBS);
}

KRN_FN void FN(to_mont)(F *r, const F *a)
{
    const F r2 = FN(r2)();
    FN(mul)(r, a, &r2);
}

KRN_FN void FN(from_mont)(F *r, const F *a)
{
    const F one = {{1}};
    FN(mul)(r, a, &one);
}

KRN_FN int FN(is_zero)(const F *a)
{
    uint64_t any = 0;
    KRN_UNROLL
    for (int i = 0; i < FIELD_LIMBS; i++)
        any |= a->l[i];
    return any == 0;
}

KRN_FN int FN(eq)(const F *a, const F *b)
{
    uint64_t diff = 0;
    KRN_UNROLL
    for (int i = 0; i < FIELD_LIMBS; i++)
        diff |= a->l[i] ^ b->l[i];
    return diff == 0;
}

KRN_FN int FN(is_reduced)(const F *a)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    F t;
    return (int)limbs_sub(t.l, a->l, p.l, FIELD_LIMBS);
}

KRN_FN void FN(set_u64)(F *r, uint64_t x)
{
    F plain = {{0}};
    plain.l[0] = x;
    FN(to_mont)(r, &plain);
}

KRN_FN void FN(load)(F *r, const uint8_t *bytes)
{
    memcpy(r->l, bytes, sizeof r->l);
}

KRN_FN void FN(store)(uint8_t *bytes, const F *a)
{
    memcpy(bytes, a->l, sizeof a->l);
}

KRN_FN_CALL void FN(pow)(F *r, const F *a, const uint64_t *e, int e_limbs)
{
    const F base = *a;
    F acc = FN(one)();
    for (int i = 64 * e_limbs - 1; i >= 0; i--) {
        FN(sqr)(&acc, &acc);
        if (e[i / 64] >> (i % 64) & 1)
            FN(mul)(&acc, &acc, &base);
    }
    *r = acc;
}

KRN_FN_CALL void FN(inv)(F *r, const F *a)
{
    KRN_LOCAL_CONST F p = {{FIELD_P}};
    invert(r->l, a->l, p.l, FIELD_NP0, FIELD_LIMBS);    /* of a R: R^2 short of the Montgomery form of 1/a */
    FN(to_mont)(r, r);
    FN(to_mont)(r, r);
}

#include "kernels/batch_inv_tmpl.h"

#undef F
#undef FN
#undef FIELD
#undef FIELD_MUL_FN
#undef FIELD_LIMBS
#undef FIELD_P
#undef FIELD_ONE
#undef FIELD_R2
#undef FIELD_NP0
