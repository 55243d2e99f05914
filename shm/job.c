#include "shm/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/atomic.h"
#include "shm/host.h"
#include "shm/mutant.h"

/* ---- the one transition function ---- */

#define TO(state) (1u << SHM_JOB_##state)

/* The table of docs/PROTOCOL.md; what it does not name cannot happen. */
static const uint16_t allowed[SHM_JOB_STATES] = {
    [SHM_JOB_FREE] = TO(FILLING),
    [SHM_JOB_FILLING] = TO(QUEUED) | TO(FREE),
    [SHM_JOB_QUEUED] = TO(SYNTHESIS) | TO(CANCELLED) | TO(FAILING),
    [SHM_JOB_SYNTHESIS] = TO(QUEUED) | TO(PROVING) | TO(CANCELLED) | TO(FAILING),
    [SHM_JOB_PROVING] = TO(DONE) | TO(SYNTHESIS) | TO(QUEUED) | TO(CANCELLED) | TO(FAILING),
    [SHM_JOB_FAILING] = TO(FAILED) | TO(QUEUED) | TO(FAILING),
    [SHM_JOB_DONE] = TO(FILLING),
    [SHM_JOB_FAILED] = TO(FILLING),
    [SHM_JOB_CANCELLED] = TO(FILLING),
};

static bool is_in(shm_ctl c, unsigned states) {
    return states >> shm_ctl_state(c) & 1;
}

/* Moves the job if it still is as `from` says. Filling a record opens a new generation; every other move keeps it.
 * Acquire and release pair with the next move of the same word, as for slots. */
static bool shm_job_move(struct shm_job *j, shm_ctl from, enum shm_job_state state, unsigned owner) {
    if (shm_ctl_state(from) >= SHM_JOB_STATES || !(allowed[shm_ctl_state(from)] >> state & 1))
        return false;
    shm_ctl to = shm_ctl_make(state, owner, state == SHM_JOB_FILLING ? shm_ctl_next_gen(from) : shm_ctl_gen(from));
    if (SHM_MUTANT == SHM_MUTANT_NO_CAS) {
        bool same = shm_load_acq(&j->ctl) == from;
        if (same)
            shm_store_rel(&j->ctl, to);
        return same;
    }
    return shm_cas(&j->ctl, &from, to);
}

/* Moves a job that a reference names, out of one of `states`, whose owner is `owner` (SHM_NOBODY: whoever). */
static int move_ref(struct shm_region *r, struct shm_job_ref ref, unsigned states, unsigned owner,
                    enum shm_job_state to, unsigned new_owner) {
    if (ref.index >= r->n_jobs)
        return -ESTALE;
    struct shm_job *j = &r->jobs[ref.index];
    for (;;) {
        shm_ctl c = shm_load_acq(&j->ctl);      /* pairs with shm_job_move */
        if (shm_ctl_gen(c) != ref.gen || !is_in(c, states) || (owner != SHM_NOBODY && shm_ctl_owner(c) != owner))
            return -ESTALE;
        if (shm_job_move(j, c, to, new_owner))
            return 0;
    }
}

/* ---- ids and copies ---- */

uint64_t shm_job_id(const struct shm_region *r, struct shm_job_ref ref) {
    return ref.gen * r->n_jobs + ref.index;
}

int shm_job_find(struct shm_region *r, uint64_t id, struct shm_job_ref *ref) {
    *ref = (struct shm_job_ref){(uint32_t)(id % r->n_jobs), id / r->n_jobs};
    shm_ctl c = shm_load_acq(&r->jobs[ref->index].ctl);         /* pairs with the move to QUEUED */
    return shm_ctl_gen(c) == ref->gen && !is_in(c, TO(FREE) | TO(FILLING)) ? 0 : -ENOENT;
}

/* The fields before `times`, as words; the control word is not among them. */
struct head {
    uint64_t id, ticket;
    uint32_t circuit, priority, attempts, fetched, n_public, uid;
};
enum { HEAD_WORDS = sizeof(struct head) / 8, PATH_WORDS = SHM_PATH_MAX / 8 };
static_assert(offsetof(struct shm_job, id) == 8 && offsetof(struct shm_job, times) == 8 + sizeof(struct head), "head");
static_assert(offsetof(struct shm_job, uid) == 8 + offsetof(struct head, uid), "head ends with uid");

int shm_job_read(struct shm_region *r, struct shm_job_ref ref, struct shm_job_view *view) {
    if (ref.index >= r->n_jobs)
        return -ESTALE;
    const struct shm_job *j = &r->jobs[ref.index];
    struct head head;
    uint64_t witness[PATH_WORDS];
    shm_words_load_acq(&head, &j->id, HEAD_WORDS);
    shm_words_load_acq(witness, j->witness, PATH_WORDS);
    shm_ctl c = shm_load_acq(&j->ctl);          /* pairs with the move to FILLING that comes before any write */
    if (shm_ctl_gen(c) != ref.gen || is_in(c, TO(FREE) | TO(FILLING)))
        return -ESTALE;
    *view = (struct shm_job_view){.id = head.id, .ticket = head.ticket, .circuit = head.circuit,
                                  .priority = head.priority, .attempts = head.attempts, .uid = head.uid};
    memcpy(view->witness, witness, sizeof view->witness);
    view->witness[SHM_PATH_MAX - 1] = 0;
    return 0;
}

/* ---- adding ---- */

static uint64_t ended_ns(const struct shm_job *j) {
    return j->times.done_ns ? j->times.done_ns : j->times.submitted_ns;
}

/* A stray write may have left a generation whose ids are too large to be sent. Such a record stays as it is. */
static bool can_name_next(const struct shm_region *r, shm_ctl c) {
    return shm_ctl_gen(c) < (uint64_t)INT64_MAX / r->n_jobs - 1;
}

/* A record for a new job: see shm_job_add. n_jobs where there is none. */
static uint32_t usable_record(struct shm_region *r, uint64_t now_ns, uint64_t keep_ns) {
    uint32_t fetched = r->n_jobs, old = r->n_jobs;
    for (uint32_t i = 0; i < r->n_jobs; i++) {
        const struct shm_job *j = &r->jobs[i];
        shm_ctl c = shm_load_acq(&j->ctl);      /* pairs with a worker's move to FAILED */
        if (!can_name_next(r, c))
            continue;
        if (shm_ctl_state(c) == SHM_JOB_FREE)
            return i;
        if (!is_in(c, TO(DONE) | TO(FAILED) | TO(CANCELLED)))
            continue;
        uint64_t end = ended_ns(j);
        if (shm_load_lax(&j->fetched)) {
            if (fetched == r->n_jobs || end < ended_ns(&r->jobs[fetched]))
                fetched = i;
        } else if (now_ns > end && now_ns - end > keep_ns) {
            if (old == r->n_jobs || end < ended_ns(&r->jobs[old]))
                old = i;
        }
    }
    return fetched != r->n_jobs ? fetched : old;
}

static void write_record(struct shm_region *r, struct shm_job_ref ref, const struct shm_job_new *new, uint64_t now_ns) {
    struct shm_job *j = &r->jobs[ref.index];
    struct head head = {.id = shm_job_id(r, ref), .circuit = new->circuit, .priority = new->priority, .uid = new->uid};
    head.ticket = shm_add_lax(&r->super->next_ticket, 1) + 1;
    uint64_t witness[PATH_WORDS] = {0};
    memcpy(witness, new->witness, strlen(new->witness));
    shm_words_store_rel(&j->id, &head, HEAD_WORDS);
    shm_words_store_rel(j->witness, witness, PATH_WORDS);
    memset(&j->times, 0, sizeof j->times);
    memset(j->error, 0, sizeof j->error);
    j->times.submitted_ns = now_ns;
}

int shm_job_add(struct shm_region *r, const struct shm_job_new *new, uint64_t now_ns, uint64_t keep_ns,
                struct shm_job_ref *ref) {
    if (strlen(new->witness) >= SHM_PATH_MAX)
        return -ENAMETOOLONG;
    for (;;) {
        uint32_t i = usable_record(r, now_ns, keep_ns);
        if (i == r->n_jobs)
            return -EAGAIN;
        struct shm_job *j = &r->jobs[i];
        shm_ctl c = shm_load_acq(&j->ctl);
        if (!shm_job_move(j, c, SHM_JOB_FILLING, SHM_NOBODY))                   /* model: job_fill */
            continue;
        *ref = (struct shm_job_ref){i, shm_ctl_next_gen(c)};
        write_record(r, *ref, new, now_ns);
        return move_ref(r, *ref, TO(FILLING), SHM_NOBODY, SHM_JOB_QUEUED, SHM_NOBODY);  /* model: job_queue */
    }
}

/* ---- worker ---- */

struct rank {
    uint64_t ticket;
    uint32_t circuit, priority;
};
static_assert(offsetof(struct shm_job, circuit) == offsetof(struct shm_job, ticket) + 8, "rank is two words");

static struct rank rank_of(const struct shm_job *j) {
    struct rank rank;
    shm_words_load_acq(&rank, &j->ticket, 2);   /* only orders; shm_job_read looks again */
    return rank;
}

static bool before(struct rank a, struct rank b) {
    return a.priority != b.priority ? a.priority < b.priority : a.ticket < b.ticket;
}

int shm_job_peek(struct shm_region *r, bool (*want)(void *ctx, const struct shm_job_view *j), void *ctx,
                 struct shm_job_ref *ref, struct shm_job_view *view) {
    struct rank best = {0};
    bool found = false;
    for (uint32_t i = 0; i < r->n_jobs; i++) {
        shm_ctl c = shm_load_acq(&r->jobs[i].ctl);      /* pairs with the move to QUEUED */
        if (shm_ctl_state(c) != SHM_JOB_QUEUED)
            continue;
        struct rank rank = rank_of(&r->jobs[i]);
        struct shm_job_ref here = {i, shm_ctl_gen(c)};
        struct shm_job_view v;
        if ((found && !before(rank, best)) || shm_job_read(r, here, &v) != 0 || (want && !want(ctx, &v)))
            continue;
        found = true;
        best = rank;
        *ref = here;
        if (view)
            *view = v;
    }
    return found ? 0 : -EAGAIN;
}

/* What a worker works on, for shm_job_sweep. Release: pairs with the sweep's load. */
static void set_work(struct shm_region *r, uint32_t peer, uint64_t id) {
    shm_store_rel(&r->peers[peer].job, id);
}

int shm_job_take(struct shm_region *r, struct shm_job_ref ref, uint32_t peer) {
    set_work(r, peer, shm_job_id(r, ref));
    int rc = move_ref(r, ref, TO(QUEUED), SHM_NOBODY, SHM_JOB_SYNTHESIS, peer);         /* model: job_take */
    if (rc != 0)
        set_work(r, peer, 0);
    return rc;
}

int shm_job_return(struct shm_region *r, struct shm_job_ref ref, uint32_t peer) {
    int rc = move_ref(r, ref, TO(SYNTHESIS), peer, SHM_JOB_QUEUED, SHM_NOBODY);         /* model: job_return */
    set_work(r, peer, 0);
    return rc;
}

/* FAILING(owner) -> FAILED with the text, by that owner. */
static int commit_failure(struct shm_region *r, struct shm_job_ref ref, unsigned owner, const char *text) {
    struct shm_job *j = &r->jobs[ref.index];
    size_t n = strnlen(text, SHM_ERROR_MAX - 1);
    memcpy(j->error, text, n);
    j->error[n] = 0;
    j->times.done_ns = shm_host_now_ns();
    return move_ref(r, ref, TO(FAILING), owner, SHM_JOB_FAILED, SHM_NOBODY);            /* model: job_failed */
}

int shm_job_fail_by(struct shm_region *r, struct shm_job_ref ref, uint32_t peer, const char *text) {
    int rc = move_ref(r, ref, TO(SYNTHESIS), peer, SHM_JOB_FAILING, peer);              /* model: job_failing */
    if (rc == 0)
        rc = commit_failure(r, ref, peer, text);
    set_work(r, peer, 0);
    return rc;
}

/* ---- daemon ---- */

int shm_job_proving(struct shm_region *r, struct shm_job_ref ref) {
    return move_ref(r, ref, TO(SYNTHESIS), SHM_NOBODY, SHM_JOB_PROVING, SHM_NOBODY);    /* model: job_proving */
}

int shm_job_done(struct shm_region *r, struct shm_job_ref ref) {
    if (shm_job_state(r, ref) != SHM_JOB_PROVING)
        return -ESTALE;
    r->jobs[ref.index].times.done_ns = shm_host_now_ns();
    return move_ref(r, ref, TO(PROVING), SHM_NOBODY, SHM_JOB_DONE, SHM_NOBODY);         /* model: job_done */
}

int shm_job_fail(struct shm_region *r, struct shm_job_ref ref, const char *text) {
    int rc = move_ref(r, ref, TO(QUEUED) | TO(SYNTHESIS) | TO(PROVING), SHM_NOBODY, SHM_JOB_FAILING, SHM_NOBODY);
    return rc == 0 ? commit_failure(r, ref, SHM_NOBODY, text) : rc;                     /* model: job_failing */
}

int shm_job_cancel(struct shm_region *r, struct shm_job_ref ref) {
    int rc = move_ref(r, ref, TO(QUEUED) | TO(SYNTHESIS) | TO(PROVING), SHM_NOBODY, SHM_JOB_CANCELLED, SHM_NOBODY);
    if (rc == 0)                                                                        /* model: job_cancel */
        r->jobs[ref.index].times.done_ns = shm_host_now_ns();
    return rc;
}

int shm_job_requeue(struct shm_region *r, struct shm_job_ref ref) {
    const unsigned states = TO(SYNTHESIS) | TO(PROVING);
    return move_ref(r, ref, states, SHM_NOBODY, SHM_JOB_QUEUED, SHM_NOBODY);    /* model: job_requeue */
}

int shm_job_settle(struct shm_region *r, struct shm_job_ref job, struct shm_slot_ref slot) {
    if (SHM_MUTANT == SHM_MUTANT_FREE_FIRST)
        shm_slot_release(r, slot);
    int rc = shm_job_done(r, job);
    if (SHM_MUTANT != SHM_MUTANT_FREE_FIRST)
        shm_slot_release(r, slot);
    return rc;
}

int shm_job_retry(struct shm_region *r, struct shm_job_ref job, struct shm_slot_ref slot) {
    int rc = move_ref(r, job, TO(PROVING), SHM_NOBODY, SHM_JOB_SYNTHESIS, SHM_NOBODY);  /* model: job_retry */
    if (rc != 0)
        return rc;
    rc = shm_slot_requeue(r, slot);
    if (rc != 0)
        shm_job_requeue(r, job);
    return rc;
}

/* One attempt has died. The count is written after the move: a daemon killed in between forgets one, and no job fails
 * with fewer deaths than max_attempts. */
static bool end_attempt(struct shm_region *r, uint32_t index, shm_ctl seen, uint32_t max_attempts, const char *why) {
    struct shm_job *j = &r->jobs[index];
    uint32_t attempts = shm_load_lax(&j->attempts) + 1;
    if (attempts < max_attempts) {
        if (!shm_job_move(j, seen, SHM_JOB_QUEUED, SHM_NOBODY))                         /* model: job_reap */
            return false;
        shm_store_lax(&j->attempts, attempts);
        return true;
    }
    if (!shm_job_move(j, seen, SHM_JOB_FAILING, SHM_NOBODY))                            /* model: job_failing */
        return false;
    shm_store_lax(&j->attempts, attempts);
    return commit_failure(r, (struct shm_job_ref){index, shm_ctl_gen(seen)}, SHM_NOBODY, why) == 0;
}

/* Whether the worker that a job's control word names works on it. */
static bool is_worked_on(struct shm_region *r, shm_ctl c, uint64_t id) {
    unsigned owner = shm_ctl_owner(c);
    /* Pairs with set_work, commit. */
    return owner < r->n_peers && id != 0 && shm_load_acq(&r->peers[owner].job) == id;
}

uint32_t shm_job_sweep(struct shm_region *r, uint32_t max_attempts, const char *why) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_jobs; i++) {
        shm_ctl c = shm_load_acq(&r->jobs[i].ctl);      /* pairs with job_take: the worker's `job` is seen */
        bool by_daemon = shm_ctl_state(c) == SHM_JOB_FAILING && shm_ctl_owner(c) == SHM_NOBODY;
        if (!is_in(c, TO(SYNTHESIS) | TO(FAILING)) || by_daemon)
            continue;
        uint64_t id = shm_job_id(r, (struct shm_job_ref){i, shm_ctl_gen(c)});
        /* In this order: a worker that commits makes READY visible before it says that it works on nothing. */
        if (is_worked_on(r, c, id) || (shm_ctl_state(c) == SHM_JOB_SYNTHESIS && shm_slot_holds(r, id, NULL)))
            continue;
        n += end_attempt(r, i, c, max_attempts, why);
    }
    return n;
}

uint32_t shm_job_reap(struct shm_region *r, uint32_t peer, uint32_t max_attempts, const char *why) {
    set_work(r, peer, 0);
    return shm_job_sweep(r, max_attempts, why);
}

void shm_job_owner_text(char out[SHM_JOB_OWNER_MAX], uint32_t peer) {
    snprintf(out, SHM_JOB_OWNER_MAX, "@%u", peer);
}

uint32_t shm_job_owner(const char *witness) {
    char *end;
    if (witness[0] != '@')
        return SHM_NOBODY;
    unsigned long peer = strtoul(witness + 1, &end, 10);
    return *end == 0 && end != witness + 1 && peer < SHM_MAX_PEERS ? (uint32_t)peer : SHM_NOBODY;
}

uint32_t shm_job_disown(struct shm_region *r, uint32_t peer, const char *why) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_jobs; i++) {
        struct shm_job_ref ref = {i, shm_ctl_gen(shm_load_acq(&r->jobs[i].ctl))};
        struct shm_job_view view;
        if (shm_job_state(r, ref) == SHM_JOB_QUEUED && shm_job_read(r, ref, &view) == 0 &&
            shm_job_owner(view.witness) == peer)
            n += shm_job_fail(r, ref, why) == 0;
    }
    return n;
}

/* What a job becomes when the daemon that had it is dead. What a worker has, living or dead, stays. */
static enum shm_job_state recovered(struct shm_region *r, uint32_t index, shm_ctl c) {
    uint64_t id = shm_job_id(r, (struct shm_job_ref){index, shm_ctl_gen(c)});
    switch (shm_ctl_state(c)) {
    case SHM_JOB_FILLING:
        return SHM_JOB_FREE;
    case SHM_JOB_SYNTHESIS:     /* handed on by a slot; where it is gone the daemon died amid a retry or a quarantine */
        return is_worked_on(r, c, id) || shm_slot_holds(r, id, NULL) ? SHM_JOB_SYNTHESIS : SHM_JOB_QUEUED;
    case SHM_JOB_FAILING:
        return is_worked_on(r, c, id) ? SHM_JOB_FAILING : SHM_JOB_QUEUED;
    case SHM_JOB_PROVING:
        return shm_slot_holds(r, id, NULL) ? SHM_JOB_SYNTHESIS : SHM_JOB_QUEUED;
    default:
        return (enum shm_job_state)shm_ctl_state(c);
    }
}

static bool recover_one(struct shm_region *r, uint32_t index) {
    struct shm_job *j = &r->jobs[index];
    shm_ctl c = shm_load_acq(&j->ctl);
    enum shm_job_state state = recovered(r, index, c);
    bool back = state != SHM_JOB_FREE && state != (enum shm_job_state)shm_ctl_state(c);
    if (state != (enum shm_job_state)shm_ctl_state(c))
        back &= shm_job_move(j, c, state, SHM_NOBODY);                                  /* model: job_recover */
    return back;
}

uint32_t shm_job_recover(struct shm_region *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_jobs; i++)
        n += recover_one(r, i);
    return n;
}

bool shm_job_repair(struct shm_region *r, uint32_t *index, shm_ctl *was) {
    for (*index = 0; *index < r->n_jobs; ++*index) {
        shm_ctl c = *was = shm_load_acq(&r->jobs[*index].ctl);
        if (shm_ctl_state(c) >= SHM_JOB_STATES &&
            shm_cas(&r->jobs[*index].ctl, &c, shm_ctl_make(SHM_JOB_FREE, SHM_NOBODY, shm_ctl_next_gen(c))))
            return true;
    }
    return false;
}

/* ---- looking ---- */

enum shm_job_state shm_job_state(struct shm_region *r, struct shm_job_ref ref) {
    if (ref.index >= r->n_jobs)
        return SHM_JOB_FREE;
    shm_ctl c = shm_load_acq(&r->jobs[ref.index].ctl);  /* pairs with the move: the result or error is whole */
    bool known = shm_ctl_gen(c) == ref.gen && shm_ctl_state(c) < SHM_JOB_STATES;
    return known ? (enum shm_job_state)shm_ctl_state(c) : SHM_JOB_FREE;
}

void shm_job_count(struct shm_region *r, uint32_t counts[SHM_JOB_STATES]) {
    memset(counts, 0, SHM_JOB_STATES * sizeof *counts);
    for (uint32_t i = 0; i < r->n_jobs; i++) {
        unsigned state = shm_ctl_state(shm_load_lax(&r->jobs[i].ctl));
        if (state < SHM_JOB_STATES)
            counts[state]++;
    }
}
