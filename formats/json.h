/*
 * formats/json.h: snarkjs's JSON files, and JSON messages in general. Only formats/json.c talks to jansson.
 *
 * Strict where snarkjs and rapidsnark are lax: numbers are decimal strings in one spelling, scalars below r and
 * coordinates below q, arrays are arrays of the right length, names are known names; a key that is there twice and
 * bytes after the value are errors. Whether points lie on the curve is krn_verify's business.
 */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

#include <stdbool.h>

#include "formats/file.h"
#include "kernels/krn.h"

enum {
    FMT_JSON_MAX_FILE = 64 << 20,   /* a verification key of 300,000 publics is larger than any in use */
    FMT_JSON_MAX_PUBLIC = 1 << 18,
};

/* ---- snarkjs's files. Each exists for a path and for text in memory (name: for messages). ---- */

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

/* ---- messages ---- */

/* A JSON value. Objects and arrays own what was put into them; what a getter returns is borrowed. */
struct fmt_json;

/* One JSON value and nothing after it; free with fmt_json_free. NULL with err. */
struct fmt_json *fmt_json_parse(const char *name, const char *text, size_t len, struct fmt_error *err);
struct fmt_json *fmt_json_object(void);
struct fmt_json *fmt_json_array(void);
struct fmt_json *fmt_json_string(const char *value);
struct fmt_json *fmt_json_int(int64_t value);
void fmt_json_free(struct fmt_json *j);     /* NULL is harmless */

bool fmt_json_is_object(const struct fmt_json *j);
bool fmt_json_is_array(const struct fmt_json *j);

/*
 * A field of an object by type: 1 with *value set; 0 where there is no such field (*value unchanged, so a default
 * may stand in it); -1 with err where it has another type or range, or j is no object. Strings have no NUL inside.
 */
int fmt_json_get_string(const struct fmt_json *j, const char *key, const char **value, struct fmt_error *err);
int fmt_json_get_int(const struct fmt_json *j, const char *key, int64_t min, int64_t max, int64_t *value,
                     struct fmt_error *err);
int fmt_json_get_bool(const struct fmt_json *j, const char *key, bool *value, struct fmt_error *err);
int fmt_json_get_object(const struct fmt_json *j, const char *key, const struct fmt_json **value,
                        struct fmt_error *err);
int fmt_json_get_array(const struct fmt_json *j, const char *key, const struct fmt_json **value,
                       struct fmt_error *err);

/* 0 where every key of the object is among the n given; else -1 with err naming the unknown one. */
int fmt_json_only(const struct fmt_json *j, const char *const *keys, size_t n, struct fmt_error *err);

/* An array's length (0 for anything else), its elements, and an element as a string (NULL where it is none). */
size_t fmt_json_length(const struct fmt_json *j);
const struct fmt_json *fmt_json_at(const struct fmt_json *j, size_t i);
const char *fmt_json_as_string(const struct fmt_json *j);

/*
 * Building. Fields keep the order in which they were set. 0, or -1 where memory is short, the text is no UTF-8 or j (or
 * child) is NULL: a chain of calls may so be checked once, by or-ing the results. set and append take the child
 * over, also on failure.
 */
int fmt_json_set(struct fmt_json *j, const char *key, struct fmt_json *child);
int fmt_json_set_string(struct fmt_json *j, const char *key, const char *value);
int fmt_json_set_int(struct fmt_json *j, const char *key, int64_t value);
int fmt_json_set_real(struct fmt_json *j, const char *key, double value);
int fmt_json_set_bool(struct fmt_json *j, const char *key, bool value);
int fmt_json_append(struct fmt_json *j, struct fmt_json *child);

/* The value on one line, without a newline; malloc'd with a NUL after it, NULL where memory is short. */
char *fmt_json_dump(const struct fmt_json *j, size_t *len);

/* A proof and publics as values, for messages. NULL where memory is short. */
struct fmt_json *fmt_json_from_proof(const struct krn_curve *curve, const struct krn_proof *proof);
struct fmt_json *fmt_json_from_public(const uint8_t *values, size_t n);
int fmt_json_to_proof(const struct fmt_json *j, const char *name, const struct krn_curve *curve,
                      struct krn_proof *proof, struct fmt_error *err);
int fmt_json_to_public(const struct fmt_json *j, const char *name, const struct krn_curve *curve, uint8_t **values,
                       size_t *n, struct fmt_error *err);

#endif
