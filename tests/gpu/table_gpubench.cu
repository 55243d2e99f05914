/*
 * tests/gpu/table_gpubench.cu: one table: operation, curve, size, milliseconds (median, fastest and slowest of seven
 * after one warm-up), the floor, their ratio, the share of the multiply pipe, and the figures of the project's plan:
 * what may be called done, and the goal.
 *
 * The floor is the operation's multiplications at the rate of the bare multiplication kernels that run first: L / 2 an
 * element of a transform of 2^L; 5 M + 1 S, an affine addition, a digit of a scalar. The share of the pipe is of these
 * multiplications alone, in 32-bit products, of what the device could issue in the time: 32 a multiprocessor and clock.
 * Times are of the whole call with its results on the host; every sum is checked against its logarithm. Inputs are
 * random and made on the device. x16: bases in 16 copies, so that all digits share one set of buckets.
 */
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <vector>

#include "kernels/backend.h"
#include "kernels/clock.h"
#include "kernels/ec.h"
#include "kernels/msm.cuh"
#include "kernels/ntt.cuh"
#include "tests/gpu/generate.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

enum { REPEATS = 7 };

static void die_if(int status, const char *err)
{
    if (status) {
        printf("%s\n", err);
        exit(1);
    }
}

/* Milliseconds. */
struct spread {
    double median, least, most;
};

static struct spread spread_of(std::vector<double> ms)
{
    std::sort(ms.begin(), ms.end());
    return {ms[ms.size() / 2], ms.front(), ms.back()};
}

struct stopwatch {
    cudaEvent_t from, to;

    stopwatch()
    {
        CHECK(cudaEventCreate(&from));
        CHECK(cudaEventCreate(&to));
    }
    template <class T> struct spread time(T fn)
    {
        std::vector<double> ms(REPEATS);
        fn();
        for (double &t : ms) {
            float elapsed;
            CHECK(cudaEventRecord(from));
            fn();
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            CHECK(cudaEventElapsedTime(&elapsed, from, to));
            t = elapsed;
        }
        return spread_of(ms);
    }
};

/* ---- the plan ---- */

static const struct target {
    const char *what;       /* the first word of a line's name */
    int curve, log;         /* curve -1: both */
    double done, goal;      /* ms */
} targets[] = {
    {"NTT", -1, 20, 0.26, 0.20}, {"NTT", -1, 22, 1.05, 0.85}, {"NTT", -1, 24, 4.4, 3.8},
    {"G1", KRN_BN254, 20, 4.2, 2.2}, {"G1", KRN_BN254, 22, 13, 8}, {"G1", KRN_BN254, 24, 44, 28},
    {"G1", KRN_BLS12_381, 20, 9, 4.5}, {"G1", KRN_BLS12_381, 22, 26, 17}, {"G1", KRN_BLS12_381, 24, 95, 62},
    {"G2", KRN_BN254, 20, 10, 6}, {"G2", KRN_BN254, 22, 31, 20}, {"G2", KRN_BN254, 24, 115, 72},
    {"G2", KRN_BLS12_381, 20, 22, 12}, {"G2", KRN_BLS12_381, 22, 66, 42}, {"G2", KRN_BLS12_381, 24, 250, 155},
    {"proof, random", KRN_BN254, 20, 40, 18}, {"proof, bits", KRN_BN254, 20, 18, 9},
    {"proof, random", KRN_BLS12_381, 22, 260, 110}, {"proof, bits", KRN_BLS12_381, 22, 90, 45},
};

static const struct target *target_of(const char *what, enum krn_curve_id curve, int log)
{
    for (const struct target &t : targets)
        if (strncmp(what, t.what, strlen(t.what)) == 0 && (t.curve < 0 || t.curve == (int)curve) && t.log == log)
            return &t;
    return NULL;
}

/* ---- the ceilings ---- */

template <class F> __global__ void mul_kernel(F *v, int n)
{
    F x = v[blockIdx.x * blockDim.x + threadIdx.x], y = x;
    for (int i = 0; i < n; i++)
        f_mul(&x, &x, &y);
    v[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

template <class F> __global__ void sqr_kernel(F *v, int n)
{
    F x = v[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < n; i++)
        f_sqr(&x, &x);
    v[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/* What the device does of one kind of multiplication, in G/s, and the 32-bit products in one. */
struct rate {
    double per_second, products;
};

/* 32-bit products, in G/s, that the device can issue. */
static double pipe_rate(void)
{
    int multiprocessors = 0, khz = 0;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    return 32e-6 * multiprocessors * khz;
}

template <class F>
static struct rate rate_of(stopwatch &watch, const char *what, void (*kernel)(F *, int), double products)
{
    enum { BLOCKS = 132 * 16, THREADS = 128, ROUNDS = 2000 };
    F *v;
    CHECK(cudaMalloc(&v, sizeof(F) * BLOCKS * THREADS));
    CHECK(cudaMemset(v, 1, sizeof(F) * BLOCKS * THREADS));
    const double ms = watch.time([&] { kernel<<<BLOCKS, THREADS>>>(v, ROUNDS); }).median;
    CHECK(cudaGetLastError());
    CHECK(cudaFree(v));
    const struct rate r = {(double)BLOCKS * THREADS * ROUNDS / ms * 1e-6, products};
    printf("%-28s %6.1f G/s  %3.0f %% of the pipe\n", what, r.per_second, 1e2 * r.per_second * products / pipe_rate());
    return r;
}

/* So many G of something made of multiplications: the least time, in ms, and the 32-bit products. */
struct work {
    double ms, products;
};

static struct work work_of(double giga, const struct rate &r)
{
    return {1e3 * giga / r.per_second, giga * r.products};
}

static struct work operator+(const struct work &a, const struct work &b)
{
    return {a.ms + b.ms, a.products + b.products};
}

static void heading(void)
{
    printf("\n%-18s %-9s %4s %9s  %-17s %8s %6s %5s %6s %6s\n", "", "curve", "size", "ms", "fastest, slowest", "floor",
           "ratio", "pipe", "done", "goal");
}

static void line(const char *what, enum krn_curve_id curve, int log, const struct spread &t, const struct work &least)
{
    const struct target *target = target_of(what, curve, log);
    printf("%-18s %-9s 2^%-2d %9.3f  %8.3f %8.3f %8.3f %6.2f %3.0f %%", what, krn_curve(curve)->name, log, t.median,
           t.least, t.most, least.ms, t.median / least.ms, 1e5 * least.products / pipe_rate() / t.median);
    if (target)
        printf(" %6.4g %6.4g%s", target->done, target->goal, t.median > target->done ? "  not met" : "");
    printf("\n");
    fflush(stdout);
}

static void bench_ntt(stopwatch &watch, enum krn_curve_id curve, int log, const struct rate &mul)
{
    char err[KRN_ERR_TEXT];
    const size_t n = (size_t)1 << log;
    void *memory;
    uint8_t *v;
    struct ntt_tables tables;
    CHECK(cudaMalloc(&memory, ntt_tables_bytes(log)));
    CHECK(cudaMalloc(&v, 32 * n));
    die_if(ntt_tables_init(&tables, curve, log, memory, 0, err), err);
    generate_scalars(curve, SCALARS_RANDOM, 3, v, n, 0);
    const struct ntt_item item = {v, NULL, v, NULL, NULL};
    const struct work one = work_of(1e-9 * (double)n * log / 2, mul);
    line("NTT inverse", curve, log,
         watch.time([&] { die_if(ntt_run(&tables, NTT_INVERSE, &item, 1, 0, err), err); }), one);
    line("NTT forward", curve, log,
         watch.time([&] { die_if(ntt_run(&tables, NTT_FORWARD, &item, 1, 0, err), err); }), one);
    line("to coset", curve, log,
         watch.time([&] { die_if(ntt_run(&tables, NTT_TO_COSET, &item, 1, 0, err), err); }), one + one);
    CHECK(cudaFree(memory));
    CHECK(cudaFree(v));
}

/* G affine additions. In Fq2 a product is 5/6 of three, reductions being shared; a square is two. */
static struct work additions(double giga, int g2, const struct rate &mul, const struct rate &sqr)
{
    return g2 ? work_of(giga * (5 * 2.5 + 2), mul) : work_of(giga * 5, mul) + work_of(giga, sqr);
}

static void bench_msm(stopwatch &watch, enum krn_curve_id curve, int g2, int log, int copies, const struct rate &mul,
                      const struct rate &sqr)
{
    char err[KRN_ERR_TEXT];
    const size_t n = (size_t)1 << log, point = reference_point_bytes(curve, g2);
    uint8_t *bases, *scalars, k0[32], k1[32], out[KRN_G2_MAX], want[KRN_G2_MAX], k[32];
    void *scratch;
    struct msm msm;
    random_scalar(curve, 1, k0);
    random_scalar(curve, 2, k1);
    CHECK(cudaMalloc(&bases, point * n * copies));
    CHECK(cudaMalloc(&scalars, 32 * n));
    CHECK(cudaMalloc(&scratch, 2 * point * n));
    generate_points(curve, g2, k0, k1, bases, scratch, n, 0);
    CHECK(cudaFree(scratch));
    die_if(msm_open(&msm, curve, g2, n, copies, err), err);
    if (copies > 1)
        die_if(msm_expand(&msm, bases, n, 0, err), err);
    const struct work least = additions(1e-9 * (double)n * msm.largest.windows, g2, mul, sqr);
    const struct {
        const char *name;
        enum scalar_kind kind;
    } kinds[] = {{"", SCALARS_RANDOM}, {", bits", SCALARS_BITS}, {", equal", SCALARS_EQUAL},
                 {", small", SCALARS_SMALL}};
    for (auto &kind : kinds) {
        generate_scalars(curve, kind.kind, 3, scalars, n, 0);
        char name[64];
        snprintf(name, sizeof name, "G%d%s%s", g2 ? 2 : 1, copies > 1 ? " x16" : "", kind.name);
        line(name, curve, log,
             watch.time([&] { die_if(msm_run(&msm, bases, n, scalars, n, out, 0, err), err); }), least);
        known_logarithm(curve, k0, k1, scalars, n, k);
        times_generator(curve, g2, k, want);
        if (memcmp(out, want, point)) {
            printf("WRONG\n");
            exit(1);
        }
        if (log != 22 || copies > 1)
            break;
    }
    msm_close(&msm);
    CHECK(cudaFree(bases));
    CHECK(cudaFree(scalars));
}

/* ---- whole proofs ---- */

static std::vector<uint8_t> host_points(enum krn_curve_id curve, int g2, uint64_t seed, size_t n)
{
    const size_t point = reference_point_bytes(curve, g2);
    uint8_t k0[32], k1[32];
    void *device, *scratch;
    std::vector<uint8_t> v(point * n);
    random_scalar(curve, seed, k0);
    random_scalar(curve, seed + 1, k1);
    CHECK(cudaMalloc(&device, point * n));
    CHECK(cudaMalloc(&scratch, 2 * point * n));
    generate_points(curve, g2, k0, k1, device, scratch, n, 0);
    CHECK(cudaMemcpy(v.data(), device, v.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    CHECK(cudaFree(scratch));
    return v;
}

static uint8_t *pinned_scalars(enum krn_curve_id curve, enum scalar_kind kind, uint64_t seed, size_t n)
{
    void *host, *device;
    CHECK(cudaHostAlloc(&host, 32 * n, cudaHostAllocPortable));
    CHECK(cudaMalloc(&device, 32 * n));
    generate_scalars(curve, kind, seed, device, n, 0);
    CHECK(cudaMemcpy(host, device, 32 * n, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    return (uint8_t *)host;
}

static void time_alone(const char *kind, struct krn_dev_key *key, const struct krn_key *k, const struct krn_vectors *v,
                       const struct work &least)
{
    const struct krn_backend *gpu = &krn_cuda_backend;
    char err[KRN_ERR_TEXT] = "", name[64];
    uint8_t r[32] = {3}, s[32] = {5};
    struct krn_proof proof;
    struct krn_times t;
    uint64_t row;
    std::vector<double> ms;
    for (int i = 0; i <= REPEATS; i++) {
        const double start = krn_seconds();
        struct krn_job *job;
        die_if(gpu->begin(key, v, r, s, &job, err) || gpu->finish(job, &proof, &t, &row, err), err);
        if (i > 0)
            ms.push_back(1e3 * (krn_seconds() - start));
    }
    snprintf(name, sizeof name, "proof, %s", kind);
    line(name, k->curve, (int)k->log_domain, spread_of(ms), least);
    printf("    of one, ms: upload %.2f ntt %.2f A %.2f L %.2f B1 %.2f B2 %.2f H %.2f finish %.2f, busy %.2f\n",
           1e3 * t.upload, 1e3 * t.ntt, 1e3 * t.msm_a, 1e3 * t.msm_l, 1e3 * t.msm_b1, 1e3 * t.msm_b2, 1e3 * t.msm_h,
           1e3 * t.finish, 1e3 * t.busy);
}

/* One after another, each begun before the one before is finished: what the service does with slots always ready. */
static void time_queued(const char *kind, struct krn_dev_key *key, const struct krn_key *k, const struct krn_vectors *v,
                        const struct work &least)
{
    enum { QUEUED = 24, WARM = 2 };
    const struct krn_backend *gpu = &krn_cuda_backend;
    char err[KRN_ERR_TEXT] = "", name[64];
    uint8_t r[32] = {3}, s[32] = {5};
    struct krn_job *before, *next;
    struct krn_proof proof;
    struct krn_times t;
    uint64_t row;
    double start = 0, busy = 0;
    die_if(gpu->begin(key, v, r, s, &before, err), err);
    for (int i = 0; i < QUEUED + WARM; i++) {
        die_if(gpu->begin(key, v, r, s, &next, err) || gpu->finish(before, &proof, &t, &row, err), err);
        if (i + 1 == WARM)
            start = krn_seconds();
        else if (i >= WARM)
            busy += t.busy;
        before = next;
    }
    const double wall = krn_seconds() - start;
    die_if(gpu->finish(before, &proof, &t, &row, err), err);
    const double each = 1e3 * wall / QUEUED;
    snprintf(name, sizeof name, "queued, %s", kind);
    line(name, k->curve, (int)k->log_domain, {each, each, each}, least);
    printf("    GPU busy %.1f %% of the time\n", 100 * busy / wall);
}

static void bench_proof(enum krn_curve_id curve, int log, const struct work &least)
{
    char err[KRN_ERR_TEXT] = "";
    const size_t n = (size_t)1 << log;
    struct krn_key key = {};
    const std::vector<uint8_t> g1 = host_points(curve, 0, 1, n), g2 = host_points(curve, 1, 2, n);
    key.curve = curve;
    key.n_vars = (uint32_t)n - 2;
    key.n_public = 1;
    key.log_domain = (uint32_t)log;
    key.a = key.b1 = key.l = key.h = key.alpha1 = key.beta1 = key.delta1 = g1.data();
    key.b2 = key.beta2 = key.delta2 = g2.data();
    struct krn_device *dev = krn_cuda_backend.open(0, 0, err);
    struct krn_dev_key *loaded = NULL;
    const struct krn_key *keys[1] = {&key};
    die_if(!dev || krn_cuda_backend.plan(dev, keys, 1, 0, err), err);
    const double start = krn_seconds();
    die_if(krn_cuda_backend.key_load(dev, &key, NULL, &loaded, err), err);
    printf("    key: %.2f GiB, %s, loaded in %.2f s\n",
           (double)krn_cuda_backend.key_bytes(dev, &key) / (1 << 30), krn_cuda_backend.key_form(dev, &key),
           krn_seconds() - start);
    uint8_t *a = pinned_scalars(curve, SCALARS_RANDOM, 3, n), *b = pinned_scalars(curve, SCALARS_RANDOM, 4, n);
    const struct {
        const char *name;
        enum scalar_kind kind;
    } kinds[] = {{"random", SCALARS_RANDOM}, {"bits", SCALARS_BITS}};
    for (auto &kind : kinds) {
        uint8_t *w = pinned_scalars(curve, kind.kind, 5, n);
        const struct krn_vectors v = {w, a, b, NULL};
        time_alone(kind.name, loaded, &key, &v, least);
        time_queued(kind.name, loaded, &key, &v, least);
        CHECK(cudaFreeHost(w));
    }
    CHECK(cudaFreeHost(a));
    CHECK(cudaFreeHost(b));
    krn_cuda_backend.key_free(loaded);
    krn_cuda_backend.close(dev);
}

/* Six transforms and five sums, of as many digits as fully expanded bases take. */
static struct work proof_work(enum krn_curve_id curve, int log, const struct rate &fr, const struct rate &mul,
                              const struct rate &sqr)
{
    const double giga = 1e-9 * (double)((size_t)1 << log);
    const double digits = giga * msm_expanded(curve, (size_t)1 << log, 16).windows;
    return work_of(6 * giga * log / 2, fr) + additions(4 * digits, 0, mul, sqr) + additions(digits, 1, mul, sqr);
}

/* Arguments, for one part alone: ntt | g1 | g2, curve (0 | 1), size as a power of two, copies of the bases; or proof,
 * curve and size. */
int main(int argc, char **argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device\n");
        return 77;
    }
    stopwatch watch;
    /* Products of n words: mul 2 n^2 + n, sqr n (n + 1) / 2 + n^2 + n; less where p is sparse (limbs_ptx.cuh). */
    const struct rate fr[2] = {rate_of<bn254_fr>(watch, "BN254, scalars, mul", mul_kernel<bn254_fr>, 136),
                               rate_of<bls381_fr>(watch, "BLS12-381, scalars, mul", mul_kernel<bls381_fr>, 113)};
    const struct rate mul[2] = {rate_of<bn254_fq>(watch, "BN254, mul", mul_kernel<bn254_fq>, 136),
                                rate_of<bls381_fq>(watch, "BLS12-381, mul", mul_kernel<bls381_fq>, 300)};
    const struct rate sqr[2] = {rate_of<bn254_fq>(watch, "BN254, sqr", sqr_kernel<bn254_fq>, 108),
                                rate_of<bls381_fq>(watch, "BLS12-381, sqr", sqr_kernel<bls381_fq>, 234)};
    heading();
    if (argc == 4 && strcmp(argv[1], "proof") == 0) {
        const enum krn_curve_id curve = (enum krn_curve_id)atoi(argv[2]);
        bench_proof(curve, atoi(argv[3]), proof_work(curve, atoi(argv[3]), fr[curve], mul[curve], sqr[curve]));
        return 0;
    }
    if (argc == 5) {
        const enum krn_curve_id curve = (enum krn_curve_id)atoi(argv[2]);
        if (strcmp(argv[1], "ntt") == 0)
            bench_ntt(watch, curve, atoi(argv[3]), fr[curve]);
        else
            bench_msm(watch, curve, argv[1][1] == '2', atoi(argv[3]), atoi(argv[4]), mul[curve], sqr[curve]);
        return 0;
    }
    for (int c = 0; c < 2; c++)
        for (int log = 20; log <= 24; log += 2)
            bench_ntt(watch, (enum krn_curve_id)c, log, fr[c]);
    for (int g2 = 0; g2 < 2; g2++)
        for (int c = 0; c < 2; c++) {
            for (int log : {16, 20, 22, 24})
                bench_msm(watch, (enum krn_curve_id)c, g2, log, 1, mul[c], sqr[c]);
            for (int log : {20, 22, 24})
                bench_msm(watch, (enum krn_curve_id)c, g2, log, 16, mul[c], sqr[c]);
        }
    const int proofs[2] = {20, 22};
    for (int c = 0; c < 2; c++) {
        const enum krn_curve_id curve = (enum krn_curve_id)c;
        bench_proof(curve, proofs[c], proof_work(curve, proofs[c], fr[c], mul[c], sqr[c]));
    }
    return 0;
}
