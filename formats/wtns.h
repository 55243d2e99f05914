/*
 * formats/wtns.h: a witness as circom's programs and snarkjs write it (.wtns).
 *
 * The values go from the file straight to where they are wanted (a slot) by plain pread, without a copy between.
 * Refused: a value at or above the group order (nothing in the format forbids it, and others accept it), an
 * entry 0 that is not 1, another circuit's count, another curve's prime.
 */
#ifndef FORMATS_WTNS_H
#define FORMATS_WTNS_H

#include "formats/file.h"
#include "kernels/krn.h"

struct fmt_wtns {
    struct fmt_file file;
    const struct krn_curve *curve;
    uint32_t n_witness;
    uint64_t values;            /* offset of the values in the file: n_witness * KRN_FR_BYTES bytes */
};

/* Opens the file and checks its header and sizes. Cheap, whatever the witness' length. */
int fmt_wtns_open(struct fmt_wtns *w, const char *path, struct fmt_error *err);

/* The same from memory that the caller keeps. */
int fmt_wtns_parse(struct fmt_wtns *w, const char *name, const void *bytes, size_t len, struct fmt_error *err);

/* Whether the witness is for a circuit over this curve with n_vars variables. */
int fmt_wtns_expect(const struct fmt_wtns *w, const struct krn_curve *curve, uint32_t n_vars, struct fmt_error *err);

/* Reads the n_witness values to dst and checks them. On failure dst holds anything. */
int fmt_wtns_values(const struct fmt_wtns *w, void *dst, struct fmt_error *err);

void fmt_wtns_close(struct fmt_wtns *w);

/* All of the above: the witness at path, for a circuit over curve with n_vars variables, into dst (n_vars *
 * KRN_FR_BYTES bytes). */
int fmt_wtns_read(const char *path, const struct krn_curve *curve, uint32_t n_vars, void *dst, struct fmt_error *err);

#endif
