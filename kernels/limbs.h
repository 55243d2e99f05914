/*
 * kernels/limbs.h: whole numbers as rows of 64-bit limbs, least significant first, and what modular arithmetic
 * needs of them: addition and subtraction modulo p, and Montgomery multiplication.
 *
 * One source for every field: the number of limbs n is a constant at each call, and all loops unroll. This is the
 * C twin; on a GPU the same four names lead to carry chains in PTX (kernels/limbs_ptx.cuh).
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

/* r = t - p where t >= p, else t; for t below 2p. Without a branch: which of the two holds is as good as random. */
KRN_FN void limbs_reduce_once(uint64_t *r, const uint64_t *t, const uint64_t *p, const int n)
{
    uint64_t s[LIMBS_MAX];
    uint64_t keep = 0 - limbs_sub(s, t, p, n);
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = (t[i] & keep) | (s[i] & ~keep);
}

#ifdef __CUDACC__
#include "kernels/limbs_ptx.cuh"    /* in device passes limbs_mod_add, _mod_sub, _mont_mul, _mont_sqr, as below */
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
    uint64_t t[LIMBS_MAX], carry = 0;
    uint64_t mask = 0 - limbs_sub(t, a, b, n);
    KRN_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = limbs_addc(t[i], p[i] & mask, &carry);
}

/* r = a * b / 2^(64 n) mod p, np0 = -1/p mod 2^64. Rows of the product and of the reduction alternate (CIOS: Koc,
 * Acar, Kaliski 1996); the two high words of a row add up to less than 2^64 because p's top limb is small. */
KRN_FN void limbs_mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, uint64_t np0,
                           const int n)
{
    uint64_t t[LIMBS_MAX] = {0};
    KRN_UNROLL
    for (int i = 0; i < n; i++) {
        uint64_t high = 0, mhigh = 0;
        t[0] = limbs_mac(a[0], b[i], t[0], &high);
        uint64_t m = t[0] * np0;
        limbs_mac(m, p[0], t[0], &mhigh);
        KRN_UNROLL
        for (int j = 1; j < n; j++) {
            t[j] = limbs_mac(a[j], b[i], t[j], &high);
            t[j - 1] = limbs_mac(m, p[j], t[j], &mhigh);
        }
        t[n - 1] = high + mhigh;
    }
    limbs_reduce_once(r, t, p, n);
}

KRN_FN void limbs_mont_sqr(uint64_t *r, const uint64_t *a, const uint64_t *p, uint64_t np0, const int n)
{
    limbs_mont_mul(r, a, a, p, np0, n);
}

#endif

#endif
