/*
 * formats/r1cs.h: a circuit's constraints as circom writes them (.r1cs). A proving key holds no C matrix, so only this
 * file can say which constraint a witness breaks.
 *
 * Opening walks the whole file once: every count, wire and coefficient is checked, so that what comes after need not
 * be. Custom gates are refused.
 */
#ifndef FORMATS_R1CS_H
#define FORMATS_R1CS_H

#include "formats/decimal.h"
#include "formats/file.h"
#include "formats/zkey.h"
#include "kernels/krn.h"

enum { FMT_R1CS_TERM_BYTES = 4 + KRN_FR_BYTES };    /* wire u32 | plain coefficient */

struct fmt_r1cs {
    struct fmt_file file;
    const struct krn_curve *curve;
    uint32_t n_wires, n_pub_out, n_pub_in, n_prv_in, n_public;  /* n_public = n_pub_out + n_pub_in */
    uint32_t n_constraints;
    uint64_t *blocks;           /* file offset of every FMT_R1CS_BLOCK-th constraint; owned */
};

/* n terms, FMT_R1CS_TERM_BYTES each. */
struct fmt_r1cs_sum {
    const uint8_t *terms;
    uint32_t n;
};

/* A * B = C */
struct fmt_r1cs_constraint {
    struct fmt_r1cs_sum a, b, c;
};

/* The first constraint that a witness breaks, and the values of its three sums. */
struct fmt_r1cs_broken {
    uint32_t row;
    char a[FMT_DECIMAL_MAX], b[FMT_DECIMAL_MAX], c[FMT_DECIMAL_MAX];
};

int fmt_r1cs_open(struct fmt_r1cs *r, const char *path, struct fmt_error *err);
int fmt_r1cs_parse(struct fmt_r1cs *r, const char *name, const void *bytes, size_t len, struct fmt_error *err);

/* The constraints in order: begin with *at = blocks[0] and call n_constraints times; *at moves on to the next one. */
struct fmt_r1cs_constraint fmt_r1cs_next(const struct fmt_r1cs *r, uint64_t *at);

/* Whether the constraints and the key are of the same circuit, by their counts. Another optimisation level of the
 * same source is another circuit. */
int fmt_r1cs_match(const struct fmt_r1cs *r, const struct fmt_zkey *z, struct fmt_error *err);

/* Whether w (n_wires plain values below r) satisfies every constraint. 0: yes; 1: no, with the first broken
 * constraint in `broken` and the whole sentence in err. */
int fmt_r1cs_check(const struct fmt_r1cs *r, const uint8_t *w, unsigned threads, struct fmt_r1cs_broken *broken,
                   struct fmt_error *err);

void fmt_r1cs_close(struct fmt_r1cs *r);

#endif
