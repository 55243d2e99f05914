/*
 * synth/producer.h: a process that fills slots, from joining to leaving. Our worker stands on it, and so may any
 * program that computes witnesses itself: it takes jobs that were submitted without a witness file, and writes their
 * vectors (formats/payload.h) where synth_work.payload points.
 *
 * One thread calls it. Errors are -1 with one line in err. The process must not hand the mapping on to children.
 */
#ifndef SYNTH_PRODUCER_H
#define SYNTH_PRODUCER_H

#include "formats/error.h"
#include "shm/bell.h"
#include "shm/job.h"

enum synth_kind { SYNTH_WORKER = 0, SYNTH_FOREIGN = 1 };

struct synth_producer_options {
    const char *instance;
    const char *socket;         /* control socket; NULL: none, then an eventfd sleeper is woken by its belt only */
    uint32_t node;              /* NUMA node to claim from first */
    enum synth_kind kind;
    enum shm_backend bell;
};

struct synth_producer {
    struct shm_region region;
    uint32_t peer, node;
    struct shm_waiter *waiter;
    char waiter_why[160];
    char socket[108];           /* "": none */
    int link;                   /* connection to the daemon, -1: none now */
    int daemon_eventfd;         /* what wakes the daemon, -1: its bell alone does */
};

/* A job in hand, and a claimed slot for it. */
struct synth_work {
    struct shm_job_ref job;
    struct shm_slot_ref slot;
    struct shm_job_view view;   /* a copy of the job */
    uint8_t *payload;
    uint64_t payload_bytes;
    uint64_t started_ns;
    uint64_t slot_wait_ns;      /* how long jobs were in view before and no slot was free */
};

/* What the filled slot holds. */
struct synth_filled {
    uint32_t n_vars, n_rows;    /* of the circuit, as the producer knows it */
    bool has_c;                 /* c was written too */
};

typedef bool synth_want(void *ctx, const struct shm_job_view *job);

int synth_producer_join(struct synth_producer *p, const struct synth_producer_options *o, struct fmt_error *err);
void synth_producer_leave(struct synth_producer *p);    /* holding no work */

enum synth_next { SYNTH_GOT_WORK, SYNTH_NOTHING, SYNTH_LEAVE };

/* Waits up to timeout_ms (-1: as long as it takes) for a job that want (NULL: any) accepts and a slot for it.
 * SYNTH_LEAVE: the service stops or the region is gone. A daemon that is away is waited for. */
enum synth_next synth_producer_next(struct synth_producer *p, synth_want *want, void *ctx, int timeout_ms,
                                    struct synth_work *work);

/* Exactly one of these ends a work. 0, or -1 where the job was cancelled or taken away meanwhile (nothing is left to
 * do). */
int synth_producer_commit(struct synth_producer *p, struct synth_work *work, const struct synth_filled *filled);
int synth_producer_fail(struct synth_producer *p, struct synth_work *work, const char *text);  /* the job's own fault */
int synth_producer_give_back(struct synth_producer *p, struct synth_work *work);    /* nobody's: it is queued again */

/* Whether the service stops: a look for long computations. */
bool synth_producer_stopping(const struct synth_producer *p);

#endif
