#include "formats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/output.h"

static void set_name(struct fmt_file *f, const char *name)
{
    size_t len = strlen(name);
    if (len < sizeof f->name)
        memcpy(f->name, name, len + 1);
    else
        snprintf(f->name, sizeof f->name, "...%s", name + len - (sizeof f->name - 4));
}

static struct fmt_stamp stamp_of(const struct stat *st)
{
    return (struct fmt_stamp){
        .device = (uint64_t)st->st_dev,
        .inode = (uint64_t)st->st_ino,
        .size = (uint64_t)st->st_size,
        .changed_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
    };
}

int fmt_file_open(struct fmt_file *f, const char *path, struct fmt_error *err)
{
    struct stat st;

    *f = (struct fmt_file){.fd = -1};
    set_name(f, path);
    /* O_NONBLOCK: a FIFO without a writer would hold open() for ever; on regular files it means nothing */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fmt_fail(err, "%s: %s", f->name, strerror(errno));
    if (fstat(fd, &st) != 0) {
        fmt_fail(err, "%s: %s", f->name, strerror(errno));
        close(fd);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return fmt_fail(err, "%s: not a regular file but a %s", f->name,
                        S_ISDIR(st.st_mode) ? "folder" : "device, pipe or socket");
    }
    f->fd = fd;
    f->size = (uint64_t)st.st_size;
    f->stamp = stamp_of(&st);
    return 0;
}

int fmt_file_map(struct fmt_file *f, const char *path, struct fmt_error *err)
{
    if (fmt_file_open(f, path, err) != 0)
        return -1;
    if (f->size == 0) {
        fmt_file_close(f);
        return fmt_fail(err, "%s: the file is empty", f->name);
    }
    void *p = mmap(NULL, f->size, PROT_READ, MAP_SHARED, f->fd, 0);
    if (p == MAP_FAILED) {
        fmt_fail(err, "%s: mapping %" PRIu64 " bytes: %s", f->name, f->size, strerror(errno));
        fmt_file_close(f);
        return -1;
    }
    f->bytes = p;
    f->mapped = 1;
    return 0;
}

void fmt_file_lend(struct fmt_file *f, const char *name, const void *bytes, size_t size)
{
    *f = (struct fmt_file){.fd = -1, .bytes = bytes, .size = size};
    set_name(f, name);
}

int fmt_file_read(const struct fmt_file *f, uint64_t offset, void *dst, size_t len, struct fmt_error *err)
{
    if (offset > f->size || len > f->size - offset)
        return fmt_fail(err, "%s: needs %zu bytes at byte %" PRIu64 ", but the file ends at byte %" PRIu64, f->name,
                        len, offset, f->size);
    if (f->bytes) {
        memcpy(dst, f->bytes + offset, len);
        return 0;
    }
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(f->fd, (uint8_t *)dst + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fmt_fail(err, "%s: reading at byte %" PRIu64 ": %s", f->name, offset + done, strerror(errno));
        if (n == 0)
            return fmt_fail(err, "%s: needs %zu bytes at byte %" PRIu64 ", but the file was cut to %" PRIu64 " bytes",
                            f->name, len, offset, offset + done);
        done += (size_t)n;
    }
    return 0;
}

int fmt_file_check_unchanged(const struct fmt_file *f, struct fmt_error *err)
{
    struct stat st;

    if (fstat(f->fd, &st) != 0)
        return fmt_fail(err, "%s: %s", f->name, strerror(errno));
    const struct fmt_stamp now = stamp_of(&st), *then = &f->stamp;
    if (now.size != then->size)
        return fmt_fail(err, "%s: was changed while in use: it had %" PRIu64 " bytes, and has %" PRIu64 " now", f->name,
                        then->size, now.size);
    if (now.device != then->device || now.inode != then->inode || now.changed_ns != then->changed_ns)
        return fmt_fail(err, "%s: was written to while in use, at %" PRId64 " ns; it was opened as of %" PRId64,
                        f->name, now.changed_ns, then->changed_ns);
    return 0;
}

void fmt_file_close(struct fmt_file *f)
{
    if (f->mapped)
        munmap((void *)(uintptr_t)f->bytes, f->size);
    if (f->fd >= 0 && (f->mapped || !f->bytes))
        close(f->fd);
    f->bytes = NULL;
    f->mapped = 0;
    f->fd = -1;
}

int fmt_file_read_whole(const char *path, size_t max, char **bytes, size_t *len, struct fmt_error *err)
{
    struct fmt_file f;

    if (fmt_file_open(&f, path, err) != 0)
        return -1;
    if (f.size > max) {
        fmt_file_close(&f);
        return fmt_fail(err, "%s: %" PRIu64 " bytes, where at most %zu are taken", f.name, f.size, max);
    }
    char *text = malloc(f.size + 1);
    int rc = text ? fmt_file_read(&f, 0, text, f.size, err) : fmt_fail(err, "%s: out of memory", f.name);
    fmt_file_close(&f);
    if (rc != 0) {
        free(text);
        return -1;
    }
    text[f.size] = '\0';
    *bytes = text;
    *len = f.size;
    return 0;
}

int fmt_file_write_whole(const char *path, const void *data, size_t len, struct fmt_error *err)
{
    struct fmt_output o;

    if (fmt_output_open(&o, path, err) != 0)
        return -1;
    if (fmt_output_write(&o, data, len, err) != 0) {
        fmt_output_discard(&o);
        return -1;
    }
    return fmt_output_commit(&o, err);
}

int fmt_make_folders(const char *path, struct fmt_error *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof part)
        return fmt_fail(err, "%s: longer than %zu bytes", path, sizeof part - 1);
    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && i != len)
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return fmt_fail(err, "%s: cannot be made: %s", part, strerror(errno));
    }
    return 0;
}
