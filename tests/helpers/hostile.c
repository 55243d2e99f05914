/*
 * A worker that holds a valid entry of the peer table and writes garbage wherever the region can be written:
 *   hostile INSTANCE rounds SEED N       N rounds: each picks a target, and how wildly it writes there
 *   hostile INSTANCE storm SEED MS       writes all the time, for so long
 *   hostile INSTANCE results SEED MS     only the results of jobs and their records, while proofs are made
 *   hostile INSTANCE payloads SEED MS    only witnesses and vectors
 *   hostile INSTANCE states SEED N       N times, in every slot and job record: states and owners that cannot be
 *   hostile INSTANCE flag SEED MS        tells workers to leave, for so long
 *   hostile INSTANCE cut SEED KIB        cuts the region to so many KiB
 *   hostile INSTANCE super SEED N        the superblock too: nobody can use the region afterwards
 *
 * It never writes a pid of a process that it does not own into an entry: service and command may kill what stands
 * there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shm/bell.h"
#include "shm/host.h"
#include "shm/job.h"
#include "shm/lock.h"
#include "shm/peer.h"
#include "tests/random.h"

static struct shm_region r;
static uint32_t self;
static uint64_t state;

static uint32_t below(uint32_t n) {
    return (uint32_t)(rnd(&state) % n);
}

/* Numbers that indices and lengths break on, more often than any others. */
static uint64_t nasty(void) {
    static const uint64_t edge[] = {0, 1, 2, 0x7f, 0x80, 0xfff, 0x7fffffff, 0x80000000, UINT32_MAX, 1ull << 32,
                                    INT64_MAX, 1ull << 63, UINT64_MAX, 0x4141414141414141ull};
    uint64_t v = rnd(&state);
    return v % 3 ? v : edge[below(sizeof edge / sizeof edge[0])];
}

static void put(void *at, uint64_t v) {
    __atomic_store_n((shm_ctl *)at, v, __ATOMIC_RELAXED);
}

/* Some words of an area. */
static void scribble(void *area, size_t bytes) {
    for (uint32_t i = 0, n = 1 + below(8); i < n; i++) put((uint8_t *)area + 8 * below((uint32_t)(bytes / 8)), nasty());
}

/* A control word that could be right: a known state, an owner that exists, a near generation. */
static shm_ctl plausible(shm_ctl c, unsigned states) {
    return shm_ctl_make(below(states + 1), below(3) ? below(r.n_peers) : SHM_NOBODY, shm_ctl_gen(c) + below(3) - 1);
}

static void hurt_slot(void) {
    struct shm_slot_line *s = &r.slots[below(r.n_slots)];
    switch (below(4)) {
    case 0: put(&s->ctl, plausible(atomic_load(&s->ctl), SHM_SLOT_STATES)); break;
    case 1: put(&s->ctl, nasty()); break;
    case 2: scribble(&s->desc, sizeof s->desc + sizeof s->seal); break;
    default: scribble(&s->offset, sizeof *s - offsetof(struct shm_slot_line, offset)); break;
    }
}

static void hurt_job(void) {
    struct shm_job *j = &r.jobs[below(below(2) ? 16 : r.n_jobs)];
    switch (below(4)) {
    case 0: put(&j->ctl, plausible(atomic_load(&j->ctl), SHM_JOB_STATES)); break;
    case 1: put(&j->ctl, nasty()); break;
    case 2: scribble(&j->id, offsetof(struct shm_job, witness) - offsetof(struct shm_job, id)); break;
    default: scribble(j->witness, SHM_PATH_MAX + SHM_ERROR_MAX); break;
    }
}

/* A state and a pid: none, one that cannot be, our own, the daemon's. */
static void hurt_peer(void) {
    const uint64_t pids[] = {0, UINT32_MAX, 0x7fffffff, (uint64_t)getpid(), atomic_load(&r.super->daemon_pid)};
    struct shm_peer *p = &r.peers[below(below(2) ? 8 : r.n_peers)];
    if (below(2)) {
        put(&p->word, pids[below(5)] << 32 | (below(2) ? below(6) : (uint32_t)nasty()));
        shm_lock_try(r.fd, SHM_LOCK_PEER0 + below(r.n_peers));     /* it looks alive, whoever it is */
    } else {
        scribble(&p->node, sizeof *p - offsetof(struct shm_peer, node));
    }
}

static void hurt_circuit(void) {
    scribble(&r.circuits[below(below(2) ? 4 : r.n_circuits)], sizeof *r.circuits);
}

static void hurt_result(void) {
    scribble(shm_region_result(&r, below(below(4) ? 16 : r.n_jobs)), r.result_bytes);
}

static void hurt_payload(void) {
    uint32_t slot = below(r.n_slots);
    uint64_t bytes = below(2) ? 1 << 16 : r.slot_bytes[slot];
    scribble(shm_region_payload(&r, slot), bytes < UINT32_MAX ? bytes : UINT32_MAX);
}

/* What changes in the superblock while a service runs: tickets, counts, bells, whether to stop. */
static void hurt_super(void) {
    struct shm_super *s = r.super;
    switch (below(4)) {
    case 0: put(&s->next_ticket, nasty()); break;
    case 1: put(&s->starts, nasty()); break;
    case 2: scribble(&s->bell, sizeof s->bell); break;
    default: scribble(s->pad1, sizeof s->pad1); break;
    }
}

static void hurt_record_of_result(void) {
    struct shm_job *j = &r.jobs[below(16)];
    switch (below(3)) {
    case 0: put(&j->circuit, nasty()); break;                   /* and the priority */
    case 1: put(&j->n_public, nasty()); break;                  /* and the user */
    default: hurt_result(); break;
    }
}

static void hurt_any(void) {
    void (*const targets[])(void) = {hurt_slot, hurt_job, hurt_peer, hurt_circuit, hurt_result, hurt_payload,
                                     hurt_super};
    targets[below(sizeof targets / sizeof targets[0])]();
}

/* All of what readers check before they map, magic apart. */
static void hurt_geometry(void) {
    scribble(&r.super->layout_hash, offsetof(struct shm_super, next_ticket) - offsetof(struct shm_super, layout_hash));
}

static void pause_us(long us) {
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* An owner that claims slots by the rules, too, and keeps them. */
static void hold_a_slot(void) {
    struct shm_slot_ref ref;
    if (shm_slot_claim(&r, self, 0, 1, &ref) == 0 && below(2)) shm_slot_fill(&r, self, ref);
}

static void write_for(uint64_t ms, void (*hurt)(void)) {
    uint64_t end = shm_host_now_ns() + ms * 1000000;
    while (shm_host_now_ns() < end) {
        for (int i = 0; i < 64; i++) hurt();
        pause_us(200);
    }
}

/* States that do not exist; slots that are claimed by entries that are free or do not exist. */
static void write_impossible(void) {
    for (uint32_t i = 0; i < r.n_slots; i++) {
        unsigned to = below(2) ? SHM_SLOT_STATES + below(16 - SHM_SLOT_STATES) : SHM_SLOT_CLAIMED + below(2);
        put(&r.slots[i].ctl, shm_ctl_make(to, below(2) ? r.n_peers - 1 : r.n_peers + below(9),
                                          below(2) ? nasty() : below(9)));
    }
    for (uint32_t i = 0; i < r.n_jobs; i++)
        put(&r.jobs[i].ctl, shm_ctl_make(SHM_JOB_STATES + below(16 - SHM_JOB_STATES), below(0x1000),
                                         below(2) ? 5 : nasty() >> 17));
}

static void raise_flag(void) {
    atomic_store(&r.super->stopping, 1 + below(9));
}

int main(int argc, char **argv) {
    struct shm_error err;
    if (argc != 5) return 2;
    const char *mode = argv[2];
    uint64_t seed = strtoull(argv[3], NULL, 10), n = strtoull(argv[4], NULL, 10);
    state = seed;
    if (shm_region_open(&r, argv[1], &err)) return fprintf(stderr, "hostile: %s\n", err.text), 1;
    int peer = shm_peer_join(&r, 0, 1);
    if (peer < 0) return fprintf(stderr, "hostile: cannot join: %s\n", strerror(-peer)), 1;
    self = (uint32_t)peer;
    printf("hostile: %s, seed %llu, peer %u\n", mode, (unsigned long long)seed, self);
    fflush(stdout);
    if (!strcmp(mode, "rounds"))
        for (uint64_t i = 0; i < n; i++) {
            hurt_any();
            if (i % 16 == 0) hold_a_slot();
            shm_bell_ring(&r.super->bell, -1);
            pause_us(500);
        }
    else if (!strcmp(mode, "storm"))
        write_for(n, hurt_any);
    else if (!strcmp(mode, "results"))
        write_for(n, hurt_record_of_result);
    else if (!strcmp(mode, "payloads"))
        write_for(n, hurt_payload);
    else if (!strcmp(mode, "states"))
        for (uint64_t i = 0; i < n; i++) write_impossible();
    else if (!strcmp(mode, "flag"))
        write_for(n, raise_flag);
    else if (!strcmp(mode, "cut"))
        return ftruncate(r.fd, (off_t)n * 1024) != 0;
    else if (!strcmp(mode, "super"))
        for (uint64_t i = 0; i < n; i++) hurt_geometry();
    else
        return 2;
    return 0;       /* leaves its entry, its locks and its slots to the daemon */
}
