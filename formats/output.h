/*
 * formats/output.h: a file that is written piece by piece, and is there whole or not at all: a temporary file in the
 * same folder (mode 0666 less the umask), then rename. A symbolic link keeps pointing where it points; what is no
 * regular file is refused. Not synced to disk.
 */
#ifndef FORMATS_OUTPUT_H
#define FORMATS_OUTPUT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

struct fmt_output {
    int fd;                 /* -1 before open and after commit or discard */
    char path[PATH_MAX];    /* as the caller named it, for messages */
    char real[PATH_MAX], temp[PATH_MAX];
};

/* Creates the temporary file. On failure there is nothing to discard. */
int fmt_output_open(struct fmt_output *o, const char *path, struct fmt_error *err);

/* Appends. */
int fmt_output_write(struct fmt_output *o, const void *data, size_t len, struct fmt_error *err);

/* Writes over what is there already, at offset. */
int fmt_output_patch(struct fmt_output *o, uint64_t offset, const void *data, size_t len, struct fmt_error *err);

/* Gives the file its name. On failure it is discarded. */
int fmt_output_commit(struct fmt_output *o, struct fmt_error *err);

/* Removes the temporary file; a file that had the name before is unchanged. Harmless after commit or discard. */
void fmt_output_discard(struct fmt_output *o);

#endif
