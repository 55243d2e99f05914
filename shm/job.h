/*
 * shm/job.h: the job table. A job's id is its generation and its index; a stale id is refused.
 *
 *   FREE -> FILLING -> QUEUED                daemon
 *   QUEUED -> SYNTHESIS(w)                   worker w, holding a claimed slot
 *   SYNTHESIS(w) -> FAILING(w) -> FAILED     worker w: bad witness; error written in between
 *   SYNTHESIS(w) -> QUEUED                   worker w gives up without fault (leaving); or daemon: w died, attempts + 1
 *   SYNTHESIS -> PROVING                     daemon, when it takes the READY slot
 *   PROVING -> DONE                          daemon; result written before
 *   PROVING -> SYNTHESIS | QUEUED            a restarted daemon: its slot is READY again, or was lost
 *   QUEUED | SYNTHESIS | PROVING -> CANCELLED              daemon
 *   QUEUED | SYNTHESIS | PROVING -> FAILING -> FAILED      daemon; error written in between
 *   FAILING -> QUEUED                        whoever was writing died: attempts + 1 if it was a worker
 *   DONE | FAILED | CANCELLED -> FILLING     daemon, when a new job needs the record
 *
 * A record can be used again while a worker still reads it (its job was cancelled). So a worker reads a job only
 * through shm_job_read, and writes only in states that name it.
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

/* Generations begin where the clock stood when the region was made (region.c), so an id of a region that is gone, by a
 * reboot or `down`, is no id of the next one. Ids are positive and have at most 63 bits. */
uint64_t shm_job_id(const struct shm_region *r, struct shm_job_ref ref);
/* 0, or -ENOENT where the id's record is of another generation by now (or never was). */
int shm_job_find(struct shm_region *r, uint64_t id, struct shm_job_ref *ref);

/* Adds a job, QUEUED. A record that is FREE, else the finished and fetched one that ended first, else the finished one
 * that ended first and more than keep_ns ago. 0; -EAGAIN the table is full of live or unfetched jobs;
 * -ENAMETOOLONG. The caller then rings the workers. */
int shm_job_add(struct shm_region *r, const struct shm_job_new *j, uint64_t now_ns, uint64_t keep_ns,
                struct shm_job_ref *ref);

/* A job that a producer submits for itself has '@' and the producer's peer index in place of a witness: nobody else
 * takes it, and it fails when that producer dies. */
enum { SHM_JOB_OWNER_MAX = 16 };
void shm_job_owner_text(char out[SHM_JOB_OWNER_MAX], uint32_t peer);
/* The peer index, or SHM_NOBODY where the job is anybody's. */
uint32_t shm_job_owner(const char *witness);

/* What a worker may know of a job: a copy. */
struct shm_job_view {
    uint64_t id, ticket;
    uint32_t circuit, priority, attempts, uid;
    char witness[SHM_PATH_MAX];
};
/* A consistent copy. 0, or -ESTALE where the record is another job's by now. */
int shm_job_read(struct shm_region *r, struct shm_job_ref ref, struct shm_job_view *view);

/* The QUEUED job first by priority, then ticket, that `want` (may be NULL) accepts, without taking it; view (may be
 * NULL) gets its copy. 0 or -EAGAIN. */
int shm_job_peek(struct shm_region *r, bool (*want)(void *ctx, const struct shm_job_view *j), void *ctx,
                 struct shm_job_ref *ref, struct shm_job_view *view);
/* QUEUED -> SYNTHESIS(peer). -ESTALE: someone else has it. Claim the slot first: a job taken without a slot waits where
 * another worker may have one. A peer works on one job at a time: shm_job_sweep takes a former one that it has not
 * committed, returned or failed for an orphan. */
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
/* The end of a good job: PROVING -> DONE, and only then its slot -> FREE: a daemon killed between the two leaves a job
 * that is over, never one without a slot. -ESTALE: the job was cancelled; the slot is released all the same. A slot
 * that a worker has claimed already is no error. */
int shm_job_settle(struct shm_region *r, struct shm_job_ref job, struct shm_slot_ref slot);
/* A second try of the same payload: PROVING -> SYNTHESIS and its UPLOADING | UPLOADED slot -> READY; 0. Where a worker
 * has claimed the slot meanwhile the job -> QUEUED; -ESTALE. */
int shm_job_retry(struct shm_region *r, struct shm_job_ref job, struct shm_slot_ref slot);
/* Orphans: jobs in SYNTHESIS or FAILING of a worker that does not work on them and that no slot holds (its slot went to
 * quarantine). attempts + 1, then QUEUED, or FAILED with `why` at max_attempts. Returns how many. Called after a
 * quarantine and again at the daemon's slow timer: a worker may just have been about to say that it is done. */
uint32_t shm_job_sweep(struct shm_region *r, uint32_t max_attempts, const char *why);
/* The same for a dead peer, after shm_slot_reap: nothing is its work any more. A job whose slot is READY or on the
 * device stays. */
uint32_t shm_job_reap(struct shm_region *r, uint32_t peer, uint32_t max_attempts, const char *why);
/* QUEUED jobs that a dead peer had submitted for itself -> FAILED. Returns how many. */
uint32_t shm_job_disown(struct shm_region *r, uint32_t peer, const char *why);
/* After adopting and shm_slot_recover, before any reaping: PROVING jobs whose slot is READY -> SYNTHESIS (the slot will
 * be taken again), other PROVING and orphans (see shm_job_sweep) -> QUEUED, FILLING -> FREE. Returns how many went
 * back. */
uint32_t shm_job_recover(struct shm_region *r);

/* As shm_slot_repair: one record in a state that does not exist becomes FREE, of a new generation. */
bool shm_job_repair(struct shm_region *r, uint32_t *index, shm_ctl *was);

enum shm_job_state shm_job_state(struct shm_region *r, struct shm_job_ref ref);     /* FREE where stale */
void shm_job_count(struct shm_region *r, uint32_t counts[SHM_JOB_STATES]);

#endif
