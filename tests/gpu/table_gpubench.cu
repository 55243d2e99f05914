/*
 * tests/gpu/table_gpubench.cu: one table: operation, curve, size, ours, the floor, their ratio.
 *
 * The floor is the operation's multiplications at the rate of the bare multiplication kernel that runs first. Times are
 * medians of five after one warm-up, device events around the whole call, results on the host. Inputs are random and
 * made on the device.
 */
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <vector>

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

/* additions a second, in G, of the bare kernel: 8 M + 2 S. */
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

/* Arguments, for one part alone: ntt | g1 | g2, curve (0 | 1), size as a power of two, copies of the bases. */
int main(int argc, char **argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device\n");
        return 77;
    }
    stopwatch watch;
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
            /* Fq2: a product is three, a square two. */
            const double adds = g2 ? 1 / (8 * 3 / mul[c] + 2 * 2 / mul[c]) : 1 / (8 / mul[c] + 2 / sqr[c]);
            for (int log = 16; log <= 24; log += 2)
                if (log != 18)
                    bench_msm(watch, (enum krn_curve_id)c, g2, log, 1, adds);
            for (int log = 20; log <= 24; log += 2)
                bench_msm(watch, (enum krn_curve_id)c, g2, log, 16, adds);
        }
    return 0;
}
