/*
 * kernels/msm_sort.cu: the part of a multi-scalar multiplication that knows no curve: scalars to signed digits, the
 * digits sorted by bucket, buckets cut into tasks of like size.
 *
 * Cost sketch, n scalars of 13 digits: reads 32 n bytes twice; writes and sorts 13 n pairs of 8 bytes, three passes of
 * CUB's one-sweep radix sort = 13 n * 8 * 2 * 3 bytes. n = 2^24: 11 GB, about 3 ms. Zero digits are never written.
 */
#include <cub/device/device_radix_sort.cuh>

#include "kernels/msm.cuh"

enum { BLOCK = 256, WARPS = BLOCK / 32 };

/* ---- digits ---- */

struct scalar {
    uint64_t l[4];
};

static __device__ __forceinline__ bool below(const scalar &a, const scalar &b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++)
        limbs_subb(a.l[i], b.l[i], &borrow);
    return borrow != 0;
}

/* s = min(s, r - s); returns the sign. */
static __device__ __forceinline__ uint32_t fold(scalar *s, const scalar &r)
{
    scalar other;
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++)
        other.l[i] = limbs_subb(r.l[i], s->l[i], &borrow);
    if (!below(other, *s))
        return 0;
    *s = other;
    return 0x80000000u;
}

/* The next digit of c bits, -2^(c-1) < digit <= 2^(c-1); s loses it, *carry takes what it owes. */
static __device__ __forceinline__ int32_t next_digit(scalar *s, int c, uint32_t *carry)
{
    uint32_t d = (uint32_t)(s->l[0] & ((1u << c) - 1)) + *carry;
    for (int i = 0; i < 3; i++)
        s->l[i] = s->l[i] >> c | s->l[i + 1] << (64 - c);
    s->l[3] >>= c;
    *carry = d > 1u << (c - 1);
    return (int32_t)d - (int32_t)(*carry << c);
}

struct count_args {
    const scalar *scalars;
    uint32_t n;
    scalar r;
    struct msm_counters *counters;
};

static __global__ void count_kernel(const __grid_constant__ count_args a)
{
    __shared__ uint32_t words[9], bad;
    if (threadIdx.x < 9)
        words[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        bad = 0;
    __syncthreads();
    const uint32_t step = gridDim.x * BLOCK;
    uint32_t mine[9] = {0};
    for (uint32_t i = blockIdx.x * BLOCK + threadIdx.x; i < a.n; i += step) {
        scalar s;
        load16(&s, a.scalars + i);
        if (!below(s, a.r))
            atomicAdd(&bad, 1);
        fold(&s, a.r);
        int top = 0;
#pragma unroll
        for (int k = 0; k < 8; k++)
            if ((uint32_t)(s.l[k / 2] >> (k % 2 * 32)))
                top = k + 1;
#pragma unroll
        for (int k = 0; k < 9; k++)
            mine[k] += top == k;
    }
#pragma unroll
    for (int k = 0; k < 9; k++) {
        const uint32_t sum = __reduce_add_sync(~0u, mine[k]);
        if (threadIdx.x % 32 == 0)
            atomicAdd(&words[k], sum);
    }
    __syncthreads();
    if (threadIdx.x < 9)
        atomicAdd(&a.counters->words[threadIdx.x], words[threadIdx.x]);
    if (threadIdx.x == 0 && bad)
        atomicAdd(&a.counters->too_large, bad);
}

struct digit_args {
    const scalar *scalars;
    uint32_t n, first, stride;
    scalar r;
    struct msm_shape shape;
    uint32_t *keys, *values;
    struct msm_counters *counters;
};

/* Each warp counts its digits that are not zero, the block takes room for all, and the warp goes over them again. */
static __global__ void __launch_bounds__(BLOCK) digit_kernel(const __grid_constant__ digit_args a)
{
    __shared__ uint32_t warp_at[WARPS];
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    scalar s = {};
    if (i < a.n)
        load16(&s, a.scalars + i);
    const uint32_t sign = fold(&s, a.r);

    scalar left = s;
    uint32_t carry = 0, mine = 0;
    for (int j = 0; j < a.shape.windows; j++)
        mine += next_digit(&left, a.shape.bits, &carry) != 0;
    const uint32_t total = __reduce_add_sync(~0u, mine);
    if (lane == 0)
        warp_at[warp] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += warp_at[w];
        uint32_t at = sum ? atomicAdd(&a.counters->pairs, sum) : 0;
        for (int w = 0; w < WARPS; w++) {
            const uint32_t count = warp_at[w];
            warp_at[w] = at;
            at += count;
        }
    }
    __syncthreads();
    if (total == 0)
        return;

    uint32_t at = warp_at[warp];
    left = s;
    carry = 0;
    for (int j = 0; j < a.shape.windows; j++) {
        const int32_t d = next_digit(&left, a.shape.bits, &carry);
        const uint32_t some = __ballot_sync(~0u, d != 0);
        if (d != 0) {
            const uint32_t to = at + __popc(some & ((1u << lane) - 1));
            const uint32_t bucket = (uint32_t)(d < 0 ? -d : d) - 1;
            a.keys[to] = (uint32_t)(j % a.shape.sets) << (a.shape.bits - 1) | bucket;
            const uint32_t copy = (uint32_t)(j / a.shape.sets);
            a.values[to] = (i + a.first + copy * a.stride) | (d < 0 ? sign ^ 0x80000000u : sign);
        }
        at += __popc(some);
    }
}

/* ---- buckets and tasks ---- */

/* first and end of each bucket among the sorted keys; both zero before. Four keys a thread. */
static __global__ void bounds_kernel(const uint32_t *keys, uint32_t pairs, uint32_t *first, uint32_t *end)
{
    enum { OWN = 4 };
    const uint32_t i = OWN * (blockIdx.x * BLOCK + threadIdx.x), none = UINT32_MAX;
    if (i >= pairs)
        return;
    uint32_t key[OWN + 2];      /* with a neighbour on each side */
    key[0] = i ? keys[i - 1] : none;
    if (i + OWN <= pairs) {
        const uint4 own = *reinterpret_cast<const uint4 *>(keys + i);
        key[1] = own.x;
        key[2] = own.y;
        key[3] = own.z;
        key[4] = own.w;
    } else {
        for (int k = 0; k < OWN; k++)
            key[1 + k] = i + k < pairs ? keys[i + k] : none;
    }
    key[OWN + 1] = i + OWN < pairs ? keys[i + OWN] : none;
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++) {
        if (i + k < pairs && key[k + 1] != key[k])
            first[key[k + 1]] = i + k;
        if (i + k < pairs && key[k + 1] != key[k + 2])
            end[key[k + 1]] = i + k + 1;
    }
}

struct task_args {
    const uint32_t *first, *end;
    uint32_t buckets, task_size;
    struct msm_task *tasks;
    struct msm_record *small, *chunks, *joins;
    struct msm_counters *counters;
};

/* How many tasks there are of each size. */
static __global__ void __launch_bounds__(BLOCK) task_count_kernel(const __grid_constant__ task_args a)
{
    __shared__ uint32_t bin[MSM_TASK + 1];
    for (uint32_t k = threadIdx.x; k <= MSM_TASK; k += BLOCK)
        bin[k] = 0;
    __syncthreads();
    const uint32_t b = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t size = b < a.buckets ? a.end[b] - a.first[b] : 0;
    if (size / a.task_size)
        atomicAdd(&bin[a.task_size], size / a.task_size);
    if (size % a.task_size)
        atomicAdd(&bin[size % a.task_size], 1);
    __syncthreads();
    for (uint32_t k = threadIdx.x; k <= MSM_TASK; k += BLOCK)
        if (bin[k])
            atomicAdd(&a.counters->bin[k], bin[k]);
}

/* Largest first, so that the threads of a warp end together and the long tasks do not come last. */
static __global__ void task_place_kernel(struct msm_counters *c)
{
    uint32_t at = 0;
    for (int k = MSM_TASK; k > 0; k--) {
        c->place[k] = at;
        at += c->bin[k];
    }
    c->place[0] = at;       /* all tasks */
}

/* Lists what must be added up later of a bucket in `parts` tasks; returns the first slot for their sums. */
static __device__ uint32_t record_parts(const task_args &a, uint32_t bucket, uint32_t parts)
{
    const uint32_t slot = atomicAdd(&a.counters->slots, parts);
    if (parts <= MSM_SMALL) {
        a.small[atomicAdd(&a.counters->small, 1)] = {slot, parts, bucket, 0};
        return slot;
    }
    const uint32_t chunks = (parts + MSM_CHUNK - 1) / MSM_CHUNK;
    const uint32_t at = atomicAdd(&a.counters->chunks, chunks);
    if (chunks == 1) {
        a.chunks[at] = {slot, parts, bucket, 0};
        return slot;
    }
    const uint32_t slot2 = atomicAdd(&a.counters->slots2, chunks);
    a.joins[atomicAdd(&a.counters->joins, 1)] = {slot2, chunks, bucket, 0};
    for (uint32_t i = 0; i < chunks; i++) {
        const uint32_t from = i * MSM_CHUNK, left = parts - from;
        a.chunks[at + i] = {slot + from, left < MSM_CHUNK ? left : (uint32_t)MSM_CHUNK, MSM_TO_SLOT | (slot2 + i), 0};
    }
    return slot;
}

static __global__ void __launch_bounds__(BLOCK) task_kernel(const __grid_constant__ task_args a)
{
    __shared__ uint32_t bin[MSM_TASK + 1];
    __shared__ uint32_t full_at[BLOCK], full_count[BLOCK], full_start[BLOCK], full_slot[BLOCK];
    for (uint32_t k = threadIdx.x; k <= MSM_TASK; k += BLOCK)
        bin[k] = 0;
    __syncthreads();
    const uint32_t b = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t start = b < a.buckets ? a.first[b] : 0, size = b < a.buckets ? a.end[b] - start : 0;
    const uint32_t full = size / a.task_size, rest = size % a.task_size;
    uint32_t at_full = 0, at_rest = 0;
    if (full)
        at_full = atomicAdd(&bin[a.task_size], full);
    if (rest)
        at_rest = atomicAdd(&bin[rest], 1);
    __syncthreads();
    for (uint32_t k = threadIdx.x; k <= MSM_TASK; k += BLOCK)
        if (bin[k])
            bin[k] = atomicAdd(&a.counters->place[k], bin[k]);
    __syncthreads();
    const uint32_t parts = full + (rest != 0);
    const uint32_t slot = parts > 1 ? record_parts(a, b, parts) | MSM_TO_SLOT : b;
    if (rest)
        a.tasks[bin[rest] + at_rest] = {start + full * a.task_size, rest, slot + (parts > 1 ? full : 0), 0};
    full_at[threadIdx.x] = bin[a.task_size] + at_full;
    full_count[threadIdx.x] = full;
    full_start[threadIdx.x] = start;
    full_slot[threadIdx.x] = slot;
    __syncthreads();
    /* One bucket may have a million of them: the warps share the work. */
    for (uint32_t t = threadIdx.x / 32; t < BLOCK; t += WARPS)
        for (uint32_t i = threadIdx.x % 32; i < full_count[t]; i += 32)
            a.tasks[full_at[t] + i] = {full_start[t] + i * a.task_size, a.task_size, full_slot[t] + i, 0};
}

/* ---- host ---- */

static scalar order_of(enum krn_curve_id curve)
{
    scalar r;
    if (curve == KRN_BN254) {
        const bn254_fr p = bn254_fr_modulus();
        memcpy(&r, &p, sizeof r);
    } else {
        const bls381_fr p = bls381_fr_modulus();
        memcpy(&r, &p, sizeof r);
    }
    return r;
}

/* Of a bucket, in additions of a pair: two full additions and its share of the tree, beside mixed or affine ones. */
static const double BUCKET_COST = 4;

/* Most digits that are not zero: a number of k words has one bit more for the carry. */
static size_t pairs_bound(const uint32_t words[9], const struct msm_shape *shape)
{
    size_t pairs = 0;
    for (int k = 1; k < 9; k++) {
        const int digits = (32 * k + shape->bits) / shape->bits;
        pairs += words[k] * (size_t)(digits < shape->windows ? digits : shape->windows);
    }
    return pairs;
}

struct msm_shape msm_choose(enum krn_curve_id curve, const uint32_t words[9], int max_bits, size_t pairs_max)
{
    struct msm_shape best = {0, 0, 0};
    double best_cost = 0;
    for (int bits = max_bits; bits >= MSM_MIN_BITS; bits--) {
        const int windows = msm_windows(curve, bits);
        const struct msm_shape shape = {bits, windows, windows};
        const size_t pairs = pairs_bound(words, &shape);
        const double cost = (double)pairs + BUCKET_COST * (double)msm_buckets(&shape);
        if (best.bits == 0 || (cost < best_cost && pairs <= pairs_max)) {
            best_cost = cost;
            best = shape;
        }
    }
    return best;
}

struct msm_shape msm_largest(enum krn_curve_id curve, size_t n)
{
    const size_t most = UINT32_MAX;
    const uint32_t words[9] = {0, 0, 0, 0, 0, 0, 0, 0, (uint32_t)(n < most ? n : most)};
    return msm_choose(curve, words, MSM_PLAIN_BITS, SIZE_MAX);
}

struct msm_shape msm_expanded(enum krn_curve_id curve, size_t n, int copies)
{
    struct msm_shape best = {0, 0, 0};
    double best_cost = 0;
    for (int bits = MSM_MAX_BITS; bits >= MSM_MIN_BITS; bits--) {
        const int windows = msm_windows(curve, bits);
        const struct msm_shape shape = {bits, windows, (windows + copies - 1) / copies};
        const double cost = (double)n * windows + BUCKET_COST * (double)msm_buckets(&shape);
        if (best.bits == 0 || cost < best_cost) {
            best_cost = cost;
            best = shape;
        }
    }
    return best;
}

size_t msm_tile(size_t n)
{
    const size_t most = (size_t)1 << 26;
    return n < 1 ? 1 : n < most ? n : most;
}

size_t msm_slots_max(size_t pairs, size_t buckets)
{
    const size_t floor_ = (size_t)4 << MSM_THREADS_LOG, bound = pairs / (MSM_TASK / 2);
    size_t most = buckets > floor_ ? buckets : floor_;
    most = bound > most ? bound : most;
    return most < pairs ? most : pairs;
}

static uint32_t task_size(size_t pairs, size_t buckets)
{
    uint32_t size = 16;
    while (size < MSM_TASK && size < 2 * pairs / buckets && size < pairs >> MSM_THREADS_LOG)
        size *= 2;
    return size;
}

static size_t sort_temp_bytes(size_t pairs)
{
    size_t bytes = 0;
    cub::DoubleBuffer<uint32_t> none;
    cub::DeviceRadixSort::SortPairs(NULL, bytes, none, none, (uint32_t)pairs, 0, 32, 0);
    return bytes;
}

static size_t layout(struct msm_sorter *s, void *memory)
{
    size_t used = 0;
    const size_t slots = msm_slots_max(s->pairs_max, s->buckets_max);
    for (int i = 0; i < 2; i++) {
        s->keys[i] = (uint32_t *)msm_carve(memory, &used, 4 * s->pairs_max);
        s->values[i] = (uint32_t *)msm_carve(memory, &used, 4 * s->pairs_max);
    }
    s->temp_bytes = sort_temp_bytes(s->pairs_max);
    s->temp = msm_carve(memory, &used, s->temp_bytes);
    s->first = (uint32_t *)msm_carve(memory, &used, 4 * s->buckets_max);
    s->end = (uint32_t *)msm_carve(memory, &used, 4 * s->buckets_max);
    s->tasks = (struct msm_task *)msm_carve(memory, &used, sizeof(struct msm_task) * (s->buckets_max + slots));
    s->small = (struct msm_record *)msm_carve(memory, &used, sizeof(struct msm_record) * (slots / 2 + 1));
    s->chunks = (struct msm_record *)msm_carve(memory, &used, sizeof(struct msm_record) * (slots / MSM_SMALL + 1));
    s->joins = (struct msm_record *)msm_carve(memory, &used, sizeof(struct msm_record) * (slots / MSM_CHUNK + 1));
    s->counters = (struct msm_counters *)msm_carve(memory, &used, sizeof(struct msm_counters));
    return used;
}

static void bounds(struct msm_sorter *s, enum krn_curve_id curve, size_t tile, int windows, size_t buckets)
{
    s->curve = curve;
    s->tile = tile;
    s->pairs_max = tile * (size_t)windows;
    s->buckets_max = buckets;
}

size_t msm_sorter_bytes(enum krn_curve_id curve, size_t tile, int windows, size_t buckets)
{
    struct msm_sorter s;
    bounds(&s, curve, tile, windows, buckets);
    return layout(&s, NULL);
}

int msm_sorter_init(struct msm_sorter *s, enum krn_curve_id curve, size_t tile, int windows, size_t buckets,
                    void *memory, struct msm_counters *seen, char err[KRN_ERR_TEXT])
{
    bounds(s, curve, tile, windows, buckets);
    if (s->pairs_max >> 31) {
        snprintf(err, KRN_ERR_TEXT, "%zu pairs at once: 2^31 - 1 at most", s->pairs_max);
        return -EINVAL;
    }
    layout(s, memory);
    s->seen = seen;
    s->wait = NULL;
    return 0;
}

static int wait_for(struct msm_sorter *s, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    if (s->wait)
        return s->wait(s->wait_ctx, stream, err);
    DEVICE_TRY(cudaStreamSynchronize(stream));
    return 0;
}

int msm_count(struct msm_sorter *s, const void *scalars, size_t n, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const count_args a = {(const scalar *)scalars, (uint32_t)n, order_of(s->curve), s->counters};
    DEVICE_TRY(cudaMemsetAsync(s->counters, 0, sizeof *s->counters, stream));
    if (n) {
        const size_t blocks = (n + BLOCK - 1) / BLOCK;
        count_kernel<<<(unsigned)(blocks < 2048 ? blocks : 2048), BLOCK, 0, stream>>>(a);
        DEVICE_TRY(cudaGetLastError());
    }
    const size_t counts = offsetof(struct msm_counters, bin);
    DEVICE_TRY(cudaMemcpyAsync(s->seen, s->counters, counts, cudaMemcpyDeviceToHost, stream));
    const int status = wait_for(s, stream, err);
    if (status == 0 && s->seen->too_large) {
        snprintf(err, KRN_ERR_TEXT, "%u of %zu scalars are not below the group order", s->seen->too_large, n);
        return -ERANGE;
    }
    return status;
}

void msm_count_full(struct msm_sorter *s, size_t n)
{
    memset(s->seen, 0, sizeof *s->seen);
    s->seen->words[8] = (uint32_t)n;
}

static int sort_pairs(struct msm_sorter *s, int key_bits, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    cub::DoubleBuffer<uint32_t> keys(s->keys[0], s->keys[1]), values(s->values[0], s->values[1]);
    size_t bytes = s->temp_bytes;
    DEVICE_TRY(cub::DeviceRadixSort::SortPairs(s->temp, bytes, keys, values, s->pairs, 0, key_bits, stream));
    s->sorted = values.Current();
    const unsigned blocks = (s->pairs / 4 + BLOCK) / BLOCK;
    bounds_kernel<<<blocks, BLOCK, 0, stream>>>(keys.Current(), s->pairs, s->first, s->end);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

static int make_tasks(struct msm_sorter *s, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const uint32_t buckets = (uint32_t)msm_buckets(&s->shape), blocks = (buckets + BLOCK - 1) / BLOCK;
    const task_args a = {s->first, s->end, buckets, s->task_size, s->tasks, s->small, s->chunks, s->joins, s->counters};
    task_count_kernel<<<blocks, BLOCK, 0, stream>>>(a);
    task_place_kernel<<<1, 1, 0, stream>>>(s->counters);
    task_kernel<<<blocks, BLOCK, 0, stream>>>(a);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

int msm_digits(struct msm_sorter *s, const struct msm_shape *shape, const void *scalars, size_t n, size_t first,
               size_t stride, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const size_t buckets = msm_buckets(shape);
    const size_t bound = pairs_bound(s->seen->words, shape), all = n * (size_t)shape->windows;
    if (n > s->tile || (bound < all ? bound : all) > s->pairs_max || buckets > s->buckets_max) {
        snprintf(err, KRN_ERR_TEXT,
                 "%zu scalars of %d digits in %zu buckets: the workspace holds %zu pairs, %zu buckets", n,
                 shape->windows, buckets, s->pairs_max, s->buckets_max);
        return -EINVAL;
    }
    s->shape = *shape;
    s->pairs = 0;
    DEVICE_TRY(cudaMemsetAsync(s->counters, 0, sizeof *s->counters, stream));
    if (n == 0)
        return 0;
    const digit_args a = {(const scalar *)scalars, (uint32_t)n, (uint32_t)first, (uint32_t)stride, order_of(s->curve),
                          *shape, s->keys[0], s->values[0], s->counters};
    digit_kernel<<<(unsigned)((n + BLOCK - 1) / BLOCK), BLOCK, 0, stream>>>(a);
    DEVICE_TRY(cudaGetLastError());
    DEVICE_TRY(cudaMemsetAsync(s->first, 0, 4 * buckets, stream));
    DEVICE_TRY(cudaMemsetAsync(s->end, 0, 4 * buckets, stream));
    DEVICE_TRY(cudaMemcpyAsync(&s->seen->pairs, &s->counters->pairs, 4, cudaMemcpyDeviceToHost, stream));
    int status = wait_for(s, stream, err);
    if (status)
        return status;
    s->pairs = s->seen->pairs;
    if (s->pairs == 0)
        return 0;
    s->task_size = task_size(s->pairs, buckets);
    int key_bits = shape->bits - 1;
    while ((1 << key_bits) < (int)buckets)
        key_bits++;
    status = sort_pairs(s, key_bits, stream, err);
    return status ? status : make_tasks(s, stream, err);
}
