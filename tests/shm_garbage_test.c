/*
 * What the daemon calls on a region in which a worker gone wild has written: control words, descriptors, job records
 * and peers full of random bits. Every call must come back, stay inside the region, and leave states that the tables
 * know of. Longer by hand: GARBAGE_ROUNDS=1000000 SEED=5.
 */
#include "tests/shm_world.h"

enum { SLOTS = 4, JOBS = 8, PEERS = 5 };

static struct shm_region r;

/* A random word: any bits, or a control word that is nearly right, which goes deeper. */
static uint64_t garbage(uint64_t *rng) {
    if (random_below(rng, 3) == 0)
        return next_random(rng);
    return shm_ctl_make((unsigned)random_below(rng, 10), (unsigned)random_below(rng, PEERS + 2), random_below(rng, 3));
}

static void scribble(void *at, size_t bytes, uint64_t *rng) {
    shm_word *words = at;
    for (size_t i = 0; i < bytes / 8; i++)
        if (random_below(rng, 2) == 0)
            words[i] = garbage(rng);
}

/* Everything but the superblock, whose numbers are not read again. Now and then a job id that exists. */
static void scribble_all(uint64_t *rng) {
    scribble(r.slots, r.n_slots * sizeof *r.slots, rng);
    scribble(r.peers, r.n_peers * sizeof *r.peers, rng);
    scribble(r.jobs, r.n_jobs * sizeof *r.jobs, rng);
    for (uint32_t i = 0; i < r.n_jobs; i++) {
        uint32_t slot = (uint32_t)random_below(rng, SLOTS);
        uint64_t gen = shm_ctl_gen(shm_load_lax(&r.jobs[i].ctl));
        const struct shm_slot_desc desc = {.job = shm_job_id(&r, (struct shm_job_ref){i, gen})};
        struct shm_slot_ref ref = {slot, 7};
        shm_store_lax(&r.slots[slot].ctl, shm_ctl_make(SHM_SLOT_FILLING, 1, ref.gen));
        shm_slot_commit(&r, 1, ref, &desc);     /* a seal that is right, whatever the job's state */
    }
}

static struct shm_slot_ref slot_at(uint32_t i) {
    return (struct shm_slot_ref){i, shm_ctl_gen(shm_load_lax(&r.slots[i].ctl))};
}

static struct shm_job_ref job_at(uint32_t i) {
    return (struct shm_job_ref){i, shm_ctl_gen(shm_load_lax(&r.jobs[i].ctl))};
}

static void daemon_moves(uint64_t *rng) {
    struct shm_slot_ref slot = slot_at((uint32_t)random_below(rng, SLOTS));
    struct shm_job_ref job = job_at((uint32_t)random_below(rng, JOBS));
    switch (random_below(rng, 10)) {
    case 0: shm_slot_uploaded(&r, slot); break;
    case 1: shm_slot_release(&r, slot); break;
    case 2: shm_slot_requeue(&r, slot); break;
    case 3: shm_job_proving(&r, job); break;
    case 4: shm_job_settle(&r, job, slot); break;
    case 5: shm_job_retry(&r, job, slot); break;
    case 6: shm_job_cancel(&r, job); break;
    case 7: shm_job_fail(&r, job, "why"); break;
    case 8: shm_job_requeue(&r, job); break;
    default: shm_job_sweep(&r, 3, "swept");
    }
}

/* Takes until nothing is READY: as many times as there are slots, at most. */
static void take_all(void) {
    struct shm_slot_ref slot;
    struct shm_slot_desc desc;
    struct shm_job_ref job;
    uint32_t taken = 0;
    for (int rc; (rc = shm_slot_take(&r, NULL, NULL, &slot, &desc)) != -EAGAIN; taken++) {
        if (!check((rc == 0 || rc == -EBADMSG) && slot.index < SLOTS && taken < SLOTS, "take %u: %d, slot %u", taken,
                   rc,
                   slot.index))
            return;
        if (rc == 0 && shm_job_find(&r, desc.job, &job) == 0)
            check(job.index < JOBS, "job %u", job.index);
    }
}

static void look_and_reap(void) {
    for (uint32_t p = 0; p < PEERS; p++) {
        int pid, fd = shm_peer_pidfd(&r, p);
        if (fd >= 0)
            close(fd);
        shm_peer_look(&r, p, &pid);
        check(shm_peer_lives(&r, p) == 0, "a lock that nobody holds");
        shm_slot_reap(&r, p);
        shm_job_reap(&r, p, 3, "died");
        shm_peer_reaped(&r, p);
        check(shm_peer_look(&r, p, NULL) == SHM_PEER_FREE, "a peer that was reaped");
    }
}

static void recover(void) {
    uint32_t slots[SHM_SLOT_STATES], jobs[SHM_JOB_STATES], index, repaired = 0;
    shm_ctl was;
    while (shm_slot_repair(&r, &index, &was) || shm_job_repair(&r, &index, &was))
        repaired++;
    check(repaired <= SLOTS + JOBS, "repaired %u times", repaired);
    shm_slot_recover(&r);
    shm_job_recover(&r);
    look_and_reap();
    shm_slot_count(&r, slots);
    shm_job_count(&r, jobs);
    check(slots[SHM_SLOT_UPLOADING] + slots[SHM_SLOT_UPLOADED] + slots[SHM_SLOT_QUARANTINE] +
              slots[SHM_SLOT_WIPING] == 0, "after recovery slots are still the daemon's");
    uint32_t n_slots = 0, n_jobs = 0;
    for (int i = 0; i < SHM_SLOT_STATES; i++)
        n_slots += slots[i];
    for (int i = 0; i < SHM_JOB_STATES; i++)
        n_jobs += jobs[i];
    check(n_slots == SLOTS && n_jobs == JOBS,
          "after recovery %u of %u slots and %u of %u jobs are in a state that exists", n_slots,
          SLOTS, n_jobs, JOBS);
    check(slots[SHM_SLOT_CLAIMED] + slots[SHM_SLOT_FILLING] == 0, "claimed by nobody");
    check(jobs[SHM_JOB_FILLING] + jobs[SHM_JOB_PROVING] + jobs[SHM_JOB_FAILING] == 0, "jobs after recovery");
}

/* The private geometry, and what lies between the last record and the payloads. */
static void check_untouched(void) {
    for (uint32_t i = 0; i < SLOTS; i++)
        check(r.slot_offset[i] == r.payload_at + i * (uint64_t)SHM_PAGE && r.slot_bytes[i] == SHM_PAGE, "geometry");
    const uint8_t *gap = r.results + r.n_jobs * r.result_bytes, *end = r.base + r.payload_at;
    check(gap < end && *gap == 0 && memcmp(gap, gap + 1, (size_t)(end - gap) - 1) == 0, "the gap before the payloads");
}

int main(void) {
    uint64_t rng = seed_and_print(), rounds = number_from("GARBAGE_ROUNDS", is_short() ? 200 : 3000);
    world_create(&r, "garbage", (struct world_size){SLOTS, JOBS, PEERS, false});
    for (uint64_t i = 0; i < rounds && !failures; i++) {
        struct shm_job_ref ref;
        const struct shm_job_new job = {.priority = 1, .witness = "/w"};
        scribble_all(&rng);
        r.wipe = i % 16 == 0;
        for (int k = 0; k < 12; k++)
            daemon_moves(&rng);
        take_all();
        shm_job_add(&r, &job, shm_host_now_ns(), 0, &ref);
        recover();
        take_all();
        if (failures)
            printf("in round %llu\n", (unsigned long long)i);
    }
    check_untouched();
    world_remove();
    shm_region_close(&r);
    return finish("garbage in, no harm done");
}
