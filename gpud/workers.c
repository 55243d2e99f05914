#include "gpud/workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpud/log.h"
#include "shm/job.h"
#include "shm/peer.h"

#define SECOND_NS 1000000000ull

enum { SHORT_LIFE_S = 10, MAX_BACKOFF_S = 30 };

extern char **environ;

static int sys_pidfd_open(int pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void kill_member(const struct gpud_member *m) {
    if (m->pidfd >= 0) syscall(SYS_pidfd_send_signal, m->pidfd, SIGKILL, NULL, 0);
}

/* ---- tables ---- */

int gpud_workers_open(struct gpud_workers *w, struct shm_region *region, struct shm_waiter *waiter, uint64_t tag,
                      const struct gpud_options *options, const int *nodes, uint32_t n, const char *program,
                      const char *socket, struct gpud_error *err) {
    memset(w, 0, sizeof *w);
    w->region = region;
    w->waiter = waiter;
    w->tag = tag;
    w->options = options;
    w->n_seats = options->workers * n;
    w->n_members = w->n_seats + region->n_peers;
    snprintf(w->program, sizeof w->program, "%s", program);
    snprintf(w->socket, sizeof w->socket, "%s", socket);
    w->members = calloc(w->n_members, sizeof *w->members);
    w->seats = calloc(w->n_seats + 1, sizeof *w->seats);
    w->eventfds = malloc(region->n_peers * sizeof *w->eventfds);
    if (!w->members || !w->seats || !w->eventfds) {
        gpud_workers_close(w);
        return gpud_fail(err, "no memory for %u workers", w->n_members);
    }
    for (uint32_t i = 0; i < region->n_peers; i++) w->eventfds[i] = -1;
    for (uint32_t i = 0; i < w->n_seats; i++)
        w->seats[i] = (struct gpud_seat){.node = (uint32_t)nodes[i % n], .member = -1};
    return 0;
}

void gpud_workers_close(struct gpud_workers *w) {
    for (uint32_t i = 0; w->members && i < w->n_members; i++)
        if (w->members[i].used && w->members[i].pidfd >= 0) close(w->members[i].pidfd);
    for (uint32_t i = 0; w->eventfds && i < w->region->n_peers; i++)
        if (w->eventfds[i] >= 0) close(w->eventfds[i]);
    free(w->members);
    free(w->seats);
    free(w->eventfds);
    w->members = NULL;
    w->seats = NULL;
    w->eventfds = NULL;
}

/* Takes a free entry; -1 where there is none. Owns pidfd from here on. */
static int add_member(struct gpud_workers *w, int pid, int pidfd, bool child) {
    for (uint32_t i = 0; i < w->n_members; i++) {
        if (w->members[i].used) continue;
        w->members[i] = (struct gpud_member){
            .used = true, .child = child, .pid = pid, .pidfd = pidfd, .seat = -1, .peer = -1,
            .started_ns = shm_host_now_ns(),
        };
        if (pidfd >= 0) shm_waiter_watch(w->waiter, pidfd, POLLIN, w->tag + i);
        return (int)i;
    }
    return -1;
}

static void sit_down(struct gpud_workers *w, int member, uint32_t seat) {
    w->members[member].seat = (int)seat;
    w->seats[seat].member = member;
}

static void set_eventfd(struct gpud_workers *w, uint32_t peer, int fd) {
    if (w->eventfds[peer] >= 0) close(w->eventfds[peer]);
    w->eventfds[peer] = fd;
}

/* ---- start ---- */

static int spawn(struct gpud_workers *w, uint32_t node, pid_t *pid) {
    char node_text[16], threads_text[16];
    snprintf(node_text, sizeof node_text, "%u", node);
    snprintf(threads_text, sizeof threads_text, "%u", w->options->worker_threads);
    static const char *const bells[] = {"auto", "futex", "eventfd", "epoll"};
    char *argv[] = {
        w->program, "--instance", (char *)(uintptr_t)w->options->instance, "--node", node_text,
        "--threads", threads_text, "--socket", w->socket, "--bell", (char *)(uintptr_t)bells[w->options->bell],
        w->options->test_hooks ? "--test-hooks" : NULL, NULL,
    };
    /* Its own process group: a terminal's Ctrl-C is for the daemon, which tells the workers in order. */
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setpgroup(&attr, 0);
    int rc = posix_spawn(pid, w->program, NULL, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    return rc;
}

/* Seconds to wait before the next start: none after a long life or the first death, then 0.1, 0.2, ... 30. */
static uint64_t backoff_ns(unsigned failures) {
    if (failures < 2) return 0;
    uint64_t ns = SECOND_NS / 10 << (failures - 2 < 10 ? failures - 2 : 10);
    return ns < MAX_BACKOFF_S * SECOND_NS ? ns : MAX_BACKOFF_S * SECOND_NS;
}

static void start_worker(struct gpud_workers *w, uint32_t seat, uint64_t now) {
    struct gpud_seat *s = &w->seats[seat];
    pid_t pid;
    int rc = spawn(w, s->node, &pid);
    if (rc == 0) {
        sit_down(w, add_member(w, pid, sys_pidfd_open(pid), true), seat);   /* never full: see has_room_for_peer */
        return;
    }
    snprintf(w->last_death, sizeof w->last_death, "cannot start %.100s: %s", w->program, strerror(rc));
    gpud_log("%s", w->last_death);
    s->failures++;
    s->next_start_ns = now + backoff_ns(s->failures);
}

static void fill_seats(struct gpud_workers *w, uint64_t now, uint64_t *again_ns) {
    for (uint32_t i = 0; i < w->n_seats && !w->stopping; i++) {
        struct gpud_seat *s = &w->seats[i];
        if (s->member < 0 && s->next_start_ns <= now) start_worker(w, i, now);
        if (s->member < 0 && s->next_start_ns < *again_ns) *again_ns = s->next_start_ns;
    }
}

/* ---- death ---- */

static void describe_end(struct gpud_member *m, char *text, size_t room) {
    siginfo_t info = {0};
    if (!m->child || waitid(P_PIDFD, (id_t)m->pidfd, &info, WEXITED) || info.si_pid == 0)
        snprintf(text, room, "for a reason that nobody saw");
    else if (info.si_code == CLD_EXITED)
        snprintf(text, room, "with exit code %d", info.si_status);
    else
        snprintf(text, room, "by signal %d (%s)", info.si_status, strsignal(info.si_status));
}

/* Takes back what a dead peer held. Its READY slots stay. */
static void reap_peer(struct gpud_workers *w, uint32_t peer, int pid, const char *end) {
    char why[SHM_ERROR_MAX];
    snprintf(why, sizeof why, "synthesis died on each of %d attempts, the last time %s", GPUD_MAX_ATTEMPTS, end);
    uint32_t slots = shm_slot_reap(w->region, peer);
    uint32_t jobs = shm_job_reap(w->region, peer, GPUD_MAX_ATTEMPTS, why);
    snprintf(why, sizeof why, "its producer (process %d) died %s", pid, end);
    shm_job_disown(w->region, peer, why);
    shm_peer_reaped(w->region, peer);
    set_eventfd(w, peer, -1);
    gpud_log("worker %d (peer %u) died %s; took back %u slots and %u jobs", pid, peer, end, slots, jobs);
}

/* The entry that a child left behind when it died before this daemon saw it join. */
static int find_peer(struct gpud_workers *w, int pid) {
    for (uint32_t i = 0; i < w->region->n_peers; i++) {
        int entry_pid;
        if (shm_peer_look(w->region, i, &entry_pid) != SHM_PEER_FREE && entry_pid == pid &&
            shm_peer_lives(w->region, i) == 0)
            return (int)i;
    }
    return -1;
}

/* A member that left its entry in good order (stopping, or a foreign producer that goes on without us). */
static void see_leave(struct gpud_workers *w, struct gpud_member *m) {
    int pid;
    if (m->peer < 0) return;
    if (shm_peer_look(w->region, (uint32_t)m->peer, &pid) != SHM_PEER_FREE && pid == m->pid) return;
    set_eventfd(w, (uint32_t)m->peer, -1);
    m->peer = -1;
}

static void leave_seat(struct gpud_workers *w, const struct gpud_member *m) {
    struct gpud_seat *s = &w->seats[m->seat];
    uint64_t now = shm_host_now_ns();
    bool short_life = now - m->started_ns < SHORT_LIFE_S * SECOND_NS && !m->overdue;
    s->failures = short_life ? s->failures + 1 : 0;
    s->next_start_ns = now + backoff_ns(s->failures);
    s->member = -1;
    w->restarts++;
}

void gpud_workers_died(struct gpud_workers *w, uint32_t member) {
    struct gpud_member *m = &w->members[member];
    if (!m->used) return;
    char end[128];
    describe_end(m, end, sizeof end);
    if (m->overdue)
        snprintf(end, sizeof end, "by signal %d (it was longer at one job than --job-timeout %u s)", SIGKILL,
                 w->options->job_timeout_s);
    see_leave(w, m);
    if (m->peer < 0) m->peer = find_peer(w, m->pid);
    if (m->peer >= 0)
        reap_peer(w, (uint32_t)m->peer, m->pid, end);
    else if (m->child && !w->stopping)
        gpud_log("worker %d ended %s", m->pid, end);
    else
        gpud_log("%s %d has left", m->foreign ? "foreign producer" : "worker", m->pid);
    snprintf(w->last_death, sizeof w->last_death, "worker %d ended %s", m->pid, end);
    if (m->seat >= 0) leave_seat(w, m);
    if (m->pidfd >= 0) {
        shm_waiter_unwatch(w->waiter, m->pidfd);
        close(m->pidfd);
    }
    m->used = false;
    gpud_workers_ring(w);
}

/* ---- joins ---- */

static int member_of_peer(const struct gpud_workers *w, uint32_t peer) {
    for (uint32_t i = 0; i < w->n_members; i++)
        if (w->members[i].used && w->members[i].peer == (int)peer) return (int)i;
    return -1;
}

static int member_of_child(const struct gpud_workers *w, int pid) {
    for (uint32_t i = 0; i < w->n_members; i++) {
        const struct gpud_member *m = &w->members[i];
        if (m->used && m->child && m->peer < 0 && m->pid == pid) return (int)i;
    }
    return -1;
}

/* Room for an entry of the peer table that is none of our children; the rest is for the children. */
static bool has_room_for_peer(const struct gpud_workers *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_members; i++) n += w->members[i].used && !w->members[i].child;
    return n < w->region->n_peers;
}

/* A worker of an earlier daemon sits down where a seat of its node is empty; a foreign one, or one too many, stands. */
static void adopt(struct gpud_workers *w, uint32_t peer, int pid, int pidfd) {
    int member = has_room_for_peer(w) ? add_member(w, pid, pidfd, false) : -1;
    if (member < 0) {
        if (pidfd >= 0) close(pidfd);
        return;
    }
    w->members[member].peer = (int)peer;
    bool ours = w->region->peers[peer].kind == 0;
    w->members[member].foreign = !ours;
    for (uint32_t i = 0; ours && i < w->n_seats; i++) {
        if (w->seats[i].member >= 0 || w->seats[i].node != w->region->peers[peer].node) continue;
        sit_down(w, member, i);
        break;
    }
    gpud_log("%s %d (peer %u) is with us", ours ? "worker" : "foreign producer", pid, peer);
}

static void see_peer(struct gpud_workers *w, uint32_t peer) {
    int pid;
    enum shm_peer_state state = shm_peer_look(w->region, peer, &pid);
    if (state == SHM_PEER_FREE || member_of_peer(w, peer) >= 0) return;
    int child = state == SHM_PEER_LIVE ? member_of_child(w, pid) : -1;
    if (child >= 0) {
        w->members[child].peer = (int)peer;
        return;
    }
    int pidfd = shm_peer_pidfd(w->region, peer);
    if (pidfd == -ESRCH)
        reap_peer(w, peer, pid, "while no daemon looked");
    else if (state == SHM_PEER_LIVE && (pidfd >= 0 || pidfd == -EREMOTE))
        adopt(w, peer, pid, pidfd);
    else if (pidfd >= 0)
        close(pidfd);
}

/* ---- time limits ---- */

static void see_job(struct gpud_workers *w, struct gpud_member *m, uint64_t now, uint64_t *again_ns) {
    if (m->peer < 0 || m->foreign || w->options->job_timeout_s == 0) return;
    uint64_t job = atomic_load(&w->region->peers[m->peer].job);
    if (job != m->job) {
        m->job = job;
        m->job_since_ns = now;
    }
    if (!m->job || m->overdue) return;
    uint64_t due = m->job_since_ns + w->options->job_timeout_s * SECOND_NS;
    if (due <= now) {
        gpud_log("worker %d is at job %llu for more than %u s: killed", m->pid, (unsigned long long)m->job,
                 w->options->job_timeout_s);
        m->overdue = true;
        kill_member(m);
    } else if (due < *again_ns) {
        *again_ns = due;
    }
}

uint64_t gpud_workers_scan(struct gpud_workers *w, bool all_alive) {
    uint64_t now = shm_host_now_ns(), again_ns = UINT64_MAX;
    for (uint32_t i = 0; i < w->n_members; i++) {
        struct gpud_member *m = &w->members[i];
        if (!m->used) continue;
        see_leave(w, m);
        if (!m->child && m->peer < 0 && m->pidfd < 0) gpud_workers_died(w, i);  /* it has left; no pidfd will tell */
    }
    for (uint32_t i = 0; i < w->region->n_peers; i++) see_peer(w, i);
    for (uint32_t i = 0; i < w->n_members; i++) {
        struct gpud_member *m = &w->members[i];
        if (!m->used) continue;
        if (all_alive && m->peer >= 0 && !m->child && shm_peer_lives(w->region, (uint32_t)m->peer) == 0)
            gpud_workers_died(w, i);
        else
            see_job(w, m, now, &again_ns);
    }
    fill_seats(w, now, &again_ns);
    return again_ns;
}

/* ---- the rest ---- */

void gpud_workers_ring(struct gpud_workers *w) {
    for (uint32_t i = 0; i < w->region->n_peers; i++)
        if (shm_peer_look(w->region, i, NULL) == SHM_PEER_LIVE)
            shm_bell_ring(&w->region->peers[i].bell, w->eventfds[i]);
}

bool gpud_workers_is(struct gpud_workers *w, uint32_t peer, int pid) {
    int entry_pid = 0;
    return peer < w->region->n_peers && shm_peer_look(w->region, peer, &entry_pid) == SHM_PEER_LIVE && entry_pid == pid;
}

int gpud_workers_hello(struct gpud_workers *w, uint32_t peer, int pid, int eventfd) {
    if (!gpud_workers_is(w, peer, pid)) {
        if (eventfd >= 0) close(eventfd);
        return -1;
    }
    set_eventfd(w, peer, eventfd);
    return 0;
}

uint32_t gpud_workers_joined(const struct gpud_workers *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_seats; i++) n += w->seats[i].member >= 0 && w->members[w->seats[i].member].peer >= 0;
    return n;
}

uint32_t gpud_workers_own(const struct gpud_workers *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_members; i++) n += w->members[i].used && !w->members[i].foreign;
    return n;
}

unsigned gpud_workers_failures(const struct gpud_workers *w) {
    unsigned most = 0;
    for (uint32_t i = 0; i < w->n_seats; i++)
        if (w->seats[i].failures > most) most = w->seats[i].failures;
    return most;
}

void gpud_workers_kill(struct gpud_workers *w) {
    for (uint32_t i = 0; i < w->n_members; i++)
        if (w->members[i].used && !w->members[i].foreign) kill_member(&w->members[i]);
}
