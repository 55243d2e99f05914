/*
 * synth/broken.h: a constraint that a witness breaks, for people: its number, the wires in it, and their names.
 */
#ifndef SYNTH_BROKEN_H
#define SYNTH_BROKEN_H

#include "formats/r1cs.h"
#include "formats/sym.h"

/* Fills err with one line and returns -1. sym: the circuit's names, or NULL: numbers only. */
int synth_broken_fail(const struct fmt_r1cs *r, const struct fmt_r1cs_broken *broken, const struct fmt_sym *sym,
                      struct fmt_error *err);

#endif
