/*
 * Jobs, move by move: stale ids, records used again and foreign owners first, then the order of taking, failures,
 * reaping with its attempts, sweeping and recovery. RUN_VALGRIND
 */
#include "tests/shm_world.h"

static struct shm_region r;

static enum shm_job_state state_at(uint32_t i) {
    return (enum shm_job_state)shm_ctl_state(shm_load_acq(&r.jobs[i].ctl));
}

static struct shm_job_ref ref_at(uint32_t i) {
    return (struct shm_job_ref){i, shm_ctl_gen(shm_load_acq(&r.jobs[i].ctl))};
}

static struct shm_job_ref put(uint32_t i, enum shm_job_state state, unsigned owner) {
    uint64_t gen = ref_at(i).gen + 1;
    shm_store_rel(&r.jobs[i].ctl, shm_ctl_make(state, owner, gen));
    shm_store_lax(&r.jobs[i].attempts, 0);
    r.jobs[i].error[0] = 0;
    return (struct shm_job_ref){i, gen};
}

static void all_free(void) {
    for (uint32_t i = 0; i < r.n_jobs; i++)
        put(i, SHM_JOB_FREE, SHM_NOBODY);
    for (uint32_t i = 0; i < r.n_slots; i++)
        shm_store_rel(&r.slots[i].ctl, shm_ctl_make(SHM_SLOT_FREE, SHM_NOBODY, 1));
    for (uint32_t p = 0; p < r.n_peers; p++)
        shm_store_rel(&r.peers[p].job, 0);
}

/* A slot that holds the job, in a state of the daemon's side. */
static struct shm_slot_ref hold(uint64_t job, enum shm_slot_state state) {
    struct shm_slot_ref ref = {0, 0};
    const struct shm_slot_desc desc = {.job = job};
    check(shm_slot_claim(&r, 3, 0, 1, &ref) == 0 && shm_slot_fill(&r, 3, ref) == 0 &&
          shm_slot_commit(&r, 3, ref, &desc) == 0, "a slot for job %llu", (unsigned long long)job);
    shm_store_rel(&r.slots[ref.index].ctl, shm_ctl_make(state, SHM_NOBODY, ref.gen));
    return ref;
}

static int add(uint32_t priority, uint64_t now, uint64_t keep, struct shm_job_ref *ref) {
    const struct shm_job_new job = {.circuit = 5, .priority = priority, .uid = 77, .witness = "/some/where.wtns"};
    return shm_job_add(&r, &job, now, keep, ref);
}

enum move { TAKE, RETURN, FAIL_BY, PROVING, DONE, FAIL, CANCEL, REQUEUE, MOVES };
static const char *const move_names[] = {"take", "return", "fail_by", "proving", "done", "fail", "cancel", "requeue"};

static int do_move(enum move move, uint32_t peer, struct shm_job_ref ref) {
    switch (move) {
    case TAKE: return shm_job_take(&r, ref, peer);
    case RETURN: return shm_job_return(&r, ref, peer);
    case FAIL_BY: return shm_job_fail_by(&r, ref, peer, "bad witness");
    case PROVING: return shm_job_proving(&r, ref);
    case DONE: return shm_job_done(&r, ref);
    case FAIL: return shm_job_fail(&r, ref, "cannot");
    case CANCEL: return shm_job_cancel(&r, ref);
    default: return shm_job_requeue(&r, ref);
    }
}

/* The table of docs/PROTOCOL.md: what each move makes of each state (-1: refused). SYNTHESIS is peer 1's. */
static void check_table(void) {
    enum { X = -1, QU = SHM_JOB_QUEUED, SY = SHM_JOB_SYNTHESIS, PR = SHM_JOB_PROVING, DO = SHM_JOB_DONE,
           FA = SHM_JOB_FAILED, CA = SHM_JOB_CANCELLED };
    static const int after[SHM_JOB_STATES][MOVES] = {
        [SHM_JOB_FREE]      = {X, X, X, X, X, X, X, X},
        [SHM_JOB_FILLING]   = {X, X, X, X, X, X, X, X},
        [SHM_JOB_QUEUED]    = {SY, X, X, X, X, FA, CA, X},
        [SHM_JOB_SYNTHESIS] = {X, QU, FA, PR, X, FA, CA, QU},
        [SHM_JOB_PROVING]   = {X, X, X, X, DO, FA, CA, QU},
        [SHM_JOB_DONE]      = {X, X, X, X, X, X, X, X},
        [SHM_JOB_FAILED]    = {X, X, X, X, X, X, X, X},
        [SHM_JOB_CANCELLED] = {X, X, X, X, X, X, X, X},
        [SHM_JOB_FAILING]   = {X, X, X, X, X, X, X, X},
    };
    for (int s = 0; s < SHM_JOB_STATES; s++)
        for (int m = 0; m < MOVES; m++) {
            bool owned = s == SHM_JOB_SYNTHESIS || s == SHM_JOB_FAILING;
            struct shm_job_ref ref = put(0, (enum shm_job_state)s, owned ? 1 : SHM_NOBODY);
            int want = after[s][m], rc = do_move((enum move)m, 1, ref);
            check(rc == (want < 0 ? -ESTALE : 0) && (int)state_at(0) == (want < 0 ? s : want) &&
                  ref_at(0).gen == ref.gen,
                  "%s in state %d: %d, state %d", move_names[m], s, rc, state_at(0));
            if (want < 0)
                continue;
            if (want == SHM_JOB_FAILED)
                check(r.jobs[0].error[0] && r.jobs[0].times.done_ns, "FAILED without text or time");
            ref = put(0, (enum shm_job_state)s, owned ? 1 : SHM_NOBODY);
            r.jobs[0].times.done_ns = 12345;
            const struct shm_job_ref older = {0, ref.gen - 1}, newer = {0, ref.gen + 1}, beyond = {r.n_jobs, ref.gen};
            check(do_move((enum move)m, 1, older) == -ESTALE && do_move((enum move)m, 1, newer) == -ESTALE &&
                  do_move((enum move)m, 1, beyond) == -ESTALE, "%s with a stale reference", move_names[m]);
            check((int)state_at(0) == s && !r.jobs[0].error[0] && r.jobs[0].times.done_ns == 12345,
                  "%s that was refused left a trace", move_names[m]);
            if (m == RETURN || m == FAIL_BY)
                check(do_move((enum move)m, 0, ref) == -ESTALE && !r.jobs[0].error[0], "%s by another", move_names[m]);
        }
    all_free();
}

static void check_ids(void) {
    struct shm_job_ref ref, found;
    struct shm_job_view view;
    char longest[SHM_PATH_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    const struct shm_job_new too_long = {.witness = longest};
    check(shm_job_add(&r, &too_long, 1, 0, &ref) == -ENAMETOOLONG, "a path that is too long");
    longest[SHM_PATH_MAX - 1] = 0;
    check(shm_job_add(&r, &too_long, 1, 0, &ref) == 0 && shm_job_read(&r, ref, &view) == 0 &&
          strcmp(view.witness, longest) == 0, "the longest path");
    shm_job_cancel(&r, ref);
    check(add(1, 1, 0, &ref) == 0, "add");
    uint64_t id = shm_job_id(&r, ref);
    check(shm_job_find(&r, id, &found) == 0 && found.index == ref.index && found.gen == ref.gen, "find");
    check(shm_job_find(&r, id + r.n_jobs, &found) == -ENOENT && shm_job_find(&r, id - r.n_jobs, &found) == -ENOENT &&
          shm_job_find(&r, 0, &found) == -ENOENT && shm_job_find(&r, UINT64_MAX, &found) == -ENOENT, "ids of nothing");
    check(shm_job_read(&r, ref, &view) == 0 && view.id == id && view.circuit == 5 && view.priority == 1 &&
          view.uid == 77 && view.attempts == 0 && strcmp(view.witness, "/some/where.wtns") == 0, "view");
    all_free();
    check(shm_job_read(&r, ref, &view) == -ESTALE, "a view of a record that is another's");
    check(shm_job_state(&r, ref) == SHM_JOB_FREE, "state of a stale reference");
    check(shm_job_read(&r, (struct shm_job_ref){r.n_jobs, 1}, &view) == -ESTALE, "a view beyond the table");
}

/* A full table: live and unfetched jobs stay; fetched ones go first, then old ones, the earliest end first. */
static void check_records(void) {
    struct shm_job_ref ref[4], new;
    for (int i = 0; i < 4; i++)
        check(add(1, 1, 0, &ref[i]) == 0, "add %d", i);
    check(add(1, 1, 0, &new) == -EAGAIN, "a table full of live jobs");
    for (int i = 0; i < 3; i++)
        shm_job_cancel(&r, ref[i]);
    for (int i = 0; i < 3; i++)
        r.jobs[i].times.done_ns = 100 - 10 * (uint64_t)i;
    check(add(1, 150, 1000, &new) == -EAGAIN, "finished, but young and not fetched");
    shm_store_lax(&r.jobs[0].fetched, 1);
    check(add(1, 150, 1000, &new) == 0 && new.index == 0, "the fetched one, though it ended last");
    check(new.gen == ref[0].gen + 1 && shm_load_lax(&r.jobs[0].fetched) == 0, "a record used again is another job's");
    check(shm_job_cancel(&r, ref[0]) == -ESTALE, "the former job's id");
    check(add(1, 5000, 1000, &new) == 0 && new.index == 2, "the old one that ended first: %u", new.index);
    check(r.jobs[2].error[0] == 0 && r.jobs[2].times.done_ns == 0 && r.jobs[2].times.submitted_ns == 5000,
          "clean record");
    all_free();
}

static bool want_circuit(void *ctx, const struct shm_job_view *v) {
    return v->circuit != *(uint32_t *)ctx;
}

static void check_order(void) {
    static const uint32_t priorities[] = {2, 1, 0, 0}, want[] = {2, 3, 1, 0};
    struct shm_job_ref ref[4], best;
    struct shm_job_view view;
    check(shm_job_peek(&r, NULL, NULL, &best, NULL) == -EAGAIN, "peek into an empty table");
    for (int i = 0; i < 4; i++)
        add(priorities[i], 1, 0, &ref[i]);
    uint32_t five = 5;
    check(shm_job_peek(&r, want_circuit, &five, &best, NULL) == -EAGAIN, "peek at what is not wanted");
    for (int i = 0; i < 4; i++) {
        check(shm_job_peek(&r, NULL, NULL, &best, &view) == 0 && best.index == ref[want[i]].index &&
              view.id == shm_job_id(&r, best), "job %d in order: %u", i, best.index);
        check(shm_job_take(&r, best, 1) == 0 && shm_load_lax(&r.peers[1].job) == view.id, "take");
        check(shm_job_take(&r, best, 0) == -ESTALE && shm_load_lax(&r.peers[0].job) == 0, "take again");
    }
    all_free();
}

/* Death costs an attempt; at the last the job fails with the reason. A job that a slot holds is no dead worker's. */
static void check_reap(void) {
    struct shm_job_ref dead = put(0, SHM_JOB_SYNTHESIS, 1), held = put(1, SHM_JOB_SYNTHESIS, 1);
    const struct shm_job_ref other = put(2, SHM_JOB_SYNTHESIS, 2), failing = put(3, SHM_JOB_FAILING, 1);
    shm_store_rel(&r.peers[1].job, shm_job_id(&r, dead));
    shm_store_rel(&r.peers[2].job, shm_job_id(&r, other));
    hold(shm_job_id(&r, held), SHM_SLOT_READY);
    check(shm_job_reap(&r, 1, 3, "signal 9") == 2, "reaped");
    check(shm_job_state(&r, dead) == SHM_JOB_QUEUED && shm_load_lax(&r.jobs[0].attempts) == 1, "first death");
    check(shm_job_state(&r, held) == SHM_JOB_SYNTHESIS, "READY outlives its maker");
    check(shm_job_state(&r, other) == SHM_JOB_SYNTHESIS, "a living worker's job");
    check(shm_job_state(&r, failing) == SHM_JOB_QUEUED, "a failure that was never committed is tried again");
    for (uint32_t death = 2; death <= 3; death++) {
        check(shm_job_take(&r, dead, 1) == 0 && shm_job_reap(&r, 1, 3, "signal 9") == 1, "death %u", death);
        check(shm_load_lax(&r.jobs[0].attempts) == death, "attempts after death %u", death);
    }
    check(shm_job_state(&r, dead) == SHM_JOB_FAILED && strcmp(r.jobs[0].error, "signal 9") == 0, "the third death");
    all_free();
}

/* A job whose slot went to quarantine is nobody's: swept, but only once its worker works on something else. */
static void check_sweep(void) {
    const struct shm_job_ref job = put(0, SHM_JOB_SYNTHESIS, 1), by_daemon = put(1, SHM_JOB_FAILING, SHM_NOBODY);
    uint64_t id = shm_job_id(&r, job);
    shm_store_rel(&r.peers[1].job, id);
    check(shm_job_sweep(&r, 3, "bad seal") == 0, "a job that is worked on");
    shm_store_rel(&r.peers[1].job, 0);
    const struct shm_slot_ref slot = hold(id, SHM_SLOT_UPLOADED);
    check(shm_job_sweep(&r, 3, "bad seal") == 0, "a job that a slot holds");
    shm_store_rel(&r.slots[slot.index].ctl, shm_ctl_make(SHM_SLOT_QUARANTINE, 1, slot.gen));
    check(shm_job_sweep(&r, 3, "bad seal") == 1 && shm_job_state(&r, job) == SHM_JOB_QUEUED, "an orphan");
    check(shm_job_state(&r, by_daemon) == SHM_JOB_FAILING, "what the daemon writes itself");
    all_free();
}

static void check_settle_and_retry(void) {
    struct shm_job_ref job = put(0, SHM_JOB_PROVING, SHM_NOBODY);
    struct shm_slot_ref slot = hold(shm_job_id(&r, job), SHM_SLOT_UPLOADED);
    check(shm_job_retry(&r, job, slot) == 0 && shm_job_state(&r, job) == SHM_JOB_SYNTHESIS &&
          shm_slot_holds(&r, shm_job_id(&r, job), NULL), "a second try");
    struct shm_slot_desc desc;
    check(shm_slot_take(&r, NULL, NULL, &slot, &desc) == 0 && shm_job_proving(&r, job) == 0, "taken again");
    check(shm_job_settle(&r, job, slot) == 0 && shm_job_state(&r, job) == SHM_JOB_DONE &&
          !shm_slot_holds(&r, shm_job_id(&r, job), NULL), "settled");
    check(shm_job_retry(&r, job, slot) == -ESTALE && shm_job_state(&r, job) == SHM_JOB_DONE, "a retry of what is over");

    job = put(0, SHM_JOB_PROVING, SHM_NOBODY);
    slot = hold(shm_job_id(&r, job), SHM_SLOT_UPLOADED);
    slot.gen--;                                 /* as if a worker had claimed it */
    check(shm_job_retry(&r, job, slot) == -ESTALE && shm_job_state(&r, job) == SHM_JOB_QUEUED, "a retry without slot");

    job = put(0, SHM_JOB_CANCELLED, SHM_NOBODY);
    slot.gen++;
    check(shm_job_settle(&r, job, slot) == -ESTALE && shm_job_state(&r, job) == SHM_JOB_CANCELLED, "settled too late");
    check(shm_ctl_state(shm_load_acq(&r.slots[slot.index].ctl)) == SHM_SLOT_FREE, "the slot is released all the same");
    all_free();
}

static void check_recover(void) {
    const struct shm_job_ref held = put(0, SHM_JOB_PROVING, SHM_NOBODY), lost = put(1, SHM_JOB_PROVING, SHM_NOBODY);
    const struct shm_job_ref filling = put(2, SHM_JOB_FILLING, SHM_NOBODY);
    const struct shm_job_ref failing = put(3, SHM_JOB_FAILING, SHM_NOBODY);
    hold(shm_job_id(&r, held), SHM_SLOT_UPLOADED);
    shm_slot_recover(&r);
    check(shm_job_recover(&r) == 3, "recovered");
    check(shm_job_state(&r, held) == SHM_JOB_SYNTHESIS && shm_job_state(&r, lost) == SHM_JOB_QUEUED &&
          shm_job_state(&r, filling) == SHM_JOB_FREE && shm_job_state(&r, failing) == SHM_JOB_QUEUED, "states");
    uint32_t counts[SHM_JOB_STATES];
    shm_job_count(&r, counts);
    check(counts[SHM_JOB_QUEUED] == 2 && counts[SHM_JOB_SYNTHESIS] == 1 && counts[SHM_JOB_FREE] == 1, "counts");
    all_free();

    /* A daemon that died amid a retry or a quarantine leaves jobs that no slot holds. */
    const struct shm_job_ref orphan = put(0, SHM_JOB_SYNTHESIS, SHM_NOBODY), done = put(1, SHM_JOB_SYNTHESIS, 1);
    const struct shm_job_ref working = put(2, SHM_JOB_SYNTHESIS, 2), half = put(3, SHM_JOB_FAILING, 2);
    shm_store_rel(&r.peers[2].job, shm_job_id(&r, working));
    check(shm_job_recover(&r) == 3 && shm_job_state(&r, orphan) == SHM_JOB_QUEUED &&
          shm_job_state(&r, done) == SHM_JOB_QUEUED && shm_job_state(&r, working) == SHM_JOB_SYNTHESIS &&
          shm_job_state(&r, half) == SHM_JOB_QUEUED, "orphans after recovery");
    all_free();
    put(0, (enum shm_job_state)15, 2);          /* nonsense is for shm_job_repair */
    check(shm_job_recover(&r) == 0 && shm_job_sweep(&r, 3, "") == 0, "nonsense");
    all_free();
}

static void check_repair(void) {
    uint32_t index;
    shm_ctl was;
    for (unsigned s = 0; s < 16; s++) {
        struct shm_job_ref ref = put(1, (enum shm_job_state)s, 2), found;
        bool bad = s >= SHM_JOB_STATES;
        check(shm_job_repair(&r, &index, &was) == bad && (int)state_at(1) == (bad ? (int)SHM_JOB_FREE : (int)s),
              "repair of state %u: %u", s, state_at(1));
        if (bad)
            check(index == 1 && shm_ctl_state(was) == s && shm_job_find(&r, shm_job_id(&r, ref), &found) == -ENOENT,
                  "the id of before");
        check(!shm_job_repair(&r, &index, &was), "repaired twice");
    }
    all_free();
}

/* The largest ids that can be sent are still made and found; a record beyond them is not used, another one is. */
static void check_largest(void) {
    enum { JOBS = 40000 };                      /* more than 2^15: 48 bits of generation do not fit in 63 bits of id */
    const uint64_t last = INT64_MAX / JOBS - 1;
    const struct shm_job_new job = {.witness = "/w"};
    struct shm_region big;
    struct shm_job_ref ref, found;
    world_create(&big, "job4", (struct world_size){1, JOBS, 2, false});
    for (uint32_t i = 0; i < JOBS; i++)
        shm_store_rel(&big.jobs[i].ctl, shm_ctl_make(SHM_JOB_FREE, SHM_NOBODY, last + i % 3));
    check(shm_job_add(&big, &job, 1, 0, &ref) == -EAGAIN, "a job whose id cannot be sent");
    shm_store_rel(&big.jobs[9].ctl, shm_ctl_make(SHM_JOB_FREE, SHM_NOBODY, last - 1));
    check(shm_job_add(&big, &job, 1, 0, &ref) == 0 && ref.index == 9 && ref.gen == last, "the last job");
    uint64_t id = shm_job_id(&big, ref);
    check(id <= INT64_MAX && shm_job_find(&big, id, &found) == 0 && found.index == 9 && found.gen == last,
          "the last id: %llu", (unsigned long long)id);
    check(shm_job_take(&big, ref, 1) == 0 && shm_job_return(&big, ref, 1) == 0 && shm_job_cancel(&big, ref) == 0,
          "its life");
    for (id = UINT64_MAX; id > UINT64_MAX - 9; id--)
        check(shm_job_find(&big, id, &found) == -ENOENT, "id %llu", (unsigned long long)id);
    world_remove();
    shm_region_close(&big);
}

/* The generation after the last of 48 bits is 0, as for slots. */
static void check_wrap(void) {
    struct shm_job_ref ref, found;
    shm_store_rel(&r.jobs[0].ctl, shm_ctl_make(SHM_JOB_FREE, SHM_NOBODY, UINT64_MAX >> 16));
    check(add(1, 1, 0, &ref) == 0 && ref.index == 0 && ref.gen == 0 &&
          shm_job_find(&r, shm_job_id(&r, ref), &found) == 0, "after the last generation: %llu",
          (unsigned long long)ref.gen);
    check(shm_job_take(&r, ref, 1) == 0 && shm_job_proving(&r, ref) == 0 && shm_job_done(&r, ref) == 0, "its life");
    all_free();
}

/* A region that is gone and one made after it: no id of the one is an id of the other. */
static void check_next_region(void) {
    enum { JOBS = 70 };
    uint64_t ids[JOBS];
    struct shm_region a, b;
    struct shm_job_ref ref, found;
    world_create(&a, "job3", (struct world_size){1, 4, 1, false});
    for (int i = 0; i < JOBS; i++) {
        const struct shm_job_new job = {.witness = "/w"};
        check(shm_job_add(&a, &job, (uint64_t)i + 2, 0, &ref) == 0 && shm_job_cancel(&a, ref) == 0, "job %d", i);
        shm_store_lax(&a.jobs[ref.index].fetched, 1);
        ids[i] = shm_job_id(&a, ref);
        check(ids[i] < 1ull << 53, "id %llu is too large for a double", (unsigned long long)ids[i]);
    }
    world_remove();
    shm_region_close(&a);
    /* More than the 18 uses of a record, at one a millisecond. */
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    world_create(&b, "job3", (struct world_size){1, 4, 1, false});
    for (int i = 0; i < 4; i++) {
        const struct shm_job_new job = {.witness = "/w"};
        check(shm_job_add(&b, &job, 1, 0, &ref) == 0, "job %d", i);
    }
    for (int i = 0; i < JOBS; i++)
        check(shm_job_find(&b, ids[i], &found) == -ENOENT, "job %llu of a region that is gone",
              (unsigned long long)ids[i]);
    world_remove();
    shm_region_close(&b);
}

int main(void) {
    world_create(&r, "job", (struct world_size){2, 4, 4, false});
    check_table();
    check_ids();
    check_records();
    check_order();
    check_reap();
    check_sweep();
    check_settle_and_retry();
    check_recover();
    check_repair();
    check_wrap();
    world_remove();
    shm_region_close(&r);
    check_largest();
    check_next_region();
    return finish("jobs: every move from every state");
}
