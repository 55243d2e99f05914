/*
 * kernels/dot.h: a row of a sparse matrix times a vector, in the scalar field.
 */
#ifndef KERNELS_DOT_H
#define KERNELS_DOT_H

#include "kernels/scalar.h"

/*
 * r = sum of value_i * w[index_i] / R, over n terms of { index u32 | value 32 bytes } that lie `stride` bytes apart, at
 * any alignment: a row as iden3's files hold it, times a vector of 32-byte values. The caller has checked that
 * every index lies within w. r is fully reduced, whatever the values.
 *
 * Products are added up whole (576 bits: no n overflows it) and reduced once a row. Values of w of one word, most of a
 * real witness, cost four multiplications in place of sixteen; zeros and ones none.
 */
void krn_dot(const struct krn_scalar_field *f, struct krn_scalar *r, const uint8_t *terms, size_t stride, size_t n,
             const uint8_t *w);

#endif
