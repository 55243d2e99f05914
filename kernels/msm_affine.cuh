/*
 * kernels/msm_affine.cuh: bucket sums by affine additions that share inversions. Part of kernels/msm_group.cuh.
 *
 * An affine addition costs 5 M + 1 S and one inversion; Montgomery's trick turns many inversions into one and three of
 * those multiplications each. A mixed XYZZ addition costs 8 M + 2 S. The additions of a bucket depend on each other,
 * so they are done as a tree: in each round each thread halves what is left of its tasks, pairs (0, 1), (2, 3) ... of
 * each; the odd one moves up. A round is three kernels:
 *
 *   forward    the product of a thread's denominators, and the products so far, pair by pair
 *   invert     the products of all threads, a few to a thread, by the same trick
 *   backward   denominators undone in the opposite order, the sums in place
 *
 * Tasks are sorted by size, so the threads of a block have alike ones. What is left in the end, one or two points a
 * task, goes through XYZZ. Slot i of thread g lies at i * threads + g: neighbours in a warp are neighbours in memory; x
 * and y lie apart, since the forward kernel reads x alone.
 *
 * Cost sketch, a pair: 5 M + 1 S; reads two x and a prefix, two points, writes a prefix and a point: 480 bytes at 381
 * bits, half of them gathered in the first round.
 */
#ifndef KERNELS_MSM_AFFINE_CUH
#define KERNELS_MSM_AFFINE_CUH

typedef decltype(affine::x) coordinate;

struct rounds {
    const struct msm_task *tasks;
    const struct msm_counters *counters;
    const uint32_t *values;
    const affine *bases;
    coordinate *x, *y, *prefixes;           /* slots */
    coordinate *products, *spare;           /* one a thread */
    uint32_t first, threads;    /* first task of this launch; threads of it */
    uint32_t per_thread, half;  /* tasks of a thread; slots of a task */
    int level;
};

/* A thread's k-th task; size 0 beyond the last. */
static __device__ __forceinline__ struct msm_task own_task(const rounds &a, uint32_t k)
{
    const uint32_t t = a.first + (blockIdx.x * a.per_thread + k) * THREADS + threadIdx.x;
    struct msm_task none = {0, 0, 0, 0};
    return t < a.counters->place[0] ? a.tasks[t] : none;
}

static __device__ __forceinline__ uint32_t left(const struct msm_task &task, int level)
{
    return (task.size + (1u << level) - 1) >> level;
}

static __device__ __forceinline__ size_t slot(const rounds &a, uint32_t k, uint32_t i)
{
    return (size_t)(k * a.half + i) * a.threads + blockIdx.x * THREADS + threadIdx.x;
}

/* Element i of a task: in the first round a base, negated where its value says so, later what a slot holds. */
template <bool FIRST>
static __device__ __forceinline__ void fetch_x(coordinate *x, const rounds &a, const struct msm_task &task, uint32_t k,
                                               uint32_t i)
{
    if (FIRST)
        load16(x, &a.bases[a.values[task.start + i] & 0x7fffffffu].x);
    else
        load16(x, a.x + slot(a, k, i));
}

template <bool FIRST>
static __device__ __forceinline__ void fetch(affine *p, const rounds &a, const struct msm_task &task, uint32_t k,
                                             uint32_t i)
{
    if (FIRST) {
        fetch_base(p, a.bases, a.values[task.start + i]);
    } else {
        load16(&p->x, a.x + slot(a, k, i));
        load16(&p->y, a.y + slot(a, k, i));
    }
}

static __device__ __forceinline__ void keep(const affine *p, const rounds &a, uint32_t k, uint32_t i)
{
    store16(a.x + slot(a, k, i), &p->x);
    store16(a.y + slot(a, k, i), &p->y);
}

enum pair_kind { PAIR_ADD, PAIR_DOUBLE, PAIR_LEFT, PAIR_RIGHT, PAIR_INFINITY };

/* What p + q is, and the denominator of its slope; 1 where there is none. d is q.x - p.x on entry. */
static __device__ __forceinline__ enum pair_kind classify(const affine *p, const affine *q, coordinate *d)
{
    if (!(f_is_zero(d) | f_is_zero(&p->x) | f_is_zero(&q->x)))
        return PAIR_ADD;
    enum pair_kind kind = PAIR_ADD;
    if (G(affine_is_inf)(q)) {
        kind = PAIR_LEFT;
    } else if (G(affine_is_inf)(p)) {
        kind = PAIR_RIGHT;
    } else if (f_is_zero(d)) {
        kind = f_eq(&p->y, &q->y) ? PAIR_DOUBLE : PAIR_INFINITY;
        f_add(d, &p->y, &p->y);
    }
    if (kind != PAIR_ADD && kind != PAIR_DOUBLE)
        f_set_one(d);
    return kind;
}

template <bool FIRST> static __global__ void __launch_bounds__(THREADS) forward_kernel(const rounds a)
{
    coordinate product;
    f_set_one(&product);
    for (uint32_t k = a.per_thread; k-- > 0;) {
        const struct msm_task task = own_task(a, k);
        for (uint32_t j = left(task, a.level) / 2; j-- > 0;) {
            affine p, q;
            coordinate d;
            fetch_x<FIRST>(&p.x, a, task, k, 2 * j);
            fetch_x<FIRST>(&q.x, a, task, k, 2 * j + 1);
            f_sub(&d, &q.x, &p.x);
            if (f_is_zero(&d) | f_is_zero(&p.x) | f_is_zero(&q.x)) {
                fetch<FIRST>(&p, a, task, k, 2 * j);
                fetch<FIRST>(&q, a, task, k, 2 * j + 1);
                classify(&p, &q, &d);
            }
            store16(a.prefixes + slot(a, k, j), &product);
            f_mul(&product, &product, &d);
        }
    }
    store16(a.products + blockIdx.x * THREADS + threadIdx.x, &product);
}

/* INVERT_RUN products to a thread, `step` apart. None is zero. */
enum { INVERT_RUN = 4 };

static __global__ void __launch_bounds__(32) invert_kernel(coordinate *products, coordinate *spare, uint32_t count,
                                                           uint32_t step)
{
    const uint32_t first = blockIdx.x * 32 + threadIdx.x;
    if (first >= step)
        return;
    coordinate product, x;
    f_set_one(&product);
    for (uint32_t i = first; i < count; i += step) {
        store16(spare + i, &product);
        load16(&x, products + i);
        f_mul(&product, &product, &x);
    }
    f_inv(&product, &product);
    for (uint32_t i = first + (count - 1 - first) / step * step;; i -= step) {
        coordinate inverse;
        load16(&inverse, spare + i);
        f_mul(&inverse, &inverse, &product);
        load16(&x, products + i);
        f_mul(&product, &product, &x);
        store16(products + i, &inverse);
        if (i == first)
            break;
    }
}

/* r = p + q by the chord or tangent, given the inverse of its denominator. */
static __device__ __forceinline__ void finish_pair(affine *r, const affine *p, const affine *q, enum pair_kind kind,
                                                   const coordinate *inverse)
{
    coordinate slope, t;
    if (kind == PAIR_DOUBLE) {
        f_sqr(&t, &p->x);
        f_add(&slope, &t, &t);
        f_add(&slope, &slope, &t);
    } else {
        f_sub(&slope, &q->y, &p->y);
    }
    f_mul(&slope, &slope, inverse);
    f_sqr(&t, &slope);
    f_sub(&t, &t, &p->x);
    f_sub(&t, &t, &q->x);
    f_sub(&r->x, &p->x, &t);
    f_mul(&r->y, &slope, &r->x);
    f_sub(&r->y, &r->y, &p->y);
    r->x = t;
}

template <bool FIRST> static __global__ void __launch_bounds__(THREADS, AFFINE_BLOCKS) backward_kernel(const rounds a)
{
    coordinate inverse;
    load16(&inverse, a.products + blockIdx.x * THREADS + threadIdx.x);
    for (uint32_t k = 0; k < a.per_thread; k++) {
        const struct msm_task task = own_task(a, k);
        const uint32_t size = left(task, a.level), pairs = size / 2;
        for (uint32_t j = 0; j < pairs; j++) {
            affine p, q, r;
            coordinate d, own;
            fetch<FIRST>(&p, a, task, k, 2 * j);
            fetch<FIRST>(&q, a, task, k, 2 * j + 1);
            f_sub(&d, &q.x, &p.x);
            const enum pair_kind kind = classify(&p, &q, &d);
            load16(&own, a.prefixes + slot(a, k, j));
            f_mul(&own, &own, &inverse);
            f_mul(&inverse, &inverse, &d);
            finish_pair(&r, &p, &q, kind, &own);
            if (kind > PAIR_DOUBLE) {
                if (kind == PAIR_LEFT)
                    r = p;
                else if (kind == PAIR_RIGHT)
                    r = q;
                else
                    r = affine();
            }
            keep(&r, a, k, j);
        }
        if (size % 2) {
            affine p;
            fetch<FIRST>(&p, a, task, k, size - 1);
            keep(&p, a, k, pairs);
        }
    }
}

/* What the rounds left of each task, to its bucket or slot. */
static __global__ void __launch_bounds__(THREADS, GROUP_BLOCKS) leave_kernel(const rounds a, const sums m)
{
    for (uint32_t k = 0; k < a.per_thread; k++) {
        const struct msm_task task = own_task(a, k);
        const uint32_t size = left(task, a.level);
        if (size == 0)
            continue;
        xyzz *to = target(m, m.slots, task.to), acc;
        affine p;
        if (m.fresh || (task.to & MSM_TO_SLOT))
            G(set_inf)(&acc);
        else
            load16(&acc, to);
        for (uint32_t i = 0; i < size; i++) {
            fetch<false>(&p, a, task, k, i);
            G(madd)(&acc, &acc, &p);
        }
        store16(to, &acc);
    }
}

/* ---- host ---- */

static unsigned blocks_for(size_t threads)
{
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

static int one_round(rounds a, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    const unsigned blocks = a.threads / THREADS;
    const uint32_t step = (a.threads + INVERT_RUN - 1) / INVERT_RUN;
    if (a.level == 0)
        forward_kernel<true><<<blocks, THREADS, 0, stream>>>(a);
    else
        forward_kernel<false><<<blocks, THREADS, 0, stream>>>(a);
    invert_kernel<<<(step + 31) / 32, 32, 0, stream>>>(a.products, a.spare, a.threads, step);
    if (a.level == 0)
        backward_kernel<true><<<blocks, THREADS, 0, stream>>>(a);
    else
        backward_kernel<false><<<blocks, THREADS, 0, stream>>>(a);
    DEVICE_TRY(cudaGetLastError());
    return 0;
}

/* All tasks, in launches of as many threads as half of the scratch has room for, by turns on two streams. */
static int accumulate_affine(const struct msm_sorter *s, const struct msm_sums *sums_, const sums &m, const void *bases,
                             size_t tasks, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    rounds a = {s->tasks, s->counters, s->sorted, (const affine *)bases};
    a.half = s->task_size / 2;
    a.per_thread = MSM_SCRATCH_SLOTS / a.half;
    while (a.per_thread > 1 && tasks / a.per_thread < (1u << MSM_THREADS_LOG))
        a.per_thread /= 2;
    const size_t slots = (size_t)a.per_thread * a.half;
    const size_t thread_bytes = slots * (sizeof(affine) + sizeof(coordinate)) + 2 * sizeof(coordinate);
    const size_t room = sums_->scratch_bytes / 2 / thread_bytes / THREADS;
    const size_t wanted = blocks_for((tasks + a.per_thread - 1) / a.per_thread);
    a.threads = (uint32_t)((wanted + 1) / 2 < room ? (wanted + 1) / 2 : room) * THREADS;
    int last = 0;
    while (s->task_size >> (last + 1) > 1)
        last++;

    const cudaStream_t streams[2] = {stream, sums_->side};
    DEVICE_TRY(cudaEventRecord(sums_->fork, stream));
    DEVICE_TRY(cudaStreamWaitEvent(sums_->side, sums_->fork, 0));
    int turn = 0;
    for (size_t first = 0; first < tasks; first += (size_t)a.threads * a.per_thread, turn ^= 1) {
        a.first = (uint32_t)first;
        a.x = (coordinate *)((uint8_t *)sums_->scratch + turn * a.threads * thread_bytes);
        a.y = a.x + slots * a.threads;
        a.prefixes = a.y + slots * a.threads;
        a.products = a.prefixes + slots * a.threads;
        a.spare = a.products + a.threads;
        for (a.level = 0; a.level < last; a.level++) {
            const int status = one_round(a, streams[turn], err);
            if (status)
                return status;
        }
        const unsigned blocks = a.threads / THREADS;
        leave_kernel<<<blocks, THREADS, 0, streams[turn]>>>(a, m);
        DEVICE_TRY(cudaGetLastError());
    }
    DEVICE_TRY(cudaEventRecord(sums_->join, sums_->side));
    DEVICE_TRY(cudaStreamWaitEvent(stream, sums_->join, 0));
    return 0;
}

#endif
