/*
 * synth/source.h: where a circuit's witness comes from, given its recipe: a translated program in this process, or a
 * command as a child. Opened once for a circuit, used for every input.
 */
#ifndef SYNTH_SOURCE_H
#define SYNTH_SOURCE_H

#include "formats/sym.h"
#include "formats/zkey.h"
#include "synth/program.h"
#include "synth/recipe.h"

struct synth_source {
    struct synth_recipe recipe;
    struct synth_program *program;      /* NULL: the recipe has a command, or neither */
    bool has_sym;
    struct fmt_sym sym;
};

/* Loads program and names, and checks that they are of the key's circuit. */
int synth_source_open(struct synth_source *s, const struct synth_recipe *r, const struct fmt_zkey *z,
                      struct fmt_error *err);
void synth_source_close(struct synth_source *s);        /* all zero bytes, twice: harmless */

/* Whether inputs can be turned into witnesses. */
bool synth_source_computes(const struct synth_source *s);

/* The witness of an input file into w (z->n_vars plain values). */
int synth_source_witness(struct synth_source *s, const char *input, const struct fmt_zkey *z, uint8_t *w,
                         struct fmt_error *err);

#endif
