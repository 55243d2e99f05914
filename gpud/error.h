/*
 * gpud/error.h: why something was refused, as one line of text without a newline.
 */
#ifndef GPUD_ERROR_H
#define GPUD_ERROR_H

enum { GPUD_ERROR_MAX = 768 };

struct gpud_error {
    char text[GPUD_ERROR_MAX];
};

/* Fills err (cut where the line is longer) and returns -1. */
int gpud_fail(struct gpud_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
