#include "formats/sym.h"

#include <stdlib.h>
#include <string.h>

struct line {
    int64_t wire;
    uint64_t name, name_len;    /* place in the file */
};

/* A decimal number with an optional minus, at most 18 digits, up to a comma; *p moves behind the comma. */
static bool read_field(const uint8_t **p, const uint8_t *end, int64_t *v)
{
    bool negative = *p < end && **p == '-';
    const uint8_t *q = *p + negative, *start = q;
    for (*v = 0; q < end && *q >= '0' && *q <= '9' && q - start < 18; q++)
        *v = *v * 10 + (*q - '0');
    if (q == start || q == end || *q != ',')
        return false;
    *v = negative ? -*v : *v;
    *p = q + 1;
    return true;
}

/* The line at *at; *at moves to the next one. 1; 0 at the end; -1 malformed. */
static int read_line(const struct fmt_file *f, uint64_t *at, struct line *l)
{
    const uint8_t *p = f->bytes + *at, *end = f->bytes + f->size;
    int64_t label, component;

    if (p == end)
        return 0;
    if (!read_field(&p, end, &label) || !read_field(&p, end, &l->wire) || !read_field(&p, end, &component))
        return -1;
    const uint8_t *newline = memchr(p, '\n', (size_t)(end - p));
    const uint8_t *stop = newline ? newline : end;
    l->name = (uint64_t)(p - f->bytes);
    l->name_len = (uint64_t)(stop - p);
    *at = (uint64_t)(stop - f->bytes) + (newline != NULL);
    return stop > p ? 1 : -1;
}

static int index_names(struct fmt_sym *s, struct fmt_error *err)
{
    struct line l;
    uint64_t at = 0, line = 1;
    int rc;

    s->place = calloc((size_t)s->n_wires + 1, sizeof *s->place);
    if (!s->place)
        return fmt_fail(err, "%s: out of memory", s->file.name);
    for (; (rc = read_line(&s->file, &at, &l)) == 1; line++) {
        if (l.wire >= (int64_t)s->n_wires)
            return fmt_fail(err, "%s: line %llu: wire %lld, but the circuit has %u wires: it is of another circuit",
                            s->file.name, (unsigned long long)line, (long long)l.wire, s->n_wires);
        if (l.wire >= 0 && s->place[l.wire] == 0)
            s->place[l.wire] = l.name;
    }
    return rc == 0 ? 0 : fmt_fail(err, "%s: line %llu: not 'label,wire,component,name'", s->file.name,
                                  (unsigned long long)line);
}

static int finish_open(struct fmt_sym *s, struct fmt_error *err)
{
    int rc = index_names(s, err);
    if (rc != 0)
        fmt_sym_close(s);
    return rc;
}

int fmt_sym_open(struct fmt_sym *s, const char *path, uint32_t n_wires, struct fmt_error *err)
{
    *s = (struct fmt_sym){.n_wires = n_wires};
    return fmt_file_map(&s->file, path, err) != 0 ? -1 : finish_open(s, err);
}

int fmt_sym_parse(struct fmt_sym *s, const char *name, const void *bytes, size_t len, uint32_t n_wires,
                  struct fmt_error *err)
{
    *s = (struct fmt_sym){.n_wires = n_wires};
    fmt_file_lend(&s->file, name, bytes, len);
    return finish_open(s, err);
}

struct fmt_sym_name fmt_sym_of(const struct fmt_sym *s, uint32_t wire)
{
    if (wire >= s->n_wires || s->place[wire] == 0)
        return (struct fmt_sym_name){NULL, 0};
    const char *p = (const char *)s->file.bytes + s->place[wire];
    size_t left = s->file.size - s->place[wire];
    const char *newline = memchr(p, '\n', left);
    return (struct fmt_sym_name){p, newline ? (size_t)(newline - p) : left};
}

bool fmt_sym_next(const struct fmt_sym *s, uint64_t *at, struct fmt_sym_name *name)
{
    struct line l;
    if (read_line(&s->file, at, &l) != 1)
        return false;
    *name = (struct fmt_sym_name){(const char *)s->file.bytes + l.name, l.name_len};
    return true;
}

void fmt_sym_close(struct fmt_sym *s)
{
    free(s->place);
    s->place = NULL;
    fmt_file_close(&s->file);
}
