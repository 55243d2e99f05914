/*
 * formats/sym.h: the names of a circuit's signals, as circom --sym writes them. Each line is
 *
 *   label,wire,component,name       wire: -1 where the optimiser has removed the signal
 *
 * The file is mapped; an index of the first name of each wire is made at opening.
 */
#ifndef FORMATS_SYM_H
#define FORMATS_SYM_H

#include <stdbool.h>

#include "formats/file.h"

struct fmt_sym {
    struct fmt_file file;
    uint32_t n_wires;
    uint64_t *place;        /* of each wire's first name in the file; 0: it has none; owned */
};

struct fmt_sym_name {
    const char *text;       /* into the file, not NUL-terminated; NULL: no name */
    size_t len;
};

/* n_wires: the circuit's; a line with a wire beyond it is an error (the file is of another circuit). */
int fmt_sym_open(struct fmt_sym *s, const char *path, uint32_t n_wires, struct fmt_error *err);
int fmt_sym_parse(struct fmt_sym *s, const char *name, const void *bytes, size_t len, uint32_t n_wires,
                  struct fmt_error *err);

/* The first name of a wire, as in "main.hash.out[1]". Wire 0 is the constant 1 and has none. */
struct fmt_sym_name fmt_sym_of(const struct fmt_sym *s, uint32_t wire);

/* All names in the file's order, those without a wire too: begin with *at = 0; false at the end. */
bool fmt_sym_next(const struct fmt_sym *s, uint64_t *at, struct fmt_sym_name *name);

void fmt_sym_close(struct fmt_sym *s);      /* all zero bytes: harmless */

#endif
