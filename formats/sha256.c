#include "formats/sha256.h"

#include <assert.h>
#include <sha2.h>

static_assert(sizeof(SHA2_CTX) <= sizeof(struct fmt_sha256), "there is room for libmd's state");
static_assert(SHA256_DIGEST_STRING_LENGTH == FMT_SHA256_TEXT, "and for its digest");

static SHA2_CTX *state_of(struct fmt_sha256 *h) {
    return (SHA2_CTX *)h->state;
}

void fmt_sha256_begin(struct fmt_sha256 *h) {
    SHA256Init(state_of(h));
}

void fmt_sha256_add(struct fmt_sha256 *h, const void *bytes, size_t len) {
    SHA256Update(state_of(h), bytes, len);
}

void fmt_sha256_end(struct fmt_sha256 *h, char out[FMT_SHA256_TEXT]) {
    SHA256End(state_of(h), out);
}
