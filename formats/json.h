/*
 * formats/json.h: JSON values. Only formats/json.c talks to jansson.
 *
 * Strict: a key that is there twice, bytes after the value, and text that is no UTF-8 or has a NUL are errors.
 */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

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

/* What j is, for messages: "an object", "a number" ...; "nothing" for NULL. */
const char *fmt_json_kind(const struct fmt_json *j);

/*
 * A field of an object by type: 1 with *value set; 0 where there is no such field (*value unchanged, so a default
 * may stand in it); -1 with err where it has another type or range, or j is no object. Strings have no NUL inside.
 */
int fmt_json_get_string(const struct fmt_json *j, const char *key, const char **value, struct fmt_error *err);
int fmt_json_get_int(const struct fmt_json *j, const char *key, int64_t min, int64_t max, int64_t *value,
                     struct fmt_error *err);
/* Any number. */
int fmt_json_get_real(const struct fmt_json *j, const char *key, double *value, struct fmt_error *err);
int fmt_json_get_bool(const struct fmt_json *j, const char *key, bool *value, struct fmt_error *err);
int fmt_json_get_object(const struct fmt_json *j, const char *key, const struct fmt_json **value,
                        struct fmt_error *err);
int fmt_json_get_array(const struct fmt_json *j, const char *key, const struct fmt_json **value,
                       struct fmt_error *err);

/* A field of any type; NULL where there is none or j is no object. */
const struct fmt_json *fmt_json_field(const struct fmt_json *j, const char *key);

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
/* Of a count that anybody may have written: modulo 2^63. */
int fmt_json_set_count(struct fmt_json *j, const char *key, uint64_t value);
int fmt_json_set_real(struct fmt_json *j, const char *key, double value);
int fmt_json_set_bool(struct fmt_json *j, const char *key, bool value);
int fmt_json_append(struct fmt_json *j, struct fmt_json *child);

/* The value on one line, without a newline; malloc'd with a NUL after it, NULL where memory is short. */
char *fmt_json_dump(const struct fmt_json *j, size_t *len);

/* The same on many lines, each level of nesting indented by one space more. */
char *fmt_json_dump_indented(const struct fmt_json *j, size_t *len);

#endif
