/*
 * kernels/krn.h: the arithmetic, as the rest of the program sees it.
 *
 * Everything here is about bytes in memory: no file, no process, no socket. Integers in these bytes are
 * little-endian. A "plain" value is the number itself; a "Montgomery" value is the number times R modulo the
 * field's prime, R = 2^(8 * bytes of the field). Points are affine, x then y (Fq2: c0 then c1); the point at
 * infinity is all zero bytes.
 *
 * Errors are negative errno values or the enums below; nothing here prints or exits.
 */
#ifndef KERNELS_KRN_H
#define KERNELS_KRN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    KRN_FR_BYTES = 32,      /* a scalar, either curve */
    KRN_FQ_MAX = 48,        /* a base-field element of the larger curve */
    KRN_G1_MAX = 2 * KRN_FQ_MAX,
    KRN_G2_MAX = 4 * KRN_FQ_MAX,
    KRN_MAX_LOG_DOMAIN = 28,
};

enum krn_curve_id { KRN_BN254 = 0, KRN_BLS12_381 = 1, KRN_CURVES = 2 };

struct krn_curve {
    enum krn_curve_id id;
    const char *name;           /* "BN254", "BLS12-381" */
    const char *snarkjs_name;   /* "bn128", "bls12381" */
    uint32_t fq_bytes;          /* 32 or 48; G1 is 2 of them, G2 is 4 */
    uint32_t two_adicity;       /* 28 or 32 */
    uint8_t q[KRN_FQ_MAX];      /* base-field prime */
    uint8_t r[KRN_FR_BYTES];    /* group order */
};

const struct krn_curve *krn_curve(enum krn_curve_id id);
/* The curve whose scalar / base prime is these n little-endian bytes, or NULL. */
const struct krn_curve *krn_curve_by_r(const uint8_t *r, size_t n);
const struct krn_curve *krn_curve_by_q(const uint8_t *q, size_t n);

/* Index of the first of n plain scalars that is not below r; n where all are. Vectorised; any alignment. */
size_t krn_fr_first_above(const struct krn_curve *c, const uint8_t *v, size_t n);

/* Index of the first of n Montgomery affine points (iden3 bytes) that is neither on the curve nor infinity,
 * or has a coordinate not below q; n where all are right. */
size_t krn_g1_first_bad(const struct krn_curve *c, const uint8_t *points, size_t n, unsigned threads);
size_t krn_g2_first_bad(const struct krn_curve *c, const uint8_t *points, size_t n, unsigned threads);

/* ---- Groth16 ---- */

/* A proving key as bytes in memory, borrowed: iden3's layout (Montgomery affine points, any alignment of 4). */
struct krn_key {
    enum krn_curve_id curve;
    uint32_t n_vars, n_public, log_domain;
    uint32_t n_b;                   /* variables whose points in b1 and b2 are finite; 0: unknown, so n_vars */
    const uint8_t *a, *b1, *b2;     /* n_vars points each (b2 in G2) */
    const uint8_t *l;               /* n_vars - n_public - 1, from signal n_public + 1 */
    const uint8_t *h;               /* 2^log_domain: odd Lagrange points of the doubled domain */
    const uint8_t *alpha1, *beta1, *beta2, *delta1, *delta2;
};

/* What krn_key.n_b is, from the points: how many variables have finite points in b1 and b2; 0 where the two differ in
 * which these are. */
uint32_t krn_finite_b(const struct krn_key *key, unsigned threads);

/* The vectors of one job. w: n_vars plain scalars. a, b: 2^log_domain rows in Montgomery form, zero beyond the
 * last row. c: the same, or NULL where it is to be derived as a * b. None is written to. */
struct krn_vectors {
    const uint8_t *w, *a, *b, *c;
};

/* A proof: plain affine coordinates, the first 2, 4, 2 field elements of each array used. */
struct krn_proof {
    uint8_t a[KRN_G1_MAX], b[KRN_G2_MAX], c[KRN_G1_MAX];
};

/* Where the time of one proof went, seconds; and when, nanoseconds of CLOCK_MONOTONIC. On a GPU from its events. */
struct krn_times {
    double upload, ntt, msm_a, msm_b1, msm_b2, msm_l, msm_h, finish;
    double busy;                    /* while kernels of this proof ran, or were about to with no word from the host */
    uint64_t upload_ns, start_ns;   /* when the upload began (0: there is none), and the computing, which may begin with
                                     * the witness while a and b travel */
};

enum krn_result {
    KRN_OK = 0,
    KRN_INVALID = 1,        /* the pairing equation does not hold */
    KRN_BAD_POINT = 2,      /* a coordinate >= q, or a point off the curve or outside the subgroup */
    KRN_BAD_SCALAR = 3,     /* a public signal >= r */
    KRN_BAD_COUNT = 4,      /* number of public signals differs from the key's */
    KRN_ROW_DIFFERS = 5,    /* c was sent and differs from a * b */
};

/* A verification key: plain affine coordinates (as in snarkjs's JSON); ic has n_public + 1 G1 points. Borrowed. */
struct krn_vk {
    enum krn_curve_id curve;
    uint32_t n_public;
    int checked;                    /* krn_vk_check has found its points good, and they have not changed since */
    uint8_t alpha1[KRN_G1_MAX], beta2[KRN_G2_MAX], gamma2[KRN_G2_MAX], delta2[KRN_G2_MAX];
    const uint8_t *ic;
};

/* Whether every point of the key has coordinates below q and is on its curve and in the subgroup: KRN_OK with
 * vk->checked set, so that krn_verify does not look again, or KRN_BAD_POINT. */
enum krn_result krn_vk_check(struct krn_vk *vk);

/* Checks e(A,B) = e(alpha,beta) e(sum IC_i x_i, gamma) e(C, delta) (Groth 2016, section 3.2) after every
 * input: coordinates below q, points on the curve and in the subgroup, publics below r. publics: n plain scalars. */
enum krn_result krn_verify(const struct krn_vk *vk, const uint8_t *publics, size_t n, const struct krn_proof *proof);

/* e(alpha, beta) of a key whose points are in their subgroups, as kernels/pairing.h defines it, which is what snarkjs
 * exports as vk_alphabeta_12: twelve plain coefficients of fq_bytes each, of w^0 and w^1, in each of v^0, v^1, v^2, in
 * each of u^0, u^1. */
enum { KRN_GT_COEFFICIENTS = 12 };
void krn_alphabeta(const struct krn_vk *vk, uint8_t out[KRN_GT_COEFFICIENTS * KRN_FQ_MAX]);

/* Plain <-> Montgomery for n base-field elements of the curve; out may be in. */
void krn_fq_to_plain(const struct krn_curve *c, uint8_t *out, const uint8_t *in, size_t n);
void krn_fq_to_mont(const struct krn_curve *c, uint8_t *out, const uint8_t *in, size_t n);

#ifdef __cplusplus
}
#endif
#endif
