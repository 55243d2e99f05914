/*
 * kernels/pairing.h: the optimal ate pairing e: G1 x G2 -> Fq12 of both curves, and the tests that a point lies in
 * the subgroup of order r.
 *
 * The value is that of Vercauteren's optimal ate pairing raised to a fixed power that r does not divide, by which the
 * final exponentiation becomes cheaper: 2x(6x^2 + 3x + 1) for BN254, 3 for BLS12-381. It is bilinear and one exactly
 * where the other is.
 */
#ifndef KERNELS_PAIRING_H
#define KERNELS_PAIRING_H

#include "kernels/ec.h"
#include "kernels/tower.h"

enum { PAIRING_MAX = 8 };   /* pairs in one product */

/* r = product of e(p[i], q[i]) for i < n <= PAIRING_MAX. Points must be on their curves; q[i] in the subgroup. A pair
 * with infinity counts as one. */
void bn254_pairing(bn254_fq12 *r, const bn254_g1_affine *p, const bn254_g2_affine *q, size_t n);
void bls381_pairing(bls381_fq12 *r, const bls381_g1_affine *p, const bls381_g2_affine *q, size_t n);

/* 1 where a point of the curve is in the subgroup of order r; infinity is. */
int bn254_g1_in_subgroup(const bn254_g1_affine *p);
int bn254_g2_in_subgroup(const bn254_g2_affine *q);
int bls381_g1_in_subgroup(const bls381_g1_affine *p);
int bls381_g2_in_subgroup(const bls381_g2_affine *q);

#endif
