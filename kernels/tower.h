/*
 * kernels/tower.h: Fq6 and Fq12 of both curves, where pairings take their values.
 *
 *   C_fq6  = Fq2[v] / (v^3 - xi)    c0 + c1 v + c2 v^2
 *   C_fq12 = Fq6[w] / (w^2 - v)     c0 + c1 w              C = bn254, bls381; xi = 9 + u, 1 + u
 *
 * Every result may be an operand:
 *   C_fq12_one() C_fq12_eq(a, b) C_fq12_mul(r, a, b) C_fq12_sqr(r, a) C_fq12_inv(r, a)
 *   C_fq12_mul_014(r, b0, b1, b4) C_fq12_mul_034(r, b0, b3, b4)   r times a line, in place
 *   C_fq12_conj(r, a)                     a^(q^6)
 *   C_fq12_frobenius(r, a)                a^q
 *   C_fq12_cyclotomic_sqr, _pow(r, a, e)  only for a^(q^4 - q^2 + 1) = 1, where also 1/a is conj(a)
 */
#ifndef KERNELS_TOWER_H
#define KERNELS_TOWER_H

#include "kernels/constants.h"
#include "kernels/fq2.h"

#define TOWER bn254
#define TOWER_GAMMA1 BN254_GAMMA1
#define TOWER_GAMMA2 BN254_GAMMA2
#define TOWER_GAMMA3 BN254_GAMMA3
#define TOWER_GAMMA4 BN254_GAMMA4
#define TOWER_GAMMA5 BN254_GAMMA5
#include "kernels/tower_tmpl.h"

#define TOWER bls381
#define TOWER_GAMMA1 BLS381_GAMMA1
#define TOWER_GAMMA2 BLS381_GAMMA2
#define TOWER_GAMMA3 BLS381_GAMMA3
#define TOWER_GAMMA4 BLS381_GAMMA4
#define TOWER_GAMMA5 BLS381_GAMMA5
#include "kernels/tower_tmpl.h"

#endif
