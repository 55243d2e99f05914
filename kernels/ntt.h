/*
 * kernels/ntt.h: number-theoretic transforms on the CPU, and the quotient of a Groth16 proof.
 *
 * Sizes 2^0 .. 2^KRN_MAX_LOG_DOMAIN over the scalar field of a curve, with the roots of unity of iden3's tools
 * (krn_scalar_root). A transform is linear, so values may be plain or in Montgomery form and stay what they are.
 * Results are canonical: threads and twins cannot change a byte.
 *
 * Inside, the inverse transform is by decimation in frequency and leaves coefficients in bit-reversed order, and the
 * forward one, by decimation in time, takes them so: between the two nothing is ever reordered.
 */
#ifndef KERNELS_NTT_H
#define KERNELS_NTT_H

#include "kernels/isa.h"
#include "kernels/pool.h"
#include "kernels/scalar.h"

/* Tables for one curve and size. */
struct krn_ntt;

/* Borrows the pool. NULL with errno: EINVAL where log_n is above the curve's two-adicity or KRN_MAX_LOG_DOMAIN, or
 * ENOMEM. */
struct krn_ntt *krn_ntt_new(enum krn_curve_id curve, unsigned log_n, struct krn_pool *pool);
void krn_ntt_free(struct krn_ntt *t);

/* The workspace: its size, and 64-byte aligned memory of that size, the caller's, to be lent before the first
 * transform. It holds nothing between transforms. */
size_t krn_ntt_work_bytes(const struct krn_ntt *t);
void krn_ntt_use(struct krn_ntt *t, void *memory);

/*
 * h_i = a_i b_i - c_i on the odd coset (the points w_2n w_n^i, w_2n of order 2n; 25 w_n^i where there is no such root),
 * plain, from the values a, b, c of three polynomials on the domain, in Montgomery form. c NULL: a_i b_i on the domain.
 * All n values of 32 bytes. Returns n, or where c is given the first i with a_i b_i != c_i, and then h is not
 * meaningful.
 */
size_t krn_ntt_quotient(struct krn_ntt *t, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *h);

enum krn_ntt_direction { KRN_NTT_FORWARD, KRN_NTT_INVERSE };

/*
 * In place, natural order: v_k becomes the sum of v_j w^(jk), w = krn_scalar_root of order n; the inverse is that for
 * 1/w, over n. v: n values of 32 bytes below the group order. threads: 0 for all.
 * 0, -EINVAL where n is no power of two or too large for the curve, or -errno.
 */
int krn_ntt_transform(enum krn_curve_id curve, enum krn_ntt_direction direction, uint8_t *v, size_t n,
                      unsigned threads);

/* ---- between kernels/ntt.c and its twins ---- */

struct krn_ntt {
    enum krn_curve_id curve;
    unsigned log_n;
    size_t n;
    struct krn_scalar_field field;
    struct krn_pool *pool;
    const struct ntt_twin *twin;
    struct krn_scalar root, shift, n_inverse;   /* w of order n; of the coset; Montgomery form */
    void *tables;                               /* a header of the twin's own comes first */
    size_t table_bytes;
};

struct ntt_twin {
    size_t (*table_bytes)(unsigned log_n), (*work_bytes)(unsigned log_n, unsigned threads);
    void (*init)(struct krn_ntt *t);                    /* fills t->tables, which are zero */
    void (*use)(struct krn_ntt *t, void *work);
    size_t (*quotient)(struct krn_ntt *t, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *h);
    void (*transform)(struct krn_ntt *t, enum krn_ntt_direction direction, uint8_t *v);
};

enum { NTT_IFMA_MIN_LOG = 6 };
extern const struct ntt_twin ntt_twin_portable, ntt_twin_adx, ntt_twin_ifma;

/* The number that has the low `bits` bits of i in the other order. */
static inline size_t ntt_reversed(size_t i, unsigned bits)
{
    size_t r = 0;
    for (unsigned b = 0; b < bits; b++)
        r |= (i >> b & 1) << (bits - 1 - b);
    return r;
}

#endif
