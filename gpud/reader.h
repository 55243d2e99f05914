/*
 * gpud/reader.h: reads a key's file for a device that loads it: large reads, many of them queued at once by io_uring,
 * or one after the other where io_uring is not permitted. The mapping of the key is not touched, so a file that is cut
 * or written to meanwhile is a refusal with its name, not a SIGBUS.
 */
#ifndef GPUD_READER_H
#define GPUD_READER_H

#include "formats/file.h"
#include "gpud/error.h"
#include "shm/uring.h"

enum {
    GPUD_READER_PIECE = 4 << 20,    /* bytes of one read */
    GPUD_READER_DEPTH = 16,         /* reads at a time */
};

struct gpud_reader {
    struct shm_uring *ring;         /* NULL: pread */
    char why[160];                  /* why not io_uring; empty where it is */
    const struct fmt_file *file;    /* that is being read */
    struct fmt_error error;         /* of the last fill that failed; empty: none has */
};

/* For the calling thread alone. Never fails: without io_uring it reads by pread. */
void gpud_reader_open(struct gpud_reader *r);
void gpud_reader_close(struct gpud_reader *r);

/* What fills read from now on: a file that is mapped and stays so. */
void gpud_reader_use(struct gpud_reader *r, const struct fmt_file *file);

/*
 * The `fill` of a key's source (kernels/backend.h), ctx being the reader: brings the bytes that the mapping has at
 * `from` to `to`. 0; or with text in r->error: -ESTALE the file is not as it was opened, -ENODATA it ends before,
 * or what a read failed with. No read is under way afterwards.
 */
int gpud_reader_fill(void *ctx, const void *from, size_t bytes, void *to);

#endif
