/*
 * formats/payload.h: where the vectors of one job lie in a slot. Whoever fills a slot and whoever proves from it
 * compute the same places from the circuit alone; nothing about them travels.
 *
 *   w   n_vars plain scalars
 *   a   2^log_domain rows, Montgomery form, zero beyond the last row
 *   b   the same
 *   c   the same; only where the producer sends it (SHM_SLOT_HAS_C) and the slot has room for it
 */
#ifndef FORMATS_PAYLOAD_H
#define FORMATS_PAYLOAD_H

#include <stdint.h>

#include "kernels/krn.h"

enum { FMT_PAYLOAD_ALIGN = 4096 };

/* Byte offsets from the start of the payload, and the bytes taken without and with c. */
struct fmt_payload {
    uint64_t w, a, b, c;
    uint64_t bytes, bytes_with_c;
};

static inline uint64_t fmt_payload_vector(uint64_t scalars) {
    return (scalars * KRN_FR_BYTES + FMT_PAYLOAD_ALIGN - 1) & ~(uint64_t)(FMT_PAYLOAD_ALIGN - 1);
}

static inline struct fmt_payload fmt_payload_of(uint32_t n_vars, uint32_t log_domain) {
    uint64_t rows = fmt_payload_vector((uint64_t)1 << log_domain);
    struct fmt_payload p = {.w = 0, .a = fmt_payload_vector(n_vars)};
    p.b = p.a + rows;
    p.c = p.b + rows;
    p.bytes = p.c;
    p.bytes_with_c = p.c + rows;
    return p;
}

#endif
