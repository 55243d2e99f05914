/*
 * synth/build.h: a witness program of circom 2 (.wasm), translated to C by wabt's wasm2c and compiled by the machine's
 * C compiler to a shared object, once: the result stands in a cache folder under the digest of all that it was made
 * from.
 *
 * The folder is --cache, else $XDG_CACHE_HOME/pinwheel, else ~/.cache/pinwheel. What lies in it is loaded as code, so
 * it must belong to this user (or root) and be writable by no other. Builders of the same program wait for each other
 * at a lock that the kernel drops when its holder dies; a finished object appears by rename, whole. wasm2c and the
 * compiler (PINWHEEL_CC, else cc) are needed here and nowhere else.
 */
#ifndef SYNTH_BUILD_H
#define SYNTH_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/sha256.h"
#include "formats/error.h"

enum { SYNTH_BUILD_PATH = 1024 };

struct synth_build {
    char path[SYNTH_BUILD_PATH];        /* of the shared object, absolute */
    char digest[FMT_SHA256_TEXT];       /* its name in the cache */
    bool cached;                        /* it was there: nothing below is set */
    double translate_seconds, compile_seconds;
    uint64_t compile_rss;               /* bytes, of the compiler's largest process */
    uint64_t object_bytes;
};

/* Checks and builds the program, or finds it built. cache: the folder, NULL for the default; made where it is
 * missing. */
int synth_build_program(const char *wasm, const char *cache, struct synth_build *b, struct fmt_error *err);

/* Whether a file may be loaded as code: ours or root's, a regular file, writable by nobody else. */
int synth_build_trust(const char *path, struct fmt_error *err);

#endif
