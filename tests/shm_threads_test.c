/*
 * The protocol by threads on one mapping, for ThreadSanitizer, which sees nothing between processes: workers that
 * claim, fill, commit, fail, give back and "die", a daemon that adds, takes, cancels, settles and reaps, records used
 * again, and all of them asleep on their bells. By the epoll back end, since ThreadSanitizer does not see when
 * io_uring's memory is unmapped and used again. RUN_TSAN
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/shm_world.h"

enum { WORKERS = 3, SLOTS = 2, JOBS = 6 };

static struct shm_region r;
static pthread_t threads[WORKERS + 1];          /* the daemon is the first */
static uint64_t total;
static atomic_bool dead[WORKERS], finished, trouble;
static atomic_uint deaths, failed_jobs;
static atomic_int daemon_efd = -1;

static void ring_workers(void) {
    for (uint32_t p = 0; p < r.n_peers; p++)
        if (shm_peer_look(&r, p, NULL) == SHM_PEER_LIVE)
            shm_bell_ring(&r.peers[p].bell, -1);
}

static struct shm_waiter *open_waiter(struct shm_bell *bell) {
    struct shm_waiter *w;
    char why[160];
    if (shm_waiter_open(&w, bell, SHM_BACKEND_EPOLL, why) == 0)
        return w;
    printf("no waiter: %s\n", why);
    exit(1);
}

static void wait_ring(struct shm_waiter *w, uint32_t seen) {
    struct shm_event ev[2];
    shm_waiter_wait(w, seen, 1, ev, 2);         /* the belt wakes workers: nobody has their eventfds */
}

/* ---- workers ---- */

enum step { STEP_IDLE, STEP_DID, STEP_DEAD };

/* One job, ending in one of the ways there are. A dead worker leaves everything as it stands. */
static enum step work(uint32_t peer, uint64_t *rng) {
    struct shm_slot_ref slot;
    struct shm_job_ref job;
    struct shm_job_view view;
    uint64_t how = random_below(rng, 16);
    if (shm_job_peek(&r, NULL, NULL, &job, NULL) != 0 || shm_slot_claim(&r, peer, 0, 1, &slot) != 0)
        return STEP_IDLE;
    if (how == 0)
        return STEP_DEAD;
    if (shm_job_take(&r, job, peer) != 0 || shm_job_read(&r, job, &view) != 0) {
        shm_job_return(&r, job, peer);          /* refused where we do not have it */
        shm_slot_abandon(&r, peer, slot);
        shm_bell_ring(&r.super->bell, daemon_efd);
        return STEP_DID;
    }
    if (shm_slot_fill(&r, peer, slot) != 0)
        trouble = true;
    if (how == 1 || how == 2) {
        int rc = how == 1 ? shm_job_return(&r, job, peer) : shm_job_fail_by(&r, job, peer, "a bad witness");
        failed_jobs += how == 2 && rc == 0;
        shm_slot_abandon(&r, peer, slot);
        shm_bell_ring(&r.super->bell, daemon_efd);
        return STEP_DID;
    }
    if (!world_fill(&r, slot, view.id))
        trouble = true;
    if (how == 3)
        return STEP_DEAD;
    const struct shm_slot_desc desc = {.job = view.id, .ticket = view.ticket, .priority = view.priority};
    if (shm_slot_commit(&r, peer, slot, &desc) != 0)
        trouble = true;
    if (how == 4)
        return STEP_DEAD;                       /* between READY and the bell */
    shm_bell_ring(&r.super->bell, daemon_efd);
    return STEP_DID;
}

static void life(uint32_t id, uint64_t *rng) {
    int peer = shm_peer_join(&r, 0, id);
    while (peer == -EAGAIN && !finished)
        peer = shm_peer_join(&r, 0, id);
    if (peer < 0)
        return;
    struct shm_waiter *w = open_waiter(&r.peers[peer].bell);
    while (!finished) {
        uint32_t seen = shm_bell_read(&r.peers[peer].bell);
        enum step step = work((uint32_t)peer, rng);
        if (step == STEP_IDLE)
            wait_ring(w, seen);
        if (step != STEP_DEAD)
            continue;
        shm_waiter_close(w);
        deaths++;
        dead[peer] = true;                      /* stands for the kernel: all stores are done before */
        shm_bell_ring(&r.super->bell, daemon_efd);
        return;
    }
    shm_waiter_close(w);
    shm_peer_leave(&r, (uint32_t)peer);
}

static void *worker(void *arg) {
    uint32_t id = (uint32_t)(uintptr_t)arg;
    uint64_t rng = id * 77 + number_from("SEED", 1) * 1000;
    while (!finished)
        life(id, &rng);
    return NULL;
}

/* ---- daemon ---- */

static bool reap(void) {
    bool any = false;
    for (uint32_t p = 0; p < WORKERS; p++) {
        if (!dead[p])
            continue;
        dead[p] = false;
        shm_slot_reap(&r, p);
        shm_job_reap(&r, p, MAX_ATTEMPTS, "died");
        shm_peer_reaped(&r, p);
        any = true;
    }
    return any;
}

/* Adds while there is room; cancels one in eight a while later. */
static bool add_jobs(uint64_t *added, struct shm_job_ref *victim, uint64_t *rng) {
    const struct shm_job_new job = {.priority = (uint32_t)(*added % 3), .witness = "/a/path/to/a.wtns"};
    struct shm_job_ref ref;
    bool any = false;
    while (*added < total && shm_job_add(&r, &job, shm_host_now_ns(), 0, &ref) == 0) {
        ++*added;
        any = true;
        if (random_below(rng, 8) == 0)
            *victim = ref;
    }
    if (victim->gen && random_below(rng, 4) == 0) {
        shm_job_cancel(&r, *victim);
        victim->gen = 0;
        any = true;
    }
    return any;
}

static bool all_over(uint64_t added) {
    uint32_t n[SHM_JOB_STATES];
    shm_job_count(&r, n);
    return added == total && n[SHM_JOB_FREE] + n[SHM_JOB_DONE] + n[SHM_JOB_FAILED] + n[SHM_JOB_CANCELLED] == r.n_jobs;
}

static void *daemon_thread(void *arg) {
    uint64_t rng = number_from("SEED", 1) + 99, added = 0;
    struct shm_job_ref victim = {0, 0};
    struct shm_waiter *w = open_waiter(&r.super->bell);
    (void)arg;
    daemon_efd = shm_waiter_eventfd(w);
    while (!all_over(added)) {
        uint32_t seen = shm_bell_read(&r.super->bell);
        enum daemon_result d = daemon_once(&r);
        if (d == DAEMON_BROKEN)
            trouble = true;
        bool any = reap();
        any |= add_jobs(&added, &victim, &rng);
        if (d == DAEMON_DID || any)
            ring_workers();
        else
            wait_ring(w, seen);
    }
    finished = true;
    for (int i = 1; i <= WORKERS; i++)          /* they may still ring: the eventfd goes last */
        pthread_join(threads[i], NULL);
    shm_waiter_close(w);
    return NULL;
}

int main(void) {
    seed_and_print();
    total = number_from("JOBS", is_short() ? 20000 : 100000);
    world_create(&r, "threads", (struct world_size){SLOTS, JOBS, WORKERS, false});
    for (uintptr_t i = 1; i <= WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    pthread_create(&threads[0], NULL, daemon_thread, NULL);
    pthread_join(threads[0], NULL);
    reap();
    while (daemon_once(&r) == DAEMON_DID)       /* what was committed for jobs that were cancelled */
        ;
    check(!trouble, "a thread met a fault");
    check(deaths > total / 50 && failed_jobs > total / 50, "only %u deaths and %u failures", deaths, failed_jobs);
    world_quiet(&r, "at the end");
    printf("%llu jobs, %u deaths, %u failures\n", (unsigned long long)total, deaths, failed_jobs);
    world_remove();
    shm_region_close(&r);
    return finish("threads on one mapping: no race, nothing lost");
}
