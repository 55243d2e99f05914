/*
 * shm/uring.h: a thin layer over io_uring. shm/uring.c is the one file that talks to liburing; whoever waits or reads
 * through a ring (shm/bell_uring.c, gpud/reader.c) does so through these calls.
 *
 * A ring belongs to the thread that opened it and is not inherited over fork. A request is queued by one of the calls
 * that take `ud`, submitted by the next shm_uring_wait, and comes back once, with its ud, from shm_uring_next. Requests
 * return 0, or -EBUSY where the ring is full of requests that the kernel does not take.
 */
#ifndef SHM_URING_H
#define SHM_URING_H

#include <stdbool.h>
#include <stdint.h>

struct shm_uring;

/* A ring with room for so many requests at a time, tried with a round trip: a profile may allow the setup and forbid
 * the rest. 0, or -errno with the reason. */
int shm_uring_open(struct shm_uring **ring, unsigned entries, char why[160]);
void shm_uring_close(struct shm_uring *ring);   /* NULL is harmless */

/* Whether shm_uring_futex_wait works (Linux 6.7). */
bool shm_uring_has_futex(struct shm_uring *ring);

/* One-shot: comes back when the descriptor is ready. */
int shm_uring_poll(struct shm_uring *ring, int fd, uint32_t events, uint64_t ud);
/* Takes the poll with that ud back, now: its completion, if any, comes with its own ud, this one's with `ud`. */
int shm_uring_poll_remove(struct shm_uring *ring, uint64_t poll_ud, uint64_t ud);
/* wide: the kernel may read with threads of its own, so that several reads of cached pages run side by side. */
int shm_uring_read(struct shm_uring *ring, int fd, void *to, uint32_t bytes, uint64_t offset, bool wide, uint64_t ud);
/* Comes back when the word is woken, or at once with -EAGAIN where it is not `seen`. */
int shm_uring_futex_wait(struct shm_uring *ring, void *word, uint32_t seen, uint64_t ud);

/* Submits what is queued and waits for a completion: at most timeout_ms; -1: as long as it takes; 0: only looks.
 * 0 (also after the time) or -errno. */
int shm_uring_wait(struct shm_uring *ring, int timeout_ms);

struct shm_uring_done {
    uint64_t ud;
    int result;     /* what the system call would have returned, or -errno */
};

/* The next completion. False: there is none now. */
bool shm_uring_next(struct shm_uring *ring, struct shm_uring_done *done);

#endif
