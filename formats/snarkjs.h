/*
 * formats/snarkjs.h: snarkjs's JSON files: verification keys, proofs, public signals.
 *
 * Strict where snarkjs and rapidsnark are lax: numbers are decimal strings in one spelling, scalars below r and
 * coordinates below q, arrays are arrays of the right length, names are known names. Whether points lie on
 * the curve is krn_verify's business.
 */
#ifndef FORMATS_SNARKJS_H
#define FORMATS_SNARKJS_H

#include "formats/json.h"
#include "kernels/krn.h"

enum {
    FMT_SNARKJS_MAX_FILE = 64 << 20,        /* bytes; the key of FMT_SNARKJS_MAX_PUBLIC publics is smaller */
    FMT_SNARKJS_MAX_PUBLIC = 1 << 17,
};

/* Reading exists for a path and for text in memory (name: for messages). */

/* A verification key; free with fmt_vk_free. */
struct fmt_vk {
    struct krn_vk vk;       /* vk.ic points to ic */
    uint8_t *ic;
};
int fmt_vk_read(const char *path, struct fmt_vk *vk, struct fmt_error *err);
int fmt_vk_parse(const char *name, const char *text, size_t len, struct fmt_vk *vk, struct fmt_error *err);
void fmt_vk_free(struct fmt_vk *vk);

/* A proof, which must be one over `curve`. */
int fmt_proof_read(const char *path, const struct krn_curve *curve, struct krn_proof *proof, struct fmt_error *err);
int fmt_proof_parse(const char *name, const char *text, size_t len, const struct krn_curve *curve,
                    struct krn_proof *proof, struct fmt_error *err);

/* Public signals: *values is *n plain scalars (KRN_FR_BYTES each), malloc'd, the caller's; not NULL where *n is 0. */
int fmt_public_read(const char *path, const struct krn_curve *curve, uint8_t **values, size_t *n,
                    struct fmt_error *err);
int fmt_public_parse(const char *name, const char *text, size_t len, const struct krn_curve *curve, uint8_t **values,
                     size_t *n, struct fmt_error *err);

/* The very bytes that `snarkjs groth16 prove` writes; malloc'd with a NUL after them, NULL where memory is short. */
char *fmt_proof_text(const struct krn_curve *curve, const struct krn_proof *proof, size_t *len);
char *fmt_public_text(const uint8_t *values, size_t n, size_t *len);

/* The same into a file, whole or not at all. */
int fmt_proof_write(const char *path, const struct krn_curve *curve, const struct krn_proof *proof,
                    struct fmt_error *err);
int fmt_public_write(const char *path, const uint8_t *values, size_t n, struct fmt_error *err);

/* A verification key: the very bytes that `snarkjs zkey export verificationkey` writes. */
int fmt_vk_write(const char *path, const struct krn_vk *vk, struct fmt_error *err);

/* A proof and publics as values, for messages. NULL where memory is short. */
struct fmt_json *fmt_json_from_proof(const struct krn_curve *curve, const struct krn_proof *proof);
struct fmt_json *fmt_json_from_public(const uint8_t *values, size_t n);
int fmt_json_to_proof(const struct fmt_json *j, const char *name, const struct krn_curve *curve,
                      struct krn_proof *proof, struct fmt_error *err);
int fmt_json_to_public(const struct fmt_json *j, const char *name, const struct krn_curve *curve, uint8_t **values,
                       size_t *n, struct fmt_error *err);

#endif
