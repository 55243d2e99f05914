/*
 * kernels/pairing.h: the optimal ate pairing e: G1 x G2 -> Fq12 of both curves, and the tests that a point lies in
 * the subgroup of order r.
 *
 * The value is that of Vercauteren's optimal ate pairing raised to a fixed power that r does not divide, by which the
 * final exponentiation becomes cheaper: 2x(6x^2 + 3x + 1) for BN254, 3 for BLS12-381. It is bilinear and one exactly
 * where the other is.
 *
 *   C_pairing(r, p, q, n)    r = product of e(p[i], q[i]) for i < n <= PAIRING_MAX: points of the curves, q[i] in the
 *                            subgroup; a pair with infinity counts as one. C = bn254, bls381
 *   C_g1_in_subgroup(p) C_g2_in_subgroup(q)    1 where a point of the curve is in the subgroup; infinity is
 *
 * Host only.
 */
#ifndef KERNELS_PAIRING_H
#define KERNELS_PAIRING_H

#include "kernels/ec.h"
#include "kernels/tower.h"

enum { PAIRING_MAX = 8 };   /* pairs in one product */

#define PAIRING bn254
#define PAIRING_LOOP BN254_LOOP
#define PAIRING_HALF BN254_HALF
#define PAIRING_B2 BN254_B2
#define PAIRING_PSI_X BN254_PSI_X
#define PAIRING_PSI_Y BN254_PSI_Y
#define PAIRING_TWIST_D 1
#include "kernels/pairing_tmpl.h"

#define PAIRING bls381
#define PAIRING_LOOP BLS381_LOOP
#define PAIRING_HALF BLS381_HALF
#define PAIRING_B2 BLS381_B2
#define PAIRING_PSI_X BLS381_PSI_X
#define PAIRING_PSI_Y BLS381_PSI_Y
#define PAIRING_TWIST_D 0
#include "kernels/pairing_tmpl.h"

/* ---- BN254: x > 0, loop 6x + 2 ---- */

/* The loop's end: the lines through psi(Q) and then through -psi^2(Q). */
KRN_FN_CALL void bn254_miller_end(bn254_fq12 *f, bn254_pair *pair)
{
    bn254_g2_affine q;
    bn254_psi_affine(&q, &pair->q);
    bn254_step_add(f, pair, &q);
    bn254_psi_affine(&q, &q);
    bn254_g2_affine_neg(&q, &q);
    bn254_step_add(f, pair, &q);
}

/* f^(2x(6x^2 + 3x + 1)(q^4 - q^2 + 1)/r) for f of the cyclotomic subgroup (Fuentes-Castaneda, Knapp,
 * Rodriguez-Henriquez 2011, section 4): with a = 12x^3 + 6x^2 + 6x and b = a - 2x the exponent is
 * (a + 6x^2 + 1) + b q + a q^2 + (b - 1) q^3. */
KRN_FN_CALL void bn254_hard_part(bn254_fq12 *r, const bn254_fq12 *f)
{
    bn254_fq12 f2x, f6x, f6xx, fa, fb, t;
    bn254_fq12_cyclotomic_pow(&f2x, f, BN254_X_ABS);
    bn254_fq12_cyclotomic_sqr(&f2x, &f2x);
    bn254_fq12_cyclotomic_sqr(&f6x, &f2x);
    bn254_fq12_mul(&f6x, &f6x, &f2x);
    bn254_fq12_cyclotomic_pow(&f6xx, &f6x, BN254_X_ABS);
    bn254_fq12_cyclotomic_sqr(&t, &f6xx);
    bn254_fq12_cyclotomic_pow(&t, &t, BN254_X_ABS);
    bn254_fq12_mul(&fa, &t, &f6xx);
    bn254_fq12_mul(&fa, &fa, &f6x);
    bn254_fq12_conj(&t, &f2x);
    bn254_fq12_mul(&fb, &fa, &t);

    bn254_fq12_conj(&t, f);
    bn254_fq12_mul(&t, &t, &fb);        /* b - 1 */
    bn254_fq12_frobenius(&t, &t);
    bn254_fq12_mul(&t, &t, &fa);
    bn254_fq12_frobenius(&t, &t);
    bn254_fq12_mul(&t, &t, &fb);
    bn254_fq12_frobenius(&t, &t);
    bn254_fq12_mul(&t, &t, &fa);
    bn254_fq12_mul(&t, &t, &f6xx);
    bn254_fq12_mul(r, &t, f);
}

KRN_FN_CALL void bn254_pairing(bn254_fq12 *r, const bn254_g1_affine *p, const bn254_g2_affine *q, size_t n)
{
    bn254_pair pairs[PAIRING_MAX];
    bn254_fq12 f;
    size_t used = bn254_start_pairs(pairs, p, q, n);
    bn254_miller_loop(&f, pairs, used);
    for (size_t i = 0; i < used; i++)
        bn254_miller_end(&f, &pairs[i]);
    bn254_easy_part(&f, &f);
    bn254_hard_part(r, &f);
}

/* The curve itself has r points. */
KRN_FN_CALL int bn254_g1_in_subgroup(const bn254_g1_affine *p)
{
    (void)p;
    return 1;
}

/* (x + 1) Q + psi(x Q) + psi^2(x Q) = psi^3(2x Q): Dai, Lin, Zhao, Zhou 2022 (eprint 2022/348), section 4;
 * gen_constants.py checks that only the subgroup passes. */
KRN_FN_CALL int bn254_g2_in_subgroup(const bn254_g2_affine *q)
{
    bn254_g2_xyzz xq, left, right;
    bn254_g2_from_affine(&xq, q);
    bn254_g2_mul_sparse(&xq, &xq, BN254_X_ABS);
    bn254_g2_madd(&left, &xq, q);
    bn254_psi(&right, &xq);
    bn254_g2_add(&left, &left, &right);
    bn254_psi(&right, &right);
    bn254_g2_add(&left, &left, &right);
    bn254_psi(&right, &right);
    bn254_g2_dbl(&right, &right);
    return bn254_g2_eq(&left, &right);
}

/* ---- BLS12-381: x < 0, loop x ---- */

/* f^x for f of the cyclotomic subgroup. */
KRN_FN_CALL void bls381_pow_x(bls381_fq12 *r, const bls381_fq12 *f)
{
    bls381_fq12_cyclotomic_pow(r, f, BLS381_X_ABS);
    bls381_fq12_conj(r, r);
}

/* f^(x - 1) */
KRN_FN_CALL void bls381_pow_x_minus_1(bls381_fq12 *r, const bls381_fq12 *f)
{
    bls381_fq12 inverse;
    bls381_fq12_conj(&inverse, f);
    bls381_pow_x(r, f);
    bls381_fq12_mul(r, r, &inverse);
}

/* f^(3 (q^4 - q^2 + 1)/r), where 3 (q^4 - q^2 + 1)/r = (x - 1)^2 (x + q)(x^2 + q^2 - 1) + 3 (Hayashida, Hayasaka,
 * Teruya 2020, eprint 2020/875). */
KRN_FN_CALL void bls381_hard_part(bls381_fq12 *r, const bls381_fq12 *f)
{
    bls381_fq12 y, t, u;
    bls381_pow_x_minus_1(&y, f);
    bls381_pow_x_minus_1(&y, &y);
    bls381_pow_x(&t, &y);
    bls381_fq12_frobenius(&y, &y);
    bls381_fq12_mul(&y, &y, &t);        /* (x - 1)^2 (x + q) */
    bls381_pow_x(&t, &y);
    bls381_pow_x(&t, &t);
    bls381_fq12_frobenius(&u, &y);
    bls381_fq12_frobenius(&u, &u);
    bls381_fq12_mul(&t, &t, &u);
    bls381_fq12_conj(&y, &y);
    bls381_fq12_mul(&y, &y, &t);        /* ... (x^2 + q^2 - 1) */
    bls381_fq12_cyclotomic_sqr(&t, f);
    bls381_fq12_mul(&t, &t, f);
    bls381_fq12_mul(r, &y, &t);
}

/* The loop runs over |x|; for the negative x its value is inverted, for which the conjugate serves just as well. */
KRN_FN_CALL void bls381_pairing(bls381_fq12 *r, const bls381_g1_affine *p, const bls381_g2_affine *q, size_t n)
{
    bls381_pair pairs[PAIRING_MAX];
    bls381_fq12 f;
    size_t used = bls381_start_pairs(pairs, p, q, n);
    bls381_miller_loop(&f, pairs, used);
    bls381_fq12_conj(&f, &f);
    bls381_easy_part(&f, &f);
    bls381_hard_part(r, &f);
}

/* phi(P) = -x^2 P with phi(x, y) = (beta x, y): Scott 2021 (eprint 2021/1130), section 6. */
KRN_FN_CALL int bls381_g1_in_subgroup(const bls381_g1_affine *p)
{
    const bls381_fq beta = BLS381_BETA;
    bls381_g1_xyzz multiple, image;
    bls381_g1_from_affine(&image, p);
    bls381_g1_mul_sparse(&multiple, &image, BLS381_X_ABS);
    bls381_g1_mul_sparse(&multiple, &multiple, BLS381_X_ABS);
    bls381_g1_neg(&multiple, &multiple);
    bls381_fq_mul(&image.x, &image.x, &beta);
    return bls381_g1_eq(&multiple, &image);
}

/* psi(Q) = x Q: Scott 2021, section 4. */
KRN_FN_CALL int bls381_g2_in_subgroup(const bls381_g2_affine *q)
{
    bls381_g2_affine image;
    bls381_g2_xyzz sum;
    bls381_psi_affine(&image, q);
    bls381_g2_from_affine(&sum, q);
    bls381_g2_mul_sparse(&sum, &sum, BLS381_X_ABS);
    bls381_g2_madd(&sum, &sum, &image);     /* |x| Q + psi(Q) */
    return bls381_g2_is_inf(&sum);
}

#endif
