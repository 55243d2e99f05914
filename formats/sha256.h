/*
 * formats/sha256.h: SHA-256 (FIPS 180-4), to name files and results by their content. libmd does it; only
 * formats/sha256.c talks to it.
 */
#ifndef FORMATS_SHA256_H
#define FORMATS_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { FMT_SHA256_BYTES = 32, FMT_SHA256_TEXT = 65 };      /* TEXT: 64 hex digits and a NUL */

/* libmd's state; its size is checked where it is known. */
struct fmt_sha256 {
    uint64_t state[28];
};

void fmt_sha256_begin(struct fmt_sha256 *h);
void fmt_sha256_add(struct fmt_sha256 *h, const void *bytes, size_t len);
void fmt_sha256_end(struct fmt_sha256 *h, char out[FMT_SHA256_TEXT]);

#endif
