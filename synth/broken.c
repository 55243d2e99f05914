#include "synth/broken.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WIRES = 12, WIRES_TEXT = 200, NAME_MAX_SHOWN = 48 };

struct wires {
    uint32_t seen[MOST_WIRES];
    unsigned n;
    bool more;
};

static void add_wires(struct wires *w, const struct fmt_r1cs_sum *s)
{
    for (uint32_t t = 0; t < s->n; t++) {
        uint32_t wire;
        unsigned i = 0;
        memcpy(&wire, s->terms + (size_t)t * FMT_R1CS_TERM_BYTES, sizeof wire);
        while (i < w->n && w->seen[i] != wire)
            i++;
        if (i < w->n || wire == 0)      /* wire 0 is the constant 1 */
            continue;
        if (w->n < MOST_WIRES)
            w->seen[w->n++] = wire;
        else
            w->more = true;
    }
}

/* "12 (main.x), 13 (main.y)", cut with "..." where it gets long. */
static void list_wires(const struct wires *w, const struct fmt_sym *sym, char text[WIRES_TEXT])
{
    size_t n = 0;
    bool more = w->more;

    text[0] = '\0';
    for (unsigned i = 0; i < w->n; i++) {
        struct fmt_sym_name name = sym ? fmt_sym_of(sym, w->seen[i]) : (struct fmt_sym_name){NULL, 0};
        int len = (int)(name.len < NAME_MAX_SHOWN ? name.len : NAME_MAX_SHOWN);
        if (n + NAME_MAX_SHOWN + 24 > WIRES_TEXT) {
            more = true;
            break;
        }
        n += (size_t)snprintf(text + n, WIRES_TEXT - n, name.text ? "%s%u (%.*s)" : "%s%u", i ? ", " : "", w->seen[i],
                              len, name.text);
    }
    if (more)
        snprintf(text + n, WIRES_TEXT - n, ", ...");
}

int synth_broken_fail(const struct fmt_r1cs *r, const struct fmt_r1cs_broken *broken, const struct fmt_sym *sym,
                      struct fmt_error *err)
{
    uint64_t at = r->blocks[0];
    struct fmt_r1cs_constraint c = fmt_r1cs_next(r, &at);
    struct wires w = {.n = 0};
    char text[WIRES_TEXT];

    for (uint32_t row = 0; row < broken->row; row++)
        c = fmt_r1cs_next(r, &at);
    add_wires(&w, &c.a);
    add_wires(&w, &c.b);
    add_wires(&w, &c.c);
    list_wires(&w, sym, text);
    const char *slash = strrchr(r->file.name, '/');
    return fmt_fail(err, "the witness breaks constraint %u of %u in %.64s, over wires %s: %s * %s is not %s",
                    broken->row, r->n_constraints, slash ? slash + 1 : r->file.name, text, broken->a, broken->b,
                    broken->c);
}
