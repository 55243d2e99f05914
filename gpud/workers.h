/*
 * gpud/workers.h: the processes that fill slots. The daemon starts its own, takes over those that a daemon before it
 * started, and accepts foreign ones; when one dies it takes back what that one held and starts another.
 *
 * A process is believed dead when its pidfd says so or its lock on the region is free, never because time has passed:
 * one that is over its time limit is killed first. All functions are for the main thread.
 */
#ifndef GPUD_WORKERS_H
#define GPUD_WORKERS_H

#include "gpud/options.h"
#include "gpud/work.h"
#include "shm/host.h"

/* A living process. */
struct gpud_member {
    bool used, child;           /* child: its exit status is ours to read */
    bool foreign;               /* a producer that is none of our programs */
    int pid, pidfd;             /* pidfd -1: it lives in another PID namespace */
    int seat;                   /* -1: none: foreign, or one too many */
    int peer;                   /* entry in the peer table; -1: not joined yet */
    uint64_t started_ns;
    uint64_t job, job_since_ns; /* what it works on and since when, as seen from here; 0: nothing */
    bool overdue;               /* killed for its time limit */
};

/* A place for one worker of ours. */
struct gpud_seat {
    uint32_t node;
    int member;                 /* -1: empty */
    unsigned failures;          /* deaths in a row, each soon after its start */
    uint64_t next_start_ns;
};

struct gpud_workers {
    struct shm_region *region;
    struct shm_waiter *waiter;
    const struct gpud_options *options;
    uint64_t tag;               /* of the event of member 0; member i has tag + i */
    char program[SHM_PATH_MAX], socket[GPUD_SOCKET_PATH_MAX];
    uint32_t n_members, n_seats;
    struct gpud_member *members;
    struct gpud_seat *seats;
    int *eventfds;              /* by peer: what wakes it, -1: nothing known */
    bool stopping;
    uint64_t restarts;
    char last_death[160];
};

/* nodes: n numbers; options->workers seats on each. program: path of pinwheel-synth. */
int gpud_workers_open(struct gpud_workers *w, struct shm_region *region, struct shm_waiter *waiter, uint64_t tag,
                      const struct gpud_options *options, const int *nodes, uint32_t n, const char *program,
                      const char *socket, struct gpud_error *err);
/* Closes descriptors; the processes live on. */
void gpud_workers_close(struct gpud_workers *w);

/* Looks at the peer table for joins and (all_alive) deaths, at time limits and at empty seats. Returns when it must
 * look again at the latest (UINT64_MAX: no need). A worker that cannot be started counts as one that died at once. */
uint64_t gpud_workers_scan(struct gpud_workers *w, bool all_alive);

/* The event of a member: it is dead. Its slots and jobs are taken back. */
void gpud_workers_died(struct gpud_workers *w, uint32_t member);

/* Wakes every sleeping peer: a job is queued, a slot came free, or the service stops. */
void gpud_workers_ring(struct gpud_workers *w);

/* Whether a process is the peer that it says it is. */
bool gpud_workers_is(struct gpud_workers *w, uint32_t peer, int pid);
/* A peer introduces itself on the socket. Takes eventfd (-1: none) over. 0, or -1 where pid is not that peer's. */
int gpud_workers_hello(struct gpud_workers *w, uint32_t peer, int pid, int eventfd);

/* Seats whose worker has joined, and how many processes of ours (not foreign) there are. */
uint32_t gpud_workers_joined(const struct gpud_workers *w);
uint32_t gpud_workers_own(const struct gpud_workers *w);
/* Most deaths in a row of any seat. */
unsigned gpud_workers_failures(const struct gpud_workers *w);

/* Kills every process of ours (SIGKILL). */
void gpud_workers_kill(struct gpud_workers *w);

#endif
