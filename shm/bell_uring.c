/* The two back ends on io_uring, and all use of liburing. Debian 12's liburing 2.3 knows nothing of futexes, so their
 * requests are filled in by hand. */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "shm/bell_backend.h"

enum {
    SQ_ENTRIES = 256,
    OP_FUTEX_WAIT = 51,         /* IORING_OP_FUTEX_WAIT, Linux 6.7 */
    FUTEX_SHARED_U32 = 2,       /* FUTEX2_SIZE_U32, without FUTEX2_PRIVATE */
};

/* user_data: a watch is generation and descriptor; these two are neither. */
#define UD_BELL UINT64_MAX
#define UD_IGNORE (UINT64_MAX - 1)

struct uring {
    struct io_uring ring;
    bool bell_armed;            /* a wait on the bell is in flight */
    uint64_t efd_count;         /* where the eventfd is read to */
    int *to_arm;                /* descriptors whose poll must be (re)armed */
    int n_to_arm, cap_to_arm;
};

/* ---- requests ---- */

static struct io_uring_sqe *next_sqe(struct uring *u) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
    if (!sqe && io_uring_submit(&u->ring) >= 0)
        sqe = io_uring_get_sqe(&u->ring);
    return sqe;
}

static void prep_futex_wait(struct io_uring_sqe *sqe, void *word, uint32_t seen) {
    memset(sqe, 0, sizeof *sqe);
    sqe->opcode = OP_FUTEX_WAIT;
    sqe->fd = FUTEX_SHARED_U32;
    sqe->addr = (uintptr_t)word;
    sqe->off = seen;
    sqe->addr3 = UINT32_MAX;    /* any waker */
}

static uint64_t ud_of(const struct shm_watch *watch, int fd) {
    return (uint64_t)watch->gen << 32 | (uint32_t)fd;
}

/* ---- opening: init, operation probe, round trips ---- */

static int init_ring(struct io_uring *ring, char why[160]) {
    static const unsigned flags[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,   /* Linux 6.1 */
                                     IORING_SETUP_COOP_TASKRUN, 0};
    int rc = -ENOSYS;
    for (int i = 0; i < 3; i++) {
        rc = io_uring_queue_init(SQ_ENTRIES, ring, flags[i]);
        if (rc == 0)
            return 0;
        if (rc != -EINVAL)
            break;
    }
    snprintf(why, 160, "io_uring_setup: %s%s", strerror(-rc),
             rc == -EPERM ? " (kernel.io_uring_disabled, or a container's seccomp profile)" : "");
    return rc;
}

/* One request there and back: a profile may allow the setup and forbid the rest. word NULL: a NOP; else a wait for a
 * value that the word has not. The request's result in *result; 0 or -errno. */
static int round_trip(struct io_uring *ring, uint32_t *word, int *result) {
    struct io_uring_cqe *cqe;
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (!sqe)
        return -EBUSY;
    if (word)
        prep_futex_wait(sqe, word, *word + 1);
    else
        io_uring_prep_nop(sqe);
    int rc = io_uring_submit_and_wait(ring, 1);
    if (rc < 0)
        return rc;
    rc = io_uring_wait_cqe(ring, &cqe);
    if (rc < 0)
        return rc;
    *result = cqe->res;
    io_uring_cqe_seen(ring, cqe);
    return 0;
}

static int probe(struct io_uring *ring, bool futex, char why[160]) {
    struct io_uring_probe *p = io_uring_get_probe_ring(ring);
    if (!p) {
        snprintf(why, 160, "io_uring_register is not permitted");
        return -EPERM;
    }
    bool known = io_uring_opcode_supported(p, OP_FUTEX_WAIT);
    io_uring_free_probe(p);
    int result = 0;
    int rc = round_trip(ring, NULL, &result);
    if (rc != 0 || result != 0) {
        snprintf(why, 160, "io_uring_enter: %s", strerror(rc ? -rc : -result));
        return rc ? rc : result;
    }
    if (!(ring->features & IORING_FEAT_EXT_ARG)) {
        snprintf(why, 160, "waiting with a timeout needs Linux 5.11");
        return -ENOSYS;
    }
    if (!futex)
        return 0;
    uint32_t word = 0;
    if (known && round_trip(ring, &word, &result) == 0 && result == -EAGAIN)
        return 0;
    snprintf(why, 160, "no IORING_OP_FUTEX_WAIT (Linux 6.7)");
    return -ENOSYS;
}

static int uring_open(struct shm_waiter *w, bool futex, char why[160]) {
    struct uring *u = calloc(1, sizeof *u);
    if (!u)
        return -ENOMEM;
    int rc = init_ring(&u->ring, why);
    if (rc != 0) {
        free(u);
        return rc;
    }
    rc = probe(&u->ring, futex, why);
    if (rc == 0 && !futex)
        rc = shm_bell_open_eventfd(w, 0);       /* blocking, so that the read waits */
    if (rc != 0) {
        io_uring_queue_exit(&u->ring);
        free(u);
        return rc;
    }
    io_uring_ring_dontfork(&u->ring);
    w->state = u;
    return 0;
}

static int open_futex(struct shm_waiter *w, char why[160]) {
    return uring_open(w, true, why);
}

static int open_eventfd(struct shm_waiter *w, char why[160]) {
    return uring_open(w, false, why);
}

static void uring_close(struct shm_waiter *w) {
    struct uring *u = w->state;
    io_uring_queue_exit(&u->ring);
    free(u->to_arm);
    free(u);
}

/* ---- watching: one-shot polls, armed again before each wait, are level-triggered ---- */

static int list_to_arm(struct uring *u, struct shm_watch *watch, int fd) {
    if (watch->listed)
        return 0;
    if (u->n_to_arm == u->cap_to_arm) {
        int cap = u->cap_to_arm ? 2 * u->cap_to_arm : 64;
        int *more = realloc(u->to_arm, (size_t)cap * sizeof *more);
        if (!more)
            return -ENOMEM;
        u->to_arm = more;
        u->cap_to_arm = cap;
    }
    u->to_arm[u->n_to_arm++] = fd;
    watch->listed = true;
    return 0;
}

/* Takes back the poll in flight now, so that the caller can close the descriptor and its other end sees that. */
static int disarm(struct uring *u, struct shm_watch *watch, int fd) {
    struct io_uring_sqe *sqe = next_sqe(u);
    if (!sqe)
        return -EBUSY;
    io_uring_prep_poll_remove(sqe, ud_of(watch, fd));
    io_uring_sqe_set_data64(sqe, UD_IGNORE);
    watch->armed = false;
    int rc = io_uring_submit_and_get_events(&u->ring);
    return rc < 0 ? rc : 0;
}

static int uring_watch(struct shm_waiter *w, int fd, bool was_live) {
    struct uring *u = w->state;
    struct shm_watch *watch = &w->watches[fd];
    int rc = was_live && watch->armed ? disarm(u, watch, fd) : 0;
    watch->gen++;                               /* completions of the former generation are ignored */
    if (rc != 0 || !watch->live)
        return rc;
    return list_to_arm(u, watch, fd);
}

static int arm_watches(struct shm_waiter *w) {
    struct uring *u = w->state;
    for (; u->n_to_arm > 0; u->n_to_arm--) {
        int fd = u->to_arm[u->n_to_arm - 1];
        struct shm_watch *watch = &w->watches[fd];
        struct io_uring_sqe *sqe = watch->live ? next_sqe(u) : NULL;
        if (watch->live && !sqe)
            return -EBUSY;
        watch->listed = false;
        if (!watch->live)
            continue;
        io_uring_prep_poll_add(sqe, fd, watch->events);
        io_uring_sqe_set_data64(sqe, ud_of(watch, fd));
        watch->armed = true;
    }
    return 0;
}

/* ---- parking ---- */

/* A wait that is still in flight from an earlier park serves as well: a wake finds it whatever value it was made for,
 * and the value has been looked at after asleep was set. */
static int arm_bell(struct shm_waiter *w, uint32_t seen) {
    struct uring *u = w->state;
    if (!w->bell || u->bell_armed)
        return 0;
    struct io_uring_sqe *sqe = next_sqe(u);
    if (!sqe)
        return -EBUSY;
    if (w->how == SHM_BELL_FUTEX)
        prep_futex_wait(sqe, &w->bell->value, seen);
    else
        io_uring_prep_read(sqe, w->efd, &u->efd_count, sizeof u->efd_count, 0);
    io_uring_sqe_set_data64(sqe, UD_BELL);
    u->bell_armed = true;
    return 0;
}

/* One completion. 1 where it became an event. */
static int take_cqe(struct shm_waiter *w, const struct io_uring_cqe *cqe, struct shm_event *ev) {
    struct uring *u = w->state;
    if (cqe->user_data == UD_BELL)
        u->bell_armed = false;
    if (cqe->user_data >= UD_IGNORE)
        return 0;
    int fd = (int)(uint32_t)cqe->user_data;
    struct shm_watch *watch = &w->watches[fd];
    if (!watch->live || ud_of(watch, fd) != cqe->user_data)
        return 0;
    watch->armed = false;
    if (list_to_arm(u, watch, fd) != 0)
        return 0;
    *ev = (struct shm_event){watch->tag, cqe->res < 0 ? POLLERR : (uint32_t)cqe->res};
    return 1;
}

static int wait_for_one(struct uring *u, int timeout_ms) {
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

static int uring_park(struct shm_waiter *w, uint32_t seen, int timeout_ms, struct shm_event *ev, int max) {
    struct uring *u = w->state;
    int rc = arm_watches(w);
    if (rc == 0)
        rc = arm_bell(w, seen);
    if (rc == 0)
        rc = wait_for_one(u, timeout_ms);
    if (rc != 0)
        return rc;
    struct io_uring_cqe *cqe;
    int n = 0;
    while (n < max && io_uring_peek_cqe(&u->ring, &cqe) == 0) {
        n += take_cqe(w, cqe, &ev[n]);
        io_uring_cqe_seen(&u->ring, cqe);
    }
    return n;
}

const struct shm_bell_backend shm_bell_uring_futex = {
    .name = "io_uring futex", .how = SHM_BELL_FUTEX,
    .open = open_futex, .close = uring_close, .watch = uring_watch, .park = uring_park,
};

const struct shm_bell_backend shm_bell_uring_eventfd = {
    .name = "io_uring eventfd", .how = SHM_BELL_EVENTFD,
    .open = open_eventfd, .close = uring_close, .watch = uring_watch, .park = uring_park,
};
