/*
 * kernels/fixed_base.h: many multiples of one point, the generator of G1 or G2: what a setup consists of.
 *
 * A table holds, for every window of c bits of a scalar, the multiples 1 .. 2^(c-1) of 2^(c w) G. A scalar is written
 * in signed digits, and is then a sum of one entry a window, which kernels/sum.h computes for many scalars at once.
 */
#ifndef KERNELS_FIXED_BASE_H
#define KERNELS_FIXED_BASE_H

#include "kernels/krn.h"

struct krn_fixed_base;

/* The table for the generator of G1 or G2 (group 1 or 2), of the size that is best for n multiplications in all.
 * threads: 0 for all processors. NULL where memory is short; freed by krn_fixed_base_free. */
struct krn_fixed_base *krn_fixed_base_new(enum krn_curve_id curve, int group, size_t n, unsigned threads);

/* out[i] = scalars[i] G for i < n: plain scalars below the group order in, Montgomery affine points (iden3's bytes)
 * out, at any alignment. 0 or -ENOMEM. Takes a time that depends on the scalars. */
int krn_fixed_base_mul(const struct krn_fixed_base *t, uint8_t *out, const uint8_t *scalars, size_t n,
                       unsigned threads);

void krn_fixed_base_free(struct krn_fixed_base *t);

#endif
