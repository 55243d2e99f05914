/*
 * kernels/prover.cu: Groth16 on one device. See kernels/prover.cuh; the mathematics stand in docs/ARCHITECTURE.md.
 */
#include "kernels/prover.cuh"

#include <string.h>

#include <new>

#include "kernels/assemble.h"
#include "kernels/clock.h"
#include "kernels/ranges.cuh"

/* ---- on the device ---- */

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

/* to[i] = from[index[i]], elements of 32 bytes; two threads to each. */
static __global__ void gather_kernel(ulonglong2 *to, const ulonglong2 *from, const uint32_t *index, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i / 2 < n)
        to[i] = from[2 * (size_t)index[i / 2] + i % 2];
}

/* ---- the device ---- */

static void destroy(cudaEvent_t e)
{
    if (e)
        cudaEventDestroy(e);
}

static int make_streams(struct prover_device *d, char err[KRN_ERR_TEXT])
{
    cudaStream_t *const streams[] = {&d->copies, &d->kernels, &d->loads, &d->feed, &d->clock};
    for (cudaStream_t *s : streams)
        DEVICE_TRY(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (int i = 0; i < PROVER_STAGES; i++) {
        DEVICE_TRY(cudaEventCreateWithFlags(&d->staged[i], cudaEventDisableTiming));
        DEVICE_TRY(cudaEventCreateWithFlags(&d->full[i], cudaEventDisableTiming));
        DEVICE_TRY(cudaEventCreateWithFlags(&d->empty[i], cudaEventDisableTiming));
    }
    return msm_side_open(&d->side, err);
}

/* Of one job, whatever the curve. */
static size_t result_bytes(int set)
{
    const size_t bn254 = msm_result_bytes(msm_group_of(KRN_BN254, prover_is_g2(set)));
    const size_t bls381 = msm_result_bytes(msm_group_of(KRN_BLS12_381, prover_is_g2(set)));
    return bn254 > bls381 ? bn254 : bls381;
}

static size_t results_bytes(void)
{
    size_t bytes = 0;
    for (int set = 0; set < PROVER_SETS; set++)
        bytes += result_bytes(set);
    return bytes;
}

static int lock_pages(struct prover_device *d, uint8_t **p, size_t bytes, char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaHostAlloc((void **)p, bytes, cudaHostAllocDefault));
    d->registrations++;
    d->registered_bytes += bytes;
    return 0;
}

enum { SEEN_BYTES = (sizeof(struct msm_counters) + 255) / 256 * 256, ROW_BYTES = 256 };

static int set_up(struct prover_device *d, char err[KRN_ERR_TEXT])
{
    size_t free_bytes = 0, total = 0;
    DEVICE_TRY(cudaSetDevice(d->index));
    DEVICE_TRY(cudaMemGetInfo(&free_bytes, &total));
    d->total = total;
    int status = make_streams(d, err);
    for (int i = 0; i < PROVER_STAGES && status == 0; i++)
        status = lock_pages(d, &d->staging[i], PROVER_STAGING_BYTES, err);
    if (status == 0)
        status = lock_pages(d, &d->pinned, SEEN_BYTES + ROW_BYTES + PROVER_SLOTS * results_bytes(), err);
    d->seen = (struct msm_counters *)d->pinned;
    d->row_seen = (unsigned long long *)(d->pinned + SEEN_BYTES);
    return status;
}

int prover_open(struct prover_device **out, int index, char err[KRN_ERR_TEXT])
{
    struct prover_device *d = new (std::nothrow) struct prover_device();
    if (!d) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return -ENOMEM;
    }
    d->index = index;
    const int status = set_up(d, err);
    if (status)
        prover_close(d);
    else
        *out = d;
    return status;
}

void prover_close(struct prover_device *d)
{
    const cudaStream_t streams[] = {d->copies, d->kernels, d->loads, d->feed, d->clock};
    cudaFree(d->memory);
    cudaFreeHost(d->pinned);
    for (int i = 0; i < PROVER_STAGES; i++) {
        cudaFreeHost(d->staging[i]);
        destroy(d->staged[i]);
        destroy(d->full[i]);
        destroy(d->empty[i]);
    }
    for (cudaStream_t s : streams)
        if (s)
            cudaStreamDestroy(s);
    msm_side_close(&d->side);
    delete d;
}

int prover_take(struct prover_device *d, const struct krn_cuda_plan *plan, char err[KRN_ERR_TEXT])
{
    void *memory;
    if (d->key_used) {
        snprintf(err, KRN_ERR_TEXT, "a plan while keys are loaded (%llu bytes)", (unsigned long long)d->key_used);
        return -EBUSY;
    }
    DEVICE_TRY(cudaFree(d->memory));
    d->memory = NULL;
    d->plan = {};
    const int status = device_alloc(&memory, plan->workspace, "a workspace for proofs", err);
    if (status)
        return status;
    d->allocations++;
    d->plan = *plan;
    d->memory = (uint8_t *)memory;
    d->work = d->memory + plan->slots * plan->slot;
    d->load = d->work + plan->work;
    return 0;
}

int prover_budget(struct prover_device *d, uint64_t *bytes, char err[KRN_ERR_TEXT])
{
    size_t free_bytes = 0, total = 0;
    DEVICE_TRY(cudaMemGetInfo(&free_bytes, &total));
    /* Stacks: 2,048 threads on each multiprocessor, up to 4 KiB each, and the rest of a context. */
    const uint64_t margin = total / 64, have = free_bytes + d->plan.workspace;
    *bytes = have > margin ? have - margin : 0;
    return 0;
}

void prover_memory(const struct prover_device *d, struct krn_memory *m)
{
    m->total = d->total;
    m->workspace = d->plan.workspace;
    m->key_room = d->plan.room;
    m->key_used = d->key_used;
    m->allocations = d->allocations;
    m->registrations = d->registrations;
    m->registered_bytes = d->registered_bytes;
    m->host_copies = d->host_copies;
    m->host_copied_bytes = d->host_copied_bytes;
}

int prover_register(struct prover_device *d, void *base, size_t bytes, unsigned flags)
{
    const cudaError_t e = cudaHostRegister(base, bytes, cudaHostRegisterPortable | flags);
    if (e == cudaSuccess) {
        d->registrations++;
        d->registered_bytes += bytes;
        return 0;
    }
    char err[KRN_ERR_TEXT];
    return e == cudaErrorHostMemoryAlreadyRegistered ? (cudaGetLastError(), -EALREADY)
                                                     : device_status(e, "cudaHostRegister", err);
}

void prover_unregister(struct prover_device *d, void *base, size_t bytes)
{
    if (cudaHostUnregister(base) == cudaSuccess) {
        d->registrations--;
        d->registered_bytes -= bytes;
    } else {
        cudaGetLastError();
    }
}

/* ---- a proof: inputs ---- */

int prover_job_open(struct prover_job *job, struct prover_device *d, int index, char err[KRN_ERR_TEXT])
{
    cudaEvent_t *const events[] = {&job->tie, &job->begun, &job->w_uploaded, &job->uploaded, &job->started, &job->ready,
                                   &job->transformed, &job->done, &job->stretch[0], &job->stretch[1]};
    *job = {};
    uint8_t *results = d->pinned + SEEN_BYTES + ROW_BYTES + index * results_bytes();
    for (int set = 0; set < PROVER_SETS; results += result_bytes(set), set++) {
        job->results[set] = results;
        DEVICE_TRY(cudaEventCreate(&job->summed[set]));
    }
    for (cudaEvent_t *e : events)
        DEVICE_TRY(cudaEventCreate(e));
    return 0;
}

void prover_job_close(struct prover_job *job)
{
    const cudaEvent_t events[] = {job->tie, job->begun, job->w_uploaded, job->uploaded, job->started, job->ready,
                                  job->transformed, job->done, job->stretch[0], job->stretch[1]};
    for (cudaEvent_t e : events)
        destroy(e);
    for (cudaEvent_t e : job->summed)
        destroy(e);
}

static double seconds(cudaEvent_t from, cudaEvent_t to)
{
    float ms = 0;
    cudaEventElapsedTime(&ms, from, to);
    return 1e-3 * ms;
}

static uint64_t now_ns(void)
{
    return (uint64_t)(1e9 * krn_seconds());
}

/* An event whose time on the host's clock is known, for each job anew: times between events are floats. */
static int tie_clocks(struct prover_job *job, char err[KRN_ERR_TEXT])
{
    const cudaStream_t clock = job->key->dev->clock;
    const uint64_t before = now_ns();
    DEVICE_TRY(cudaEventRecord(job->tie, clock));
    DEVICE_TRY(cudaEventSynchronize(job->tie));
    job->tie_ns = before + (now_ns() - before) / 2;
    return 0;
}

static uint64_t host_ns(const struct prover_job *job, cudaEvent_t e)
{
    return job->tie_ns + (uint64_t)(int64_t)(1e9 * seconds(job->tie, e));
}

/* CUDA copies what lies in memory that is not page-locked to a buffer of its own first. */
static int upload_vector(struct prover_device *d, uint8_t *to, const uint8_t *from, size_t bytes, cudaStream_t stream,
                         char err[KRN_ERR_TEXT])
{
    struct cudaPointerAttributes known;
    if (cudaPointerGetAttributes(&known, from) != cudaSuccess || known.type == cudaMemoryTypeUnregistered) {
        d->host_copies++;
        d->host_copied_bytes += bytes;
    }
    DEVICE_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    return 0;
}

int prover_upload(struct prover_job *job, int index, struct prover_key *key, const struct krn_vectors *v,
                  char err[KRN_ERR_TEXT])
{
    const struct range range("upload");
    struct prover_device *d = key->dev;
    const size_t rows = (size_t)KRN_FR_BYTES << key->shape.log_n;
    job->key = key;
    job->busy = 0;
    prover_place_inputs(&key->shape, d->memory + (size_t)index * d->plan.slot, &job->in);
    int status = tie_clocks(job, err);
    if (status)
        return status;
    DEVICE_TRY(cudaEventRecord(job->begun, d->copies));
    status = upload_vector(d, job->in.w, v->w, (size_t)KRN_FR_BYTES * key->shape.n_vars, d->copies, err);
    if (status)
        return status;
    DEVICE_TRY(cudaEventRecord(job->w_uploaded, d->copies));
    status = upload_vector(d, job->in.a, v->a, rows, d->copies, err);
    if (status == 0)
        status = upload_vector(d, job->in.b, v->b, rows, d->copies, err);
    if (status)
        return status;
    DEVICE_TRY(cudaEventRecord(job->uploaded, d->copies));
    return 0;
}

/* ---- a proof: kernels ---- */

/* Waits for all that is queued, which makes a stretch of busy time, and begins another one. */
static int wait_and_measure(void *ctx, cudaStream_t stream, char err[KRN_ERR_TEXT])
{
    struct prover_job *job = (struct prover_job *)ctx;
    DEVICE_TRY(cudaEventRecord(job->stretch[1], stream));
    DEVICE_TRY(cudaEventSynchronize(job->stretch[1]));
    job->busy += seconds(job->stretch_begin, job->stretch[1]);
    job->stretch_begin = job->stretch[0];
    DEVICE_TRY(cudaEventRecord(job->stretch_begin, stream));
    return 0;
}

int prover_start(struct prover_job *job, char err[KRN_ERR_TEXT])
{
    struct prover_device *d = job->key->dev;
    DEVICE_TRY(cudaStreamWaitEvent(d->kernels, job->w_uploaded, 0));
    DEVICE_TRY(cudaEventRecord(job->started, d->kernels));
    DEVICE_TRY(cudaStreamWaitEvent(d->feed, job->started, 0));
    job->stretch_begin = job->started;
    job->key->sorter.wait = wait_and_measure;
    job->key->sorter.wait_ctx = job;
    return 0;
}

/* For kernels that read a and b. Where these are not there yet, the time until they are is no busy time. */
static int wait_for_rows(struct prover_job *job, char err[KRN_ERR_TEXT])
{
    const cudaStream_t stream = job->key->dev->kernels;
    if (cudaEventQuery(job->uploaded) == cudaSuccess)
        return 0;
    cudaGetLastError();
    const int status = wait_and_measure(job, stream, err);
    if (status)
        return status;
    DEVICE_TRY(cudaStreamWaitEvent(stream, job->uploaded, 0));
    DEVICE_TRY(cudaEventRecord(job->stretch_begin, stream));
    return 0;
}

int prover_check_c(struct prover_job *job, const uint8_t *c, uint64_t *row, char err[KRN_ERR_TEXT])
{
    struct prover_device *d = job->key->dev;
    const struct prover_work *at = &job->key->work;
    const struct prover_inputs *in = &job->in;
    const uint32_t n = 1u << job->key->shape.log_n, blocks = (n + 255) / 256;
    const cudaStream_t stream = d->kernels;
    int status = wait_for_rows(job, err);
    if (status == 0)
        status = upload_vector(d, at->h, c, (size_t)KRN_FR_BYTES * n, stream, err);
    if (status)
        return status;
    DEVICE_TRY(cudaMemsetAsync(at->row, 0xff, sizeof *at->row, stream));
    if (job->key->shape.curve == KRN_BN254)
        check_kernel<<<blocks, 256, 0, stream>>>((const bn254_fr *)in->a, (const bn254_fr *)in->b,
                                                 (const bn254_fr *)at->h, n, at->row);
    else
        check_kernel<<<blocks, 256, 0, stream>>>((const bls381_fr *)in->a, (const bls381_fr *)in->b,
                                                 (const bls381_fr *)at->h, n, at->row);
    DEVICE_TRY(cudaGetLastError());
    DEVICE_TRY(cudaMemcpyAsync(d->row_seen, at->row, sizeof *at->row, cudaMemcpyDeviceToHost, stream));
    status = wait_and_measure(job, stream, err);
    if (status)
        return status;
    if (*d->row_seen == ~0ull)
        return KRN_OK;
    *row = *d->row_seen;
    return KRN_ROW_DIFFERS;
}

/* The bases of scalars at .. at+count-1 of a set: where they lie, or in a stage once `kernels` gets there. */
static int bases_of(struct prover_key *k, int set, size_t at, size_t count, const uint8_t **bases,
                    char err[KRN_ERR_TEXT])
{
    struct prover_device *d = k->dev;
    *bases = k->at.bases[set];
    if (k->shape.mode != KRN_CUDA_STREAMED)
        return 0;
    const int turn = d->turn ^= 1;
    DEVICE_TRY(cudaStreamWaitEvent(d->feed, d->empty[turn], 0));
    const int status = prover_copy_points(k, set, at, count, k->work.stage[turn], d->feed, err);
    if (status)
        return status;
    DEVICE_TRY(cudaEventRecord(d->full[turn], d->feed));
    DEVICE_TRY(cudaStreamWaitEvent(d->kernels, d->full[turn], 0));
    *bases = k->work.stage[turn];
    return 0;
}

/* Scalars and the sets of bases that go with them. */
struct terms {
    const uint8_t *scalars;
    size_t n;
    const enum krn_set *sets;
    int n_sets;
};

static int sum_one(struct prover_job *job, int set, const struct terms *t, size_t at, size_t count,
                   char err[KRN_ERR_TEXT])
{
    static const char *const names[PROVER_SETS] = {"A", "B1", "L", "B2", "H"};
    const struct range range(names[set]);
    struct prover_key *k = job->key;
    const struct msm_group *g = msm_group_of(k->shape.curve, prover_is_g2(set));
    const cudaStream_t stream = k->dev->kernels;
    const uint8_t *bases;
    int status = bases_of(k, set, at, count, &bases, err);
    if (status == 0)
        status = g->accumulate(&k->sorter, &k->sums[set], bases, at == 0, stream, err);
    if (status)
        return status;
    if (k->shape.mode == KRN_CUDA_STREAMED)
        DEVICE_TRY(cudaEventRecord(k->dev->empty[k->dev->turn], stream));
    if (at + count < t->n)
        return 0;
    k->sums[set].result = job->results[set];
    status = g->reduce(&job->shape[set], &k->sums[set], stream, err);
    DEVICE_TRY(cudaEventRecord(job->summed[set], stream));
    return status;
}

static int sum_tiles(struct prover_job *job, const struct msm_shape *shape, const struct terms *t,
                     char err[KRN_ERR_TEXT])
{
    struct prover_key *k = job->key;
    const size_t tile = k->shape.tile;
    for (int i = 0; i < t->n_sets; i++)
        job->shape[t->sets[i]] = *shape;
    for (size_t at = 0; at < t->n; at += tile) {
        const size_t count = t->n - at < tile ? t->n - at : tile;
        const size_t first = k->shape.mode == KRN_CUDA_STREAMED ? 0 : at;
        int status = msm_digits(&k->sorter, shape, t->scalars + KRN_FR_BYTES * at, count, first, t->n, k->dev->kernels,
                                err);
        for (int i = 0; i < t->n_sets && status == 0; i++)
            status = sum_one(job, t->sets[i], t, at, count, err);
        if (status)
            return status;
    }
    return 0;
}

/* Under scalars of the witness: their lengths are looked at, and none may exceed the group order. */
static int sum_witness(struct prover_job *job, const struct terms *t, char err[KRN_ERR_TEXT])
{
    struct prover_key *k = job->key;
    struct msm_shape shape = k->shape.largest[t->sets[0]];
    const int status = msm_count(&k->sorter, t->scalars, t->n, k->dev->kernels, err);
    if (status)
        return status;
    if (k->shape.copies[t->sets[0]] == 1)
        shape = msm_choose(k->shape.curve, k->sorter.seen->words, shape.bits, k->sorter.pairs_max);
    return sum_tiles(job, &shape, t, err);
}

/* A, L, B1 and B2, in this order. */
static int sum_all_witness(struct prover_job *job, char err[KRN_ERR_TEXT])
{
    static const enum krn_set sets[] = {KRN_SET_A, KRN_SET_L, KRN_SET_B1, KRN_SET_B2};
    const struct prover_key *k = job->key;
    const struct prover_shape *s = &k->shape;
    const struct terms all = {job->in.w, s->n_vars, sets, s->compact ? 2 : 4};
    const int status = sum_witness(job, &all, err);
    if (status || !s->compact)
        return status;
    const struct terms of_b = {k->work.b_scalars, s->n_b, sets + 2, 2};
    gather_kernel<<<(unsigned)((2 * (size_t)s->n_b + 255) / 256), 256, 0, k->dev->kernels>>>(
        (ulonglong2 *)k->work.b_scalars, (const ulonglong2 *)job->in.w, k->at.b_index, s->n_b);
    DEVICE_TRY(cudaGetLastError());
    return sum_witness(job, &of_b, err);
}

static int sum_quotient(struct prover_job *job, char err[KRN_ERR_TEXT])
{
    static const enum krn_set h = KRN_SET_H;
    struct prover_key *k = job->key;
    const struct terms t = {k->work.h, (size_t)1 << k->shape.log_n, &h, 1};
    msm_count_full(&k->sorter, t.n);
    return sum_tiles(job, &k->shape.largest[h], &t, err);
}

static int transform(struct prover_job *job, char err[KRN_ERR_TEXT])
{
    const struct range range("transforms");
    struct prover_key *k = job->key;
    const cudaStream_t stream = k->dev->kernels;
    int status = wait_for_rows(job, err);
    if (status)
        return status;
    DEVICE_TRY(cudaEventRecord(job->ready, stream));
    status = ntt_quotient(&k->tables, job->in.a, job->in.b, NULL, k->work.transforms, k->work.h, stream, err);
    DEVICE_TRY(cudaEventRecord(job->transformed, stream));
    return status;
}

/* The witness first, which is there first: a and b travel meanwhile. */
int prover_launch(struct prover_job *job, char err[KRN_ERR_TEXT])
{
    int status = sum_all_witness(job, err);
    if (status == 0)
        status = transform(job, err);
    if (status == 0)
        status = sum_quotient(job, err);
    DEVICE_TRY(cudaEventRecord(job->done, job->key->dev->kernels));
    return status;
}

/* ---- a proof: the host's part ---- */

static void read_times(const struct prover_job *job, struct krn_times *t)
{
    const cudaEvent_t *s = job->summed;
    t->upload = seconds(job->begun, job->uploaded);
    t->upload_ns = host_ns(job, job->begun);
    t->start_ns = host_ns(job, job->started);
    t->msm_a = seconds(job->started, s[KRN_SET_A]);
    t->msm_l = seconds(s[KRN_SET_A], s[KRN_SET_L]);
    t->msm_b1 = seconds(s[KRN_SET_L], s[KRN_SET_B1]);
    t->msm_b2 = seconds(s[KRN_SET_B1], s[KRN_SET_B2]);
    t->ntt = seconds(job->ready, job->transformed);
    t->msm_h = seconds(job->transformed, s[KRN_SET_H]);
    t->busy = job->busy + seconds(job->stretch_begin, job->done);
}

static void finish_sum(const struct prover_job *job, int set, void *affine)
{
    struct msm_sums m = {};
    m.result = job->results[set];
    msm_finish(job->key->shape.curve, prover_is_g2(set), &job->shape[set], &m, affine);
}

int prover_finish(struct prover_job *job, const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES],
                  struct krn_proof *proof, struct krn_times *times, char err[KRN_ERR_TEXT])
{
    const struct prover_key *k = job->key;
    struct krn_proof_sums sums;
    struct krn_blinds blinds;
    uint8_t *const to[PROVER_SETS] = {sums.a, sums.b1, sums.l, sums.b2, sums.h};
    krn_blind(&k->key, r, s, &blinds);
    /* H is the last of the sums: while it is computed the others are put together. */
    for (int set = 0; set < KRN_SET_H; set++) {
        DEVICE_TRY(cudaEventSynchronize(job->summed[set]));
        finish_sum(job, set, to[set]);
    }
    DEVICE_TRY(cudaEventSynchronize(job->done));
    const struct range range("finish");
    const double start = krn_seconds();
    finish_sum(job, KRN_SET_H, to[KRN_SET_H]);
    krn_assemble(&k->key, &sums, &blinds, r, s, proof);
    read_times(job, times);
    times->finish = krn_seconds() - start;
    return KRN_OK;
}
