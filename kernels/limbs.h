/*
 * kernels/limbs.h: whole numbers as rows of 64-bit limbs, least significant first, and what modular arithmetic
 * needs of them: addition and subtraction modulo p, and Montgomery multiplication.
 *
 * One source for every field: the number of limbs n is a constant at each call, and all loops unroll. This is the
 * C twin; on a GPU the same names lead to carry chains in PTX (kernels/limbs_ptx.cuh).
 *
 * Limits: p is odd and its top limb is below 2^63 - 1, so that a sum of two reduced values fits in n limbs and the
 * rows of a product need no limb more. Operands are below p and results are below p. r may be a or b.
 */
#ifndef KERNELS_LIMBS_H
#define KERNELS_LIMBS_H

#include <stdint.h>

#if defined(__x86_64__) && !defined(__CUDACC__)
#include <immintrin.h>
#define LIMBS_X86 1
#endif

/* What runs on host and device. KRN_FN: inlined into its caller. KRN_FN_CALL: too rare for that. KRN_FN_LARGE:
 * inlined on a GPU, where a call costs all registers, and called on the host, whose instruction cache is small. */
#ifdef __CUDACC__
#define KRN_FN static __host__ __device__ __forceinline__
#define KRN_FN_LARGE KRN_FN
#define KRN_FN_CALL static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define KRN_FN static inline __attribute__((always_inline))
#define KRN_FN_LARGE KRN_FN_CALL
#define KRN_FN_CALL static __attribute__((noinline, unused))
#endif

#if defined(__CUDA_ARCH__) || defined(__clang__)
#define KRN_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define KRN_UNROLL    /* nvcc's host pass knows neither; its code is not on a fast path */
#else
#define KRN_UNROLL _Pragma("GCC unroll 16")
#endif

/* For a local constant that code reads by address. */
#ifdef __CUDACC__
#define KRN_LOCAL_CONST const
#else
#define KRN_LOCAL_CONST static const
#endif

#define KRN_PASTE2(a, b) a##_##b
#define KRN_PASTE(a, b) KRN_PASTE2(a, b)

enum { LIMBS_MAX = 6 };

typedef unsigned __int128 krn_u128;

/* a + b + *carry; *carry is 0 or 1, before and after. The intrinsics become one add-with-carry each. */
KRN_FN uint64_t limbs_addc(uint64_t a, uint64_t b, uint64_t *carry)
{
#ifdef LIMBS_X86
    unsigned long long t;
    *carry = _addcarry_u64((unsigned char)*carry, a, b, &t);
    return t;
#else
    krn_u128 t = (krn_u128)a + b + *carry;
    *carry = (uint64_t)(t >> 64);
    return (uint64_t)t;
#endif
}

/* a - b - *borrow; *borrow is 0 or 1, before and after. */
KRN_FN uint64_t limbs_subb(uint64_t a, uint64_t b, uint64_t *borrow)
{
#ifdef LIMBS_X86
    unsigned long long t;
    *borrow = _subborrow_u64((unsigned char)*borrow, a, b, &t);
    return t;
#else
    krn_u128 t = (krn_u128)a - b - *borrow;
    *borrow = (uint64_t)(t >> 64) & 1;
    return (uint64_t)t;
#endif
}

/* The low limb of a * b + c + *high; the high one goes to *high. It cannot overflow. */
KRN_FN uint64_t limbs_mac(uint64_t a, uint64_t b, uint64_t c, uint64_t *high)
{
    krn_u128 t = (krn_u128)a * b + c + *high;
    *high = (uint64_t)(t >> 64);
    return (uint64_t)t;
}

/* r = a - b as whole numbers; returns the borrow. */
KRN_FN uint64_t limbs_sub(uint64_t *r, const uint64_t *a, const uint64_t *b, const int n)
{
    uint64_t borrow = 0;
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = limbs_subb(a[i], b[i], &borrow);
    return borrow;
}

/* r = t - p where t >= p, else t; for t below 2p. The choice is as good as random, and made by conditional moves. */
KRN_FN void limbs_reduce_once(uint64_t *r, const uint64_t *t, const uint64_t *p, const int n)
{
    uint64_t s[LIMBS_MAX];
    uint64_t keep = limbs_sub(s, t, p, n);
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = keep ? t[i] : s[i];
}

#ifdef __CUDACC__
#include "kernels/limbs_ptx.cuh"    /* in device passes limbs_mod_* and limbs_mont_*, as below */
#endif

#ifndef __CUDA_ARCH__

KRN_FN void limbs_mod_add(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, const int n)
{
    uint64_t t[LIMBS_MAX], carry = 0;
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        t[i] = limbs_addc(a[i], b[i], &carry);
    limbs_reduce_once(r, t, p, n);
}

KRN_FN void limbs_mod_sub(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, const int n)
{
    uint64_t t[LIMBS_MAX], s[LIMBS_MAX], carry = 0;
    uint64_t below = limbs_sub(t, a, b, n);
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        s[i] = limbs_addc(t[i], p[i], &carry);
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = below ? s[i] : t[i];
}

#if defined(LIMBS_X86) && defined(__BMI2__) && defined(__ADX__)
#include "kernels/limbs_adx.h"
#else
/* t[0..n] += a * b, for a sum that fits. */
KRN_FN void limbs_row(uint64_t *t, const uint64_t *a, uint64_t b, const int n)
{
    uint64_t high = 0;
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        t[j] = limbs_mac(a[j], b, t[j], &high);
    t[n] += high;
}
#endif

/* t = (t + m p) / 2^64 with the m that makes the sum divisible; np0 = -1/p mod 2^64. */
KRN_FN void limbs_mont_step(uint64_t *t, const uint64_t *p, uint64_t np0, const int n)
{
    limbs_row(t, p, t[0] * np0, n);
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        t[j] = t[j + 1];
    t[n] = 0;
}

/* r = a * b / 2^(64 n) mod p. Rows of the product and of the reduction alternate (CIOS: Koc, Acar, Kaliski 1996). */
KRN_FN void limbs_mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, uint64_t np0,
                           const int n)
{
    uint64_t t[LIMBS_MAX + 1] = {0};
    KRN_UNROLL
    for (int i = 0; i < n; i++) {
        limbs_row(t, a, b[i], n);
        limbs_mont_step(t, p, np0, n);
    }
    limbs_reduce_once(r, t, p, n);
}

KRN_FN void limbs_mont_sqr(uint64_t *r, const uint64_t *a, const uint64_t *p, uint64_t np0, const int n)
{
    limbs_mont_mul(r, a, a, p, np0, n);
}

/* r = (a * b + c * d) / 2^(64 n) mod p, one reduction for both (Longa 2022, eprint 2022/367). p has two spare bits, so
 * that what is reduced stays below 2p; d may be p. */
KRN_FN void limbs_mont_dot2(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *c, const uint64_t *d,
                            const uint64_t *p, uint64_t np0, const int n)
{
    uint64_t t[LIMBS_MAX + 1] = {0};
    KRN_UNROLL
    for (int i = 0; i < n; i++) {
        limbs_row(t, a, b[i], n);
        limbs_row(t, c, d[i], n);
        limbs_mont_step(t, p, np0, n);
    }
    limbs_reduce_once(r, t, p, n);
}

/* r = a / 2^k mod p, k < 64: what a Montgomery reduction does, for k bits. */
KRN_FN void limbs_div_pow2(uint64_t *r, const uint64_t *a, int k, const uint64_t *p, uint64_t np0, const int n)
{
    const uint64_t m = a[0] * np0 & (((uint64_t)1 << k) - 1);
    uint64_t t[LIMBS_MAX + 1], high = 0;
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        t[i] = limbs_mac(p[i], m, a[i], &high);
    t[n] = high;
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = t[i] >> k | t[i + 1] << 1 << (63 - k);
}

/* r0 + r1 u = (a0 + a1 u)(b0 + b1 u) with u^2 = -1, for p of two spare bits. As many rows as three multiplications of
 * Karatsuba's take, and none of their additions. */
KRN_FN void limbs_mont_mul_fq2(uint64_t *r0, uint64_t *r1, const uint64_t *a0, const uint64_t *a1, const uint64_t *b0,
                               const uint64_t *b1, const uint64_t *p, uint64_t np0, const int n)
{
    uint64_t minus_b1[LIMBS_MAX], t[LIMBS_MAX];
    limbs_sub(minus_b1, p, b1, n);
    limbs_mont_dot2(t, a0, b0, a1, minus_b1, p, np0, n);
    limbs_mont_dot2(r1, a0, b1, a1, b0, p, np0, n);
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        r0[i] = t[i];
}

#endif

#endif
