/*
 * shm/lock.h: OFD write locks on single bytes of the region file. They belong to the open file description: the kernel
 * drops them when its last descriptor is closed, however the process ends, and a pid used again means nothing to them.
 */
#ifndef SHM_LOCK_H
#define SHM_LOCK_H

#include <errno.h>
#include <fcntl.h>

static inline int shm_lock_op(int fd, int op, short type, off_t byte, struct flock *out) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (fcntl(fd, op, &lock) != 0)
        return errno == EACCES ? -EAGAIN : -errno;
    if (out)
        *out = lock;
    return 0;
}

/* 0, -EAGAIN where another description holds it, or -errno. */
static inline int shm_lock_try(int fd, off_t byte) {
    return shm_lock_op(fd, F_OFD_SETLK, F_WRLCK, byte, 0);
}

static inline void shm_lock_drop(int fd, off_t byte) {
    shm_lock_op(fd, F_OFD_SETLK, F_UNLCK, byte, 0);
}

/* 1 another description holds it, 0 none does, or -errno. */
static inline int shm_lock_held(int fd, off_t byte) {
    struct flock found = {0};
    int rc = shm_lock_op(fd, F_OFD_GETLK, F_WRLCK, byte, &found);
    return rc != 0 ? rc : found.l_type != F_UNLCK;
}

#endif
