/*
 * formats/container.h: the container of iden3's files (.r1cs, .wtns, .zkey), whose sections come in any order.
 *
 *   magic 4 ASCII | version u32 | sections u32 | { id u32 | size u64 | payload } ...
 *
 * Every size is checked against the file before it is used. Refused: another magic or version, more than
 * FMT_MAX_SECTIONS sections, a section that is there twice, a header or payload that the file ends within, and
 * bytes after the last section.
 */
#ifndef FORMATS_CONTAINER_H
#define FORMATS_CONTAINER_H

#include "formats/file.h"

enum { FMT_MAX_SECTIONS = 32 };

struct fmt_section {
    uint32_t id;
    uint64_t offset, size;      /* of the payload, in the file */
};

struct fmt_container {
    uint32_t n_sections;
    struct fmt_section sections[FMT_MAX_SECTIONS];
};

/* Reads the table of sections of an open, mapped or lent file. */
int fmt_container_read(struct fmt_container *c, const struct fmt_file *f, const char magic[4], uint32_t version,
                       struct fmt_error *err);

/* The section, or NULL. */
const struct fmt_section *fmt_container_find(const struct fmt_container *c, uint32_t id);

/* The section, or NULL with err where it is missing. */
const struct fmt_section *fmt_container_need(const struct fmt_container *c, const struct fmt_file *f, uint32_t id,
                                             struct fmt_error *err);

#endif
