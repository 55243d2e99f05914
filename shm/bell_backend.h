/*
 * shm/bell_backend.h: what a back end of the bell provides. Internal to shm/bell*.c.
 */
#ifndef SHM_BELL_BACKEND_H
#define SHM_BELL_BACKEND_H

#include "shm/bell.h"

struct shm_watch {
    bool live;
    uint32_t events;
    uint64_t tag;
    /* io_uring only: a poll is in flight for generation gen; or the descriptor stands in the list to arm. */
    bool armed, listed;
    uint32_t gen;
};

struct shm_waiter {
    const struct shm_bell_backend *backend;
    struct shm_bell *bell;          /* or NULL */
    enum shm_bell_how how;          /* what asleep says while parked */
    int efd;                        /* or -1 */
    bool spins;
    struct shm_watch *watches;      /* by descriptor */
    int n_watches;
    void *state;                    /* the back end's */
};

struct shm_bell_backend {
    const char *name;
    enum shm_bell_how how;
    /* 0, or -errno with the reason. */
    int (*open)(struct shm_waiter *w, char why[160]);
    void (*close)(struct shm_waiter *w);
    /* The watch of fd has just been set, changed or (live false) removed. 0 or -errno. */
    int (*watch)(struct shm_waiter *w, int fd, bool was_live);
    /* Parks for at most timeout_ms (-1: no limit, 0: only looks) and reports ready descriptors, not the bell. A wake of
     * the bell ends the wait with 0 or more events. Events, or -errno. */
    int (*park)(struct shm_waiter *w, uint32_t seen, int timeout_ms, struct shm_event *ev, int max);
};

extern const struct shm_bell_backend shm_bell_uring_futex, shm_bell_uring_eventfd, shm_bell_epoll;

/* Makes w->efd. 0 or -errno. */
int shm_bell_open_eventfd(struct shm_waiter *w, int flags);

#endif
