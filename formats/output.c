#include "formats/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct fmt_output *o, int error, struct fmt_error *err)
{
    return fmt_fail(err, "%s: cannot be written: %s", o->path,
                    error == EINVAL ? "not a regular file" : strerror(error));
}

static int copy_path(char dst[PATH_MAX], const char *path)
{
    size_t len = strlen(path);

    if (len >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(dst, path, len + 1);
    return 0;
}

/* Where the file really lies: rename would put a file in the place of a symbolic link, and a device or a folder is
 * not to be replaced at all. */
static int resolve(const char *path, char real[PATH_MAX])
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno == ENOENT ? copy_path(real, path) : -1;
    if (!S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    return realpath(path, real) ? 0 : -1;
}

/* A new file beside `path`, open for writing; its name goes to `temp`. -1 with errno. */
static int create_beside(const char *path, char temp[PATH_MAX])
{
    static atomic_uint counter;

    for (int tries = 0; tries < 100; tries++) {
        int n = snprintf(temp, PATH_MAX, "%s.tmp.%ld.%u", path, (long)getpid(), atomic_fetch_add(&counter, 1));
        if (n >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int fmt_output_open(struct fmt_output *o, const char *path, struct fmt_error *err)
{
    o->fd = -1;
    if (copy_path(o->path, path) != 0)
        return fmt_fail(err, "%.200s...: %s", path, strerror(errno));
    if (resolve(path, o->real) != 0 || (o->fd = create_beside(o->real, o->temp)) < 0)
        return fail(o, errno, err);
    return 0;
}

int fmt_output_write(struct fmt_output *o, const void *data, size_t len, struct fmt_error *err)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = write(o->fd, (const uint8_t *)data + done, len - done);
        if (n < 0 && errno != EINTR)
            return fail(o, errno, err);
        done += n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

int fmt_output_patch(struct fmt_output *o, uint64_t offset, const void *data, size_t len, struct fmt_error *err)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(o->fd, (const uint8_t *)data + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return fail(o, errno, err);
        done += n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

int fmt_output_commit(struct fmt_output *o, struct fmt_error *err)
{
    int fd = o->fd;

    o->fd = -1;
    if (close(fd) == 0 && rename(o->temp, o->real) == 0)
        return 0;
    int saved = errno;
    unlink(o->temp);
    return fail(o, saved, err);
}

void fmt_output_discard(struct fmt_output *o)
{
    if (o->fd < 0)
        return;
    close(o->fd);
    o->fd = -1;
    unlink(o->temp);
}
