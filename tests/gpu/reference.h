/*
 * tests/gpu/reference.h: what the GPU tests compare with, by the CPU's own arithmetic.
 */
#ifndef TESTS_GPU_REFERENCE_H
#define TESTS_GPU_REFERENCE_H

#include "kernels/krn.h"

/* out = k G, affine, Montgomery. */
void reference_times_generator(enum krn_curve_id curve, int g2, const uint8_t k[32], void *out);

/* k = 2 k modulo the group order, plain. */
void reference_fr_double(enum krn_curve_id curve, uint8_t k[32]);

/* Bytes of an affine point. */
size_t reference_point_bytes(enum krn_curve_id curve, int g2);

/* out = sum of s_i P_i one by one, affine, Montgomery; all on the host. */
void reference_msm(enum krn_curve_id curve, int g2, const void *points, const void *scalars, size_t n, void *out);

/* The same by the CPU back end's sums (kernels/msm.h), on all processors. */
void reference_msm_fast(enum krn_curve_id curve, int g2, const void *points, const void *scalars, size_t n, void *out);

/* Negates an affine point in place. */
void reference_negate(enum krn_curve_id curve, int g2, void *point);

/* values (2^log plain or Montgomery scalars, natural order) -> their transform, natural order: sum of v_i w^(i j), w
 * the root of unity of kernels/scalar.h. The inverse includes 1/n. Textbook radix 2 with a bit reversal. */
void reference_ntt(enum krn_curve_id curve, int log, int inverse, uint8_t *values);

/* values[i] *= shift^i, shift the generator of the odd coset of the domain of 2^log: a root of order 2^(log+1), or 25
 * where there is none. */
void reference_coset(enum krn_curve_id curve, int log, uint8_t *values);

/* Reverses the order of the index bits. */
void reference_bit_reverse(int log, uint8_t *values);

/* r[i] = a[i] * b[i] / R. */
void reference_mul(enum krn_curve_id curve, uint8_t *r, const uint8_t *a, const uint8_t *b, size_t n);
void reference_sub(enum krn_curve_id curve, uint8_t *r, const uint8_t *a, const uint8_t *b, size_t n);
/* Out of Montgomery form. */
void reference_plain(enum krn_curve_id curve, uint8_t *r, size_t n);

/* c(z) of the polynomial c whose 2^log coefficients lie in bit-reversed order; z Montgomery. */
void reference_evaluate(enum krn_curve_id curve, int log, const uint8_t *coefficients, const uint8_t z[32],
                        uint8_t out[32]);

/* The same of the one of degree below 2^log that has these values on the domain, or on its odd coset, in natural order:
 * (x^n - 1) / n * sum of v_i w^i / (x - w^i) with x = z, or z over the coset's generator. z is neither of them. */
void reference_interpolate(enum krn_curve_id curve, int log, const uint8_t *values, int on_coset, const uint8_t z[32],
                           uint8_t out[32]);

#endif
