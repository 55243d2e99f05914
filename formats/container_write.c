#include "formats/container_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 20 };

static void write_out(struct fmt_writer *w, const uint8_t *data, size_t len)
{
    if (!w->failed)
        w->failed = fmt_output_write(&w->out, data, len, &w->err) != 0;
    w->flushed += len;
}

static void flush(struct fmt_writer *w)
{
    write_out(w, w->buffer, w->used);
    w->used = 0;
}

int fmt_writer_open(struct fmt_writer *w, const char *path, const char magic[4], uint32_t version,
                    uint32_t n_sections, struct fmt_error *err)
{
    *w = (struct fmt_writer){.n_sections = n_sections, .buffer = malloc(BUFFER)};
    if (!w->buffer)
        return fmt_fail(err, "%s: out of memory", path);
    if (fmt_output_open(&w->out, path, err) != 0) {
        free(w->buffer);
        return -1;
    }
    fmt_writer_put(w, magic, 4);
    fmt_writer_u32(w, version);
    fmt_writer_u32(w, n_sections);
    return 0;
}

void fmt_writer_begin(struct fmt_writer *w, uint32_t id)
{
    w->begun++;
    fmt_writer_u32(w, id);
    fmt_writer_u64(w, 0);
    w->section = w->flushed + w->used;
}

void fmt_writer_put(struct fmt_writer *w, const void *data, size_t len)
{
    const uint8_t *at = data;

    if (len >= BUFFER) {        /* nothing is gained by copying what fills the buffer anyway */
        flush(w);
        write_out(w, at, len);
        return;
    }
    while (len > 0) {
        size_t n = len < BUFFER - w->used ? len : BUFFER - w->used;
        memcpy(w->buffer + w->used, at, n);
        w->used += n;
        at += n;
        len -= n;
        if (w->used == BUFFER)
            flush(w);
    }
}

void fmt_writer_u32(struct fmt_writer *w, uint32_t v)
{
    fmt_writer_put(w, &v, sizeof v);
}

void fmt_writer_u64(struct fmt_writer *w, uint64_t v)
{
    fmt_writer_put(w, &v, sizeof v);
}

void fmt_writer_end(struct fmt_writer *w)
{
    flush(w);
    uint64_t size = w->flushed - w->section;
    if (!w->failed)
        w->failed = fmt_output_patch(&w->out, w->section - sizeof size, &size, sizeof size, &w->err) != 0;
}

int fmt_writer_commit(struct fmt_writer *w, struct fmt_error *err)
{
    if (!w->failed && w->begun != w->n_sections)
        w->failed = fmt_fail(&w->err, "%s: %" PRIu32 " sections written, %" PRIu32 " promised in its header",
                             w->out.path, w->begun, w->n_sections) != 0;
    int rc = -1;
    if (w->failed)
        *err = w->err;
    else
        rc = fmt_output_commit(&w->out, err);
    fmt_writer_discard(w);
    return rc;
}

void fmt_writer_discard(struct fmt_writer *w)
{
    fmt_output_discard(&w->out);
    free(w->buffer);
    w->buffer = NULL;
}
