/*
 * tests/gpu/table_gpubench.cu: one table: operation, curve, size, ours, the floor, their ratio.
 *
 * The floor is the operation's multiplications at the rate of the bare multiplication kernels that run first: L / 2 an
 * element of a transform of 2^L; 5 M + 1 S, an affine addition, a digit of a scalar. Times are medians of five after
 * one warm-up, the whole call with its results on the host; every sum is checked against its logarithm. Inputs are
 * random and made on the device.
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

enum { REPEATS = 5 };

static void die_if(int status, const char *err)
{
    if (status) {
        printf("%s\n", err);
        exit(1);
    }
}

struct stopwatch {
    cudaEvent_t from, to;

    stopwatch()
    {
        CHECK(cudaEventCreate(&from));
        CHECK(cudaEventCreate(&to));
    }
    /* Median milliseconds of fn. */
    template <class T> double median(T fn)
    {
        std::vector<float> ms(REPEATS);
        fn();
        for (float &t : ms) {
            CHECK(cudaEventRecord(from));
            fn();
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            CHECK(cudaEventElapsedTime(&t, from, to));
        }
        std::sort(ms.begin(), ms.end());
        return ms[REPEATS / 2];
    }
};

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

/* G multiplications a second. */
template <class F> static double rate(stopwatch &watch, const char *name, void (*kernel)(F *, int), const char *what)
{
    enum { BLOCKS = 132 * 16, THREADS = 128, ROUNDS = 2000 };
    F *v;
    CHECK(cudaMalloc(&v, sizeof(F) * BLOCKS * THREADS));
    CHECK(cudaMemset(v, 1, sizeof(F) * BLOCKS * THREADS));
    const double ms = watch.median([&] { kernel<<<BLOCKS, THREADS>>>(v, ROUNDS); });
    CHECK(cudaGetLastError());
    CHECK(cudaFree(v));
    const double rate = (double)BLOCKS * THREADS * ROUNDS / ms * 1e-6;
    printf("%-10s %-10s %32.1f G/s\n", name, what, rate);
    return rate;
}

static void line(const char *what, enum krn_curve_id curve, int log, double ms, double floor_ms)
{
    printf("%-14s %-10s 2^%-3d %10.3f ms  floor %9.3f ms  %5.2f\n", what, krn_curve(curve)->name, log, ms, floor_ms,
           ms / floor_ms);
    fflush(stdout);
}

static void bench_ntt(stopwatch &watch, enum krn_curve_id curve, int log, double rate)
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
    const double floor_ms = (double)n * log / 2 / rate * 1e-6;
    line("NTT inverse", curve, log,
         watch.median([&] { die_if(ntt_run(&tables, NTT_INVERSE, &item, 1, 0, err), err); }), floor_ms);
    line("NTT forward", curve, log,
         watch.median([&] { die_if(ntt_run(&tables, NTT_FORWARD, &item, 1, 0, err), err); }), floor_ms);
    line("NTT to coset", curve, log,
         watch.median([&] { die_if(ntt_run(&tables, NTT_TO_COSET, &item, 1, 0, err), err); }), 2 * floor_ms);
    CHECK(cudaFree(memory));
    CHECK(cudaFree(v));
}

/* adds: affine additions a second, in G, at the bare rates. */
static void bench_msm(stopwatch &watch, enum krn_curve_id curve, int g2, int log, int copies, double adds)
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
    const double floor_ms = (double)n * msm.largest.windows / adds * 1e-6;
    const struct {
        const char *name;
        enum scalar_kind kind;
    } kinds[] = {{"", SCALARS_RANDOM}, {" bits", SCALARS_BITS}, {" equal", SCALARS_EQUAL}, {" small", SCALARS_SMALL}};
    for (auto &kind : kinds) {
        generate_scalars(curve, kind.kind, 3, scalars, n, 0);
        char name[64];
        snprintf(name, sizeof name, "G%d x%d%s c%d", g2 ? 2 : 1, copies, kind.name, msm.largest.bits);
        const double ms = watch.median([&] { die_if(msm_run(&msm, bases, n, scalars, n, out, 0, err), err); });
        line(name, curve, log, ms, floor_ms);
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

/* Of affine ones, G a second. In Fq2 a product is 5/6 of three, reductions being shared; a square is two. */
static double rate_of_additions(int g2, double mul, double sqr)
{
    return g2 ? 1 / (5 * 2.5 / mul + 2 / mul) : 1 / (5 / mul + 1 / sqr);
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

static double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

static void time_alone(const char *kind, struct krn_dev_key *key, const struct krn_key *k, const struct krn_vectors *v,
                       double floor_ms)
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
    snprintf(name, sizeof name, "proof %s", kind);
    line(name, k->curve, (int)k->log_domain, median(ms), floor_ms);
    printf("    of one, ms: upload %.2f ntt %.2f A %.2f L %.2f B1 %.2f B2 %.2f H %.2f finish %.2f, busy %.2f; all %.2f "
           "to %.2f\n", 1e3 * t.upload, 1e3 * t.ntt, 1e3 * t.msm_a, 1e3 * t.msm_l, 1e3 * t.msm_b1, 1e3 * t.msm_b2,
           1e3 * t.msm_h, 1e3 * t.finish, 1e3 * t.busy, *std::min_element(ms.begin(), ms.end()),
           *std::max_element(ms.begin(), ms.end()));
}

/* One after another, each begun before the one before is finished: what the service does with slots always ready. */
static void time_queued(const char *kind, struct krn_dev_key *key, const struct krn_key *k, const struct krn_vectors *v,
                        double floor_ms)
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
    snprintf(name, sizeof name, "queued %s", kind);
    line(name, k->curve, (int)k->log_domain, 1e3 * wall / QUEUED, floor_ms);
    printf("    GPU busy %.1f %% of the time\n", 100 * busy / wall);
}

static void bench_proof(enum krn_curve_id curve, int log, double floor_ms)
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
        time_alone(kind.name, loaded, &key, &v, floor_ms);
        time_queued(kind.name, loaded, &key, &v, floor_ms);
        CHECK(cudaFreeHost(w));
    }
    CHECK(cudaFreeHost(a));
    CHECK(cudaFreeHost(b));
    krn_cuda_backend.key_free(loaded);
    krn_cuda_backend.close(dev);
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
    if (argc == 4 && strcmp(argv[1], "proof") == 0) {
        bench_proof((enum krn_curve_id)atoi(argv[2]), atoi(argv[3]), 1);
        return 0;
    }
    if (argc == 5) {
        const enum krn_curve_id curve = (enum krn_curve_id)atoi(argv[2]);
        if (strcmp(argv[1], "ntt") == 0)
            bench_ntt(watch, curve, atoi(argv[3]), 58);
        else
            bench_msm(watch, curve, argv[1][1] == '2', atoi(argv[3]), atoi(argv[4]), 6);
        return 0;
    }
    const double fr[2] = {rate<bn254_fr>(watch, "BN254 fr", mul_kernel<bn254_fr>, "mul"),
                          rate<bls381_fr>(watch, "BLS fr", mul_kernel<bls381_fr>, "mul")};
    const double mul[2] = {rate<bn254_fq>(watch, "BN254 fq", mul_kernel<bn254_fq>, "mul"),
                           rate<bls381_fq>(watch, "BLS fq", mul_kernel<bls381_fq>, "mul")};
    const double sqr[2] = {rate<bn254_fq>(watch, "BN254 fq", sqr_kernel<bn254_fq>, "sqr"),
                           rate<bls381_fq>(watch, "BLS fq", sqr_kernel<bls381_fq>, "sqr")};
    for (int log = 20; log <= 24; log += 2)
        for (int c = 0; c < 2; c++)
            bench_ntt(watch, (enum krn_curve_id)c, log, fr[c]);
    for (int g2 = 0; g2 < 2; g2++)
        for (int c = 0; c < 2; c++) {
            const double adds = rate_of_additions(g2, mul[c], sqr[c]);
            for (int log = 16; log <= 24; log += 2)
                if (log != 18)
                    bench_msm(watch, (enum krn_curve_id)c, g2, log, 1, adds);
            for (int log = 20; log <= 24; log += 2)
                bench_msm(watch, (enum krn_curve_id)c, g2, log, 16, adds);
        }
    const int proofs[2] = {20, 22};
    for (int c = 0; c < 2; c++) {
        const int log = proofs[c];
        const double n = (double)((size_t)1 << log);
        const double windows = msm_expanded((enum krn_curve_id)c, (size_t)n, 16).windows;
        bench_proof((enum krn_curve_id)c, log,
                    1e-6 * (6 * n * log / 2 / fr[c] + n * windows * (4 / rate_of_additions(0, mul[c], sqr[c]) +
                                                                    1 / rate_of_additions(1, mul[c], sqr[c]))));
    }
    return 0;
}
