/*
 * kernels/lanes.h: modular arithmetic on eight numbers at a time, for files compiled with AVX-512 IFMA.
 *
 * An element is n vectors of eight 64-bit lanes; vector j holds limb j, of 52 bits, of eight numbers. n = 5 for the
 * fields of 254 and 255 bits, 8 for 381 bits: a constant at each call, so that all loops unroll. Products are
 * Montgomery products with 2^(52 n), here called S, where kernels/field.h has R = 2^(64 limbs): the same bytes stand
 * for another number, and callers choose their constants so that nothing has to be converted.
 *
 * Values are not kept below p. Limbs are always below 2^52; with a < x p and b < y p a product is below
 * (1 + x y p / S) p, where p / S is 1/84 for BN254, 1/35 for the scalars of BLS12-381 and 2^-35 for its base field.
 * Comments at the callers count multiples of p; lanes_reduce brings a value below 4p to its canonical form.
 */
#ifndef KERNELS_LANES_H
#define KERNELS_LANES_H

#include <immintrin.h>
#include <stdint.h>

#include "kernels/limbs.h"

typedef __m512i lanes_v;

enum { LANES = 8, LANES_BITS = 52, LANES_LIMBS_MAX = 8 };

#define LANES_MASK ((1ull << LANES_BITS) - 1)

/* A prime, its limbs of 52 bits, and -1/p mod 2^52. */
struct lanes_prime {
    uint64_t p[LANES_LIMBS_MAX], np0;
};

KRN_FN lanes_v lanes_set(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

/* The prime of `words` 64-bit words; folds to a constant. */
KRN_FN struct lanes_prime lanes_prime_of(const uint64_t *words, const int n_words, uint64_t np0, const int n)
{
    struct lanes_prime m = {.np0 = np0 & LANES_MASK};
    KRN_UNROLL
    for (int j = 0; j < n; j++) {
        const int word = LANES_BITS * j / 64, shift = LANES_BITS * j % 64;
        uint64_t limb = words[word] >> shift;
        if (shift > 64 - LANES_BITS && word + 1 < n_words)
            limb |= words[word + 1] << (64 - shift);
        m.p[j] = limb & LANES_MASK;
    }
    return m;
}

KRN_FN void lanes_copy(lanes_v *r, const lanes_v *a, const int n)
{
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        r[j] = a[j];
}

/* r = a where the mask has a 1, b elsewhere. */
KRN_FN void lanes_select(lanes_v *r, __mmask8 mask, const lanes_v *a, const lanes_v *b, const int n)
{
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        r[j] = _mm512_mask_blend_epi64(mask, b[j], a[j]);
}

/* Carries from limb to limb; limbs may be negative, the number may not. */
KRN_FN void lanes_carry(lanes_v *r, const lanes_v *a, const int n)
{
    const lanes_v mask = lanes_set(LANES_MASK);
    lanes_v t = a[0];
    KRN_UNROLL
    for (int j = 0; j < n - 1; j++) {
        r[j] = _mm512_and_si512(t, mask);
        t = _mm512_add_epi64(a[j + 1], _mm512_srai_epi64(t, LANES_BITS));
    }
    r[n - 1] = t;
}

KRN_FN void lanes_add(lanes_v *r, const lanes_v *a, const lanes_v *b, const int n)
{
    lanes_v t[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        t[j] = _mm512_add_epi64(a[j], b[j]);
    lanes_carry(r, t, n);
}

/* a - b + k p, for b of at most k p. */
KRN_FN void lanes_sub(lanes_v *r, const lanes_v *a, const lanes_v *b, const uint64_t k, const struct lanes_prime *m,
                      const int n)
{
    lanes_v t[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        t[j] = _mm512_add_epi64(_mm512_sub_epi64(a[j], b[j]), lanes_set(k * m->p[j]));
    lanes_carry(r, t, n);
}

/* k a for small k. */
KRN_FN void lanes_times(lanes_v *r, const lanes_v *a, const int k, const int n)
{
    lanes_v t[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int j = 0; j < n; j++) {
        t[j] = a[j];
        KRN_UNROLL
        for (int i = 1; i < k; i++)
            t[j] = _mm512_add_epi64(t[j], a[j]);
    }
    lanes_carry(r, t, n);
}

/* a - k p where that is not negative, else a. */
KRN_FN void lanes_reduce_by(lanes_v *r, const lanes_v *a, const uint64_t k, const struct lanes_prime *m, const int n)
{
    lanes_v t[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        t[j] = _mm512_sub_epi64(a[j], lanes_set(k * m->p[j]));
    lanes_carry(t, t, n);
    lanes_select(r, _mm512_movepi64_mask(t[n - 1]), a, t, n);
}

/* The canonical form of a value below 4p. */
KRN_FN void lanes_reduce(lanes_v *r, const lanes_v *a, const struct lanes_prime *m, const int n)
{
    lanes_v t[LANES_LIMBS_MAX];
    lanes_reduce_by(t, a, 2, m, n);
    lanes_reduce_by(r, t, 1, m, n);
}

/* Lanes whose n limbs are all zero. */
KRN_FN __mmask8 lanes_zero_mask(const lanes_v *a, const int n)
{
    lanes_v any = a[0];
    KRN_UNROLL
    for (int j = 1; j < n; j++)
        any = _mm512_or_si512(any, a[j]);
    return _mm512_testn_epi64_mask(any, any);
}

KRN_FN __mmask8 lanes_equal_mask(const lanes_v *a, const lanes_v *b, const int n)
{
    lanes_v any = _mm512_xor_si512(a[0], b[0]);
    KRN_UNROLL
    for (int j = 1; j < n; j++)
        any = _mm512_or_si512(any, _mm512_xor_si512(a[j], b[j]));
    return _mm512_testn_epi64_mask(any, any);
}

/* Lanes below p. */
KRN_FN __mmask8 lanes_below_mask(const lanes_v *a, const struct lanes_prime *m, const int n)
{
    lanes_v t[LANES_LIMBS_MAX];
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        t[j] = _mm512_sub_epi64(a[j], lanes_set(m->p[j]));
    lanes_carry(t, t, n);
    return _mm512_movepi64_mask(t[n - 1]);
}

/* t[0 .. 2n) = a * b, limbs unreduced: below 2^57, so that a few of these can be added and subtracted. */
KRN_FN void lanes_wide_mul(lanes_v *t, const lanes_v *a, const lanes_v *b, const int n)
{
    KRN_UNROLL
    for (int i = 0; i < 2 * n; i++)
        t[i] = _mm512_setzero_si512();
    KRN_UNROLL
    for (int i = 0; i < n; i++) {
        KRN_UNROLL
        for (int j = 0; j < n; j++) {
            t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[j], b[i]);
            t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[j], b[i]);
        }
    }
}

/* t = a^2: the products of different limbs once, doubled, then the squares. */
KRN_FN void lanes_wide_sqr(lanes_v *t, const lanes_v *a, const int n)
{
    KRN_UNROLL
    for (int i = 0; i < 2 * n; i++)
        t[i] = _mm512_setzero_si512();
    KRN_UNROLL
    for (int i = 0; i < n; i++) {
        KRN_UNROLL
        for (int j = i + 1; j < n; j++) {
            t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[j], a[i]);
            t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[j], a[i]);
        }
    }
    KRN_UNROLL
    for (int i = 0; i < 2 * n; i++)
        t[i] = _mm512_add_epi64(t[i], t[i]);
    KRN_UNROLL
    for (int i = 0; i < n; i++) {
        t[2 * i] = _mm512_madd52lo_epu64(t[2 * i], a[i], a[i]);
        t[2 * i + 1] = _mm512_madd52hi_epu64(t[2 * i + 1], a[i], a[i]);
    }
}

/* r = t / S mod p, below t / S + p. Destroys t, whose limbs may be negative where the number is not. */
KRN_FN void lanes_redc(lanes_v *r, lanes_v *t, const struct lanes_prime *m, const int n)
{
    KRN_UNROLL
    for (int i = 0; i < n; i++) {
        lanes_v k = _mm512_madd52lo_epu64(_mm512_setzero_si512(), t[i], lanes_set(m->np0));
        KRN_UNROLL
        for (int j = 0; j < n; j++) {
            t[i + j] = _mm512_madd52lo_epu64(t[i + j], k, lanes_set(m->p[j]));
            t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], k, lanes_set(m->p[j]));
        }
        t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srai_epi64(t[i], LANES_BITS));
    }
    lanes_carry(r, t + n, n);
}

KRN_FN void lanes_mul(lanes_v *r, const lanes_v *a, const lanes_v *b, const struct lanes_prime *m, const int n)
{
    lanes_v t[2 * LANES_LIMBS_MAX];
    lanes_wide_mul(t, a, b, n);
    lanes_redc(r, t, m, n);
}

KRN_FN void lanes_sqr(lanes_v *r, const lanes_v *a, const struct lanes_prime *m, const int n)
{
    lanes_v t[2 * LANES_LIMBS_MAX];
    lanes_wide_sqr(t, a, n);
    lanes_redc(r, t, m, n);
}

/* Rows and columns of eight vectors of eight words change places. */
KRN_FN void lanes_transpose(lanes_v *v)
{
    lanes_v t[8];
    KRN_UNROLL
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
    }
    KRN_UNROLL
    for (int i = 0; i < 2; i++) {   /* t[i], t[i+2], ..: a 4 x 4 transposition of 128-bit pieces */
        lanes_v a = _mm512_shuffle_i64x2(t[i], t[i + 2], 0x88), b = _mm512_shuffle_i64x2(t[i + 4], t[i + 6], 0x88);
        lanes_v c = _mm512_shuffle_i64x2(t[i], t[i + 2], 0xdd), d = _mm512_shuffle_i64x2(t[i + 4], t[i + 6], 0xdd);
        v[i] = _mm512_shuffle_i64x2(a, b, 0x88);
        v[i + 2] = _mm512_shuffle_i64x2(c, d, 0x88);
        v[i + 4] = _mm512_shuffle_i64x2(a, b, 0xdd);
        v[i + 6] = _mm512_shuffle_i64x2(c, d, 0xdd);
    }
}

/* Lane i gets lane i + k. */
KRN_FN void lanes_rotate(lanes_v *r, const lanes_v *a, const int k, const int n)
{
    const lanes_v lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const lanes_v from = _mm512_and_si512(_mm512_add_epi64(lane, lanes_set((uint64_t)k)), lanes_set(LANES - 1));
    KRN_UNROLL
    for (int j = 0; j < n; j++)
        r[j] = _mm512_permutexvar_epi64(from, a[j]);
}

/* words: vectors of the 64-bit words of eight numbers; r: their limbs. */
KRN_FN void lanes_from_words(lanes_v *r, const lanes_v *words, const int n_words, const int n)
{
    KRN_UNROLL
    for (int j = 0; j < n; j++) {
        const int word = LANES_BITS * j / 64, shift = LANES_BITS * j % 64;
        lanes_v limb = _mm512_srli_epi64(words[word], shift);
        if (shift > 64 - LANES_BITS && word + 1 < n_words)
            limb = _mm512_or_si512(limb, _mm512_slli_epi64(words[word + 1], 64 - shift));
        r[j] = _mm512_and_si512(limb, lanes_set(LANES_MASK));
    }
}

KRN_FN void lanes_to_words(lanes_v *words, const lanes_v *a, const int n_words, const int n)
{
    KRN_UNROLL
    for (int k = 0; k < n_words; k++) {
        const int limb = 64 * k / LANES_BITS, shift = 64 * k % LANES_BITS;
        lanes_v w = _mm512_srli_epi64(a[limb], shift);
        if (limb + 1 < n)
            w = _mm512_or_si512(w, _mm512_slli_epi64(a[limb + 1], LANES_BITS - shift));
        if (2 * LANES_BITS - shift < 64 && limb + 2 < n)
            w = _mm512_or_si512(w, _mm512_slli_epi64(a[limb + 2], 2 * LANES_BITS - shift));
        words[k] = w;
    }
}

/* Four words at each of eight addresses, as four vectors: half the shuffles of lanes_transpose. */
KRN_FN void lanes_gather_4(lanes_v *words, const uint8_t *const *at)
{
    const lanes_v low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    lanes_v t[4];
    KRN_UNROLL
    for (int i = 0; i < 4; i++)     /* points i and i + 4 side by side */
        t[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)at[i])),
                                  _mm256_loadu_si256((const void *)at[i + 4]), 1);
    KRN_UNROLL
    for (int i = 0; i < 2; i++) {   /* words i and i + 2 */
        lanes_v a = i == 0 ? _mm512_unpacklo_epi64(t[0], t[1]) : _mm512_unpackhi_epi64(t[0], t[1]);
        lanes_v b = i == 0 ? _mm512_unpacklo_epi64(t[2], t[3]) : _mm512_unpackhi_epi64(t[2], t[3]);
        words[i] = _mm512_permutex2var_epi64(a, low, b);
        words[i + 2] = _mm512_permutex2var_epi64(a, high, b);
    }
}

/* n_words words at each of eight addresses, as n_words vectors. */
KRN_FN void lanes_gather(lanes_v *words, const uint8_t *const *at, const int n_words)
{
    KRN_UNROLL
    for (int k = 0; k < n_words; k += 8) {
        const int n = n_words - k >= 8 ? 8 : n_words - k;
        lanes_v t[8];
        if (n == 4) {
            const uint8_t *from[LANES];
            for (int i = 0; i < LANES; i++)
                from[i] = at[i] + 8 * k;
            lanes_gather_4(words + k, from);
            continue;
        }
        KRN_UNROLL
        for (int i = 0; i < LANES; i++)
            t[i] = _mm512_maskz_loadu_epi64((__mmask8)((1u << n) - 1), at[i] + 8 * k);
        lanes_transpose(t);
        KRN_UNROLL
        for (int i = 0; i < 8; i++)
            if (i < n)
                words[k + i] = t[i];
    }
}

KRN_FN void lanes_scatter(uint8_t *const *at, const lanes_v *words, const int n_words)
{
    KRN_UNROLL
    for (int k = 0; k < n_words; k += 8) {
        const int n = n_words - k >= 8 ? 8 : n_words - k;
        lanes_v t[8];
        KRN_UNROLL
        for (int i = 0; i < 8; i++)
            t[i] = i < n ? words[k + i] : _mm512_setzero_si512();
        lanes_transpose(t);
        KRN_UNROLL
        for (int i = 0; i < LANES; i++)
            _mm512_mask_storeu_epi64(at[i] + 8 * k, (__mmask8)((1u << n) - 1), t[i]);
    }
}

#endif
