#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shm/bell_backend.h"

enum { BATCH = 64 };

static int epfd_of(const struct shm_waiter *w) {
    return (int)(intptr_t)w->state - 1;
}

static int epoll_open(struct shm_waiter *w, char why[160]) {
    (void)why;
    int epfd = epoll_create1(EPOLL_CLOEXEC);
    if (epfd < 0)
        return -errno;
    int rc = shm_bell_open_eventfd(w, EFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = w->efd};
    if (rc == 0 && epoll_ctl(epfd, EPOLL_CTL_ADD, w->efd, &e) != 0)
        rc = -errno;
    if (rc != 0)
        close(epfd);
    else
        w->state = (void *)(intptr_t)(epfd + 1);
    return rc;
}

static void epoll_close(struct shm_waiter *w) {
    close(epfd_of(w));
}

/* The bits of poll(2) and epoll are the same for what is used here. */
static int epoll_watch(struct shm_waiter *w, int fd, bool was_live) {
    const struct shm_watch *watch = &w->watches[fd];
    struct epoll_event e = {.events = watch->events, .data.fd = fd};
    int op = !watch->live ? EPOLL_CTL_DEL : was_live ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    return epoll_ctl(epfd_of(w), op, fd, &e) == 0 ? 0 : -errno;
}

static int epoll_park(struct shm_waiter *w, uint32_t seen, int timeout_ms, struct shm_event *ev, int max) {
    (void)seen;
    struct epoll_event got[BATCH];
    int n = epoll_wait(epfd_of(w), got, max < BATCH ? max : BATCH, timeout_ms), out = 0;
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        uint64_t count;
        if (got[i].data.fd != w->efd)
            ev[out++] = (struct shm_event){w->watches[got[i].data.fd].tag, got[i].events};
        else if (read(w->efd, &count, sizeof count) < 0 && errno != EAGAIN)
            return -errno;
    }
    return out;
}

const struct shm_bell_backend shm_bell_epoll = {
    .name = "epoll", .how = SHM_BELL_EVENTFD,
    .open = epoll_open, .close = epoll_close, .watch = epoll_watch, .park = epoll_park,
};
