/*
 * shm/bell.h: the one place where a process waits, and how others wake it.
 *
 * A waiter watches its own bell word in shared memory and a set of descriptors (sockets, pidfds, signalfd, timers).
 * Three back ends stand behind one table; the choice is made at run time and can be named:
 *   futex    io_uring with IORING_OP_FUTEX_WAIT on the bell word (Linux 6.7)
 *   eventfd  io_uring with a read of an eventfd (Debian 12's 6.1)
 *   epoll    where io_uring is not permitted
 * Probe: init, operation probe, NOP round trip. liburing is used in shm/bell_uring.c only.
 *
 * Wait: v = shm_bell_read(); scan shared memory; shm_waiter_wait(w, v, ...): spins briefly, flags asleep, re-checks
 * the word, parks. Ring: add one, look at asleep, wake. Waiting costs no CPU; a timeout is a belt.
 *
 * A waiter belongs to the thread that opened it. A bell has one waiter. Watched descriptors are one's own: a watched
 * one must be unwatched before it is closed.
 */
#ifndef SHM_BELL_H
#define SHM_BELL_H

#include "shm/region.h"

enum shm_bell_how { SHM_BELL_AWAKE = 0, SHM_BELL_FUTEX = 1, SHM_BELL_EVENTFD = 2 };
enum shm_backend { SHM_BACKEND_AUTO = 0, SHM_BACKEND_FUTEX, SHM_BACKEND_EVENTFD, SHM_BACKEND_EPOLL };

struct shm_waiter;

struct shm_event {
    uint64_t tag;           /* as given to shm_waiter_watch; SHM_TAG_BELL for the bell */
    uint32_t ready;         /* POLLIN, POLLOUT, POLLHUP, POLLERR */
};
#define SHM_TAG_BELL UINT64_MAX

/* bell may be NULL (descriptors only). how: one back end, or the best of all. why: which one it is and, where a better
 * one is not to be had, the reason. 0 or -errno; with a named back end that is not to be had -ENOSYS or -EPERM. */
int shm_waiter_open(struct shm_waiter **out, struct shm_bell *bell, enum shm_backend how, char why[160]);
void shm_waiter_close(struct shm_waiter *w);
const char *shm_waiter_name(const struct shm_waiter *w);
/* The eventfd that others must write to wake this waiter, or -1 (futex back end). Passed to them over the socket. */
int shm_waiter_eventfd(const struct shm_waiter *w);

/* Watches fd until unwatched; level-triggered; events as in poll(2); a second call changes events. 0 or -errno. */
int shm_waiter_watch(struct shm_waiter *w, int fd, uint32_t events, uint64_t tag);
int shm_waiter_unwatch(struct shm_waiter *w, int fd);

/* Waits until the bell differs from seen, a descriptor is ready, or timeout_ms has passed (-1: never). Returns the
 * number of events (0: timeout), or -errno. max >= 2 where there is a bell. Signal handlers do not end the wait: watch
 * a signalfd. */
int shm_waiter_wait(struct shm_waiter *w, uint32_t seen, int timeout_ms, struct shm_event *ev, int max);

uint32_t shm_bell_read(const struct shm_bell *bell);
/* efd: the sleeper's eventfd, or -1 where none is known (then an eventfd sleeper is woken by its belt only). */
void shm_bell_ring(struct shm_bell *bell, int efd);

#endif
