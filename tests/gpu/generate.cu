#include "tests/gpu/generate.cuh"

#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/groups.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

bool small_sizes(void)
{
    return getenv("PINWHEEL_GPU_SMALL") != NULL;
}

std::vector<int> sizes_wanted(int argc, char **argv, const std::vector<int> &by_default, const std::vector<int> &small)
{
    std::vector<int> logs;
    for (int i = 1; i < argc; i++)
        logs.push_back(atoi(argv[i]));
    return argc > 1 ? logs : small_sizes() ? small : by_default;
}

static __global__ void differ_kernel(const ulonglong2 *a, const ulonglong2 *b, size_t n, int *differ)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x)
        if (a[i].x != b[i].x || a[i].y != b[i].y)
            *differ = 1;
}

bool same_on_device(const void *a, const void *b, size_t bytes)
{
    int *device, differ = 0;
    CHECK(cudaMalloc(&device, sizeof differ));
    CHECK(cudaMemset(device, 0, sizeof differ));
    differ_kernel<<<1024, 256>>>((const ulonglong2 *)a, (const ulonglong2 *)b, bytes / 16, device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&differ, device, sizeof differ, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    return !differ;
}

static __host__ __device__ uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static __host__ __device__ bn254_fr modulus_of(const bn254_fr *) { return bn254_fr_modulus(); }
static __host__ __device__ bls381_fr modulus_of(const bls381_fr *) { return bls381_fr_modulus(); }
static void to_mont(bn254_fr *r, const bn254_fr *a) { bn254_fr_to_mont(r, a); }
static void to_mont(bls381_fr *r, const bls381_fr *a) { bls381_fr_to_mont(r, a); }
static __device__ int bits_of(const bn254_fr *) { return 254; }
static __device__ int bits_of(const bls381_fr *) { return 255; }

/* Uniform below p: 253 or 255 bits drawn until they are. */
template <class F> static __host__ __device__ F uniform(uint64_t seed, uint64_t i, int bits)
{
    F x;
    for (uint64_t attempt = 0;; attempt++) {
        for (int k = 0; k < 4; k++)
            x.l[k] = mix(mix(seed + i) ^ mix(attempt * 4 + k));
        x.l[3] &= ~0ull >> (256 - bits);
        uint64_t borrow = 0;
        const F p = modulus_of((F *)0);
        for (int k = 0; k < 4; k++)
            limbs_subb(x.l[k], p.l[k], &borrow);
        if (borrow)
            return x;
    }
}

template <class F> __global__ void scalars_kernel(F *out, uint32_t n, uint64_t seed, enum scalar_kind kind)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int bits = bits_of((F *)0);
    F x = uniform<F>(seed, kind == SCALARS_EQUAL ? 0 : i, bits), small = {};
    const uint64_t draw = mix(seed ^ mix(i + 0x1234567));
    small.l[0] = kind == SCALARS_SMALL ? draw % 1024 : draw >> 20 & 1;
    const bool is_small = kind == SCALARS_SMALL || (kind == SCALARS_BITS && draw % 100 < 90) ||
                          (kind == SCALARS_MOST_BITS && draw % 100 < 98);
    if (is_small)
        x = small;
    store16(out + i, &x);
}

void generate_scalars(enum krn_curve_id curve, enum scalar_kind kind, uint64_t seed, void *out, size_t n,
                      cudaStream_t stream)
{
    if (n == 0)
        return;
    const unsigned blocks = (unsigned)((n + 255) / 256);
    if (curve == KRN_BN254)
        scalars_kernel<bn254_fr><<<blocks, 256, 0, stream>>>((bn254_fr *)out, (uint32_t)n, seed, kind);
    else
        scalars_kernel<bls381_fr><<<blocks, 256, 0, stream>>>((bls381_fr *)out, (uint32_t)n, seed, kind);
    CHECK(cudaGetLastError());
}

void random_scalar(enum krn_curve_id curve, uint64_t seed, uint8_t out[32])
{
    if (curve == KRN_BN254) {
        const bn254_fr x = uniform<bn254_fr>(seed, 0, 254);
        memcpy(out, &x, 32);
    } else {
        const bls381_fr x = uniform<bls381_fr>(seed, 0, 255);
        memcpy(out, &x, 32);
    }
}

/* ---- points ---- */

enum { BITS = 28, THREADS = 128 };

template <class T> struct points_args {
    typename T::affine start, step[BITS];   /* step[b] = 2^b k1 G */
    typename T::affine *out;
    typename T::xyzz *scratch;
    uint32_t n;
};

/* x += p, one copy of the code for all who ask. */
template <class T> static __device__ __noinline__ void add_call(typename T::xyzz *x, const typename T::affine *p)
{
    const typename T::affine q = *p;
    T::madd(x, &q);
}

/* Thread t makes AFFINE_RUN points from AFFINE_RUN t on, one after the other. */
template <class T> __global__ void __launch_bounds__(THREADS) points_kernel(const points_args<T> *args)
{
    const points_args<T> &a = *args;
    const uint32_t first = (blockIdx.x * THREADS + threadIdx.x) * AFFINE_RUN;
    typename T::xyzz next;
    if (first >= a.n)
        return;
    T::set_inf(&next);
    add_call<T>(&next, &a.start);
    for (uint32_t bits = first; bits; bits &= bits - 1)
        add_call<T>(&next, &a.step[__ffs(bits) - 1]);
    affine_run<T>(a.out, a.scratch, a.n, first, 1, [&](uint32_t, typename T::xyzz *x) {
        *x = next;
        add_call<T>(&next, &a.step[0]);
    });
}

template <class T>
static void points(enum krn_curve_id curve, int g2, const uint8_t k0[32], const uint8_t k1[32], void *out,
                   void *scratch, size_t n, cudaStream_t stream)
{
    points_args<T> a, *device;
    reference_times_generator(curve, g2, k0, &a.start);
    uint8_t k[32];
    memcpy(k, k1, 32);
    for (int b = 0; b < BITS; b++) {
        reference_times_generator(curve, g2, k, &a.step[b]);
        reference_fr_double(curve, k);
    }
    a.out = (typename T::affine *)out;
    a.scratch = (typename T::xyzz *)scratch;
    a.n = (uint32_t)n;
    CHECK(cudaMalloc(&device, sizeof a));
    CHECK(cudaMemcpy(device, &a, sizeof a, cudaMemcpyHostToDevice));
    const size_t threads = (n + AFFINE_RUN - 1) / AFFINE_RUN;
    points_kernel<T><<<(unsigned)((threads + THREADS - 1) / THREADS), THREADS, 0, stream>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(device));
}

void generate_points(enum krn_curve_id curve, int g2, const uint8_t k0[32], const uint8_t k1[32], void *out,
                     void *scratch, size_t n, cudaStream_t stream)
{
    if (n == 0)
        return;
    if (curve == KRN_BN254 && !g2)
        points<group_bn254_g1>(curve, g2, k0, k1, out, scratch, n, stream);
    else if (curve == KRN_BN254)
        points<group_bn254_g2>(curve, g2, k0, k1, out, scratch, n, stream);
    else if (!g2)
        points<group_bls381_g1>(curve, g2, k0, k1, out, scratch, n, stream);
    else
        points<group_bls381_g2>(curve, g2, k0, k1, out, scratch, n, stream);
}

/* ---- logarithms ---- */

/* Per block: sum s_i and sum i s_i, plain. */
template <class F> __global__ void moments_kernel(const F *s, uint32_t n, F *out)
{
    __shared__ F part[2][256];
    F sum[2] = {};
    for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        F x, index;
        load16(&x, s + i);
        f_add(&sum[0], &sum[0], &x);
        f_set_u64(&index, i);
        f_mul(&x, &x, &index);
        f_add(&sum[1], &sum[1], &x);
    }
    part[0][threadIdx.x] = sum[0];
    part[1][threadIdx.x] = sum[1];
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            for (int k = 0; k < 2; k++) {
                F x = part[k][threadIdx.x], y = part[k][threadIdx.x + half];
                f_add(&x, &x, &y);
                part[k][threadIdx.x] = x;
            }
    }
    __syncthreads();
    if (threadIdx.x < 2)
        out[2 * blockIdx.x + threadIdx.x] = part[threadIdx.x][0];
}

template <class F> static void logarithm(const uint8_t k0[32], const uint8_t k1[32], const void *scalars, size_t n,
                                         uint8_t out[32])
{
    enum { BLOCKS = 512 };
    F *device, s[2] = {}, k[2];
    std::vector<F> host(2 * BLOCKS);
    CHECK(cudaMalloc(&device, sizeof(F) * 2 * BLOCKS));
    moments_kernel<F><<<BLOCKS, 256>>>((const F *)scalars, (uint32_t)n, device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), device, sizeof(F) * 2 * BLOCKS, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    for (int i = 0; i < 2 * BLOCKS; i++)
        f_add(&s[i % 2], &s[i % 2], &host[i]);
    memcpy(&k[0], k0, 32);
    memcpy(&k[1], k1, 32);
    F sum = {};
    for (int i = 0; i < 2; i++) {
        F mont;
        to_mont(&mont, &k[i]);
        f_mul(&s[i], &s[i], &mont);
        f_add(&sum, &sum, &s[i]);
    }
    memcpy(out, &sum, 32);
}

void known_logarithm(enum krn_curve_id curve, const uint8_t k0[32], const uint8_t k1[32], const void *scalars, size_t n,
                     uint8_t out[32])
{
    if (curve == KRN_BN254)
        logarithm<bn254_fr>(k0, k1, scalars, n, out);
    else
        logarithm<bls381_fr>(k0, k1, scalars, n, out);
}

void times_generator(enum krn_curve_id curve, int g2, const uint8_t k[32], void *out)
{
    reference_times_generator(curve, g2, k, out);
}
