/*
 * shm/layout.h: every byte that processes share, and who writes it.
 *
 * Only offsets, ids and fixed-width integers stand here. A field's only writer is named beside it:
 *   [create]  the daemon that creates the region, before the magic; constant afterwards
 *   [daemon]  the daemon that holds the lock        [owner]  the process that the control word names
 *   [any]     whoever wins the compare-and-swap
 * A change here changes the asserts below, tests/shm_layout_test.c, SHM_LAYOUT_VERSION and docs/PROTOCOL.md.
 *
 * Trust: every mapper can write everything. The daemon reads a field once, into a local copy, and checks it; the
 * geometry that it uses is its own private copy (struct shm_region), never what stands in the region later.
 */
#ifndef SHM_LAYOUT_H
#define SHM_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_MAGIC 0x31304c4548574e50ull /* "PNWHEL01" */
#define SHM_LAYOUT_VERSION 2u

enum {
    SHM_LINE = 128,             /* one writer per pair of cache lines */
    SHM_PAGE = 2 << 20,         /* payloads are aligned to and sized in 2 MiB */
    SHM_MAX_PEERS = 4095,       /* owner index is 12 bits; 0xfff means nobody */
    SHM_MAX_NODES = 64,
    SHM_MAX_SLOTS = 4096,
    SHM_MAX_JOBS = 65536,
    SHM_MAX_CIRCUITS = 4096,
    SHM_INSTANCE_MAX = 32,
    SHM_PATH_MAX = 1024,
    SHM_ERROR_MAX = 472,
    SHM_NAME_MAX = 64,
    SHM_LOCK_DAEMON = 1,        /* OFD lock bytes of the region file */
    SHM_LOCK_PEER0 = 100,
};

/*
 * A control word: state (4 bits, low), owner (12), generation (48). Every move of a slot or a job is one
 * compare-and-swap of it, made in shm_slot_move / shm_job_move and nowhere else.
 */
typedef uint64_t shm_ctl;
#define SHM_NOBODY 0xfffu
#define SHM_ANY_NODE UINT32_MAX     /* a slot that is bound to no node: every worker's own */

/* ---- bell: one per process that sleeps; on it everyone else rings ---- */
struct shm_bell {
    _Atomic uint32_t value;     /* [any] add one, then look at asleep */
    _Atomic uint32_t asleep;    /* [owner] enum shm_bell_how while parked, 0 while awake */
    uint32_t pad[30];
};
static_assert(sizeof(struct shm_bell) == SHM_LINE, "a bell has its own lines");

/* ---- slot line ---- */
enum shm_slot_state {
    SHM_SLOT_FREE = 0,
    SHM_SLOT_CLAIMED,           /* a worker owns it, nothing written */
    SHM_SLOT_FILLING,           /* a worker writes its payload */
    SHM_SLOT_READY,             /* the commit point: payload, descriptor and seal are whole */
    SHM_SLOT_UPLOADING,         /* the daemon reads the payload */
    SHM_SLOT_UPLOADED,          /* the device has it; the content is kept until the job is DONE */
    SHM_SLOT_QUARANTINE,        /* READY with a bad seal; kept for inspection until the daemon restarts */
    SHM_SLOT_WIPING,            /* the daemon zeroes the payload, then FREE */
    SHM_SLOT_STATES
};

enum shm_slot_flag { SHM_SLOT_HAS_C = 1 };

/* What a READY slot holds. [owner] while FILLING. The vectors' places follow from the circuit. Copied by words, since a
 * worker may overwrite the line of an UPLOADED slot while the daemon reads it. */
struct shm_slot_desc {
    uint64_t job;               /* job id (generation and index) */
    uint64_t ticket;            /* the job's: age */
    uint32_t circuit;           /* catalogue index */
    uint32_t priority;          /* 0 high, 1 normal, 2 low */
    uint32_t n_vars, n_rows;    /* as the worker saw them; checked against the daemon's own circuit */
    uint32_t flags;             /* enum shm_slot_flag */
    uint32_t attempt;           /* of the job, 1 for the first */
    uint64_t started_ns, committed_ns;      /* CLOCK_MONOTONIC, of synthesis */
    uint32_t peer;              /* who filled it; for reports only */
    uint32_t slot_wait_us;      /* it had jobs in view and no slot for so long */
};

struct shm_slot_line {
    _Atomic shm_ctl ctl;        /* [any] */
    struct shm_slot_desc desc;  /* [owner] */
    uint64_t seal;              /* [owner] hash of desc and generation */
    uint64_t offset, bytes;     /* [create] payload in the region */
    uint32_t node, klass;       /* [create] */
    uint32_t pad[6];
};
static_assert(sizeof(struct shm_slot_desc) == 64, "desc");
static_assert(sizeof(struct shm_slot_line) == SHM_LINE, "a slot line is two cache lines");

/* ---- peer: a process that claims slots ---- */
enum shm_peer_state { SHM_PEER_FREE = 0, SHM_PEER_JOINING, SHM_PEER_LIVE, SHM_PEER_REAPING };

struct shm_peer {
    _Atomic uint64_t word;      /* [any] FREE -> JOINING by CAS, then [owner] LIVE, then [daemon] REAPING, FREE:
                                   state (low 32), pid (high 32) */
    uint32_t node;              /* [owner] NUMA node it claims from first */
    uint32_t kind;              /* [owner] 0 our worker, 1 foreign producer */
    uint64_t epoch;             /* [daemon] +1 at each reap */
    _Atomic uint64_t jobs_done, slots_other_node;   /* [owner] counters */
    _Atomic uint64_t job;       /* [owner] job id it works on: set before the take, 0 after READY;
                                 * [daemon] 0 once it is dead */
    uint64_t pad[10];
    struct shm_bell bell;       /* its own: rung when a job is queued or a slot comes free */
};
static_assert(sizeof(struct shm_peer) == 2 * SHM_LINE, "peer");

/* ---- job ---- */
enum shm_job_state {
    SHM_JOB_FREE = 0,
    SHM_JOB_FILLING,            /* the daemon writes the record */
    SHM_JOB_QUEUED,
    SHM_JOB_SYNTHESIS,          /* owner: the worker; its slot's READY hands it on */
    SHM_JOB_PROVING,            /* daemon */
    SHM_JOB_DONE,               /* proof and publics are in the result area */
    SHM_JOB_FAILED,             /* error says why */
    SHM_JOB_CANCELLED,
    SHM_JOB_FAILING,            /* owner writes error; not yet committed */
    SHM_JOB_STATES
};

/* Times of one job, CLOCK_MONOTONIC ns; phases in us. [daemon] */
struct shm_job_times {
    uint64_t submitted_ns, synth_started_ns, ready_ns, taken_ns, done_ns;
    uint64_t upload_ns, start_ns;   /* begin of the upload and of the computing; 0: the back end has no such clock */
    uint64_t verify_ns;             /* begin of the check */
    uint32_t upload_us, ntt_us, msm_a_us, msm_b1_us, msm_b2_us, msm_l_us, msm_h_us, finish_us, verify_us;
    uint32_t busy_us;               /* of the computing, in which kernels ran */
    uint32_t slot_wait_us;          /* of the time before synthesis: its worker had no slot for it */
    uint32_t device;                /* index */
    uint32_t peer, pid;             /* of the worker; pid 0: it is gone */
};

struct shm_job {
    _Atomic shm_ctl ctl;        /* [any] */
    uint64_t id;                /* [daemon] generation * n_jobs + index */
    uint64_t ticket;            /* [daemon] */
    uint32_t circuit;           /* [daemon] */
    uint32_t priority;          /* [daemon] */
    _Atomic uint32_t attempts;  /* [daemon] synthesis attempts that a death ended */
    _Atomic uint32_t fetched;   /* [daemon] a client has had the result */
    uint32_t n_public;          /* [daemon] in the result */
    uint32_t uid;               /* [daemon] of the client */
    struct shm_job_times times; /* [daemon] */
    char witness[SHM_PATH_MAX]; /* [daemon] path of a .wtns or an input (absolute), empty, or an owner: shm/job.h */
    char error[SHM_ERROR_MAX];  /* [owner] while FAILING */
};
static_assert(sizeof(struct shm_job) == 13 * SHM_LINE, "job records start on a cache line");

/* ---- catalogue: circuits by name. The region knows their names, files and sizes, not what they are. ---- */
struct shm_circuit {
    _Atomic uint32_t state;     /* [daemon] 0 free, 1 there; set last */
    uint32_t slot_class;        /* [daemon] class whose slots it uses */
    uint64_t slot_bytes;        /* [daemon] payload bytes it needs */
    uint64_t digest;            /* [daemon] of the key file */
    char name[SHM_NAME_MAX];    /* [daemon] */
    char zkey[SHM_PATH_MAX];    /* [daemon] absolute */
    char r1cs[SHM_PATH_MAX];    /* [daemon] absolute, or empty */
    uint64_t pad[5];
};
static_assert(sizeof(struct shm_circuit) == 17 * SHM_LINE, "circuit");

/* ---- superblock ---- */
struct shm_super {
    _Atomic uint64_t magic;     /* [create] last; cleared first */
    uint64_t layout_hash;       /* [create] of version, sizes and offsets of all structs here */
    uint8_t boot_id[16];        /* [create] */
    uint64_t bytes;             /* [create] of the whole region */
    char instance[SHM_INSTANCE_MAX];    /* [create] */
    uint32_t n_slots, n_peers, n_jobs, n_circuits, n_nodes, wipe;       /* [create] */
    uint64_t slots_at, peers_at, jobs_at, circuits_at, results_at, payload_at;  /* [create] offsets */
    uint64_t result_bytes;      /* [create] stride of a job's result: proof, then publics */
    uint64_t pad0[13];
    _Atomic uint64_t next_ticket;       /* [daemon] */
    _Atomic uint64_t starts;    /* [daemon] how many daemons have run on this region */
    _Atomic uint32_t daemon_pid;        /* [daemon] */
    _Atomic uint32_t stopping;  /* [daemon] `down` was asked for: workers leave */
    uint64_t pad1[13];
    struct shm_bell bell;       /* the daemon's */
};
static_assert(offsetof(struct shm_super, next_ticket) == 2 * SHM_LINE, "what changes has lines of its own");
static_assert(offsetof(struct shm_super, bell) == 3 * SHM_LINE, "so has the bell");
static_assert(sizeof(struct shm_super) == 4 * SHM_LINE, "superblock");

#endif
