/*
 * kernels/msm_group.cuh: the kernels of a multi-scalar multiplication that add points, for one group. Included once
 * by each msm_CURVE_GROUP.cu, which names the group by
 *
 *   GROUP           prefix in kernels/ec.h, e.g. bn254_g1
 *   GROUP_BLOCKS    blocks of 128 threads that a multiprocessor holds in XYZZ kernels, AFFINE_BLOCKS in affine ones
 *   AFFINE_MIN      pairs from which on affine rounds pay
 *
 * Cost sketch. accumulate: 8 M + 2 S a pair (4 M + 2 S for the first of a task), one gathered point (64 to 192 bytes)
 * and 4 bytes of index. reduce: two additions of 12 M + 2 S a bucket, and about three for each of the 2^-run of them
 * that the tree starts from.
 */
#ifndef KERNELS_MSM_GROUP_CUH
#define KERNELS_MSM_GROUP_CUH

#include "kernels/groups.cuh"
#include "kernels/msm.cuh"

#define G(name) KRN_PASTE(GROUP, name)
DEVICE_FIELD(bn254_fq2)
DEVICE_FIELD(bls381_fq2)

typedef G(affine) affine;
typedef G(xyzz) xyzz;

enum { THREADS = 128 };

/* ---- device ---- */

/* For the kernels that are not all about it: one copy of the code instead of one a call. r += a, r = 2 r. */
static __device__ __noinline__ void add_call(xyzz *r, const xyzz *a)
{
    xyzz x = *r;
    const xyzz y = *a;
    G(add)(&x, &x, &y);
    *r = x;
}

static __device__ __noinline__ void dbl_call(xyzz *r)
{
    xyzz x = *r;
    G(dbl)(&x, &x);
    *r = x;
}

struct sums {
    xyzz *buckets, *slots, *slots2;
    bool fresh;
};

static __device__ __forceinline__ xyzz *target(const sums &m, xyzz *slots, uint32_t to)
{
    return to & MSM_TO_SLOT ? slots + (to & ~MSM_TO_SLOT) : m.buckets + to;
}

static __device__ __forceinline__ void fetch_base(affine *p, const affine *bases, uint32_t value)
{
    load16(p, bases + (value & 0x7fffffffu));
    if (value >> 31)
        G(affine_neg)(p, p);
}

static __global__ void __launch_bounds__(THREADS, GROUP_BLOCKS)
accumulate_kernel(const struct msm_task *tasks, const struct msm_counters *counters, const uint32_t *values,
                  const affine *bases, const sums m)
{
    const uint32_t t = blockIdx.x * THREADS + threadIdx.x;
    if (t >= counters->place[0])
        return;
    const struct msm_task task = tasks[t];
    xyzz *to = target(m, m.slots, task.to), acc;
    affine p, q;
    uint32_t i = 0;
    if (!m.fresh && !(task.to & MSM_TO_SLOT)) {
        load16(&acc, to);
    } else {
        fetch_base(&p, bases, values[task.start]);
        if (task.size > 1) {
            fetch_base(&q, bases, values[task.start + 1]);
            G(add_affine)(&acc, &p, &q);
        } else {
            G(from_affine)(&acc, &p);
        }
        i = 2;
    }
    for (; i < task.size; i++) {
        fetch_base(&p, bases, values[task.start + i]);
        G(madd)(&acc, &acc, &p);
    }
    store16(to, &acc);
}

/* The sums of buckets in few parts, one a thread. */
static __global__ void __launch_bounds__(THREADS)
small_kernel(const struct msm_record *records, const uint32_t *count, const sums m)
{
    for (uint32_t t = blockIdx.x * THREADS + threadIdx.x; t < *count; t += gridDim.x * THREADS) {
        const struct msm_record r = records[t];
        xyzz acc, x;
        load16(&acc, m.slots + r.slot);
        for (uint32_t i = 1; i < r.count; i++) {
            load16(&x, m.slots + r.slot + i);
            add_call(&acc, &x);
        }
        if (!m.fresh) {
            load16(&x, m.buckets + r.to);
            add_call(&acc, &x);
        }
        store16(m.buckets + r.to, &acc);
    }
}

/* The sums of buckets in many parts, one a block. */
static __global__ void __launch_bounds__(THREADS)
chunk_kernel(const struct msm_record *records, const uint32_t *count, const xyzz *slots, const sums m)
{
    extern __shared__ ulonglong2 memory[];
    xyzz *part = reinterpret_cast<xyzz *>(memory);
    for (uint32_t b = blockIdx.x; b < *count; b += gridDim.x) {
        const struct msm_record r = records[b];
        xyzz acc, x;
        G(set_inf)(&acc);
        for (uint32_t i = threadIdx.x; i < r.count; i += THREADS) {
            load16(&x, slots + r.slot + i);
            add_call(&acc, &x);
        }
        part[threadIdx.x] = acc;
        for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) {
                x = part[threadIdx.x + half];
                add_call(&acc, &x);
                part[threadIdx.x] = acc;
            }
        }
        if (threadIdx.x == 0) {
            xyzz *to = target(m, m.slots2, r.to);
            if (!m.fresh && !(r.to & MSM_TO_SLOT)) {
                load16(&x, to);
                add_call(&acc, &x);
            }
            store16(to, &acc);
        }
        __syncthreads();
    }
}

/* 2^run buckets of one set in a row: their sum to out[0][i], the sum of (j + 1) times the j-th to out[1][i]. */
static __global__ void __launch_bounds__(THREADS)
run_kernel(const xyzz *buckets, xyzz *out, uint32_t count, int run)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    xyzz sum, total, x;
    G(set_inf)(&sum);
    G(set_inf)(&total);
    for (int j = (1 << run) - 1; j >= 0; j--) {
        load16(&x, buckets + ((size_t)i << run) + j);
        add_call(&sum, &x);
        add_call(&total, &sum);
    }
    store16(out + i, &sum);
    store16(out + count + i, &total);
}

/*
 * One level of the tree. in[k][i], i < 2 half: k = 0 plain sums, k = 1 weighted sums, k = 2 + d the sum of those
 * whose number has bit d. Neighbours are added; the new last row takes the odd ones of row 0, whose next bit is set.
 * `half` counts over all bucket sets: their elements lie in a row, and 2^levels of them make a set.
 */
static __global__ void __launch_bounds__(THREADS) tree_kernel(const xyzz *in, xyzz *out, uint32_t half, uint32_t rows)
{
    const uint32_t t = blockIdx.x * THREADS + threadIdx.x;
    if (t >= half * (rows + 1))
        return;
    const uint32_t row = t / half, i = t % half;
    const xyzz *from = in + (row < rows ? (size_t)row * 2 * half : 0) + 2 * i;
    xyzz a, b;
    load16(&b, from + 1);
    if (row < rows) {
        load16(&a, from);
        add_call(&b, &a);
    }
    store16(out + t, &b);
}

#include "kernels/msm_affine.cuh"

struct expand_args {
    const affine *from;
    affine *to;
    xyzz *scratch;
    uint32_t count;
    int shift;
};

/* to = 2^shift from. */
static __global__ void __launch_bounds__(THREADS) expand_kernel(const expand_args a)
{
    affine_run<KRN_PASTE(group, GROUP)>(a.to, a.scratch, a.count, blockIdx.x * THREADS + threadIdx.x,
                                        gridDim.x * THREADS, [&a](uint32_t i, xyzz *x) {
        affine p;
        load16(&p, a.from + i);
        G(from_affine)(x, &p);
        for (int k = 0; k < a.shift; k++)
            dbl_call(x);
    });
}

/* ---- host ---- */

static int accumulate(const struct msm_sorter *s, const struct msm_sums *sums_, const void *bases, bool fresh,
                      cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const sums m = {(xyzz *)sums_->buckets, (xyzz *)sums_->slots, (xyzz *)sums_->slots2, fresh};
    const size_t buckets = msm_buckets(&s->shape);
    if (fresh)
        DEVICE_TRY(cudaMemsetAsync(m.buckets, 0, buckets * sizeof(xyzz), stream));
    if (s->pairs == 0)
        return 0;
    const size_t full = s->pairs / s->task_size, tasks = full + (buckets < s->pairs ? buckets : s->pairs);
    if (sums_->scratch_bytes && s->pairs >= sums_->affine_min) {
        const int status = accumulate_affine(s, sums_, m, bases, tasks, stream, err);
        if (status)
            return status;
    } else {
        accumulate_kernel<<<blocks_for(tasks), THREADS, 0, stream>>>(s->tasks, s->counters, s->sorted,
                                                                    (const affine *)bases, m);
    }
    if (full) {
        const size_t small_most = 1 + full, chunk_most = 1 + full * 2 / MSM_SMALL;
        const unsigned small_blocks = blocks_for(small_most < (1u << 18) ? small_most : (1u << 18));
        const unsigned chunk_blocks = (unsigned)(chunk_most < 1024 ? chunk_most : 1024);
        small_kernel<<<small_blocks, THREADS, 0, stream>>>(s->small, &s->counters->small, m);
        const size_t shared = THREADS * sizeof(xyzz);
        chunk_kernel<<<chunk_blocks, THREADS, shared, stream>>>(s->chunks, &s->counters->chunks, m.slots, m);
        chunk_kernel<<<64, THREADS, shared, stream>>>(s->joins, &s->counters->joins, m.slots2, m);
    }
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

static int reduce(const struct msm_shape *shape, const struct msm_sums *m, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const int run = msm_run_log(shape), levels = msm_tree_log(shape);
    uint32_t count = (uint32_t)(msm_buckets(shape) >> run);
    xyzz *in = (xyzz *)m->tree[0], *out = (xyzz *)m->tree[1];
    run_kernel<<<blocks_for(count), THREADS, 0, stream>>>((const xyzz *)m->buckets, in, count, run);
    for (uint32_t rows = 2; rows < 2u + levels; rows++) {
        count /= 2;
        tree_kernel<<<blocks_for((size_t)count * (rows + 1)), THREADS, 0, stream>>>(in, out, count, rows);
        xyzz *swap = in;
        in = out;
        out = swap;
    }
    DEVICE_TRY(cudaGetLastError());
    DEVICE_TRY(cudaMemcpyAsync(m->result, in, sizeof(xyzz) * count * (2 + levels), cudaMemcpyDeviceToHost, stream));
    return 0;
}

static int expand(void *bases, size_t n, int copies, int shift, void *scratch, size_t scratch_bytes,
                  cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const size_t tile = scratch_bytes / sizeof(xyzz);
    if (tile == 0) {
        snprintf(err, KRN_ERR_TEXT, "expanding bases needs %zu bytes of scratch, there are %zu", sizeof(xyzz),
                 scratch_bytes);
        return -ENOMEM;
    }
    for (int copy = 1; copy < copies; copy++)
        for (size_t at = 0; at < n; at += tile) {
            const size_t count = n - at < tile ? n - at : tile;
            const affine *from = (const affine *)bases + (size_t)(copy - 1) * n + at;
            const expand_args a = {from, (affine *)bases + (size_t)copy * n + at, (xyzz *)scratch,
                                   (uint32_t)count, shift};
            expand_kernel<<<blocks_for((count + AFFINE_RUN - 1) / AFFINE_RUN), THREADS, 0, stream>>>(a);
        }
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

extern const struct msm_group KRN_PASTE(msm, GROUP);
const struct msm_group KRN_PASTE(msm, GROUP) = {sizeof(affine), sizeof(xyzz), AFFINE_MIN, accumulate, reduce, expand};

#endif
