/*
 * kernels/lagrange.h: Lagrange polynomials over powers of a root of unity, at one point.
 *
 *   L_k(tau) = w^k (tau^N - 1) / (N (tau - w^k)),  w of order N
 */
#ifndef KERNELS_LAGRANGE_H
#define KERNELS_LAGRANGE_H

#include <stddef.h>

#include "kernels/scalar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which polynomials: all of the domain of n = 2^log points, or those of its double at odd k, which are zero on it. */
enum krn_lagrange_kind { KRN_LAGRANGE_ALL, KRN_LAGRANGE_ODD };

/* The values as they are computed: out[i] = factor * point_i / (tau - point_i), point_i = first * step^i. */
struct krn_lagrange_terms {
    struct krn_scalar tau, first, step;     /* Montgomery form */
    struct krn_scalar factor;               /* scale (tau^N - 1) / N, in the form that scale is in */
};

/* 0; -EDOM where tau is itself one of the N points. See krn_lagrange. */
int krn_lagrange_terms(const struct krn_scalar_field *f, enum krn_lagrange_kind kind, uint32_t log,
                       const struct krn_scalar *tau, const struct krn_scalar *scale, struct krn_lagrange_terms *terms);

/*
 * out[i] = scale * L_i(tau) (ALL, N = n) or scale * L_{2i+1}(tau) (ODD, N = 2n) for i < n = 2^log. tau is in
 * Montgomery form; the results are in the form that scale is in. log, and log + 1 for ODD, is at most the field's
 * two_adicity. 0; -EDOM where tau is itself one of the N points.
 */
int krn_lagrange(const struct krn_scalar_field *f, enum krn_lagrange_kind kind, struct krn_scalar *out, uint32_t log,
                 const struct krn_scalar *tau, const struct krn_scalar *scale, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
