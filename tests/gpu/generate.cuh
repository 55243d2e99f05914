/*
 * tests/gpu/generate.cuh: inputs made on the device, for tests and benchmarks: scalars, and points whose logarithms
 * are known.
 *
 * Scalars come from a counter-based generator (SplitMix64's mixing function), so that a seed names them. Point i is
 * (k0 + i k1) G for random k0, k1: as good as random to the arithmetic, and sum of s_i P_i = (k0 S0 + k1 S1) G with
 * S0 = sum s_i, S1 = sum i s_i.
 */
#ifndef TESTS_GPU_GENERATE_CUH
#define TESTS_GPU_GENERATE_CUH

#include <vector>

#include "kernels/msm.cuh"

enum scalar_kind {
    SCALARS_RANDOM,     /* uniform below r */
    SCALARS_BITS,       /* nine of ten are 0 or 1 */
    SCALARS_MOST_BITS,  /* 98 of a hundred are */
    SCALARS_EQUAL,      /* one random value */
    SCALARS_SMALL,      /* below 2^10: few buckets hold all */
};

/* n plain scalars of the curve at device memory `out`. */
void generate_scalars(enum krn_curve_id curve, enum scalar_kind kind, uint64_t seed, void *out, size_t n,
                      cudaStream_t stream);

/* n affine points (Montgomery) at device memory `out`; scratch: n XYZZ points. k0, k1: plain scalars. */
void generate_points(enum krn_curve_id curve, int g2, const uint8_t k0[32], const uint8_t k1[32], void *out,
                     void *scratch, size_t n, cudaStream_t stream);

/* The logarithm of sum s_i P_i: k0 S0 + k1 S1, plain. Waits. */
void known_logarithm(enum krn_curve_id curve, const uint8_t k0[32], const uint8_t k1[32], const void *scalars, size_t n,
                     uint8_t out[32]);

/* out = k G, affine, Montgomery; on the host. */
void times_generator(enum krn_curve_id curve, int g2, const uint8_t k[32], void *out);

/* Random bytes of a plain scalar, on the host. */
void random_scalar(enum krn_curve_id curve, uint64_t seed, uint8_t out[32]);

/* Whether PINWHEEL_GPU_SMALL is set: sizes for compute-sanitizer, under which kernels are a thousand times slower. */
bool small_sizes(void);

/* The sizes, as powers of two, that a test's arguments name; without any small_sizes' or the default ones. */
std::vector<int> sizes_wanted(int argc, char **argv, const std::vector<int> &by_default, const std::vector<int> &small);

/* Whether two stretches of device memory hold the same bytes, a multiple of 16. Waits. */
bool same_on_device(const void *a, const void *b, size_t bytes);

/* Ends the program where a CUDA call failed: for tests only. */
void check(cudaError_t e, const char *what);
#define CHECK(call) check((call), #call)

#endif
