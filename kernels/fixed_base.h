/*
 * kernels/fixed_base.h: many multiples of one point, the generator of G1 or G2: what a setup consists of.
 *
 * A table holds, for every window of c bits of a scalar, the multiples 1 .. 2^(c-1) of 2^(c w) G. A scalar is written
 * in signed digits, and is then a sum of one entry a window, which kernels/sum.h computes for many scalars at once.
 */
#ifndef KERNELS_FIXED_BASE_H
#define KERNELS_FIXED_BASE_H

#include "kernels/krn.h"
#include "kernels/limbs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct krn_fixed_base;

/* The table for the generator of G1 or G2 (group 1 or 2), of the size that is best for n multiplications in all.
 * threads: 0 for all processors. NULL where memory is short; freed by krn_fixed_base_free. */
struct krn_fixed_base *krn_fixed_base_new(enum krn_curve_id curve, int group, size_t n, unsigned threads);

/* out[i] = scalars[i] G for i < n: plain scalars below the group order in, Montgomery affine points (iden3's bytes)
 * out, at any alignment. 0 or -ENOMEM. Takes a time that depends on the scalars. */
int krn_fixed_base_mul(const struct krn_fixed_base *t, uint8_t *out, const uint8_t *scalars, size_t n,
                       unsigned threads);

void krn_fixed_base_free(struct krn_fixed_base *t);

/* A table as bytes, for a device that multiplies by it: windows rows of 2^(bits - 1) points (iden3's bytes).
 * Borrowed. */
struct krn_fixed_base_table {
    const uint8_t *points;
    size_t bytes;
    unsigned bits, windows;
};
struct krn_fixed_base_table krn_fixed_base_table(const struct krn_fixed_base *t);

/* Digit k of a plain scalar, in -2^(bits-1)+1 .. 2^(bits-1): entry |d| - 1 of row k of the table, negated for d < 0.
 * The digits below were taken in order; *carry is 0 at first. */
KRN_FN int32_t krn_fixed_base_digit(const uint64_t scalar[KRN_FR_BYTES / 8], unsigned bits, unsigned k,
                                    unsigned *carry)
{
    const unsigned word = bits * k / 64, shift = bits * k % 64;
    uint64_t window = scalar[word] >> shift;

    if (shift + bits > 64 && word + 1 < KRN_FR_BYTES / 8)
        window |= scalar[word + 1] << (64 - shift);
    const uint32_t d = ((uint32_t)window & ((1u << bits) - 1)) + *carry;
    *carry = d > 1u << (bits - 1);
    return (int32_t)d - (int32_t)(*carry << bits);
}

#ifdef __cplusplus
}
#endif

#endif
