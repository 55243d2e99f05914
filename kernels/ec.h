/*
 * kernels/ec.h: the groups G1 and G2 of both curves.
 *
 *   bn254_g1, bls381_g1    points of E: y^2 = x^3 + b over Fq
 *   bn254_g2, bls381_g2    points of the twist: y^2 = x^3 + b' over Fq2
 *
 * Two forms of a point of group G, coordinates in Montgomery form:
 *   G_affine   x, y; infinity is (0, 0), which is on no curve here. The bytes are iden3's.
 *   G_xyzz     x = X/ZZ, y = Y/ZZZ with ZZ^3 = ZZZ^2; infinity has ZZ = ZZZ = 0.
 * Functions, in which every result may be an operand; all are right for every pair of points, infinity, equal and
 * opposite ones included, and none takes the same time for all:
 *
 *   G_generator() G_b()                  by value
 *   G_affine_is_inf(a) G_is_inf(a)       0 or 1
 *   G_affine_is_reduced(a)               1 where all coordinates are below q: first thing to ask of foreign bytes
 *   G_affine_to_mont(r, a)               of plain coordinates
 *   G_affine_on_curve(a)                 1 where on the curve or infinity; says nothing of the subgroup
 *   G_set_inf(r) G_from_affine(r, a)
 *   G_affine_neg(r, a) G_neg(r, a)
 *   G_dbl(r, a) G_add(r, a, b)           XYZZ
 *   G_madd(r, a, b)                      XYZZ + affine
 *   G_add_affine(r, a, b)                affine + affine, to XYZZ
 *   G_eq(a, b)                           the same point, whatever its ZZ
 *   G_mul(r, a, k, k_limbs)              k a, k plain, least limb first
 *   G_mul_sparse(r, a, k)                the same for one word with few bits set
 *   G_to_affine(r, a)                    one inversion
 *   G_batch_to_affine(r, a, scratch, n)  one inversion for n; scratch: 2 n field elements, the caller's
 *
 * Common subset of C11 and CUDA C++.
 */
#ifndef KERNELS_EC_H
#define KERNELS_EC_H

#include "kernels/constants.h"
#include "kernels/fq2.h"

#define EC bn254_g1
#define EC_FIELD bn254_fq
#define EC_B BN254_B1
#define EC_GENERATOR BN254_G1_GENERATOR
#include "kernels/ec_tmpl.h"

#define EC bn254_g2
#define EC_FIELD bn254_fq2
#define EC_B BN254_B2
#define EC_GENERATOR BN254_G2_GENERATOR
#include "kernels/ec_tmpl.h"

#define EC bls381_g1
#define EC_FIELD bls381_fq
#define EC_B BLS381_B1
#define EC_GENERATOR BLS381_G1_GENERATOR
#include "kernels/ec_tmpl.h"

#define EC bls381_g2
#define EC_FIELD bls381_fq2
#define EC_B BLS381_B2
#define EC_GENERATOR BLS381_G2_GENERATOR
#include "kernels/ec_tmpl.h"

#endif
