/*
 * The hand-off between two processes: what a ring of the bell and the wake-up cost with each back end, while the other
 * side still spins ("busy") and when it has gone to sleep ("asleep"), beside the floor: two processes that spin on two
 * cache lines. Then whole hand-offs (claim, fill, commit, ring, take, settle) a second through a region.
 *
 *   handoff_bench [rounds, default 20000]
 */
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/shm_world.h"

enum { MAX_ROUNDS = 1000000, COLD_ROUNDS = 1000, JOBS_ROUND = 20000 };

static struct shared {
    struct shm_bell ping, pong;
    _Atomic uint64_t sent_ns;
    _Atomic uint32_t line_a __attribute__((aligned(SHM_LINE))), line_b __attribute__((aligned(SHM_LINE)));
} *shared;

static double times_us[MAX_ROUNDS];

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Percentiles of n round trips (or one-way times), in microseconds. */
static void report(const char *what, const char *how, uint32_t n) {
    qsort(times_us, n, sizeof *times_us, by_value);
    printf("%-18s %-26s %8.2f %8.2f %8.2f\n", what, how, times_us[n / 2], times_us[(uint64_t)n * 99 / 100],
           times_us[(uint64_t)n * 999 / 1000]);
    fflush(stdout);
}

/* ---- floor ---- */

static void spin_floor(uint32_t rounds) {
    shm_store_rel(&shared->line_a, 0);
    shm_store_rel(&shared->line_b, 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (uint32_t i = 1; i <= rounds; i++) {
            while (shm_load_acq(&shared->line_a) != i)
                shm_pause();
            shm_store_rel(&shared->line_b, i);
        }
        _exit(0);
    }
    for (uint32_t i = 1; i <= rounds; i++) {
        uint64_t t = shm_host_now_ns();
        shm_store_rel(&shared->line_a, i);
        while (shm_load_acq(&shared->line_b) != i)
            shm_pause();
        times_us[i - 1] = (double)(shm_host_now_ns() - t) / 1e3;
    }
    waitpid(pid, NULL, 0);
    report("shared memory", "round trip, both spin", rounds);
}

/* ---- bells ---- */

static struct shm_waiter *open_waiter(struct shm_bell *bell, enum shm_backend backend) {
    struct shm_waiter *w;
    char why[160];
    if (shm_waiter_open(&w, bell, backend, why) == 0)
        return w;
    printf("%s\n", why);
    return NULL;
}

static void wait_ring(struct shm_waiter *w, struct shm_bell *bell, uint32_t *seen) {
    struct shm_event ev[2];
    while (shm_bell_read(bell) == *seen)
        shm_waiter_wait(w, *seen, -1, ev, 2);
    *seen = shm_bell_read(bell);
}

/* The other side's eventfd, over a socket as between daemon and worker. */
static int swap_eventfds(int sock, int mine) {
    int got[SHM_FDS_MAX], n;
    char x = 'x';
    if (shm_fd_send(sock, &x, 1, &mine, mine >= 0) != 1 || shm_fd_recv(sock, &x, 1, got, &n) != 1)
        _exit(1);
    return n ? got[0] : -1;
}

/* The child answers each ping; where it was asleep it says when it woke. */
static void answer(enum shm_backend backend, int sock, uint32_t rounds) {
    struct shm_waiter *w = open_waiter(&shared->ping, backend);
    int efd = swap_eventfds(sock, shm_waiter_eventfd(w));
    uint32_t seen = shm_bell_read(&shared->ping);
    if (shm_fd_send(sock, "r", 1, NULL, 0) != 1)
        _exit(1);
    for (uint32_t i = 0; i < rounds; i++) {
        wait_ring(w, &shared->ping, &seen);
        shm_store_rel(&shared->sent_ns, shm_host_now_ns() - shm_load_acq(&shared->sent_ns));
        shm_bell_ring(&shared->pong, efd);
    }
    _exit(0);
}

/* Round trips while both spin, or one-way times to a sleeper. */
static void ping_pong(enum shm_backend backend, const char *name, uint32_t rounds, bool asleep) {
    int s[2], fds[SHM_FDS_MAX], n;
    char x;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0)
        answer(backend, s[1], rounds);
    struct shm_waiter *w = open_waiter(&shared->pong, backend);
    int efd = swap_eventfds(s[0], shm_waiter_eventfd(w));
    uint32_t seen = shm_bell_read(&shared->pong);
    if (shm_fd_recv(s[0], &x, 1, fds, &n) != 1)
        exit(1);
    for (uint32_t i = 0; i < rounds; i++) {
        while (asleep && shm_load_seq(&shared->ping.asleep) == SHM_BELL_AWAKE)
            shm_pause();
        if (asleep)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);     /* deep enough asleep for its CPU to idle */
        uint64_t t = shm_host_now_ns();
        shm_store_rel(&shared->sent_ns, t);
        shm_bell_ring(&shared->ping, efd);
        wait_ring(w, &shared->pong, &seen);
        times_us[i] = (double)(asleep ? shm_load_acq(&shared->sent_ns) : shm_host_now_ns() - t) / 1e3;
    }
    waitpid(pid, NULL, 0);
    report(name, asleep ? "one way, to a sleeper" : "round trip, busy", rounds);
    shm_waiter_close(w);
    close(s[0]);
    close(s[1]);
}

/* ---- whole hand-offs ---- */

static void worker_main(uint32_t jobs) {
    struct shm_region r;
    world_open(&r);
    int peer = shm_peer_join(&r, 0, 0);
    struct shm_waiter *w = open_waiter(&r.peers[peer].bell, SHM_BACKEND_AUTO);
    uint32_t seen = shm_bell_read(&r.peers[peer].bell);
    for (uint32_t done = 0; done < jobs;) {
        struct shm_event ev[2];
        if (worker_once(&r, (uint32_t)peer) == WORKER_DID)
            done++;
        else
            shm_waiter_wait(w, seen, 10, ev, 2);
        seen = shm_bell_read(&r.peers[peer].bell);
    }
    _exit(0);
}

static void hand_offs(uint32_t jobs) {
    struct shm_region r;
    world_create(&r, "bench", (struct world_size){8, 64, 2, false});
    struct shm_waiter *w = open_waiter(&r.super->bell, SHM_BACKEND_AUTO);
    pid_t pid = fork();
    if (pid == 0)
        worker_main(jobs);
    uint64_t t = shm_host_now_ns();
    uint32_t added = 0, done = 0;
    while (done < jobs) {
        struct shm_event ev[2];
        uint32_t seen = shm_bell_read(&r.super->bell), before = added + done;
        uint32_t n[SHM_JOB_STATES];
        while (daemon_once(&r) == DAEMON_DID)
            done++;
        shm_job_count(&r, n);
        for (uint32_t live = n[SHM_JOB_QUEUED]; live < 16 && added < jobs; live++, added++)
            world_add(&r);
        if (added + done != before)
            shm_bell_ring(&r.peers[0].bell, -1);
        else
            shm_waiter_wait(w, seen, 10, ev, 2);
    }
    double s = (double)(shm_host_now_ns() - t) / 1e9;
    waitpid(pid, NULL, 0);
    printf("whole hand-offs through a region: %.0f a second (%.2f us each); a service needs tens\n", jobs / s,
           s / jobs * 1e6);
    shm_waiter_close(w);
    world_remove();
    shm_region_close(&r);
}

int main(int argc, char **argv) {
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 20000;
    rounds = rounds < 1000 ? 1000 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    printf("%-18s %-26s %8s %8s %8s\n", "us", "", "p50", "p99", "p99.9");
    spin_floor(rounds);
    for (enum shm_backend b = SHM_BACKEND_FUTEX; b <= SHM_BACKEND_EPOLL; b++) {
        struct shm_waiter *w = open_waiter(NULL, b);
        if (!w)
            continue;
        const char *name = shm_waiter_name(w);
        shm_waiter_close(w);
        ping_pong(b, name, rounds, false);
        ping_pong(b, name, COLD_ROUNDS, true);
    }
    hand_offs(JOBS_ROUND);
    return 0;
}
