/*
 * kernels/invert.h: 1/a modulo an odd prime by the extended binary GCD of Bernstein and Yang ("Fast constant-time gcd
 * computation and modular inversion", 2019), in the form with 62 steps to a batch and in variable time. A sixth of
 * the time of a power. Common subset of C11 and CUDA C++.
 */
#ifndef KERNELS_INVERT_H
#define KERNELS_INVERT_H

#include <stdint.h>

#include "kernels/limbs.h"

enum { INVERT_BITS = 62, INVERT_LIMBS_MAX = (64 * LIMBS_MAX + INVERT_BITS - 1) / INVERT_BITS + 1 };

#define INVERT_MASK (~0ull >> (64 - INVERT_BITS))

typedef __int128 invert_wide;

/* A signed number in limbs of 62 bits; only the top one may be negative. */
struct invert_number {
    int64_t l[INVERT_LIMBS_MAX];
};

/* 2^62 times what a batch of steps does to (f, g). */
struct invert_matrix {
    int64_t u, v, q, r;
};

KRN_FN int invert_limbs(const int n)
{
    return (64 * n + INVERT_BITS - 1) / INVERT_BITS;
}

KRN_FN void invert_split(struct invert_number *r, const uint64_t *a, const int n)
{
    KRN_UNROLL
    for (int i = 0; i < invert_limbs(n); i++) {
        const int word = INVERT_BITS * i / 64, shift = INVERT_BITS * i % 64;
        uint64_t limb = a[word] >> shift;
        if (shift > 64 - INVERT_BITS && word + 1 < n)
            limb |= a[word + 1] << (64 - shift);
        r->l[i] = (int64_t)(limb & INVERT_MASK);
    }
}

KRN_FN void invert_join(uint64_t *r, const struct invert_number *a, const int n)
{
    KRN_UNROLL
    for (int k = 0; k < n; k++) {
        const int limb = 64 * k / INVERT_BITS, shift = 64 * k % INVERT_BITS;
        r[k] = (uint64_t)a->l[limb] >> shift;
        if (limb + 1 < invert_limbs(n))
            r[k] |= (uint64_t)a->l[limb + 1] << (INVERT_BITS - shift);
    }
}

/* How many zeros x ends in; x is not 0. */
KRN_FN int invert_zeros(uint64_t x)
{
#ifdef __CUDA_ARCH__
    return __ffsll((long long)x) - 1;
#else
    return __builtin_ctzll(x);
#endif
}

/*
 * 62 steps on the low words of f (odd) and g; eta is minus the paper's delta. Runs of zeros of g are taken at once, and
 * up to six (four) more are made by adding the right multiple of f.
 */
KRN_FN int64_t invert_steps(struct invert_matrix *m, int64_t eta, uint64_t f, uint64_t g)
{
    uint64_t u = 1, v = 0, q = 0, r = 1, w, t;
    int left = INVERT_BITS;
    for (;;) {
        int zeros = invert_zeros(g | ~0ull << left);
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        eta -= zeros;
        left -= zeros;
        if (left == 0)
            break;
        if (eta < 0) {
            eta = -eta;
            t = f, f = g, g = 0 - t;
            t = u, u = q, q = 0 - t;
            t = v, v = r, r = 0 - t;
            int limit = (int)(eta + 1 > left ? left : eta + 1);
            w = f * g * (f * f - 2) & (~0ull >> (64 - limit)) & 63;     /* -g / f modulo 64 */
        } else {
            int limit = (int)(eta + 1 > left ? left : eta + 1);
            w = f + (((f + 1) & 4) << 1);                               /* 1 / f modulo 16 */
            w = (0 - w) * g & (~0ull >> (64 - limit)) & 15;
        }
        g += f * w;
        q += u * w;
        r += v * w;
    }
    m->u = (int64_t)u;
    m->v = (int64_t)v;
    m->q = (int64_t)q;
    m->r = (int64_t)r;
    return eta;
}

/* (f, g) = matrix (f, g) / 2^62, exactly. */
KRN_FN void invert_apply(struct invert_number *f, struct invert_number *g, const struct invert_matrix *m,
                         const int limbs)
{
    invert_wide cf = 0, cg = 0;
    KRN_UNROLL
    for (int i = 0; i < limbs; i++) {
        cf += (invert_wide)m->u * f->l[i] + (invert_wide)m->v * g->l[i];
        cg += (invert_wide)m->q * f->l[i] + (invert_wide)m->r * g->l[i];
        if (i > 0) {
            f->l[i - 1] = (int64_t)((uint64_t)cf & INVERT_MASK);
            g->l[i - 1] = (int64_t)((uint64_t)cg & INVERT_MASK);
        }
        cf >>= INVERT_BITS;
        cg >>= INVERT_BITS;
    }
    f->l[limbs - 1] = (int64_t)cf;
    g->l[limbs - 1] = (int64_t)cg;
}

/* (d, e) = matrix (d, e) / 2^62 modulo p; both stay between -2p and p. p_inverse: 1/p modulo 2^62. */
KRN_FN void invert_apply_mod(struct invert_number *d, struct invert_number *e, const struct invert_matrix *m,
                             const struct invert_number *p, uint64_t p_inverse, const int limbs)
{
    const int64_t sign_d = d->l[limbs - 1] >> 63, sign_e = e->l[limbs - 1] >> 63;
    int64_t md = (m->u & sign_d) + (m->v & sign_e), me = (m->q & sign_d) + (m->r & sign_e);
    invert_wide cd = (invert_wide)m->u * d->l[0] + (invert_wide)m->v * e->l[0];
    invert_wide ce = (invert_wide)m->q * d->l[0] + (invert_wide)m->r * e->l[0];
    md -= (int64_t)((p_inverse * (uint64_t)cd + (uint64_t)md) & INVERT_MASK);
    me -= (int64_t)((p_inverse * (uint64_t)ce + (uint64_t)me) & INVERT_MASK);
    cd = (cd + (invert_wide)p->l[0] * md) >> INVERT_BITS;
    ce = (ce + (invert_wide)p->l[0] * me) >> INVERT_BITS;
    KRN_UNROLL
    for (int i = 1; i < limbs; i++) {
        cd += (invert_wide)m->u * d->l[i] + (invert_wide)m->v * e->l[i] + (invert_wide)p->l[i] * md;
        ce += (invert_wide)m->q * d->l[i] + (invert_wide)m->r * e->l[i] + (invert_wide)p->l[i] * me;
        d->l[i - 1] = (int64_t)((uint64_t)cd & INVERT_MASK);
        e->l[i - 1] = (int64_t)((uint64_t)ce & INVERT_MASK);
        cd >>= INVERT_BITS;
        ce >>= INVERT_BITS;
    }
    d->l[limbs - 1] = (int64_t)cd;
    e->l[limbs - 1] = (int64_t)ce;
}

/* a = sign (1 or -1) * a + k p, carried. */
KRN_FN void invert_adjust(struct invert_number *a, int64_t sign, int64_t k, const struct invert_number *p,
                          const int limbs)
{
    int64_t carry = 0;
    KRN_UNROLL
    for (int i = 0; i < limbs; i++) {
        carry += sign * a->l[i] + k * p->l[i];
        a->l[i] = i + 1 < limbs ? carry & (int64_t)INVERT_MASK : carry;
        carry >>= INVERT_BITS;
    }
}

/* r = 1/a mod p for a below p, and 0 for 0; plain numbers of n 64-bit limbs. np0: -1/p modulo 2^64. */
KRN_FN void invert(uint64_t *r, const uint64_t *a, const uint64_t *p, uint64_t np0, const int n)
{
    const int limbs = invert_limbs(n);
    struct invert_number f, g, modulus, d = {{0}}, e = {{1}};
    struct invert_matrix m;
    int64_t eta = -1, any = 1;
    invert_split(&modulus, p, n);
    invert_split(&g, a, n);
    f = modulus;
    for (;;) {
        any = 0;
        KRN_UNROLL
        for (int i = 0; i < limbs; i++)
            any |= g.l[i];
        if (any == 0)
            break;
        eta = invert_steps(&m, eta, (uint64_t)f.l[0] | (uint64_t)f.l[1] << INVERT_BITS,
                           (uint64_t)g.l[0] | (uint64_t)g.l[1] << INVERT_BITS);
        invert_apply_mod(&d, &e, &m, &modulus, 0 - np0, limbs);
        invert_apply(&f, &g, &m, limbs);
    }
    /* f is 1 or -1 (p where a = 0, and d is 0), and d * a = f. */
    if (d.l[limbs - 1] < 0)
        invert_adjust(&d, 1, 1, &modulus, limbs);       /* now between -p and p */
    if (f.l[limbs - 1] < 0)
        invert_adjust(&d, -1, 0, &modulus, limbs);
    if (d.l[limbs - 1] < 0)
        invert_adjust(&d, 1, 1, &modulus, limbs);
    invert_join(r, &d, n);
}

#endif
