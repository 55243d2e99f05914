/*
 * synth/number.h: a number as people write it into an input file, to a field element.
 *
 *   number = [ "-" ] ( digits | "0x" hex digits )        leading zeros are fine; -v stands for p - v
 */
#ifndef SYNTH_NUMBER_H
#define SYNTH_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/krn.h"

enum { SYNTH_NUMBER_DIGITS = 4096 };    /* longer ones are refused */

/*
 * Reads len characters into a plain value below the prime p. Where |number| is at or above p: taken modulo p with
 * reduce, else -ERANGE. -EINVAL: no number, with *bad the place of the first wrong character (len: it ends too early).
 */
int synth_number_read(uint8_t out[KRN_FR_BYTES], const char *text, size_t len, const uint8_t p[KRN_FR_BYTES],
                      bool reduce, size_t *bad);

#endif
