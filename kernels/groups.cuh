/*
 * kernels/groups.cuh: the four groups of kernels/ec.h as types, for device templates that serve all of them.
 */
#ifndef KERNELS_GROUPS_CUH
#define KERNELS_GROUPS_CUH

#include "kernels/device.cuh"
#include "kernels/ec.h"

#define DEVICE_GROUP(G, F) \
    struct group_##G { \
        typedef G##_affine affine; \
        typedef G##_xyzz xyzz; \
        typedef F field; \
        static __device__ __forceinline__ void madd(xyzz *r, const affine *b) { G##_madd(r, r, b); } \
        static __device__ __forceinline__ void neg(affine *r) { G##_affine_neg(r, r); } \
        static __device__ __forceinline__ void scale(affine *r, const xyzz *a, const field *t) { G##_scale(r, a, t); } \
        static __device__ __forceinline__ void set_inf(xyzz *r) { G##_set_inf(r); } \
        static __device__ __forceinline__ int is_inf(const xyzz *a) { return G##_is_inf(a); } \
        static __device__ __forceinline__ field one() { return F##_one(); } \
        static __device__ __forceinline__ void mul(field *r, const field *a, const field *b) { F##_mul(r, a, b); } \
        static __device__ __forceinline__ void inv(field *r, const field *a) { F##_inv(r, a); } \
    };
DEVICE_GROUP(bn254_g1, bn254_fq)
DEVICE_GROUP(bn254_g2, bn254_fq2)
DEVICE_GROUP(bls381_g1, bls381_fq)
DEVICE_GROUP(bls381_g2, bls381_fq2)

enum { AFFINE_RUN = 32 };   /* points that share an inversion */

/*
 * Points first, first + step, ... below count, AFFINE_RUN of them at most, one thread's: make(i, &x) gives point i, and
 * out[i] becomes its affine form, by one inversion for all (Montgomery's trick). scratch: count points.
 */
template <class G, class Make>
static __device__ __forceinline__ void affine_run(typename G::affine *out, typename G::xyzz *scratch, uint32_t count,
                                                  uint32_t first, uint32_t step, Make make)
{
    typename G::field product = G::one(), inverse;
    typename G::xyzz x;
    int n = 0;
    for (uint32_t i = first; i < count && n < AFFINE_RUN; i += step, n++) {
        make(i, &x);
        store16(scratch + i, &x);
        store16(&out[i].x, &product);       /* of all before */
        if (!G::is_inf(&x))
            G::mul(&product, &product, &x.zzz);
    }
    G::inv(&inverse, &product);
    for (int k = n - 1; k >= 0; k--) {
        const uint32_t i = first + (uint32_t)k * step;
        typename G::affine p = {};
        load16(&x, scratch + i);
        if (!G::is_inf(&x)) {
            load16(&product, &out[i].x);
            G::mul(&product, &product, &inverse);
            G::mul(&inverse, &inverse, &x.zzz);
            G::scale(&p, &x, &product);
        }
        store16(out + i, &p);
    }
}

#endif
