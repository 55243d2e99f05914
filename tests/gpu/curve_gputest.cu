/*
 * tests/gpu/curve_gputest.cu: point additions on the device against the CPU's, all four groups: every pair among
 * infinity, small and negative multiples of the generator and random ones, hence equal and opposite points too.
 */
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/device.cuh"
#include "kernels/ec.h"
#include "tests/gpu/generate.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

enum { POINTS = 40 };

#define TAG(G) \
    struct tag_##G { \
        typedef G##_affine affine; \
        typedef G##_xyzz xyzz; \
        static __device__ __noinline__ void add(xyzz *r, const xyzz *a, const xyzz *b) { G##_add(r, a, b); } \
        static __device__ __noinline__ void madd(xyzz *r, const xyzz *a, const affine *b) { G##_madd(r, a, b); } \
        static __device__ __noinline__ void add_affine(xyzz *r, const affine *a, const affine *b) \
        { \
            G##_add_affine(r, a, b); \
        } \
        static __device__ __noinline__ void dbl(xyzz *r, const xyzz *a) { G##_dbl(r, a); } \
        static __device__ __noinline__ void to_affine(affine *r, const xyzz *a) { G##_to_affine(r, a); } \
        static __device__ void from_affine(xyzz *r, const affine *a) { G##_from_affine(r, a); } \
    };
TAG(bn254_g1)
TAG(bn254_g2)
TAG(bls381_g1)
TAG(bls381_g2)

/* out[i][j] = 3 P_i + 2 P_j, by add_affine, madd, dbl and add. */
template <class T>
__global__ void kernel(const typename T::affine *p, typename T::affine *out)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x, i = k / POINTS, j = k % POINTS;
    if (i >= POINTS)
        return;
    typename T::xyzz a, b;
    T::add_affine(&a, &p[i], &p[j]);
    T::from_affine(&b, &p[i]);
    T::dbl(&b, &b);
    T::madd(&b, &b, &p[j]);         /* 2 P_i + P_j */
    T::add(&a, &b, &a);             /* 3 P_i + 2 P_j; equal to a where P_i = infinity */
    T::to_affine(&out[k], &a);
}

template <class T> static int test(enum krn_curve_id curve, int g2)
{
    const size_t point = sizeof(typename T::affine);
    std::vector<uint8_t> scalars(32 * POINTS, 0), points(point * POINTS), got(point * POINTS * POINTS), want(point);
    for (int i = 0; i < POINTS; i++) {
        uint8_t *k = scalars.data() + 32 * i;
        if (i < 8) {
            k[0] = (uint8_t)i;                          /* 0 .. 7 */
        } else if (i < 16) {
            memcpy(k, krn_curve(curve)->r, 32);         /* r - 1 .. r - 8: the lowest byte of r is 1 on both curves */
            for (int borrow = i - 7, b = 0; borrow; b++) {
                const int d = k[b] - borrow;
                k[b] = (uint8_t)d;
                borrow = d < 0;
            }
        } else {
            random_scalar(curve, (uint64_t)i, k);
        }
        times_generator(curve, g2, k, points.data() + point * i);
    }
    typename T::affine *device, *out;
    CHECK(cudaMalloc(&device, points.size()));
    CHECK(cudaMalloc(&out, got.size()));
    CHECK(cudaMemcpy(device, points.data(), points.size(), cudaMemcpyHostToDevice));
    kernel<T><<<(POINTS * POINTS + 63) / 64, 64>>>(device, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), out, got.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    CHECK(cudaFree(out));
    int failures = 0;
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < POINTS; j++) {
            /* 3 P_i + 2 P_j, term by term on the CPU. */
            std::vector<uint8_t> terms(point * 2), k(64, 0);
            memcpy(terms.data(), points.data() + point * i, point);
            memcpy(terms.data() + point, points.data() + point * j, point);
            k[0] = 3;
            k[32] = 2;
            reference_msm(curve, g2, terms.data(), k.data(), 2, want.data());
            if (memcmp(want.data(), got.data() + point * (POINTS * i + j), point) == 0)
                continue;
            if (failures++ == 0)
                printf("%s G%d: points %d and %d differ\n", krn_curve(curve)->name, g2 ? 2 : 1, i, j);
        }
    return failures;
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    const int failures = test<tag_bn254_g1>(KRN_BN254, 0) + test<tag_bn254_g2>(KRN_BN254, 1) +
                         test<tag_bls381_g1>(KRN_BLS12_381, 0) + test<tag_bls381_g2>(KRN_BLS12_381, 1);
    printf("curves: %s\n", failures ? "failed" : "all points equal");
    return failures != 0;
}
