/* All use of liburing. Debian 12's liburing 2.3 knows nothing of futexes, so their requests are filled in by hand. */
#include "shm/uring.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OP_FUTEX_WAIT = 51,         /* IORING_OP_FUTEX_WAIT, Linux 6.7 */
    FUTEX_SHARED_U32 = 2,       /* FUTEX2_SIZE_U32, without FUTEX2_PRIVATE */
};

struct shm_uring {
    struct io_uring ring;
    bool knows_futex;
};

/* ---- requests ---- */

static struct io_uring_sqe *next_sqe(struct shm_uring *u) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
    if (!sqe && io_uring_submit(&u->ring) >= 0)
        sqe = io_uring_get_sqe(&u->ring);
    return sqe;
}

int shm_uring_poll(struct shm_uring *u, int fd, uint32_t events, uint64_t ud) {
    struct io_uring_sqe *sqe = next_sqe(u);
    if (!sqe)
        return -EBUSY;
    io_uring_prep_poll_add(sqe, fd, events);
    io_uring_sqe_set_data64(sqe, ud);
    return 0;
}

int shm_uring_poll_remove(struct shm_uring *u, uint64_t poll_ud, uint64_t ud) {
    struct io_uring_sqe *sqe = next_sqe(u);
    if (!sqe)
        return -EBUSY;
    io_uring_prep_poll_remove(sqe, poll_ud);
    io_uring_sqe_set_data64(sqe, ud);
    int rc = io_uring_submit_and_get_events(&u->ring);
    return rc < 0 ? rc : 0;
}

int shm_uring_read(struct shm_uring *u, int fd, void *to, uint32_t bytes, uint64_t offset, bool wide, uint64_t ud) {
    struct io_uring_sqe *sqe = next_sqe(u);
    if (!sqe)
        return -EBUSY;
    io_uring_prep_read(sqe, fd, to, bytes, offset);
    if (wide)
        io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
    io_uring_sqe_set_data64(sqe, ud);
    return 0;
}

int shm_uring_futex_wait(struct shm_uring *u, void *word, uint32_t seen, uint64_t ud) {
    struct io_uring_sqe *sqe = next_sqe(u);
    if (!sqe)
        return -EBUSY;
    memset(sqe, 0, sizeof *sqe);
    sqe->opcode = OP_FUTEX_WAIT;
    sqe->fd = FUTEX_SHARED_U32;
    sqe->addr = (uintptr_t)word;
    sqe->off = seen;
    sqe->addr3 = UINT32_MAX;    /* any waker */
    io_uring_sqe_set_data64(sqe, ud);
    return 0;
}

/* ---- completions ---- */

int shm_uring_wait(struct shm_uring *u, int timeout_ms) {
    struct io_uring_cqe *cqe;
    struct __kernel_timespec ts = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    int rc;
    if (timeout_ms == 0)
        rc = io_uring_submit_and_get_events(&u->ring);
    else if (timeout_ms < 0)
        rc = io_uring_submit_and_wait(&u->ring, 1);
    else
        rc = io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, &ts, NULL);
    return rc == -ETIME || rc >= 0 ? 0 : rc;
}

bool shm_uring_next(struct shm_uring *u, struct shm_uring_done *done) {
    struct io_uring_cqe *cqe;
    if (io_uring_peek_cqe(&u->ring, &cqe) != 0)
        return false;
    *done = (struct shm_uring_done){.ud = cqe->user_data, .result = cqe->res};
    io_uring_cqe_seen(&u->ring, cqe);
    return true;
}

/* ---- opening: init, operation probe, round trip ---- */

static int init_ring(struct io_uring *ring, unsigned entries, char why[160]) {
    static const unsigned flags[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,   /* Linux 6.1 */
                                     IORING_SETUP_COOP_TASKRUN, 0};
    int rc = -ENOSYS;
    for (int i = 0; i < 3; i++) {
        rc = io_uring_queue_init(entries, ring, flags[i]);
        if (rc == 0)
            return 0;
        if (rc != -EINVAL)
            break;
    }
    snprintf(why, 160, "io_uring_setup: %s%s", strerror(-rc),
             rc == -EPERM ? " (kernel.io_uring_disabled, or a container's seccomp profile)" : "");
    return rc;
}

/* The one request that is queued, there and back. Its result in *result; 0 or -errno. */
static int round_trip(struct shm_uring *u, int *result) {
    struct shm_uring_done done = {0};
    int rc = shm_uring_wait(u, -1);
    if (rc == 0 && !shm_uring_next(u, &done))
        rc = -EIO;
    *result = done.result;
    return rc;
}

static int probe(struct shm_uring *u, char why[160]) {
    struct io_uring_probe *p = io_uring_get_probe_ring(&u->ring);
    if (!p) {
        snprintf(why, 160, "io_uring_register is not permitted");
        return -EPERM;
    }
    u->knows_futex = io_uring_opcode_supported(p, OP_FUTEX_WAIT);
    io_uring_free_probe(p);
    io_uring_prep_nop(next_sqe(u));
    int result, rc = round_trip(u, &result);
    if (rc != 0 || result != 0) {
        snprintf(why, 160, "io_uring_enter: %s", strerror(rc ? -rc : -result));
        return rc ? rc : result;
    }
    if (!(u->ring.features & IORING_FEAT_EXT_ARG)) {
        snprintf(why, 160, "waiting with a timeout needs Linux 5.11");
        return -ENOSYS;
    }
    return 0;
}

int shm_uring_open(struct shm_uring **ring, unsigned entries, char why[160]) {
    struct shm_uring *u = calloc(1, sizeof *u);
    if (!u) {
        snprintf(why, 160, "no memory");
        return -ENOMEM;
    }
    int rc = init_ring(&u->ring, entries, why);
    if (rc != 0) {
        free(u);
        return rc;
    }
    rc = probe(u, why);
    if (rc != 0) {
        shm_uring_close(u);
        return rc;
    }
    io_uring_ring_dontfork(&u->ring);
    *ring = u;
    return 0;
}

void shm_uring_close(struct shm_uring *u) {
    if (!u)
        return;
    io_uring_queue_exit(&u->ring);
    free(u);
}

bool shm_uring_has_futex(struct shm_uring *u) {
    uint32_t word = 0;
    int result;
    return u->knows_futex && shm_uring_futex_wait(u, &word, word + 1, 0) == 0 && round_trip(u, &result) == 0 &&
           result == -EAGAIN;
}
