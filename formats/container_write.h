/*
 * formats/container_write.h: writes an iden3 container (formats/container.h) as a stream, section after section,
 * through one buffer: memory does not grow with the file.
 *
 * Errors stick: after the first one every call does nothing and commit reports it, so that a writer of sections checks
 * once, at the end.
 */
#ifndef FORMATS_CONTAINER_WRITE_H
#define FORMATS_CONTAINER_WRITE_H

#include "formats/output.h"

struct fmt_writer {
    struct fmt_output out;
    uint8_t *buffer;            /* owned */
    size_t used;
    uint64_t flushed;           /* bytes of the file before the buffer */
    uint64_t section;           /* offset of the open section's payload */
    uint32_t n_sections, begun; /* promised in the header, and begun until now */
    int failed;
    struct fmt_error err;
};

/* Opens path and writes the header. On failure there is nothing to discard. */
int fmt_writer_open(struct fmt_writer *w, const char *path, const char magic[4], uint32_t version,
                    uint32_t n_sections, struct fmt_error *err);

/* Sections one after the other; the size of each is filled in at its end. */
void fmt_writer_begin(struct fmt_writer *w, uint32_t id);
void fmt_writer_put(struct fmt_writer *w, const void *data, size_t len);
void fmt_writer_u32(struct fmt_writer *w, uint32_t v);
void fmt_writer_u64(struct fmt_writer *w, uint64_t v);
void fmt_writer_end(struct fmt_writer *w);

/* Gives the file its name. Fails with the first error of all calls before, or where not all of the promised sections
 * were written; then nothing is left of the file. */
int fmt_writer_commit(struct fmt_writer *w, struct fmt_error *err);

/* Gives up; harmless after commit. */
void fmt_writer_discard(struct fmt_writer *w);

#endif
