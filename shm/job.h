/*
 * shm/job.h: the job table. A job's id is its generation and its index; a stale id is refused.
 *
 *   FREE -> FILLING -> QUEUED                daemon
 *   QUEUED -> SYNTHESIS(w)                   worker w, holding a claimed slot
 *   SYNTHESIS(w) -> FAILED                   worker w: bad witness; error written before
 *   SYNTHESIS(w) -> QUEUED                   worker w gives up without fault (leaving); or daemon: w died, attempts + 1
 *   SYNTHESIS -> PROVING                     daemon, when it takes the READY slot
 *   PROVING -> DONE | FAILED                 daemon; result or error written before
 *   PROVING -> SYNTHESIS | QUEUED            a restarted daemon: its slot is READY again, or was lost
 *   QUEUED | SYNTHESIS | PROVING -> CANCELLED, FAILED     daemon
 *   DONE | FAILED | CANCELLED -> FREE        daemon, when a new job needs the record
 */
#ifndef SHM_JOB_H
#define SHM_JOB_H

#include "shm/slot.h"

struct shm_job_ref {
    uint32_t index;
    uint64_t gen;
};

struct shm_job_new {
    uint32_t circuit, priority, uid;
    const char *witness;
};

uint64_t shm_job_id(const struct shm_region *r, struct shm_job_ref ref);
/* 0, or -ENOENT where the id's record is of another generation by now. */
int shm_job_find(struct shm_region *r, uint64_t id, struct shm_job_ref *ref);

/* Adds a job. A record that is FREE, else the oldest finished and fetched one, else the oldest finished one older than
 * keep_ns. 0; -EAGAIN the table is full of live or unfetched jobs; -ENAMETOOLONG. */
int shm_job_add(struct shm_region *r, const struct shm_job_new *j, uint64_t now_ns, uint64_t keep_ns, struct shm_job_ref *ref);

/* The QUEUED job first by priority, then ticket, that `want` (may be NULL) accepts, without taking it. 0 or -EAGAIN. */
int shm_job_peek(struct shm_region *r, bool (*want)(void *ctx, const struct shm_job *j), void *ctx, struct shm_job_ref *ref);
/* QUEUED -> SYNTHESIS(peer). -ESTALE: someone else has it. */
int shm_job_take(struct shm_region *r, struct shm_job_ref ref, uint32_t peer);
/* By the owning worker: SYNTHESIS(peer) -> QUEUED, -> FAILED with text. -ESTALE: it was cancelled or reaped. */
int shm_job_return(struct shm_region *r, struct shm_job_ref ref, uint32_t peer);
int shm_job_fail_by(struct shm_region *r, struct shm_job_ref ref, uint32_t peer, const char *text);

/* By the daemon. -ESTALE where the job is in no state from which the move is allowed. */
int shm_job_proving(struct shm_region *r, struct shm_job_ref ref);
int shm_job_done(struct shm_region *r, struct shm_job_ref ref);     /* the caller wrote the result before */
int shm_job_fail(struct shm_region *r, struct shm_job_ref ref, const char *text);
int shm_job_cancel(struct shm_region *r, struct shm_job_ref ref);
int shm_job_requeue(struct shm_region *r, struct shm_job_ref ref);          /* SYNTHESIS | PROVING -> QUEUED */
/* Jobs in SYNTHESIS of a dead peer that no slot holds: attempts + 1, then QUEUED, or FAILED with `why` at max_attempts.
 * Returns how many. */
uint32_t shm_job_reap(struct shm_region *r, uint32_t peer, uint32_t max_attempts, const char *why);
/* After adopting and shm_slot_recover: PROVING jobs whose slot is READY -> SYNTHESIS (the slot will be taken again),
 * others -> QUEUED. FILLING -> FREE. Returns how many went back. */
uint32_t shm_job_recover(struct shm_region *r);

enum shm_job_state shm_job_state(struct shm_region *r, struct shm_job_ref ref);     /* FREE where stale */
void shm_job_count(struct shm_region *r, uint32_t counts[8]);

#endif
