/*
 * tests/shm_world.h: what the tests of shm/ share: a small region of their own, the two actors of the protocol written
 * as the daemon and the worker write them, and what must hold once all is quiet.
 */
#ifndef TESTS_SHM_WORLD_H
#define TESTS_SHM_WORLD_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/atomic.h"
#include "shm/bell.h"
#include "shm/host.h"
#include "shm/job.h"
#include "shm/peer.h"

static int failures;

/* Counts a failure and prints it, unless ok. */
static inline __attribute__((format(printf, 2, 3))) bool check(bool ok, const char *format, ...) {
    if (ok)
        return true;
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    failures++;
    return false;
}

static inline int finish(const char *what) {
    if (failures)
        printf("%d failures\n", failures);
    else
        printf("%s\n", what);
    return failures != 0;
}

/* A number from the environment; tests run longer by hand: NAME=100000 build/release/tests/... */
static inline uint64_t number_from(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static inline bool is_short(void) {
    return getenv("PINWHEEL_TEST_SHORT") != NULL;
}

/* xorshift64*; the seed is printed and can be given again (SEED=...). */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t random_below(uint64_t *state, uint64_t n) {
    return (next_random(state) >> 11) % n;
}

static inline uint64_t seed_and_print(void) {
    uint64_t seed = number_from("SEED", 1);
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed ? seed : 1;
}

/* ---- a region of one's own ---- */

static char world_name[SHM_INSTANCE_MAX];
static pid_t world_owner;

static inline void world_remove(void) {
    if (world_name[0] && getpid() == world_owner)
        shm_region_unlink(world_name, NULL);
}

/* A name that no other run uses; the object is removed at exit. */
static inline const char *world_instance(const char *test) {
    snprintf(world_name, sizeof world_name, "t.%.12s.%d", test, (int)getpid());
    if (!world_owner)
        atexit(world_remove);
    world_owner = getpid();
    return world_name;
}

struct world_size {
    uint32_t slots, jobs, peers;
    bool wipe;
};

static inline void world_create(struct shm_region *r, const char *test, struct world_size n) {
    struct shm_error err;
    const struct shm_class class = {SHM_PAGE, n.slots};
    const struct shm_spec spec = {.instance = world_instance(test), .n_classes = 1, .classes = &class,
                                  .n_jobs = n.jobs, .n_peers = n.peers, .n_circuits = 1, .result_bytes = 64,
                                  .wipe = n.wipe, .small_pages = true};
    if (shm_region_create(r, &spec, &err) != 0) {
        printf("%s\n", err.text);
        exit(err.code == ENOSPC || err.code == ENOSYS ? 77 : 1);
    }
}

static inline void world_open(struct shm_region *r) {
    struct shm_error err;
    if (shm_region_open(r, world_name, &err) != 0) {
        printf("open: %s\n", err.text);
        _exit(1);
    }
}

static inline void world_adopt(struct shm_region *r) {
    struct shm_error err;
    if (shm_region_adopt(r, world_name, 5000, &err) != 0) {
        printf("adopt: %s\n", err.text);
        _exit(1);
    }
}

/* ---- the actors ---- */

enum { MAX_ATTEMPTS = 1000 };

/* How much of a slot is written and checked: little where instructions are stepped, all of it where fills shall be
 * slow. */
static uint32_t world_words = 4;

/* What a job's payload and its result must be: a stand-in for synthesis and proof. */
static inline uint64_t payload_word(uint64_t job, uint32_t i) {
    return (job + 1) * 0x9e3779b97f4a7c15ull + i;
}

static inline struct shm_job_ref world_add(struct shm_region *r) {
    struct shm_job_ref ref;
    const struct shm_job_new job = {.circuit = 0, .priority = 1, .witness = "/w"};
    int rc = shm_job_add(r, &job, shm_host_now_ns(), 0, &ref);
    if (!check(rc == 0, "adding a job: %s", strerror(-rc)))
        exit(1);
    return ref;
}

/* Writes the payload; `again` makes a second pass that finds a second writer of the same slot. */
static inline bool world_fill(struct shm_region *r, struct shm_slot_ref slot, uint64_t job) {
    shm_word *payload = (shm_word *)shm_region_payload(r, slot.index);
    for (uint32_t i = 0; i < world_words; i++)
        payload[i] = payload_word(job, i);
    for (uint32_t i = 0; i < world_words; i++)
        if (payload[i] != payload_word(job, i))
            return false;
    return true;
}

enum worker_result { WORKER_IDLE = 0, WORKER_DID = 1, WORKER_BROKEN = 2 };

/* One job's way through a worker that is joined. BROKEN: it lost something that a living worker cannot lose. */
static inline enum worker_result worker_once(struct shm_region *r, uint32_t peer) {
    struct shm_slot_ref slot;
    struct shm_job_ref job;
    struct shm_job_view view;
    if (shm_job_peek(r, NULL, NULL, &job, &view) != 0 || shm_slot_claim(r, peer, 0, SHM_PAGE, &slot) != 0)
        return WORKER_IDLE;
    if (shm_job_take(r, job, peer) != 0)
        return shm_slot_abandon(r, peer, slot) == 0 ? WORKER_IDLE : WORKER_BROKEN;
    if (shm_slot_fill(r, peer, slot) != 0 || !world_fill(r, slot, view.id))
        return WORKER_BROKEN;
    const struct shm_slot_desc desc = {.job = view.id, .ticket = view.ticket, .priority = view.priority,
                                       .attempt = view.attempts + 1};
    if (shm_slot_commit(r, peer, slot, &desc) != 0)
        return WORKER_BROKEN;
    shm_bell_ring(&r->super->bell, -1);
    return WORKER_DID;
}

/* The stand-in for a proof: false where the payload is not the one of this job. */
static inline bool daemon_prove(struct shm_region *r, struct shm_slot_ref slot, struct shm_job_ref job) {
    const shm_word *payload = (const shm_word *)shm_region_payload(r, slot.index);
    uint64_t id = shm_job_id(r, job);
    for (uint32_t i = 0; i < world_words; i++)
        if (payload[i] != payload_word(id, i))
            return false;
    memcpy(shm_region_result(r, job.index), &id, sizeof id);
    return true;
}

enum daemon_result { DAEMON_IDLE = 0, DAEMON_DID = 1, DAEMON_BROKEN = 2 };

/* Takes one READY slot to its end. A slot whose job is over is released. */
static inline enum daemon_result daemon_once(struct shm_region *r) {
    struct shm_slot_ref slot;
    struct shm_slot_desc desc;
    struct shm_job_ref job;
    int rc = shm_slot_take(r, NULL, NULL, &slot, &desc);
    if (rc == -EAGAIN)
        return DAEMON_IDLE;
    if (rc != 0)
        return DAEMON_BROKEN;
    if (shm_job_find(r, desc.job, &job) != 0 || shm_job_proving(r, job) != 0) {
        shm_slot_release(r, slot);
        return DAEMON_DID;
    }
    if (!daemon_prove(r, slot, job))
        return DAEMON_BROKEN;
    shm_slot_uploaded(r, slot);
    shm_job_settle(r, job, slot);
    return DAEMON_DID;
}

/* Reaps every dead peer; how many slots came back. */
static inline uint32_t daemon_reap(struct shm_region *r) {
    uint32_t slots = 0;
    for (uint32_t p = 0; p < r->n_peers; p++) {
        if (shm_peer_look(r, p, NULL) == SHM_PEER_FREE || shm_peer_lives(r, p) != 0)
            continue;
        slots += shm_slot_reap(r, p);
        shm_job_reap(r, p, MAX_ATTEMPTS, "the worker died");
        shm_peer_reaped(r, p);
    }
    return slots;
}

/* What a daemon does first on a region that it adopted. */
static inline void daemon_recover(struct shm_region *r) {
    uint32_t index = 0;
    shm_ctl was = 0;
    check(!shm_slot_repair(r, &index, &was) && !shm_job_repair(r, &index, &was), "impossible: record %u, %016llx",
          index, (unsigned long long)was);
    shm_slot_recover(r);
    shm_job_recover(r);
    daemon_reap(r);
}

/* Everything that can be done by one daemon alone, and with a fresh worker. False where either found a fault. */
static inline bool world_settle(struct shm_region *r, bool with_worker) {
    daemon_reap(r);
    int peer = with_worker ? shm_peer_join(r, 0, 0) : -1;
    if (!check(peer >= 0 || !with_worker, "no peer entry is free: %d", peer))
        return false;
    bool good = true;
    for (bool moved = true; moved && good;) {
        enum daemon_result d = daemon_once(r);
        enum worker_result w = with_worker ? worker_once(r, (uint32_t)peer) : WORKER_IDLE;
        good = d != DAEMON_BROKEN && w != WORKER_BROKEN;
        moved = d == DAEMON_DID || w == WORKER_DID;
        if (!good)
            check(false, "a survivor met a fault: daemon %d, worker %d", d, w);
    }
    if (peer >= 0)
        shm_peer_leave(r, (uint32_t)peer);
    return good;
}

/* All slots FREE, all jobs over with the right result, all peers gone. */
static inline bool world_quiet(struct shm_region *r, const char *when) {
    uint32_t slots[SHM_SLOT_STATES], jobs[SHM_JOB_STATES];
    int before = failures;
    shm_slot_count(r, slots);
    shm_job_count(r, jobs);
    check(slots[SHM_SLOT_FREE] == r->n_slots,
          "%s: %u of %u slots are FREE (claimed %u, filling %u, ready %u, uploading "
          "%u, uploaded %u, quarantine %u, wiping %u)", when, slots[SHM_SLOT_FREE], r->n_slots, slots[1], slots[2],
          slots[3], slots[4], slots[5], slots[6], slots[7]);
    check(jobs[SHM_JOB_FREE] + jobs[SHM_JOB_DONE] + jobs[SHM_JOB_FAILED] + jobs[SHM_JOB_CANCELLED] == r->n_jobs,
          "%s: a job is not over (filling %u, queued %u, synthesis %u, proving %u, failing %u)", when, jobs[1], jobs[2],
          jobs[3], jobs[4], jobs[SHM_JOB_FAILING]);
    for (uint32_t p = 0; p < r->n_peers; p++)
        check(shm_peer_look(r, p, NULL) == SHM_PEER_FREE, "%s: peer %u is not FREE", when, p);
    for (uint32_t i = 0; i < r->n_jobs; i++) {
        shm_ctl c = shm_load_acq(&r->jobs[i].ctl);
        uint64_t id = shm_job_id(r, (struct shm_job_ref){i, shm_ctl_gen(c)}), result;
        memcpy(&result, shm_region_result(r, i), sizeof result);
        if (shm_ctl_state(c) == SHM_JOB_DONE)
            check(result == id, "%s: job %u: result %llx, not %llx", when, i, (unsigned long long)result,
                  (unsigned long long)id);
    }
    return failures == before;
}

#endif
