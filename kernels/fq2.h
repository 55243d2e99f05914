/*
 * kernels/fq2.h: the quadratic extensions bn254_fq2 and bls381_fq2 over which G2 lies: struct { Fq c0, c1; },
 * c0 + c1 u with u^2 = -1 on both curves. In memory c0 comes first, as in iden3's files.
 *
 * Functions as in kernels/field.h (F_zero F_one F_add F_sub F_dbl F_neg F_mul F_sqr F_mul_sub F_is_zero F_eq
 * F_is_reduced F_to_mont F_from_mont F_inv F_batch_inv), and
 *
 *   F_conj(r, a)          c0 - c1 u, which is a^q
 *   F_mul_base(r, a, k)   times an element of Fq
 *   F_mul_xi(r, a)        times xi = 9 + u (BN254) or 1 + u (BLS12-381), by which the tower goes on
 *
 * Common subset of C11 and CUDA C++.
 */
#ifndef KERNELS_FQ2_H
#define KERNELS_FQ2_H

#include "kernels/field.h"

#define FQ2 bn254_fq2
#define FQ2_BASE bn254_fq
#define FQ2_XI0 9
#include "kernels/fq2_tmpl.h"

#define FQ2 bls381_fq2
#define FQ2_BASE bls381_fq
#define FQ2_XI0 1
#include "kernels/fq2_tmpl.h"

#endif
