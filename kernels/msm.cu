/*
 * kernels/msm.cu: the host side of multi-scalar multiplication: workspaces and the order of the steps.
 */
#include "kernels/msm.cuh"

#include "kernels/cuda.h"
#include "kernels/msm_combine.h"

static size_t layout_sums(struct msm_sums *m, const struct msm_group *g, size_t tile, const struct msm_shape *largest,
                          void *memory)
{
    size_t used = 0;
    const size_t buckets = msm_buckets(largest), slots = msm_slots_max(tile * (size_t)largest->windows, buckets);
    /* Narrower shapes have fewer buckets but may leave more of them to the tree: 2^17 a row is the most. */
    const size_t leaves = buckets / 16 > (1u << 17) ? buckets / 16 : (1u << 17);
    m->slots = msm_carve(memory, &used, slots * g->xyzz_bytes);
    m->slots2 = msm_carve(memory, &used, (slots / MSM_CHUNK * 2 + 2) * g->xyzz_bytes);
    for (int i = 0; i < 2; i++)
        m->tree[i] = msm_carve(memory, &used, 2 * leaves * g->xyzz_bytes);
    return used;
}

size_t msm_buckets_bytes(const struct msm_group *g, const struct msm_shape *largest)
{
    size_t used = 0;
    msm_carve(NULL, &used, msm_buckets(largest) * g->xyzz_bytes);
    return used;
}

size_t msm_sums_bytes(const struct msm_group *g, size_t tile, const struct msm_shape *largest)
{
    struct msm_sums m;
    return layout_sums(&m, g, tile, largest, NULL);
}

size_t msm_result_bytes(const struct msm_group *g)
{
    return g->xyzz_bytes * MSM_MAX_WINDOWS * (1 + MSM_MAX_BITS);
}

/* Slots of a point and a coordinate, and two coordinates, for each thread; no more threads than there may be tasks. */
size_t msm_scratch_bytes(const struct msm_group *g, size_t tile, const struct msm_shape *largest)
{
    const size_t pairs = tile * (size_t)largest->windows, coordinate = g->affine_bytes / 2;
    if (g->affine_min > pairs)
        return 0;
    const size_t tasks = msm_buckets(largest) + msm_slots_max(pairs, msm_buckets(largest));
    const size_t threads = tasks < MSM_SCRATCH_THREADS ? tasks + 256 : (size_t)MSM_SCRATCH_THREADS;
    return threads * (MSM_SCRATCH_SLOTS * (g->affine_bytes + coordinate) + 2 * coordinate);
}

void msm_sums_place(struct msm_sums *m, const struct msm_group *g, size_t tile, const struct msm_shape *largest,
                    void *buckets, void *memory, void *result)
{
    *m = {};
    m->buckets = buckets;
    layout_sums(m, g, tile, largest, memory);
    m->affine_min = g->affine_min;
    m->result = result;
}

int msm_side_open(struct msm_sums *m, char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaStreamCreateWithFlags(&m->side, cudaStreamNonBlocking));
    DEVICE_TRY(cudaEventCreateWithFlags(&m->fork, cudaEventDisableTiming));
    DEVICE_TRY(cudaEventCreateWithFlags(&m->join, cudaEventDisableTiming));
    return 0;
}

void msm_side_close(struct msm_sums *m)
{
    if (m->side)
        cudaStreamDestroy(m->side);
    if (m->fork)
        cudaEventDestroy(m->fork);
    if (m->join)
        cudaEventDestroy(m->join);
}

void msm_finish(enum krn_curve_id curve, int g2, const struct msm_shape *shape, const struct msm_sums *m, void *affine)
{
    msm_combine(curve, g2, shape->bits, shape->sets, msm_run_log(shape), msm_tree_log(shape), m->result, affine);
}

/* ---- one sum at a time ---- */

static struct msm_shape shape_for(enum krn_curve_id curve, size_t n, int copies)
{
    struct msm_shape shape = msm_largest(curve, n);
    if (copies > 1)
        shape = msm_expanded(curve, n, copies);
    return shape;
}

extern "C" size_t krn_workspace_bytes(size_t n, enum krn_curve_id curve, int g2, int copies)
{
    const struct msm_group *g = msm_group_of(curve, g2);
    const struct msm_shape largest = shape_for(curve, n, copies);
    return msm_sorter_bytes(curve, msm_tile(n), largest.windows, msm_buckets(&largest)) +
           msm_buckets_bytes(g, &largest) + msm_sums_bytes(g, msm_tile(n), &largest) +
           msm_scratch_bytes(g, msm_tile(n), &largest);
}

int msm_open(struct msm *m, enum krn_curve_id curve, int g2, size_t n, int copies, char err[KRN_ERR_TEXT])
{
    const struct msm_group *g = msm_group_of(curve, g2);
    const size_t tile = msm_tile(n);
    *m = {};
    m->curve = curve;
    m->g2 = g2;
    m->n_max = n;
    m->largest = shape_for(curve, n, copies);
    const size_t buckets = msm_buckets(&m->largest);
    const size_t sorter_bytes = msm_sorter_bytes(curve, tile, m->largest.windows, buckets);
    m->bytes = krn_workspace_bytes(n, curve, g2, copies);
    int status = device_alloc(&m->memory, m->bytes, "a sum's workspace", err);
    if (status)
        return status;
    status = device_status(cudaHostAlloc(&m->pinned, sizeof(struct msm_counters) + msm_result_bytes(g),
                                         cudaHostAllocDefault), "cudaHostAlloc", err);
    if (status == 0)
        status = msm_sorter_init(&m->sorter, curve, tile, m->largest.windows, buckets, m->memory,
                                 (struct msm_counters *)m->pinned, err);
    uint8_t *bucket_memory = (uint8_t *)m->memory + sorter_bytes;
    uint8_t *sums_memory = bucket_memory + msm_buckets_bytes(g, &m->largest);
    if (status == 0) {
        msm_sums_place(&m->sums, g, tile, &m->largest, bucket_memory, sums_memory,
                       (uint8_t *)m->pinned + sizeof(struct msm_counters));
        status = msm_side_open(&m->sums, err);
    }
    if (status) {
        msm_close(m);
        return status;
    }
    m->sums.scratch_bytes = msm_scratch_bytes(g, tile, &m->largest);
    m->sums.scratch = sums_memory + msm_sums_bytes(g, tile, &m->largest);
    return 0;
}

void msm_close(struct msm *m)
{
    msm_side_close(&m->sums);
    cudaFree(m->memory);
    cudaFreeHost(m->pinned);
    *m = {};
}

int msm_expand(struct msm *m, void *bases, size_t n, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const struct msm_group *g = msm_group_of(m->curve, m->g2);
    return g->expand(bases, n, msm_copies(&m->largest), m->largest.bits * m->largest.sets, m->memory,
                     m->bytes, stream, err);
}

int msm_run(struct msm *m, const void *bases, size_t stride, const void *scalars, size_t n, void *out,
            cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const struct msm_group *g = msm_group_of(m->curve, m->g2);
    if (n > m->n_max) {
        snprintf(err, KRN_ERR_TEXT, "a sum of %zu terms: the workspace is for %zu", n, m->n_max);
        return -EINVAL;
    }
    int status = msm_count(&m->sorter, scalars, n, stream, err);
    struct msm_shape shape = m->largest;
    if (msm_copies(&shape) == 1)
        shape = msm_choose(m->curve, m->sorter.seen->words, shape.bits, m->sorter.pairs_max);
    for (size_t at = 0; status == 0 && (at < n || at == 0); at += m->sorter.tile) {
        const size_t count = n - at < m->sorter.tile ? n - at : m->sorter.tile;
        status = msm_digits(&m->sorter, &shape, (const uint8_t *)scalars + KRN_FR_BYTES * at, count, at, stride, stream,
                            err);
        if (status == 0)
            status = g->accumulate(&m->sorter, &m->sums, bases, at == 0, stream, err);
    }
    if (status == 0)
        status = g->reduce(&shape, &m->sums, stream, err);
    if (status)
        return status;
    DEVICE_TRY(cudaStreamSynchronize(stream));
    msm_finish(m->curve, m->g2, &shape, &m->sums, out);
    return 0;
}
