/*
 * formats/file.h: files as the parsers see them: regular, read-only, of a known size.
 *
 * A struct fmt_file is one of three things behind one type: an open descriptor (read with pread), a mapping, or bytes
 * that the caller lends (tests, fuzzing). Opening never blocks on a FIFO, and refuses everything that is not a
 * regular file. A mapped file that somebody cuts while it is in use ends in SIGBUS: key files are to be
 * replaced by rename, never rewritten in place. Witnesses are read with pread, where a cut is an error.
 */
#ifndef FORMATS_FILE_H
#define FORMATS_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

enum { FMT_NAME_MAX = 256 };

/* Which file it was, and in which state. */
struct fmt_stamp {
    uint64_t device, inode, size;
    int64_t changed_ns;         /* mtime */
};

struct fmt_file {
    const uint8_t *bytes;       /* NULL where only the descriptor is open */
    uint64_t size;
    int fd;                     /* -1 where bytes are lent */
    int mapped;
    struct fmt_stamp stamp;     /* as it was opened */
    char name[FMT_NAME_MAX];    /* for messages; a longer path keeps its end */
};

/* Opens a regular file for fmt_file_read. */
int fmt_file_open(struct fmt_file *f, const char *path, struct fmt_error *err);

/* Maps a regular file whole, read-only and shared, so that all processes that map it use one copy. */
int fmt_file_map(struct fmt_file *f, const char *path, struct fmt_error *err);

/* Bytes in memory as a file; the caller keeps them until fmt_file_close. */
void fmt_file_lend(struct fmt_file *f, const char *name, const void *bytes, size_t size);

/* Copies len bytes from offset into dst. Fails where the file has fewer (also where it was cut after opening). */
int fmt_file_read(const struct fmt_file *f, uint64_t offset, void *dst, size_t len, struct fmt_error *err);

/* Whether an opened or mapped file still is as it was when it was opened: 0, or -1 with err where it was written to or
 * cut since. One that was replaced by rename is unchanged: this is the former one. */
int fmt_file_check_unchanged(const struct fmt_file *f, struct fmt_error *err);

/* Unmaps and closes; twice is harmless. Where opening failed there is nothing to close. */
void fmt_file_close(struct fmt_file *f);

/* The whole of a small file (at most max bytes) as malloc'd bytes with a NUL after them; the caller frees them. */
int fmt_file_read_whole(const char *path, size_t max, char **bytes, size_t *len, struct fmt_error *err);

/* Writes a file whole or not at all, by formats/output.h. */
int fmt_file_write_whole(const char *path, const void *data, size_t len, struct fmt_error *err);

/* Makes the folder and those above it that are missing, for this user alone (0700). */
int fmt_make_folders(const char *path, struct fmt_error *err);

#endif
