/*
 * kernels/prover.cu: Groth16 on one device. See kernels/prover.cuh; the mathematics stand in docs/ARCHITECTURE.md.
 */
#include "kernels/prover.cuh"

#include <new>

#include "kernels/cuda.h"

/* ---- device ---- */

/* The first row where c differs from a * b, all Montgomery. */
template <class F> static __global__ void check_kernel(const F *a, const F *b, const F *c, uint32_t n,
                                                       unsigned long long *row)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    F x, y;
    load16(&x, a + i);
    load16(&y, b + i);
    f_mul(&x, &x, &y);
    load16(&y, c + i);
    if (!f_eq(&x, &y))
        atomicMin(row, (unsigned long long)i);
}

/* ---- host ---- */

static int is_g2(int set)
{
    return set == PROVER_B2;
}

static size_t set_points(const struct prover *p, int set)
{
    return set == PROVER_H ? (size_t)1 << p->log_n : p->n_vars;
}

/* Streamed bases: points of a stage, so many that the copy of one is longer than the work around it. */
enum { STAGE_POINTS = 1 << 22, EXPAND_COPIES = 16 };

static size_t most_scalars(const struct prover *p)
{
    const size_t rows = (size_t)1 << p->log_n;
    return rows > p->n_vars ? rows : p->n_vars;
}

/* The largest shape that a set's buckets are made for. */
static struct msm_shape largest_shape(const struct prover *p, int set)
{
    return p->expanded[set].bits ? p->expanded[set] : msm_largest(p->curve, set_points(p, set));
}

static int copies(const struct prover *p, int set)
{
    return p->expanded[set].bits ? msm_copies(&p->expanded[set]) : 1;
}

static void choose_shapes(struct prover *p)
{
    const size_t most = most_scalars(p);
    const size_t tile = p->tile ? p->tile : p->mode == PROVER_STREAMED ? (size_t)STAGE_POINTS : SIZE_MAX;
    p->tile = msm_tile(most < tile ? most : tile);
    for (int set = 0; set < PROVER_SETS; set++) {
        const bool expand = p->mode == PROVER_EXPANDED || (p->mode == PROVER_H_EXPANDED && set == PROVER_H);
        p->expanded[set] = {};
        if (expand)
            p->expanded[set] = msm_expanded(p->curve, set_points(p, set), EXPAND_COPIES);
    }
}

/* Digits and buckets that the sorter must hold. */
static void sorter_bounds(const struct prover *p, int *windows, size_t *buckets)
{
    *windows = 0;
    *buckets = 0;
    for (int set = 0; set < PROVER_SETS; set++) {
        const struct msm_shape shape = largest_shape(p, set);
        *windows = shape.windows > *windows ? shape.windows : *windows;
        *buckets = msm_buckets(&shape) > *buckets ? msm_buckets(&shape) : *buckets;
    }
}

/* Carves everything off p->memory, or only counts where that is NULL. */
static size_t layout(struct prover *p)
{
    size_t used = 0, buckets;
    int windows;
    void *m = p->memory;
    const size_t n = (size_t)1 << p->log_n, g2_bytes = msm_group_of(p->curve, 1)->affine_bytes;
    for (int set = 0; set < PROVER_SETS; set++) {
        const size_t point = msm_group_of(p->curve, is_g2(set))->affine_bytes;
        if (p->mode != PROVER_STREAMED)
            p->bases[set] = (uint8_t *)msm_carve(m, &used, point * set_points(p, set) * (size_t)copies(p, set));
    }
    for (int i = 0; i < 2 && p->mode == PROVER_STREAMED; i++)
        p->stage[i] = (uint8_t *)msm_carve(m, &used, p->tile * g2_bytes);
    p->tables.twiddles = msm_carve(m, &used, ntt_tables_bytes(p->log_n));
    p->work = (uint8_t *)msm_carve(m, &used, 2 * KRN_FR_BYTES * n);
    p->h = (uint8_t *)msm_carve(m, &used, KRN_FR_BYTES * n);
    p->row = (unsigned long long *)msm_carve(m, &used, sizeof *p->row);
    for (int i = 0; i < PROVER_SLOTS; i++) {
        p->slots[i].w = (uint8_t *)msm_carve(m, &used, KRN_FR_BYTES * (size_t)p->n_vars);
        p->slots[i].a = (uint8_t *)msm_carve(m, &used, KRN_FR_BYTES * n);
        p->slots[i].b = (uint8_t *)msm_carve(m, &used, KRN_FR_BYTES * n);
    }
    sorter_bounds(p, &windows, &buckets);
    p->sorter_memory = msm_carve(m, &used, msm_sorter_bytes(p->curve, p->tile, windows, buckets));
    p->scratch_bytes = 0;
    for (int set = 0; set < PROVER_SETS; set++) {
        const struct msm_group *g = msm_group_of(p->curve, is_g2(set));
        const struct msm_shape shape = largest_shape(p, set);
        const size_t scratch = msm_scratch_bytes(g, p->tile, &shape);
        p->sums_memory[set] = msm_carve(m, &used, msm_sums_bytes(g, p->tile, &shape));
        p->scratch_bytes = scratch > p->scratch_bytes ? scratch : p->scratch_bytes;
    }
    p->scratch = msm_carve(m, &used, p->scratch_bytes);
    return used;
}

static int open_sums(struct prover *p, char err[KRN_ERR_TEXT])
{
    uint8_t *pinned = (uint8_t *)p->pinned + sizeof(struct msm_counters) + 256;
    size_t buckets;
    int windows;
    sorter_bounds(p, &windows, &buckets);
    int status = msm_sorter_init(&p->sorter, p->curve, p->tile, windows, buckets, p->sorter_memory,
                                 (struct msm_counters *)p->pinned, err);
    for (int set = 0; set < PROVER_SETS && status == 0; set++) {
        const struct msm_group *g = msm_group_of(p->curve, is_g2(set));
        const struct msm_shape shape = largest_shape(p, set);
        msm_sums_place(&p->sums[set], g, p->tile, &shape, p->sums_memory[set], pinned);
        status = msm_side_open(&p->sums[set], err);
        if (g->affine_min != SIZE_MAX) {
            p->sums[set].scratch = p->scratch;      /* the sums take turns on one stream */
            p->sums[set].scratch_bytes = p->scratch_bytes;
        }
        pinned += msm_result_bytes(g);
    }
    return status;
}

static size_t pinned_bytes(enum krn_curve_id curve)
{
    size_t bytes = sizeof(struct msm_counters) + 256;
    for (int set = 0; set < PROVER_SETS; set++)
        bytes += msm_result_bytes(msm_group_of(curve, is_g2(set)));
    return bytes;
}

static void describe(struct prover *p, const struct krn_key *key)
{
    *p = {};
    p->curve = key->curve;
    p->n_vars = key->n_vars;
    p->n_public = key->n_public;
    p->log_n = (int)key->log_domain;
    p->key = *key;
}

size_t prover_bytes(const struct krn_key *key, enum prover_mode mode)
{
    struct prover p;
    describe(&p, key);
    p.mode = mode;
    choose_shapes(&p);
    return layout(&p);
}

extern "C" size_t krn_cuda_key_bytes(const struct krn_key *key, int streamed)
{
    return prover_bytes(key, streamed ? PROVER_STREAMED : PROVER_RESIDENT);
}

enum prover_mode prover_choose(const struct krn_key *key, size_t room)
{
    for (int mode = PROVER_EXPANDED; mode < PROVER_STREAMED; mode++) {
        const size_t limit = mode < PROVER_RESIDENT ? room / 2 : room;
        if (prover_bytes(key, (enum prover_mode)mode) <= limit)
            return (enum prover_mode)mode;
    }
    return PROVER_STREAMED;
}

/* The host's points of a set, and how many infinities stand for before them. */
static const uint8_t *host_points(const struct prover *p, int set, size_t *gap)
{
    const uint8_t *const from[PROVER_SETS] = {p->key.a, p->key.b1, p->key.l, p->key.b2, p->key.h};
    *gap = set == PROVER_L ? (size_t)p->n_public + 1 : 0;
    return from[set];
}

/* Queues the copy of points at .. at+count-1 of a set to `to`. */
static int copy_points(const struct prover *p, int set, size_t at, size_t count, uint8_t *to, cudaStream_t stream,
                       char err[KRN_ERR_TEXT])
{
    const size_t point = msm_group_of(p->curve, is_g2(set))->affine_bytes;
    size_t gap;
    const uint8_t *from = host_points(p, set, &gap);
    const size_t missing = at >= gap ? 0 : gap - at < count ? gap - at : count;
    DEVICE_TRY(cudaMemsetAsync(to, 0, missing * point, stream));
    if (count > missing)
        DEVICE_TRY(cudaMemcpyAsync(to + missing * point, from + (at + missing - gap) * point, (count - missing) * point,
                                   cudaMemcpyHostToDevice, stream));
    return 0;
}

static int upload_bases(struct prover *p, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    uint8_t *room = (uint8_t *)p->sums_memory[0];       /* all behind it is unused yet */
    const size_t room_bytes = (size_t)((uint8_t *)p->memory + p->bytes - room);
    for (int set = 0; set < PROVER_SETS; set++) {
        const struct msm_group *g = msm_group_of(p->curve, is_g2(set));
        const struct msm_shape *e = &p->expanded[set];
        int status = copy_points(p, set, 0, set_points(p, set), p->bases[set], stream, err);
        if (status == 0 && e->bits)
            status = g->expand(p->bases[set], set_points(p, set), copies(p, set), e->bits * e->sets, room, room_bytes,
                               stream, err);
        if (status)
            return status;
    }
    return 0;
}

/* Streamed bases are read at bus speed where their memory can be page-locked, else as fast as it goes. */
static int prepare_feed(struct prover *p, char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaStreamCreateWithFlags(&p->feed, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        DEVICE_TRY(cudaEventCreateWithFlags(&p->full[i], cudaEventDisableTiming));
        DEVICE_TRY(cudaEventCreateWithFlags(&p->empty[i], cudaEventDisableTiming));
    }
    for (int set = 0; set < PROVER_SETS; set++) {
        size_t gap;
        void *from = (void *)host_points(p, set, &gap);
        const size_t bytes = (set_points(p, set) - gap) * msm_group_of(p->curve, is_g2(set))->affine_bytes;
        p->registered[set] = bytes && cudaHostRegister(from, bytes, cudaHostRegisterReadOnly) == cudaSuccess;
        cudaGetLastError();
    }
    return 0;
}

static int set_up(struct prover *p, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const struct krn_curve *curve = krn_curve(p->curve);
    char what[64];
    snprintf(what, sizeof what, "a %s key of 2^%d rows", curve->name, p->log_n);
    choose_shapes(p);
    p->bytes = layout(p);
    int status = device_alloc(&p->memory, p->bytes, what, err);
    if (status)
        return status;
    DEVICE_TRY(cudaHostAlloc(&p->pinned, pinned_bytes(p->curve), cudaHostAllocDefault));
    layout(p);
    p->row_seen = (unsigned long long *)((uint8_t *)p->pinned + sizeof(struct msm_counters));
    for (int i = 0; i < PROVER_SLOTS; i++) {
        DEVICE_TRY(cudaEventCreate(&p->slots[i].begun));
        DEVICE_TRY(cudaEventCreate(&p->slots[i].uploaded));
    }
    for (int i = 0; i < PROVER_SETS + 2; i++)
        DEVICE_TRY(cudaEventCreate(&p->marks[i]));
    status = open_sums(p, err);
    if (status == 0)
        status = ntt_tables_init(&p->tables, p->curve, p->log_n, p->tables.twiddles, stream, err);
    if (status == 0)
        status = p->mode == PROVER_STREAMED ? prepare_feed(p, err) : upload_bases(p, stream, err);
    if (status)
        return status;
    DEVICE_TRY(cudaStreamSynchronize(stream));
    return 0;
}

int prover_open_as(struct prover **out, const struct krn_key *key, enum prover_mode mode, size_t tile,
                   cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    if (key->n_vars < key->n_public + 1 || key->log_domain > NTT_MAX_LOG) {
        snprintf(err, KRN_ERR_TEXT, "a key of %u variables, %u public, and 2^%u rows", key->n_vars, key->n_public,
                 key->log_domain);
        return -EINVAL;
    }
    struct prover *p = new (std::nothrow) struct prover;
    if (!p) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return -ENOMEM;
    }
    describe(p, key);
    p->mode = mode;
    p->tile = tile;
    const int status = set_up(p, stream, err);
    if (status) {
        prover_close(p);
        return status;
    }
    *out = p;
    return 0;
}

static void destroy(cudaEvent_t e)
{
    if (e)
        cudaEventDestroy(e);
}

void prover_close(struct prover *p)
{
    for (int i = 0; i < PROVER_SLOTS; i++) {
        destroy(p->slots[i].begun);
        destroy(p->slots[i].uploaded);
    }
    for (int i = 0; i < PROVER_SETS + 2; i++)
        destroy(p->marks[i]);
    for (int i = 0; i < 2; i++) {
        destroy(p->full[i]);
        destroy(p->empty[i]);
    }
    if (p->feed)
        cudaStreamDestroy(p->feed);
    for (int set = 0; set < PROVER_SETS; set++) {
        size_t gap;
        if (p->registered[set])
            cudaHostUnregister((void *)host_points(p, set, &gap));
        msm_side_close(&p->sums[set]);
    }
    cudaFree(p->memory);
    cudaFreeHost(p->pinned);
    delete p;
}

int prover_upload(struct prover *p, int slot, const struct krn_vectors *v, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const struct prover_slot *s = &p->slots[slot];
    const size_t rows = (size_t)KRN_FR_BYTES << p->log_n;
    DEVICE_TRY(cudaEventRecord(s->begun, stream));
    DEVICE_TRY(cudaMemcpyAsync(s->w, v->w, (size_t)KRN_FR_BYTES * p->n_vars, cudaMemcpyHostToDevice, stream));
    DEVICE_TRY(cudaMemcpyAsync(s->a, v->a, rows, cudaMemcpyHostToDevice, stream));
    DEVICE_TRY(cudaMemcpyAsync(s->b, v->b, rows, cudaMemcpyHostToDevice, stream));
    DEVICE_TRY(cudaEventRecord(s->uploaded, stream));
    return 0;
}

int prover_check_c(struct prover *p, int slot, const uint8_t *c, uint64_t *row, cudaStream_t stream,
                   char err[KRN_ERR_TEXT])
{
    const struct prover_slot *s = &p->slots[slot];
    const uint32_t n = 1u << p->log_n, blocks = (n + 255) / 256;
    DEVICE_TRY(cudaMemcpyAsync(p->h, c, (size_t)KRN_FR_BYTES * n, cudaMemcpyHostToDevice, stream));
    DEVICE_TRY(cudaMemsetAsync(p->row, 0xff, sizeof *p->row, stream));
    DEVICE_TRY(cudaStreamWaitEvent(stream, s->uploaded, 0));
    if (p->curve == KRN_BN254)
        check_kernel<<<blocks, 256, 0, stream>>>((const bn254_fr *)s->a, (const bn254_fr *)s->b,
                                                 (const bn254_fr *)p->h, n, p->row);
    else
        check_kernel<<<blocks, 256, 0, stream>>>((const bls381_fr *)s->a, (const bls381_fr *)s->b,
                                                 (const bls381_fr *)p->h, n, p->row);
    DEVICE_TRY(cudaGetLastError());
    DEVICE_TRY(cudaMemcpyAsync(p->row_seen, p->row, sizeof *p->row, cudaMemcpyDeviceToHost, stream));
    DEVICE_TRY(cudaStreamSynchronize(stream));
    if (*p->row_seen == ~0ull)
        return KRN_OK;
    *row = *p->row_seen;
    return KRN_ROW_DIFFERS;
}

/* The bases of scalars at .. at+count-1 of a set: where they lie, or in a stage once `stream` gets there. */
static int bases_of(struct prover *p, int set, size_t at, size_t count, const uint8_t **bases, cudaStream_t stream,
                    char err[KRN_ERR_TEXT])
{
    if (p->mode != PROVER_STREAMED) {
        *bases = p->bases[set];
        return 0;
    }
    const int turn = p->turn ^= 1;
    DEVICE_TRY(cudaStreamWaitEvent(p->feed, p->empty[turn], 0));
    const int status = copy_points(p, set, at, count, p->stage[turn], p->feed, err);
    if (status)
        return status;
    DEVICE_TRY(cudaEventRecord(p->full[turn], p->feed));
    DEVICE_TRY(cudaStreamWaitEvent(stream, p->full[turn], 0));
    *bases = p->stage[turn];
    return 0;
}

/* One tile of scalars into the bucket sums of sets from .. to-1. */
static int sum_tile(struct prover *p, const struct msm_shape *shape, const uint8_t *scalars, size_t at, size_t n,
                    int from, int to, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const bool streamed = p->mode == PROVER_STREAMED;
    const size_t count = n - at < p->tile ? n - at : p->tile;
    int status = msm_digits(&p->sorter, shape, scalars + KRN_FR_BYTES * at, count, streamed ? 0 : at, n, stream, err);
    for (int set = from; status == 0 && set < to; set++) {
        const struct msm_group *g = msm_group_of(p->curve, is_g2(set));
        const uint8_t *bases;
        status = bases_of(p, set, at, count, &bases, stream, err);
        if (status == 0)
            status = g->accumulate(&p->sorter, &p->sums[set], bases, at == 0, stream, err);
        if (status)
            return status;
        if (streamed)
            DEVICE_TRY(cudaEventRecord(p->empty[p->turn], stream));
        if (at + count == n) {
            status = g->reduce(shape, &p->sums[set], stream, err);
            DEVICE_TRY(cudaEventRecord(p->marks[2 + set], stream));
        }
    }
    return status;
}

/* The sums of sets from .. to-1 under one vector of n scalars, up to what the host does. */
static int sum_sets(struct prover *p, const uint8_t *scalars, size_t n, int from, int to, cudaStream_t stream,
                    char err[KRN_ERR_TEXT])
{
    int status = msm_count(&p->sorter, scalars, n, stream, err);
    struct msm_shape shape = largest_shape(p, from);
    if (!p->expanded[from].bits)
        shape = msm_choose(p->curve, p->sorter.seen->words, shape.bits, p->sorter.pairs_max);
    for (size_t at = 0; status == 0 && at < n; at += p->tile)
        status = sum_tile(p, &shape, scalars, at, n, from, to, stream, err);
    for (int set = from; set < to; set++)
        p->shape[set] = shape;
    return status;
}

static double seconds(cudaEvent_t from, cudaEvent_t to)
{
    float ms = 0;
    cudaEventElapsedTime(&ms, from, to);
    return 1e-3 * ms;
}

static void read_times(const struct prover *p, int slot, struct krn_times *t)
{
    const cudaEvent_t *m = p->marks;
    t->upload = seconds(p->slots[slot].begun, p->slots[slot].uploaded);
    t->ntt = seconds(m[0], m[1]);
    t->msm_a = seconds(m[1], m[2 + PROVER_A]);
    t->msm_b1 = seconds(m[2 + PROVER_A], m[2 + PROVER_B1]);
    t->msm_l = seconds(m[2 + PROVER_B1], m[2 + PROVER_L]);
    t->msm_b2 = seconds(m[2 + PROVER_L], m[2 + PROVER_B2]);
    t->msm_h = seconds(m[2 + PROVER_B2], m[2 + PROVER_H]);
}

int prover_run(struct prover *p, int slot, const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES],
               struct krn_proof *proof, struct krn_times *times, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const struct prover_slot *in = &p->slots[slot];
    struct krn_proof_sums sums;
    struct krn_blinds blinds;
    uint8_t *to[PROVER_SETS] = {sums.a, sums.b1, sums.l, sums.b2, sums.h};
    DEVICE_TRY(cudaStreamWaitEvent(stream, in->uploaded, 0));
    DEVICE_TRY(cudaEventRecord(p->marks[0], stream));
    int status = ntt_quotient(&p->tables, in->a, in->b, NULL, p->work, p->h, stream, err);
    if (status)
        return status;
    DEVICE_TRY(cudaEventRecord(p->marks[1], stream));
    krn_blind(&p->key, r, s, &blinds);
    status = sum_sets(p, in->w, p->n_vars, PROVER_A, PROVER_H, stream, err);
    if (status == 0)
        status = sum_sets(p, p->h, (size_t)1 << p->log_n, PROVER_H, PROVER_SETS, stream, err);
    if (status)
        return status;
    DEVICE_TRY(cudaStreamSynchronize(stream));
    for (int set = 0; set < PROVER_SETS; set++)
        msm_finish(p->curve, is_g2(set), &p->shape[set], &p->sums[set], to[set]);
    krn_assemble(&p->key, &sums, &blinds, r, s, proof);
    read_times(p, slot, times);
    return KRN_OK;
}
