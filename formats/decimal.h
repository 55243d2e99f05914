/*
 * formats/decimal.h: decimal text to and from little-endian integers of up to KRN_FQ_MAX bytes.
 */
#ifndef FORMATS_DECIMAL_H
#define FORMATS_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { FMT_DECIMAL_MAX = 120 };     /* digits of 2^384 are 116; with the NUL */

/* Writes the n-byte integer (n a multiple of 8, at most 48) as decimal digits and a NUL; returns the digits' number. */
size_t fmt_decimal_write(char out[FMT_DECIMAL_MAX], const uint8_t *value, size_t n);

/* Reads len characters. 0; -EINVAL for anything but digits, for no digits, and for a leading zero (each number has
 * one spelling); -ERANGE where it does not fit into n bytes. */
int fmt_decimal_read(uint8_t *value, size_t n, const char *text, size_t len);

/* Whether one n-byte little-endian integer is below another. */
int fmt_below(const uint8_t *value, const uint8_t *bound, size_t n);

#endif
