/*
 * formats/zkey_write.h: writes a Groth16 proving key (.zkey) with snarkjs's sections, as a stream.
 *
 * In this order: fmt_zkey_write_open (sections 1, 2), points (3, IC), fmt_zkey_write_coefs (4), points (5 A, 6 B1, 7
 * B2, 8 L, 9 H), fmt_zkey_write_contributions (10), fmt_writer_commit. Points are Montgomery affine, iden3's bytes,
 * between fmt_writer_begin and fmt_writer_end. Errors stick to the writer (formats/container_write.h).
 */
#ifndef FORMATS_ZKEY_WRITE_H
#define FORMATS_ZKEY_WRITE_H

#include "formats/container_write.h"
#include "formats/r1cs.h"
#include "formats/zkey.h"

/* What section 2 holds. Borrowed. */
struct fmt_zkey_header {
    const struct krn_curve *curve;
    uint32_t n_vars, n_public, log_domain;
    const uint8_t *alpha1, *beta1, *beta2, *gamma2, *delta1, *delta2;
};

int fmt_zkey_write_open(struct fmt_writer *w, const char *path, const struct fmt_zkey_header *h,
                        struct fmt_error *err);

/* Entries of section 4 for a circuit: all terms of A and B, and one for the constant and each public. */
uint64_t fmt_zkey_count_coefs(const struct fmt_r1cs *r);

/* Section 4: for every constraint the terms of A, then those of B, each coefficient times R^2; then the rows that
 * bind the constant and the publics: A has 1 there. n is what fmt_zkey_count_coefs says, below 2^32. */
void fmt_zkey_write_coefs(struct fmt_writer *w, const struct fmt_r1cs *r, uint64_t n);

/* Section 10: no circuit hash and no contribution. A prover ignores it. */
void fmt_zkey_write_contributions(struct fmt_writer *w);

#endif
