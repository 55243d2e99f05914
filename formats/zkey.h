/*
 * formats/zkey.h: a Groth16 proving key as snarkjs writes it (.zkey), mapped and used in place.
 *
 * Opening does every check whose cost does not grow with the key: container, protocol, primes, counts against section
 * sizes, the domain. The two checks that read all of a section are functions of their own, so that a daemon does
 * them once when a circuit is added and a worker that maps the same file does not.
 *
 * Only keys whose coefficients are sorted by constraint are taken (snarkjs writes no others): it lets an
 * evaluation be split among threads without an index.
 */
#ifndef FORMATS_ZKEY_H
#define FORMATS_ZKEY_H

#include "formats/file.h"
#include "kernels/krn.h"

enum { FMT_ZKEY_COEF_BYTES = 12 + KRN_FR_BYTES };   /* matrix u32 | constraint u32 | signal u32 | value * R^2 */

struct fmt_zkey {
    struct fmt_file file;
    const struct krn_curve *curve;
    uint32_t n_vars, n_public;
    uint32_t log_domain;
    uint32_t domain_size;       /* 2^log_domain */
    uint32_t n_rows;            /* rows in use: the last coefficient's constraint + 1 */
    uint32_t n_constraints;     /* n_rows less the n_public + 1 rows that bind the publics */
    uint32_t n_coefs;
    const uint8_t *coefs;       /* n_coefs packed entries, FMT_ZKEY_COEF_BYTES each, sorted by constraint */
    const uint8_t *ic;          /* n_public + 1 Montgomery G1 points */
    const uint8_t *gamma2;
    struct krn_key key;         /* points into the file, at any alignment: section 10 may have any size and place */
    uint64_t digest;            /* see fmt_zkey_open */
};

/*
 * Maps path and checks it. z is filled whole or closed again; it stays valid until fmt_zkey_close.
 *
 * z->digest names the key: a 64-bit hash over the header, the table of sections, IC and evenly spaced
 * blocks of every other section, at most 2 MiB read in all. It tells keys of different circuits, setups and
 * contributions apart. It is no protection against somebody who makes a key to collide.
 */
int fmt_zkey_open(struct fmt_zkey *z, const char *path, struct fmt_error *err);

/* The same from memory that the caller keeps; name is for messages. */
int fmt_zkey_parse(struct fmt_zkey *z, const char *name, const void *bytes, size_t len, struct fmt_error *err);

/* Reads section 4 whole: matrix 0 or 1, constraint below n_rows and not falling, signal below n_vars, value below r. */
int fmt_zkey_check_coefficients(const struct fmt_zkey *z, unsigned threads, struct fmt_error *err);

/* Reads every point: each is on its curve or infinity, with coordinates below q. Names section and index. */
int fmt_zkey_check_points(const struct fmt_zkey *z, unsigned threads, struct fmt_error *err);

/* The verification key, in plain form. ic has room for n_public + 1 G1 points (2 * curve->fq_bytes each), stays
 * the caller's, and is what vk->ic points to afterwards. */
void fmt_zkey_vk(const struct fmt_zkey *z, struct krn_vk *vk, uint8_t *ic);

void fmt_zkey_close(struct fmt_zkey *z);

#endif
