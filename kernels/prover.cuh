/*
 * kernels/prover.cuh: Groth16 keys on one device, and proofs made with them: six transforms and five sums.
 *
 * What proofs need lies in the device's workspace, for one proof at a time but for the inputs, which have a slot for
 * each proof in flight, so that the next one's upload runs while this one computes. A key has its own bytes: points,
 * tables of the transforms, and the list of variables with a finite point in B where it is kept compact. So jobs of
 * different keys follow each other on one device, and nothing is allocated for a proof.
 *
 * Three files: prover_plan.cu (what takes how much, no device needed), prover_key.cu (loading) and prover.cu (the
 * device and the chain of one proof).
 */
#ifndef KERNELS_PROVER_CUH
#define KERNELS_PROVER_CUH

#include <atomic>

#include "kernels/cuda.h"
#include "kernels/msm.cuh"
#include "kernels/ntt.cuh"

enum {
    PROVER_SETS = KRN_SET_B_INDEX,      /* A, B1, L, B2, H: enum krn_set */
    PROVER_SLOTS = 2,                   /* most proofs in flight */
    PROVER_STAGES = 2,                  /* buffers of streamed points, and of points on their way to a key: */
    PROVER_STAGING_BYTES = 64 << 20,
};

/* ---- what takes how much (prover_plan.cu) ---- */

/* What follows from a key's numbers and its form. */
struct prover_shape {
    enum krn_curve_id curve;
    uint32_t n_vars, n_public, n_b;
    int log_n;
    enum krn_cuda_mode mode;
    bool compact;                           /* B1 and B2 are n_b points */
    size_t tile;                            /* scalars at once */
    struct msm_shape largest[PROVER_SETS];  /* the largest shape that a set's buckets are for; the only one where */
    int copies[PROVER_SETS];                /* its bases are in more than one copy */
};

static inline int prover_is_g2(int set)
{
    return set == KRN_SET_B2;
}

/* Points of a set, each under a scalar; L has n_public + 1 infinities in front. */
static inline size_t prover_points(const struct prover_shape *s, int set)
{
    if (set == KRN_SET_H)
        return (size_t)1 << s->log_n;
    return s->compact && (set == KRN_SET_B1 || set == KRN_SET_B2) ? s->n_b : s->n_vars;
}

/* -EINVAL where the numbers cannot be a key's. */
int prover_shape_of(struct prover_shape *s, const struct krn_key *key, enum krn_cuda_mode mode, size_t tile,
                    char err[KRN_ERR_TEXT]);

/* A plan for these keys in a given form, whatever they take; room is what the budget leaves. For tests, too. */
int prover_plan_as(const struct krn_key *const keys[], unsigned n, enum krn_cuda_mode mode, unsigned slots, size_t tile,
                   uint64_t budget, struct krn_cuda_plan *plan, char err[KRN_ERR_TEXT]);

/* A key's bytes on the device. */
struct prover_places {
    uint8_t *bases[PROVER_SETS];
    uint32_t *b_index;
    void *tables;
};
/* Inputs of a proof. */
struct prover_inputs {
    uint8_t *w, *a, *b;
};
/* The workspace as a key's proofs use it. */
struct prover_work {
    uint8_t *h, *b_scalars;
    unsigned long long *row;                /* first row where c differs from a * b */
    uint8_t *stage[PROVER_STAGES];
    uint8_t *transforms;
    void *sorter, *buckets[PROVER_SETS], *sums, *scratch;
    int windows;                            /* bounds of the sorter */
    size_t n_buckets, scratch_bytes;
};

/* Each places its parts in `memory`, or only counts where that is NULL; returns bytes. */
size_t prover_place_key(const struct prover_shape *s, void *memory, struct prover_places *p);
size_t prover_place_inputs(const struct prover_shape *s, void *memory, struct prover_inputs *p);
size_t prover_place_work(const struct prover_shape *s, void *memory, struct prover_work *p);
/* Of points that are expanded at a time. */
size_t prover_load_bytes(const struct prover_shape *s);

/* ---- the device (prover.cu) ---- */

struct prover_device {
    int index;
    struct krn_cuda_plan plan;              /* all zero before prover_take */
    uint8_t *memory, *work, *load;          /* the workspace, and parts of it */
    struct msm_counters *seen;              /* page-locked */
    unsigned long long *row_seen;
    uint8_t *pinned;                        /* both, and results of jobs */
    uint8_t *staging[PROVER_STAGES];        /* page-locked, for points on their way to a key */
    cudaEvent_t staged[PROVER_STAGES];      /* its content has left */
    cudaStream_t copies, kernels, loads;
    cudaStream_t feed;                      /* fills a stage of streamed points, */
    cudaEvent_t full[PROVER_STAGES], empty[PROVER_STAGES];  /* which is full, or used up */
    int turn;
    cudaStream_t clock;                     /* never busy */
    struct msm_sums side;                   /* its stream and events serve all sums */
    uint64_t total;
    std::atomic<uint64_t> key_used, allocations, registrations, registered_bytes, host_copies, host_copied_bytes;
};

/* *d is set on success; current device: index. */
int prover_open(struct prover_device **d, int index, char err[KRN_ERR_TEXT]);
void prover_close(struct prover_device *d);
/* Takes the workspace of a plan, in place of the one before. No key may be loaded. */
int prover_take(struct prover_device *d, const struct krn_cuda_plan *plan, char err[KRN_ERR_TEXT]);
/* Bytes that are free, less a margin for what CUDA takes at the first launch of a kernel, and the workspace's. */
int prover_budget(struct prover_device *d, uint64_t *bytes, char err[KRN_ERR_TEXT]);
void prover_memory(const struct prover_device *d, struct krn_memory *m);

/* Page-locks host memory for all devices; 0, -EALREADY where another one of this process has done it, or -errno. */
int prover_register(struct prover_device *d, void *base, size_t bytes, unsigned flags);
void prover_unregister(struct prover_device *d, void *base, size_t bytes);

/* ---- keys (prover_key.cu) ---- */

struct prover_range {
    uint8_t *base;
    size_t bytes;
};

struct prover_key {
    struct prover_device *dev;
    struct prover_shape shape;
    struct krn_key key;                     /* borrowed; its vectors are read again only where they are streamed */
    void *memory;
    size_t bytes;
    struct prover_places at;
    struct ntt_tables tables;
    struct prover_work work;
    struct msm_sorter sorter;
    struct msm_sums sums[PROVER_SETS];
    struct prover_range locked[PROVER_SETS];    /* host memory that we page-locked, to stream from it */
    int n_locked;
};

/* See krn_backend.key_load; *key is set on success. */
int prover_load(struct prover_device *d, const struct krn_key *key, const struct krn_source *source,
                struct prover_key **loaded, char err[KRN_ERR_TEXT]);
void prover_unload(struct prover_key *k);

/* Queues the copy of points at .. at+count-1 of a set of the host's, gaps filled, to device memory at `to`. */
int prover_copy_points(const struct prover_key *k, int set, size_t at, size_t count, uint8_t *to, cudaStream_t stream,
                       char err[KRN_ERR_TEXT]);

/* ---- proofs (prover.cu) ---- */

/* A proof in flight: upload (by whoever begins it), start, check_c where c was sent, launch (all three by the one
 * thread that queues kernels on the device), finish (by whoever waits for it). */
struct prover_job {
    struct prover_key *key;
    struct prover_inputs in;
    void *results[PROVER_SETS];             /* page-locked: what the device leaves of a sum */
    struct msm_shape shape[PROVER_SETS];
    cudaEvent_t tie, begun, w_uploaded, uploaded, started, ready, transformed, summed[PROVER_SETS], done;
    cudaEvent_t stretch[2];                 /* kernels that run with no word from the host: begin, end */
    cudaEvent_t stretch_begin;              /* one of the above; not owned */
    uint64_t tie_ns;                        /* CLOCK_MONOTONIC at tie */
    double busy;
};

/* For slot `index` of d, after prover_take. */
int prover_job_open(struct prover_job *job, struct prover_device *d, int index, char err[KRN_ERR_TEXT]);
void prover_job_close(struct prover_job *job);

/* Queues the copy of w, then a and b. */
int prover_upload(struct prover_job *job, int index, struct prover_key *key, const struct krn_vectors *v,
                  char err[KRN_ERR_TEXT]);
/* The kernels that follow wait for w. */
int prover_start(struct prover_job *job, char err[KRN_ERR_TEXT]);
/* Copies c, waits, and checks it against a * b. KRN_OK, KRN_ROW_DIFFERS with *row, or -errno. */
int prover_check_c(struct prover_job *job, const uint8_t *c, uint64_t *row, char err[KRN_ERR_TEXT]);
/* Queues all kernels; waits for the device a few times on the way, to learn how many digits there are. */
int prover_launch(struct prover_job *job, char err[KRN_ERR_TEXT]);
/* Waits for the kernels; the last of the sums and the proof on the host. */
int prover_finish(struct prover_job *job, const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES],
                  struct krn_proof *proof, struct krn_times *times, char err[KRN_ERR_TEXT]);

#endif
