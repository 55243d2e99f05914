/*
 * synth/eval.h: a = A.w and b = B.w, row by row, from a mapped proving key into a slot.
 */
#ifndef SYNTH_EVAL_H
#define SYNTH_EVAL_H

#include "formats/zkey.h"

/*
 * w: z->n_vars plain values below r. a, b: z->domain_size rows of KRN_FR_BYTES each, in Montgomery form, all
 * written (rows without coefficients are zero). The three do not overlap. threads: 0 for all processors.
 *
 * The key stores coefficient * R^2, and one Montgomery product divides by R: (k R^2 * w) / R = (k w) R.
 *
 * Fails, naming the entry, where a coefficient lies outside the matrices or the entries are not sorted by constraint:
 * nothing outside a and b is ever touched, whatever the file holds.
 */
int synth_eval(const struct fmt_zkey *z, const uint8_t *w, uint8_t *a, uint8_t *b, unsigned threads,
               struct fmt_error *err);

#endif
