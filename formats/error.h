/*
 * formats/error.h: why a file was refused, as one line of text.
 *
 * Every function of formats/ that can fail returns 0 or -1 (where a third answer exists, its header says so) and
 * fills a struct fmt_error that the caller owns. The line names the file, the place in it (section, index or byte
 * offset) and both numbers that disagree, and has no newline at its end.
 */
#ifndef FORMATS_ERROR_H
#define FORMATS_ERROR_H

enum { FMT_ERROR_MAX = 512 };

struct fmt_error {
    char text[FMT_ERROR_MAX];
};

/* Fills err (cut at its end where the line is longer) and returns -1. err is not NULL. */
int fmt_fail(struct fmt_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
