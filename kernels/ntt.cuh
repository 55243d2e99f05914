/*
 * kernels/ntt.cuh: number-theoretic transforms on the device, host side of the interface.
 *
 * Sizes 2^0 to 2^28 over the scalar field of a curve. The inverse takes values in natural order and leaves
 * coefficients in bit-reversed order (decimation in frequency); the forward one goes back (decimation in time), so
 * nothing is ever reordered. Twiddles are Montgomery, so data stay in the form they came in, plain or Montgomery.
 */
#ifndef KERNELS_NTT_CUH
#define KERNELS_NTT_CUH

#include "kernels/device.cuh"

enum { NTT_MAX_LOG = 28, NTT_MAX_ITEMS = 3 };

/* Device memory of the tables, in field elements of 32 bytes. */
struct ntt_tables {
    enum krn_curve_id curve;
    int log_n;
    void *twiddles;     /* w^e, e = 0 .. n/2, w of order n */
    void *coset;        /* g^i / n at place bitrev(i), g the shift of the odd coset: w of order 2n (25 at n = 2^s) */
};

size_t ntt_tables_bytes(int log_n);

/* Fills tables whose two arrays are carved out of `memory`, ntt_tables_bytes(log_n) of it, on the stream. */
int ntt_tables_init(struct ntt_tables *t, enum krn_curve_id curve, int log_n, void *memory, cudaStream_t stream,
                    char err[KRN_ERR_TEXT]);

enum ntt_kind {
    NTT_INVERSE,        /* natural -> bit-reversed, with 1/n */
    NTT_FORWARD,        /* bit-reversed -> natural */
    NTT_TO_COSET,       /* values on the domain -> values on the odd coset, natural order both */
};

/* One transform of a launch; dst may be src. Where mul is given the input is src * mul (Montgomery product);
 * where fuse_a is given the output is plain fuse_a * fuse_b - result, all three Montgomery. */
struct ntt_item {
    const void *src, *mul;
    void *dst;
    const void *fuse_a, *fuse_b;
};

/* Queues `count` (at most NTT_MAX_ITEMS) transforms of one kind on the stream; they share every launch. */
int ntt_run(const struct ntt_tables *t, enum ntt_kind kind, const struct ntt_item *items, int count,
            cudaStream_t stream, char err[KRN_ERR_TEXT]);

/* h_i = a_i b_i - c_i on the odd coset, plain, from a and b (and c, or NULL for c = a * b) on the domain, Montgomery:
 * six transforms. The inputs are not written to; work: 2 * 32 << log_n bytes, h: 32 << log_n bytes. */
int ntt_quotient(const struct ntt_tables *t, const void *a, const void *b, const void *c, void *work, void *h,
                 cudaStream_t stream, char err[KRN_ERR_TEXT]);

#endif
