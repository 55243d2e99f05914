/*
 * kernels/msm.cuh: multi-scalar multiplication on the device, host side of the interface.
 *
 * sum of s_i P_i by buckets (Pippenger), in four steps that share one workspace:
 *
 *   digits       scalars -> signed digits -> (bucket, point) pairs sorted by bucket, and a list of tasks: once for all
 *                base sets under the same scalars
 *   accumulate   bucket sums of one base set, XYZZ + affine, one task a thread
 *   reduce       bucket sums -> a few hundred points, by running sums and a tree over the bits of the bucket number
 *   combine      these on the host: one doubling a bit of the scalar
 *
 * Large inputs go through digits and accumulate in tiles; the buckets stay. Results are affine and canonical, hence
 * the same bytes whatever order the device summed in.
 */
#ifndef KERNELS_MSM_CUH
#define KERNELS_MSM_CUH

#include "kernels/device.cuh"

enum {
    MSM_MIN_BITS = 6, MSM_MAX_BITS = 22,
    MSM_PLAIN_BITS = 20,            /* most for bases in one copy: a bucket set for each digit takes memory */
    MSM_MAX_WINDOWS = 43,           /* 255 / 6 rounded up */
    MSM_TASK = 256,                 /* most pairs that one thread adds up */
    MSM_THREADS_LOG = 17,           /* tasks that fill a device, as a power of two */
    MSM_SMALL = 32,                 /* partial sums of a bucket that one thread adds up */
    MSM_CHUNK = 2048,               /* and that one block does */
    MSM_SCRATCH_SLOTS = 128,        /* points that a thread keeps in affine rounds */
    MSM_SCRATCH_THREADS = 132 * 12 * 128,   /* and threads that do at once: whole waves at 2, 3, 4 or 6 blocks */
};

/* How scalars become digits. Digit j of c bits, signed, counts for 2^(c j). Of `windows` digits, digit j goes with
 * copy j / sets of the bases, which is the point times 2^(c sets (j / sets)), and into bucket set j % sets. One copy:
 * sets = windows; as many copies as digits: sets = 1. */
struct msm_shape {
    int bits;           /* c */
    int windows, sets;
};

static inline int msm_copies(const struct msm_shape *s)
{
    return (s->windows + s->sets - 1) / s->sets;
}

static inline size_t msm_buckets(const struct msm_shape *s)
{
    return (size_t)s->sets << (s->bits - 1);
}

/* Scalars are taken as s or r - s, whichever is smaller: this many bits. */
static inline int msm_scalar_bits(enum krn_curve_id curve)
{
    return curve == KRN_BN254 ? 253 : 254;
}

/* One bit more than the number needs, so that the topmost digit never carries. */
static inline int msm_windows(enum krn_curve_id curve, int bits)
{
    return msm_scalar_bits(curve) / bits + 1;
}

/* The cheapest shape for bases in one copy, words[k] scalars being of k 32-bit words, among those of at most max_bits
 * whose pairs surely fit in pairs_max. */
struct msm_shape msm_choose(enum krn_curve_id curve, const uint32_t words[9], int max_bits, size_t pairs_max);

/* The shape for n scalars of full length. */
struct msm_shape msm_largest(enum krn_curve_id curve, size_t n);

/* The shape for n scalars of full length over bases in at most `copies` copies. */
struct msm_shape msm_expanded(enum krn_curve_id curve, size_t n, int copies);

struct msm_task {
    uint32_t start, size;       /* pairs start .. start+size-1 */
    uint32_t to;                /* bucket, or MSM_TO_SLOT | slot of a partial sum */
    uint32_t unused;
};

struct msm_record {             /* a bucket whose sum came in parts */
    uint32_t slot, count, to;
    uint32_t unused;
};

#define MSM_TO_SLOT 0x80000000u

/* What the host reads back between steps. */
struct msm_counters {
    uint32_t words[9];                      /* scalars by number of 32-bit words */
    uint32_t too_large;                     /* scalars not below r */
    uint32_t pairs, slots, slots2, small, chunks, joins;
    uint32_t bin[MSM_TASK + 1], place[MSM_TASK + 1];
};

/* The part of the workspace that does not depend on the group. */
struct msm_sorter {
    enum krn_curve_id curve;
    size_t tile;                            /* most scalars at once */
    size_t pairs_max;
    size_t buckets_max;
    uint32_t *keys[2], *values[2];          /* value: index of the point, sign in bit 31 */
    void *temp;
    size_t temp_bytes;
    uint32_t *first, *end;                  /* per bucket */
    struct msm_task *tasks;
    struct msm_record *small, *chunks, *joins;
    struct msm_counters *counters;          /* device */
    struct msm_counters *seen;              /* host, page-locked */
    /* Waits for the stream in place of cudaStreamSynchronize, where set: for who measures what the device did. */
    int (*wait)(void *ctx, cudaStream_t stream, char err[KRN_ERR_TEXT]);
    void *wait_ctx;
    /* Of the last digits call: */
    struct msm_shape shape;
    uint32_t pairs, task_size;
    const uint32_t *sorted;                 /* values in order of the bucket */
};

/* Scalars at once for a workspace that serves n of them. */
size_t msm_tile(size_t n);
/* Bounds that follow from the task size that msm_digits takes. */
size_t msm_slots_max(size_t pairs, size_t buckets);
/* Carves `bytes` at a multiple of 256 off memory, counting in *used; memory NULL only counts. */
static inline void *msm_carve(void *memory, size_t *used, size_t bytes)
{
    void *p = memory ? (uint8_t *)memory + *used : NULL;
    *used += (bytes + 255) & ~(size_t)255;
    return p;
}

/* For up to `tile` scalars of `windows` digits at once, in up to `buckets` buckets. */
size_t msm_sorter_bytes(enum krn_curve_id curve, size_t tile, int windows, size_t buckets);
int msm_sorter_init(struct msm_sorter *s, enum krn_curve_id curve, size_t tile, int windows, size_t buckets,
                    void *memory, struct msm_counters *seen, char err[KRN_ERR_TEXT]);

/* Counts the scalars by length into s->seen->words and waits for it. -ERANGE where one is not below r. */
int msm_count(struct msm_sorter *s, const void *scalars, size_t n, cudaStream_t stream, char err[KRN_ERR_TEXT]);

/* The same without a look, where all n scalars are below r and as good as random. */
void msm_count_full(struct msm_sorter *s, size_t n);

/* Sorts the digits of n <= s->tile plain scalars, which msm_count has seen (with others, if there are more tiles).
 * Scalar i belongs to base first + i of each copy, copies lying `stride` points apart. Waits once, for the number of
 * pairs. */
int msm_digits(struct msm_sorter *s, const struct msm_shape *shape, const void *scalars, size_t n, size_t first,
               size_t stride, cudaStream_t stream, char err[KRN_ERR_TEXT]);

/* ---- per group ---- */

/* The part of the workspace that one base set in flight needs. */
struct msm_sums {
    void *buckets, *slots, *slots2;
    void *tree[2];
    void *scratch;          /* for affine rounds, may be shared by sums on one stream; none: XYZZ throughout */
    size_t scratch_bytes;
    size_t affine_min;      /* pairs from which on they are used */
    cudaStream_t side;      /* half of them run here, so that one half's inversions hide behind the other's rest */
    cudaEvent_t fork, join;
    void *result;           /* host, page-locked: what reduce leaves */
};

struct msm_group {
    size_t affine_bytes, xyzz_bytes;
    size_t affine_min;      /* pairs from which on affine rounds pay; SIZE_MAX: never */
    /* Bucket sums of the sorted pairs; `fresh`: the buckets are empty and need not be read. */
    int (*accumulate)(const struct msm_sorter *s, const struct msm_sums *m, const void *bases, bool fresh,
                      cudaStream_t stream, char err[KRN_ERR_TEXT]);
    /* Queues the reduction of the buckets and the copy of what remains to m->result, for msm_finish. */
    int (*reduce)(const struct msm_shape *shape, const struct msm_sums *m, cudaStream_t stream,
                  char err[KRN_ERR_TEXT]);
    /* copies - 1 more copies behind the n points at bases, each 2^shift times the one before. */
    int (*expand)(void *bases, size_t n, int copies, int shift, void *scratch, size_t scratch_bytes,
                  cudaStream_t stream, char err[KRN_ERR_TEXT]);
};

extern const struct msm_group msm_bn254_g1, msm_bn254_g2, msm_bls381_g1, msm_bls381_g2;

static inline const struct msm_group *msm_group_of(enum krn_curve_id curve, int g2)
{
    if (curve == KRN_BN254)
        return g2 ? &msm_bn254_g2 : &msm_bn254_g1;
    return g2 ? &msm_bls381_g2 : &msm_bls381_g1;
}

/* Buckets to a thread in the first step of reduce, as a power of two, and the elements of a set that remain. */
static inline int msm_run_log(const struct msm_shape *s)
{
    int log = 1;
    while (log < 5 && log < s->bits - 1 && (msm_buckets(s) >> log) > (1u << 16))
        log++;
    return log;
}

static inline int msm_tree_log(const struct msm_shape *s)
{
    return s->bits - 1 - msm_run_log(s);
}

/* On the host, after the stream was waited for: the sum, affine, Montgomery. */
void msm_finish(enum krn_curve_id curve, int g2, const struct msm_shape *shape, const struct msm_sums *m, void *affine);

/* For shapes up to `largest`, device bytes of an msm_sums: its buckets, and partial sums and the tree, which sums that
 * take turns on one stream may share, as they may the scratch; and of its page-locked result, for any shape. */
size_t msm_buckets_bytes(const struct msm_group *g, const struct msm_shape *largest);
size_t msm_sums_bytes(const struct msm_group *g, size_t tile, const struct msm_shape *largest);
size_t msm_result_bytes(const struct msm_group *g);
size_t msm_scratch_bytes(const struct msm_group *g, size_t tile, const struct msm_shape *largest);
/* Places all but scratch and the side stream, which the caller adds. */
void msm_sums_place(struct msm_sums *m, const struct msm_group *g, size_t tile, const struct msm_shape *largest,
                    void *buckets, void *memory, void *result);
/* Makes side, fork and join; close destroys them. */
int msm_side_open(struct msm_sums *m, char err[KRN_ERR_TEXT]);
void msm_side_close(struct msm_sums *m);

/* ---- one sum at a time ---- */

/* A workspace for sums of up to n terms in one group, all of it allocated in open. */
struct msm {
    enum krn_curve_id curve;
    int g2;
    size_t n_max;
    struct msm_shape largest;
    struct msm_sorter sorter;
    struct msm_sums sums;
    void *memory, *pinned;
    size_t bytes;
};

/* Allocates krn_workspace_bytes (kernels/cuda.h). copies > 1: bases are expanded, msm_expand makes them so. -ENOMEM
 * with both numbers where memory is short. */
int msm_open(struct msm *m, enum krn_curve_id curve, int g2, size_t n, int copies, char err[KRN_ERR_TEXT]);
void msm_close(struct msm *m);

/* Fills copies 1 .. of bases, n points each, copy 0 being there. Uses the workspace. */
int msm_expand(struct msm *m, void *bases, size_t n, cudaStream_t stream, char err[KRN_ERR_TEXT]);

/* out (affine, Montgomery, host) = sum of n <= n_max terms; bases and plain scalars on the device, copies of bases
 * `stride` points apart. Waits for the stream. */
int msm_run(struct msm *m, const void *bases, size_t stride, const void *scalars, size_t n, void *out,
            cudaStream_t stream, char err[KRN_ERR_TEXT]);

#endif
