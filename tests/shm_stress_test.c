/*
 * Real processes, real bells, slow fills, and random kills: workers and a daemon with pidfds, killed (SIGKILL) every
 * millisecond or so and started again. Every job must end with the right result, and the kills must have hit where it
 * hurts: the test fails if no slot had to be reaped.
 *
 * Longer by hand: STRESS_SECONDS=600 SEED=3. NO_ASAN: it is about processes, and slow ones meet fewer states.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "tests/shm_world.h"

enum { SLOTS = 3, JOBS = 24, WORKERS = 3, PEERS = 6, AHEAD = 6, BELT_MS = 1000, PATIENCE_S = 60 };

/* What all processes of the test count together; no part of the protocol. */
struct shared {
    atomic_uint slots_reaped, jobs_fetched, workers_seen_dead;
    atomic_bool no_more, trouble;
};
static struct shared *shared;
static struct shm_region r;

static struct shm_waiter *open_waiter(struct shm_bell *bell) {
    struct shm_waiter *w;
    char why[160];
    if (shm_waiter_open(&w, bell, SHM_BACKEND_AUTO, why) != 0) {
        printf("no waiter: %s\n", why);
        _exit(1);
    }
    return w;
}

/* With a back end on an eventfd nobody here has it: the belt must do. */
static int belt(const struct shm_waiter *w) {
    return shm_waiter_eventfd(w) >= 0 ? 2 : BELT_MS;
}

/* ---- worker ---- */

static void worker_main(void) {
    world_open(&r);
    int peer = shm_peer_join(&r, 0, 0);
    if (peer < 0)
        _exit(0);                               /* all entries wait for the daemon to reap them */
    struct shm_bell *bell = &r.peers[peer].bell;
    struct shm_waiter *w = open_waiter(bell);
    shm_bell_ring(&r.super->bell, -1);          /* as connecting to the socket does: the daemon wants a pidfd */
    for (;;) {
        struct shm_event ev[2];
        uint32_t seen = shm_bell_read(bell);
        enum worker_result did = worker_once(&r, (uint32_t)peer);
        if (did == WORKER_BROKEN) {
            shared->trouble = true;
            _exit(1);
        }
        if (did == WORKER_IDLE)
            shm_waiter_wait(w, seen, belt(w), ev, 2);
    }
}

/* ---- daemon ---- */

static int pidfds[PEERS];

static void forget(struct shm_waiter *w, uint32_t p) {
    shm_waiter_unwatch(w, pidfds[p]);
    close(pidfds[p]);
    pidfds[p] = -1;
}

/* Watches every peer that is new; true where one was dead already. */
static bool watch_peers(struct shm_waiter *w) {
    bool any_dead = false;
    for (uint32_t p = 0; p < PEERS; p++) {
        if (pidfds[p] >= 0 || shm_peer_look(&r, p, NULL) == SHM_PEER_FREE)
            continue;
        pidfds[p] = shm_peer_pidfd(&r, p);
        if (pidfds[p] >= 0)
            shm_waiter_watch(w, pidfds[p], POLLIN, p);
        any_dead |= pidfds[p] == -ESRCH;
    }
    return any_dead;
}

static bool add_jobs(void) {
    uint32_t n[SHM_JOB_STATES];
    bool any = false;
    shm_job_count(&r, n);
    for (uint32_t live = n[SHM_JOB_QUEUED] + n[SHM_JOB_SYNTHESIS] + n[SHM_JOB_PROVING];
         live < AHEAD && !shared->no_more; live++) {
        world_add(&r);                          /* over the record of one that was fetched */
        any = true;
    }
    return any;
}

/* What a client does: looks at the result once. */
static void fetch_results(void) {
    for (uint32_t i = 0; i < r.n_jobs; i++) {
        shm_ctl c = shm_load_acq(&r.jobs[i].ctl);
        uint64_t id = shm_job_id(&r, (struct shm_job_ref){i, shm_ctl_gen(c)}), result;
        if (shm_ctl_state(c) != SHM_JOB_DONE || shm_load_lax(&r.jobs[i].fetched))
            continue;
        memcpy(&result, shm_region_result(&r, i), sizeof result);
        if (!check(result == id, "job %u has another job's result", i))
            shared->trouble = true;
        shm_store_lax(&r.jobs[i].fetched, 1);
        shared->jobs_fetched++;
    }
}

static void ring_workers(void) {
    for (uint32_t p = 0; p < PEERS; p++)
        if (shm_peer_look(&r, p, NULL) == SHM_PEER_LIVE)
            shm_bell_ring(&r.peers[p].bell, -1);
}

static bool all_over(void) {
    uint32_t n[SHM_JOB_STATES], slots[SHM_SLOT_STATES];
    shm_job_count(&r, n);
    shm_slot_count(&r, slots);
    return shared->no_more && n[SHM_JOB_FREE] + n[SHM_JOB_DONE] == r.n_jobs && slots[SHM_SLOT_FREE] == r.n_slots;
}

static void reap(void) {
    shared->slots_reaped += daemon_reap(&r);
}

static void daemon_main(void) {
    world_adopt(&r);
    for (int p = 0; p < PEERS; p++)
        pidfds[p] = -1;
    shm_slot_recover(&r);
    shm_job_recover(&r);
    reap();
    struct shm_waiter *w = open_waiter(&r.super->bell);
    while (!all_over()) {
        struct shm_event ev[8];
        uint32_t seen = shm_bell_read(&r.super->bell);
        enum daemon_result did = daemon_once(&r);
        if (did == DAEMON_BROKEN) {
            shared->trouble = true;
            _exit(1);
        }
        bool moved = did == DAEMON_DID;
        fetch_results();
        if (watch_peers(w)) {
            reap();
            moved = true;
        }
        moved |= add_jobs();
        if (moved) {
            ring_workers();
            continue;
        }
        int n = shm_waiter_wait(w, seen, belt(w), ev, 8);
        for (int i = 0; i < n; i++)
            if (ev[i].tag < PEERS) {
                shared->workers_seen_dead++;
                forget(w, (uint32_t)ev[i].tag);
                reap();
                ring_workers();
            }
    }
    _exit(0);
}

/* ---- the one who kills ---- */

static pid_t start(void (*body)(void)) {
    pid_t pid = fork();
    if (pid == 0)
        body();
    return pid;
}

static void kill_and_wait(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Waits for the daemon to find that all is over; workers that ended are started again. */
static bool wait_for_end(pid_t daemon, pid_t *workers) {
    uint64_t until = shm_host_now_ns() + PATIENCE_S * 1000000000ull;
    while (shm_host_now_ns() < until) {
        int status;
        if (waitpid(daemon, &status, WNOHANG) == daemon)
            return check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the last daemon: status %x", status);
        for (int i = 0; i < WORKERS; i++)
            if (waitpid(workers[i], NULL, WNOHANG) == workers[i])
                workers[i] = start(worker_main);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    kill_and_wait(daemon);
    return check(false, "stuck: not over after %d s", PATIENCE_S);
}

int main(void) {
    uint64_t rng = seed_and_print();
    uint64_t until = shm_host_now_ns() + number_from("STRESS_SECONDS", is_short() ? 3 : 8) * 1000000000ull;
    uint32_t worker_kills = 0, daemon_kills = 0;
    pid_t workers[WORKERS], daemon;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    world_words = SHM_PAGE / sizeof(shm_word);
    world_create(&r, "stress", (struct world_size){SLOTS, JOBS, PEERS, false});
    shm_region_close(&r);
    daemon = start(daemon_main);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = start(worker_main);
    while (shm_host_now_ns() < until && !shared->trouble) {
        nanosleep(&(struct timespec){.tv_nsec = 200000 + (long)random_below(&rng, 3000000)}, NULL);
        uint64_t victim = random_below(&rng, WORKERS + 1);
        if (victim < WORKERS) {
            kill_and_wait(workers[victim]);
            workers[victim] = start(worker_main);
            worker_kills++;
        } else {
            kill_and_wait(daemon);
            daemon = start(daemon_main);
            daemon_kills++;
        }
    }
    shared->no_more = true;
    wait_for_end(daemon, workers);
    for (int i = 0; i < WORKERS; i++)
        kill_and_wait(workers[i]);
    check(!shared->trouble, "a process met a fault");
    world_adopt(&r);
    daemon_recover(&r);
    fetch_results();
    world_quiet(&r, "at the end");
    printf("%u worker kills, %u daemon kills, %u jobs done, %u slots reaped, %u deaths seen by pidfd\n", worker_kills,
           daemon_kills, shared->jobs_fetched, shared->slots_reaped, shared->workers_seen_dead);
    check(shared->slots_reaped > 0, "no slot was reaped: the kills met nothing");
    check(shared->jobs_fetched > 20, "only %u jobs were done", shared->jobs_fetched);
    shm_region_close(&r);
    world_remove();
    return finish("nothing lost, nothing stuck");
}
