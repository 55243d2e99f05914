/* The two back ends on io_uring. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "shm/bell_backend.h"
#include "shm/uring.h"

enum { ENTRIES = 256 };

/* A watch's requests bear its generation and descriptor; these two are neither. */
#define UD_BELL UINT64_MAX
#define UD_IGNORE (UINT64_MAX - 1)

struct state {
    struct shm_uring *ring;
    bool bell_armed;            /* a wait on the bell is in flight */
    uint64_t efd_count;         /* where the eventfd is read to */
    int *to_arm;                /* descriptors whose poll must be (re)armed */
    int n_to_arm, cap_to_arm;
};

static uint64_t ud_of(const struct shm_watch *watch, int fd) {
    return (uint64_t)watch->gen << 32 | (uint32_t)fd;
}

/* ---- opening ---- */

static int uring_open(struct shm_waiter *w, bool futex, char why[160]) {
    struct state *u = calloc(1, sizeof *u);
    if (!u)
        return -ENOMEM;
    int rc = shm_uring_open(&u->ring, ENTRIES, why);
    if (rc == 0 && futex && !shm_uring_has_futex(u->ring)) {
        snprintf(why, 160, "no IORING_OP_FUTEX_WAIT (Linux 6.7)");
        rc = -ENOSYS;
    }
    if (rc == 0 && !futex)
        rc = shm_bell_open_eventfd(w, 0);       /* blocking, so that the read waits */
    if (rc != 0) {
        shm_uring_close(u->ring);
        free(u);
        return rc;
    }
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
    struct state *u = w->state;
    shm_uring_close(u->ring);
    free(u->to_arm);
    free(u);
}

/* ---- watching: one-shot polls, armed again before each wait, are level-triggered ---- */

static int list_to_arm(struct state *u, struct shm_watch *watch, int fd) {
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
static int disarm(struct state *u, struct shm_watch *watch, int fd) {
    int rc = shm_uring_poll_remove(u->ring, ud_of(watch, fd), UD_IGNORE);
    if (rc != -EBUSY)
        watch->armed = false;
    return rc;
}

static int uring_watch(struct shm_waiter *w, int fd, bool was_live) {
    struct state *u = w->state;
    struct shm_watch *watch = &w->watches[fd];
    int rc = was_live && watch->armed ? disarm(u, watch, fd) : 0;
    watch->gen++;                               /* completions of the former generation are ignored */
    if (rc != 0 || !watch->live)
        return rc;
    return list_to_arm(u, watch, fd);
}

static int arm_watches(struct shm_waiter *w) {
    struct state *u = w->state;
    for (; u->n_to_arm > 0; u->n_to_arm--) {
        int fd = u->to_arm[u->n_to_arm - 1];
        struct shm_watch *watch = &w->watches[fd];
        if (watch->live && shm_uring_poll(u->ring, fd, watch->events, ud_of(watch, fd)) != 0)
            return -EBUSY;
        watch->listed = false;
        watch->armed = watch->live;
    }
    return 0;
}

/* ---- parking ---- */

/* A wait that is still in flight from an earlier park serves as well: a wake finds it whatever value it was made for,
 * and the value has been looked at after asleep was set. */
static int arm_bell(struct shm_waiter *w, uint32_t seen) {
    struct state *u = w->state;
    if (!w->bell || u->bell_armed)
        return 0;
    int rc = w->how == SHM_BELL_FUTEX
                 ? shm_uring_futex_wait(u->ring, &w->bell->value, seen, UD_BELL)
                 : shm_uring_read(u->ring, w->efd, &u->efd_count, sizeof u->efd_count, 0, false, UD_BELL);
    u->bell_armed = rc == 0;
    return rc;
}

/* One completion. 1 where it became an event. */
static int take(struct shm_waiter *w, const struct shm_uring_done *done, struct shm_event *ev) {
    struct state *u = w->state;
    if (done->ud == UD_BELL)
        u->bell_armed = false;
    if (done->ud >= UD_IGNORE)
        return 0;
    int fd = (int)(uint32_t)done->ud;
    struct shm_watch *watch = &w->watches[fd];
    if (!watch->live || ud_of(watch, fd) != done->ud)
        return 0;
    watch->armed = false;
    if (list_to_arm(u, watch, fd) != 0)
        return 0;
    *ev = (struct shm_event){watch->tag, done->result < 0 ? POLLERR : (uint32_t)done->result};
    return 1;
}

static int uring_park(struct shm_waiter *w, uint32_t seen, int timeout_ms, struct shm_event *ev, int max) {
    struct state *u = w->state;
    int rc = arm_watches(w);
    if (rc == 0)
        rc = arm_bell(w, seen);
    if (rc == 0)
        rc = shm_uring_wait(u->ring, timeout_ms);
    if (rc != 0)
        return rc;
    struct shm_uring_done done;
    int n = 0;
    while (n < max && shm_uring_next(u->ring, &done))
        n += take(w, &done, &ev[n]);
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
