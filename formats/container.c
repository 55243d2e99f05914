#include "formats/container.h"

#include <inttypes.h>
#include <string.h>

enum { HEADER = 12, SECTION_HEADER = 12 };

static int read_header(const struct fmt_file *f, const char magic[4], uint32_t version, uint32_t *n,
                       struct fmt_error *err)
{
    struct {
        char magic[4];
        uint32_t version, n_sections;
    } head;

    if (f->size < HEADER)
        return fmt_fail(err, "%s: %" PRIu64 " bytes, where the header of a .%.4s file takes %d", f->name, f->size,
                        magic, HEADER);
    if (fmt_file_read(f, 0, &head, HEADER, err) != 0)
        return -1;
    if (memcmp(head.magic, magic, 4) != 0)
        return fmt_fail(err, "%s: not a .%.4s file: begins with %02x %02x %02x %02x", f->name, magic,
                        (uint8_t)head.magic[0], (uint8_t)head.magic[1], (uint8_t)head.magic[2], (uint8_t)head.magic[3]);
    if (head.version != version)
        return fmt_fail(err, "%s: version %u of .%.4s, where only %u is known", f->name, head.version,
                        magic, version);
    if (head.n_sections > FMT_MAX_SECTIONS)
        return fmt_fail(err, "%s: %u sections, where at most %d are taken", f->name, head.n_sections,
                        FMT_MAX_SECTIONS);
    *n = head.n_sections;
    return 0;
}

/* Reads the header of section number c->n_sections, which begins at *at, and moves *at behind its payload. */
static int read_section(struct fmt_container *c, const struct fmt_file *f, uint64_t *at, uint32_t of,
                        struct fmt_error *err)
{
    uint8_t head[SECTION_HEADER];
    struct fmt_section s;

    if (f->size - *at < SECTION_HEADER)
        return fmt_fail(err, "%s: section header %u of %u at byte %" PRIu64 " takes %d bytes, but the "
                        "file ends at byte %" PRIu64, f->name, c->n_sections + 1, of, *at, SECTION_HEADER, f->size);
    if (fmt_file_read(f, *at, head, SECTION_HEADER, err) != 0)
        return -1;
    memcpy(&s.id, head, 4);
    memcpy(&s.size, head + 4, 8);
    s.offset = *at + SECTION_HEADER;
    if (s.size > f->size - s.offset)
        return fmt_fail(err, "%s: section %u at byte %" PRIu64 " has %" PRIu64 " bytes, but the file ends at byte "
                        "%" PRIu64, f->name, s.id, s.offset, s.size, f->size);
    const struct fmt_section *twin = fmt_container_find(c, s.id);
    if (twin)
        return fmt_fail(err, "%s: section %u is there twice, at bytes %" PRIu64 " and %" PRIu64, f->name, s.id,
                        twin->offset, s.offset);
    c->sections[c->n_sections++] = s;
    *at = s.offset + s.size;
    return 0;
}

int fmt_container_read(struct fmt_container *c, const struct fmt_file *f, const char magic[4], uint32_t version,
                       struct fmt_error *err)
{
    uint32_t n = 0;
    uint64_t at = HEADER;

    c->n_sections = 0;
    if (read_header(f, magic, version, &n, err) != 0)
        return -1;
    while (c->n_sections < n) {
        if (read_section(c, f, &at, n, err) != 0)
            return -1;
    }
    if (at != f->size)
        return fmt_fail(err, "%s: the last section ends at byte %" PRIu64 ", but the file at byte %" PRIu64, f->name,
                        at, f->size);
    return 0;
}

const struct fmt_section *fmt_container_find(const struct fmt_container *c, uint32_t id)
{
    for (uint32_t i = 0; i < c->n_sections; i++) {
        if (c->sections[i].id == id)
            return &c->sections[i];
    }
    return NULL;
}

const struct fmt_section *fmt_container_need(const struct fmt_container *c, const struct fmt_file *f, uint32_t id,
                                             struct fmt_error *err)
{
    const struct fmt_section *s = fmt_container_find(c, id);
    if (!s)
        fmt_fail(err, "%s: section %u is missing among the file's %u", f->name, id, c->n_sections);
    return s;
}
