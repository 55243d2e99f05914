#include "synth/producer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/host.h"
#include "shm/peer.h"
#include "synth/link.h"

enum {
    BELT_MS = 5000,             /* a look at everything at least so often, whatever the signals say */
    ALONE_MS = 1000,            /* while there is no daemon: look for a new one so often */
    TAG_LINK = 1,
    MAX_CIRCUITS = 4096,
};

#define NS_PER_MS 1000000ull

static struct shm_peer *own_entry(const struct synth_producer *p) {
    return &p->region.peers[p->peer];
}

static void ring_daemon(const struct synth_producer *p) {
    shm_bell_ring(&p->region.super->bell, p->daemon_eventfd);
}

/* ---- link ---- */

static void close_link(struct synth_producer *p) {
    if (p->link < 0) return;
    shm_waiter_unwatch(p->waiter, p->link);
    close(p->link);
    if (p->daemon_eventfd >= 0) close(p->daemon_eventfd);
    p->link = p->daemon_eventfd = -1;
}

static void open_link(struct synth_producer *p) {
    if (p->link >= 0 || !p->socket[0]) return;
    int fd = synth_link_open(p->socket, p->peer, shm_waiter_eventfd(p->waiter), &p->daemon_eventfd);
    if (fd < 0) return;
    p->link = fd;
    if (shm_waiter_watch(p->waiter, fd, POLLIN, TAG_LINK)) close_link(p);
}

/* ---- join and leave ---- */

int synth_producer_join(struct synth_producer *p, const struct synth_producer_options *o, struct fmt_error *err) {
    struct shm_error why;
    memset(p, 0, sizeof *p);
    p->link = p->daemon_eventfd = -1;
    p->node = o->node;
    if (o->socket && snprintf(p->socket, sizeof p->socket, "%s", o->socket) >= (int)sizeof p->socket)
        return fmt_fail(err, "%s: a socket's path has at most %zu bytes", o->socket, sizeof p->socket - 1);
    if (shm_region_open(&p->region, o->instance, &why)) return fmt_fail(err, "%s", why.text);
    int peer = shm_peer_join(&p->region, o->node, o->kind);
    if (peer < 0) {
        int n = (int)p->region.n_peers;
        shm_region_close(&p->region);
        return fmt_fail(err, "cannot join service %s: %s (%d entries)", o->instance, strerror(-peer), n);
    }
    p->peer = (uint32_t)peer;
    int rc = shm_waiter_open(&p->waiter, &own_entry(p)->bell, o->bell, p->waiter_why);
    if (rc) {
        synth_producer_leave(p);
        return fmt_fail(err, "no way to wait: %s (%s)", p->waiter_why, strerror(-rc));
    }
    open_link(p);
    ring_daemon(p);
    return 0;
}

void synth_producer_leave(struct synth_producer *p) {
    if (p->waiter) {
        close_link(p);
        shm_waiter_close(p->waiter);
        p->waiter = NULL;
    }
    shm_peer_leave(&p->region, p->peer);
    ring_daemon(p);
    shm_region_close(&p->region);
}

/* ---- work ---- */

/* Circuits for which no slot was free in this look; want is asked only about others. */
struct look {
    synth_want *want;
    void *ctx;
    uint64_t full[MAX_CIRCUITS / 64];
};

static bool wanted(void *ctx, const struct shm_job_view *job) {
    struct look *l = ctx;
    if (job->circuit >= MAX_CIRCUITS || (l->full[job->circuit / 64] >> (job->circuit % 64) & 1)) return false;
    return !l->want || l->want(l->ctx, job);
}

/* Takes the job and begins to fill the slot. False: another producer was faster; the slot is free again. */
static bool take(struct synth_producer *p, struct synth_work *work) {
    if (shm_job_take(&p->region, work->job, p->peer)) {
        shm_slot_abandon(&p->region, p->peer, work->slot);
        ring_daemon(p);
        return false;
    }
    shm_slot_fill(&p->region, p->peer, work->slot);
    work->payload = shm_region_payload(&p->region, work->slot.index);
    work->payload_bytes = p->region.slot_bytes[work->slot.index];
    work->started_ns = shm_host_now_ns();
    ring_daemon(p);
    return true;
}

/* A job that fits no slot at all: taken without one, to say so. */
static void fail_unfit(struct synth_producer *p, const struct synth_work *work, uint64_t bytes) {
    char text[SHM_ERROR_MAX];
    snprintf(text, sizeof text, "circuit %u needs %llu bytes of a slot and no slot is that large", work->view.circuit,
             (unsigned long long)bytes);
    if (shm_job_take(&p->region, work->job, p->peer) == 0) shm_job_fail_by(&p->region, work->job, p->peer, text);
    ring_daemon(p);
}

/* lacking: there was a job and no slot for it. */
static bool find_work(struct synth_producer *p, synth_want *want, void *ctx, struct synth_work *work, bool *lacking) {
    struct look l = {.want = want, .ctx = ctx};
    *lacking = false;
    while (shm_job_peek(&p->region, wanted, &l, &work->job, &work->view) == 0) {
        uint32_t circuit = work->view.circuit;
        if (circuit >= p->region.n_circuits) return false;
        uint64_t bytes = p->region.circuits[circuit].slot_bytes;
        int rc = shm_slot_claim(&p->region, p->peer, p->node, bytes, &work->slot);
        if (rc == 0) {
            if (take(p, work)) return true;
        } else if (rc == -EFBIG) {
            fail_unfit(p, work, bytes);
        } else {
            l.full[circuit / 64] |= 1ull << (circuit % 64);
            *lacking = true;
        }
    }
    return false;
}

static bool region_gone(const struct synth_producer *p) {
    struct stat st;
    return fstat(p->region.fd, &st) || st.st_nlink == 0 || (uint64_t)st.st_size < p->region.bytes;
}

bool synth_producer_stopping(const struct synth_producer *p) {
    return atomic_load(&p->region.super->stopping) != 0 || region_gone(p);
}

/* Sleeps until the bell rings, the daemon goes, or wait_ms have passed. */
static void park(struct synth_producer *p, uint32_t seen, int wait_ms) {
    struct shm_event ev[4];
    int n = shm_waiter_wait(p->waiter, seen, wait_ms, ev, 4);
    for (int i = 0; i < n; i++)
        if (ev[i].tag == TAG_LINK) close_link(p);   /* the daemon never speaks first: this is its end */
}

static int wait_ms(const struct synth_producer *p, uint64_t now_ns, uint64_t until_ns) {
    int most = p->link < 0 && p->socket[0] ? ALONE_MS : BELT_MS;
    uint64_t left_ms = until_ns <= now_ns ? 0 : (until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    return left_ms < (uint64_t)most ? (int)left_ms : most;
}

enum synth_next synth_producer_next(struct synth_producer *p, synth_want *want, void *ctx, int timeout_ms,
                                    struct synth_work *work) {
    uint64_t until_ns = timeout_ms < 0 ? UINT64_MAX : shm_host_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
    uint64_t lacking_ns = 0;        /* since when; 0: not */
    for (;;) {
        uint32_t seen = shm_bell_read(&own_entry(p)->bell);     /* before the look: what comes after wakes us */
        if (synth_producer_stopping(p)) return SYNTH_LEAVE;
        bool lacking;
        if (find_work(p, want, ctx, work, &lacking)) {
            work->slot_wait_ns = lacking_ns ? work->started_ns - lacking_ns : 0;
            return SYNTH_GOT_WORK;
        }
        uint64_t now = shm_host_now_ns();
        if (!lacking)
            lacking_ns = 0;
        else if (!lacking_ns)
            lacking_ns = now;
        if (now >= until_ns) return SYNTH_NOTHING;
        open_link(p);
        park(p, seen, wait_ms(p, now, until_ns));
    }
}

/* The work is over, whichever way. */
static int end_work(struct synth_producer *p, int rc) {
    ring_daemon(p);
    return rc ? -1 : 0;
}

int synth_producer_commit(struct synth_producer *p, struct synth_work *work, const struct synth_filled *filled) {
    struct shm_slot_desc desc = {
        .job = work->view.id,
        .ticket = work->view.ticket,
        .circuit = work->view.circuit,
        .priority = work->view.priority,
        .n_vars = filled->n_vars,
        .n_rows = filled->n_rows,
        .flags = filled->has_c ? SHM_SLOT_HAS_C : 0,
        .attempt = work->view.attempts + 1,
        .started_ns = work->started_ns,
        .committed_ns = shm_host_now_ns(),
        .peer = p->peer,
        .slot_wait_us = (uint32_t)(work->slot_wait_ns / 1000),
    };
    int rc = shm_slot_commit(&p->region, p->peer, work->slot, &desc);
    if (rc == 0) atomic_fetch_add(&own_entry(p)->jobs_done, 1);
    return end_work(p, rc);
}

int synth_producer_fail(struct synth_producer *p, struct synth_work *work, const char *text) {
    int rc = shm_job_fail_by(&p->region, work->job, p->peer, text);
    shm_slot_abandon(&p->region, p->peer, work->slot);
    return end_work(p, rc);
}

int synth_producer_give_back(struct synth_producer *p, struct synth_work *work) {
    int rc = shm_job_return(&p->region, work->job, p->peer);
    shm_slot_abandon(&p->region, p->peer, work->slot);
    return end_work(p, rc);
}
