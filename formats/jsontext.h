/*
 * formats/jsontext.h: JSON as a stream of tokens that keep their text.
 *
 * For input of circuits: numbers there are field elements of up to 255 bits, which every JSON library that turns
 * numbers into machine integers or doubles rounds or refuses. Here a number is the characters that stand in the file.
 * RFC 8259 exactly: one value, nothing after it, no comments, no trailing commas, UTF-8 only. Nothing is allocated; the
 * depth is bounded; a duplicate key is the caller's business.
 */
#ifndef FORMATS_JSONTEXT_H
#define FORMATS_JSONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

enum { FMT_JSONTEXT_DEPTH = 64 };

enum fmt_jsontext_kind {
    FMT_JT_END,             /* after the one value */
    FMT_JT_OBJECT, FMT_JT_OBJECT_END,
    FMT_JT_ARRAY, FMT_JT_ARRAY_END,
    FMT_JT_KEY,             /* text is what stands between the quotes; its value is the next token */
    FMT_JT_STRING,          /* the same */
    FMT_JT_NUMBER,          /* text is the number as it stands there */
    FMT_JT_TRUE, FMT_JT_FALSE, FMT_JT_NULL,
};

struct fmt_jsontext_token {
    enum fmt_jsontext_kind kind;
    const char *text;       /* into the source; not NUL-terminated */
    size_t len;
    bool escaped;           /* a KEY or STRING has backslashes: fmt_jsontext_unescape gives its characters */
};

struct fmt_jsontext {
    const char *name;       /* of the source, for messages; borrowed like the text */
    const char *text;
    size_t len, at;
    unsigned depth;
    uint64_t in_object;     /* bit d: the container at depth d + 1 is an object */
    int expect;             /* private */
};

void fmt_jsontext_begin(struct fmt_jsontext *j, const char *name, const char *text, size_t len);

/* The next token. After FMT_JT_END, and after a failure, only fmt_jsontext_begin may follow. Errors name the line and
 * the character in it. */
int fmt_jsontext_next(struct fmt_jsontext *j, struct fmt_jsontext_token *token, struct fmt_error *err);

/* The characters of a KEY or STRING as UTF-8 with a NUL after them. Returns their number, or -1 where they do not fit
 * into max - 1 bytes or one of them is NUL. */
long fmt_jsontext_unescape(const struct fmt_jsontext_token *token, char *out, size_t max);

/* 1-based line and character of a place in the text. */
void fmt_jsontext_where(const struct fmt_jsontext *j, const char *place, size_t *line, size_t *column);

const char *fmt_jsontext_kind_name(enum fmt_jsontext_kind kind);    /* "a number", "an object" ... */

#endif
