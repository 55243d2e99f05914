/*
 * synth/wasm.h: whether a .wasm file is a witness program of circom 2 with the ABI that we speak, before anything is
 * built from it. Reads types, imports, functions, memories and exports; the code itself is wasm2c's business.
 */
#ifndef SYNTH_WASM_H
#define SYNTH_WASM_H

#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

enum {
    SYNTH_WASM_MAX_FILE = 512 << 20,
    SYNTH_WASM_MAX_TYPES = 512,
    SYNTH_WASM_MAX_PARAMS = 30,     /* parameters and results of a type */
};

/*
 * Refuses by name: what is no wasm; programs of circom 1; programs of a circom 2 whose ABI was another one (an export
 * is missing or of another type); programs that want to import anything else from their host.
 */
int synth_wasm_check(const char *name, const uint8_t *bytes, size_t len, struct fmt_error *err);

#endif
