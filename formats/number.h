/*
 * formats/number.h: numbers that a person gives on a command line.
 */
#ifndef FORMATS_NUMBER_H
#define FORMATS_NUMBER_H

#include <stdint.h>

/* A decimal number from min to max and nothing behind it. 0 with *value, or -1. */
int fmt_number_read(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* The same, which K, M or G may follow for powers of 1024; min and max are of the product. */
int fmt_number_read_scaled(const char *text, uint64_t min, uint64_t max, uint64_t *value);

#endif
