#include "shm/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm/atomic.h"
#include "shm/bell_backend.h"
#include "shm/host.h"
#include "shm/mutant.h"

enum {
    /* Enough for an answer that is on its way. Not more: whoever was just rung may be waiting for this very CPU
     * (docs/adr/0012). A pause takes 10 to 140 cycles, hence time and not a count. */
    SPIN_NS = 5000,
    SPIN_PAUSES = 32,           /* between two looks at the clock */
    WATCH_MAX = 1 << 16,        /* highest descriptor that can be watched, plus one */
};

/* ---- ringing ---- */

uint32_t shm_bell_read(const struct shm_bell *bell) {
    return shm_load_acq(&((struct shm_bell *)(uintptr_t)bell)->value);  /* pairs with the add: sees what it announces */
}

/* What the other side passed may be anything, a pipe that is full too: the ringer must not hang in it. */
static bool takes_bytes(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

static void wake(struct shm_bell *bell, uint32_t how, int efd) {
    const uint64_t one = 1;
    if (how == SHM_BELL_FUTEX)
        syscall(SYS_futex, &bell->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    else if (how == SHM_BELL_EVENTFD && efd >= 0 && takes_bytes(efd) && write(efd, &one, sizeof one) < 0)
        return;                 /* full: it is readable, which is all that is wanted */
}

/* Add, then look; the sleeper sets asleep, then looks at the value. In the one order of these four either the ringer
 * sees the sleeper or the sleeper sees the ring. */
void shm_bell_ring(struct shm_bell *bell, int efd) {
    if (SHM_MUTANT == SHM_MUTANT_WAKE_FIRST) {
        uint32_t how = shm_load_seq(&bell->asleep);
        wake(bell, how, efd);
        shm_add_seq(&bell->value, 1);
        return;
    }
    shm_add_seq(&bell->value, 1);                               /* model: ring */
    wake(bell, shm_load_seq(&bell->asleep), efd);               /* model: wake */
}

/* ---- opening ---- */

int shm_bell_open_eventfd(struct shm_waiter *w, int flags) {
    w->efd = eventfd(0, EFD_CLOEXEC | flags);
    return w->efd < 0 ? -errno : 0;
}

static bool may_spin(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

static void close_eventfd(struct shm_waiter *w) {
    if (w->efd >= 0)
        close(w->efd);
    w->efd = -1;
}

/* Tries one back end; the reason why not is appended to why. */
static int try_backend(struct shm_waiter *w, const struct shm_bell_backend *b, char why[160]) {
    char reason[160] = "";
    w->backend = b;
    w->how = b->how;
    int rc = b->open(w, reason);
    if (rc == 0)
        return 0;
    close_eventfd(w);
    size_t n = strlen(why);
    snprintf(why + n, 160 - n, "%s%s: %s", n ? "; " : "", b->name, reason[0] ? reason : strerror(-rc));
    return rc;
}

int shm_waiter_open(struct shm_waiter **out, struct shm_bell *bell, enum shm_backend how, char why[160]) {
    static const struct shm_bell_backend *const all[] = {&shm_bell_uring_futex, &shm_bell_uring_eventfd,
                                                         &shm_bell_epoll};
    struct shm_waiter *w = calloc(1, sizeof *w);
    why[0] = 0;
    if (!w)
        return -ENOMEM;
    w->bell = bell;
    w->efd = -1;
    w->spins = bell && may_spin();
    int rc = -EINVAL;
    for (int i = 0; i < 3 && rc != 0; i++)
        if (how == SHM_BACKEND_AUTO || how == (enum shm_backend)(SHM_BACKEND_FUTEX + i))
            rc = try_backend(w, all[i], why);
    if (rc != 0) {
        free(w);
        return rc;
    }
    char reasons[160];
    memcpy(reasons, why, sizeof reasons);
    snprintf(why, 160, "%s%s%.120s%s", w->backend->name, reasons[0] ? " (" : "", reasons, reasons[0] ? ")" : "");
    if (bell)
        shm_store_seq(&bell->asleep, SHM_BELL_AWAKE);
    *out = w;
    return 0;
}

void shm_waiter_close(struct shm_waiter *w) {
    if (!w)
        return;
    if (w->bell)
        shm_store_seq(&w->bell->asleep, SHM_BELL_AWAKE);
    w->backend->close(w);
    close_eventfd(w);
    free(w->watches);
    free(w);
}

const char *shm_waiter_name(const struct shm_waiter *w) {
    return w->backend->name;
}

int shm_waiter_eventfd(const struct shm_waiter *w) {
    return w->efd;
}

/* ---- watching ---- */

static int grow(struct shm_waiter *w, int fd) {
    if (fd < w->n_watches)
        return 0;
    if (fd >= WATCH_MAX)
        return -EMFILE;
    int n = w->n_watches ? w->n_watches : 64;
    while (n <= fd)
        n *= 2;
    struct shm_watch *more = realloc(w->watches, (size_t)n * sizeof *more);
    if (!more)
        return -ENOMEM;
    memset(more + w->n_watches, 0, (size_t)(n - w->n_watches) * sizeof *more);
    w->watches = more;
    w->n_watches = n;
    return 0;
}

int shm_waiter_watch(struct shm_waiter *w, int fd, uint32_t events, uint64_t tag) {
    if (fd < 0 || tag == SHM_TAG_BELL)
        return -EINVAL;
    int rc = grow(w, fd);
    if (rc != 0)
        return rc;
    struct shm_watch *watch = &w->watches[fd];
    const struct shm_watch old = *watch;
    watch->live = true;
    watch->events = events;
    watch->tag = tag;
    if (old.live && old.events == events)
        return 0;
    rc = w->backend->watch(w, fd, old.live);
    if (rc != 0)
        watch->live = false;
    return rc;
}

int shm_waiter_unwatch(struct shm_waiter *w, int fd) {
    if (fd < 0 || fd >= w->n_watches || !w->watches[fd].live)
        return -ENOENT;
    w->watches[fd].live = false;
    return w->backend->watch(w, fd, true);
}

/* ---- waiting ---- */

static bool rung(const struct shm_waiter *w, uint32_t seen) {
    return w->bell && shm_bell_read(w->bell) != seen;
}

static void spin(const struct shm_waiter *w, uint32_t seen) {
    if (!w->spins)
        return;
    uint64_t until = shm_host_now_ns() + SPIN_NS;
    do
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (rung(w, seen))
                return;
            shm_pause();
        }
    while (shm_host_now_ns() < until);
}

/* Flags asleep, looks again, parks; see shm_bell_ring for why no ring is lost. */
static int sleep_once(struct shm_waiter *w, uint32_t seen, int timeout_ms, struct shm_event *ev, int max) {
    if (!w->bell)
        return w->backend->park(w, seen, timeout_ms, ev, max);
    shm_store_seq(&w->bell->asleep, w->how);                            /* model: asleep */
    bool already = shm_load_seq(&w->bell->value) != seen;               /* model: recheck */
    int n = w->backend->park(w, seen, already ? 0 : timeout_ms, ev, max);       /* model: park */
    shm_store_seq(&w->bell->asleep, SHM_BELL_AWAKE);
    return n;
}

static int left_ms(uint64_t deadline) {
    uint64_t now = shm_host_now_ns();
    return now >= deadline ? 0 : (int)((deadline - now + 999999) / 1000000);
}

int shm_waiter_wait(struct shm_waiter *w, uint32_t seen, int timeout_ms, struct shm_event *ev, int max) {
    uint64_t deadline = timeout_ms > 0 ? shm_host_now_ns() + (uint64_t)timeout_ms * 1000000 : 0;
    spin(w, seen);
    for (;;) {
        int left = timeout_ms > 0 ? left_ms(deadline) : timeout_ms;
        int n = sleep_once(w, seen, left, ev, w->bell ? max - 1 : max);
        if (n == -EINTR)            /* also without any signal: the kernel tears down a ring that was closed */
            n = 0;
        if (n < 0)
            return n;
        if (rung(w, seen))
            ev[n++] = (struct shm_event){.tag = SHM_TAG_BELL};
        if (n > 0 || left == 0)
            return n;
    }
}
