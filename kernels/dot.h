/*
 * kernels/dot.h: rows of a sparse matrix times a vector, in the scalar field.
 */
#ifndef KERNELS_DOT_H
#define KERNELS_DOT_H

#include "kernels/isa.h"
#include "kernels/scalar.h"

/* A row: n terms of { index u32 | value 32 bytes }, as iden3's files hold them, at any alignment; and where its sum
 * goes. The caller has checked that every index lies within the vector. */
struct krn_row {
    const uint8_t *terms;
    uint8_t *out;
    uint32_t n;
};

/* The matrix's curve, the distance of one term from the next in bytes, and the vector of 32-byte values below p. */
struct krn_dot {
    enum krn_curve_id curve;
    enum krn_isa isa;
    size_t stride;
    const uint8_t *w;
};

/*
 * out = sum of value_i * w[index_i] / R mod p for each row, fully reduced where the values are below p, R = 2^256. An
 * empty row gives zero. All twins give the same bytes. Hundreds of rows a call are best.
 */
void krn_dot_rows(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows);

/* The twins. */
void krn_dot_rows_portable(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows);
void krn_dot_rows_ifma(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows);

#endif
