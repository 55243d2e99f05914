/*
 * kernels/setup.cuh: what a setup needs of a device, from device memory to device memory: multiples of the
 * generators, and Lagrange polynomials at a point. The tables and constants are the CPU's (kernels/fixed_base.h,
 * kernels/lagrange.h).
 *
 * Cost: a multiple is 16 additions (8 M + 2 S) of gathered points of tables of 2^15 entries for each window (34 to 200
 * MB), and 1/32 of an inversion; a Lagrange value 6 multiplications.
 */
#ifndef KERNELS_SETUP_CUH
#define KERNELS_SETUP_CUH

#include "kernels/device.cuh"
#include "kernels/fixed_base.h"
#include "kernels/lagrange.h"
#include "kernels/setup.h"

/* A table on the current device. */
struct setup_table {
    enum krn_curve_id curve;
    int group;              /* 1 or 2 */
    unsigned bits, windows;
    size_t point_bytes, scratch_bytes;      /* of an affine point; of setup_multiples' scratch for each point */
    void *points;
};

/* The table that is best for n multiples in all, made by the host's threads (0: all). 0 or -errno with err. */
int setup_table_open(struct setup_table *t, enum krn_curve_id curve, int group, size_t n, unsigned threads,
                     char err[KRN_ERR_TEXT]);
void setup_table_close(struct setup_table *t);      /* all zero bytes: harmless */

/* Queues out[i] = scalars[i] G, i < n < 2^32: plain scalars below the group order in, affine Montgomery points out,
 * all on the device at multiples of 16 bytes. */
int setup_multiples(const struct setup_table *t, void *out, const void *scalars, size_t n, void *scratch,
                    cudaStream_t stream, char err[KRN_ERR_TEXT]);

/* Queues out[i - first] = value i of the terms, i = first .. first + n - 1, n < 2^32; see krn_lagrange_terms. */
int setup_lagrange(enum krn_curve_id curve, const struct krn_lagrange_terms *terms, void *out, size_t first, size_t n,
                   cudaStream_t stream, char err[KRN_ERR_TEXT]);

#endif
