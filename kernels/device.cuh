/*
 * kernels/device.cuh: what all kernels share: the fields under overloaded names, so that one template serves both
 * curves, 16-byte loads and stores, and CUDA errors as text.
 */
#ifndef KERNELS_DEVICE_CUH
#define KERNELS_DEVICE_CUH

#include <cuda_runtime.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/backend.h"
#include "kernels/field.h"

#define DEVICE_FN [[maybe_unused]] KRN_FN

#define DEVICE_FIELD(F) \
    DEVICE_FN void f_add(F *r, const F *a, const F *b) { F##_add(r, a, b); } \
    DEVICE_FN void f_sub(F *r, const F *a, const F *b) { F##_sub(r, a, b); } \
    DEVICE_FN void f_mul(F *r, const F *a, const F *b) { F##_mul(r, a, b); } \
    DEVICE_FN void f_sqr(F *r, const F *a) { F##_sqr(r, a); } \
    DEVICE_FN void f_neg(F *r, const F *a) { F##_neg(r, a); } \
    DEVICE_FN void f_from_mont(F *r, const F *a) { F##_from_mont(r, a); } \
    DEVICE_FN void f_inv(F *r, const F *a) { F##_inv(r, a); } \
    DEVICE_FN int f_is_zero(const F *a) { return F##_is_zero(a); } \
    DEVICE_FN int f_eq(const F *a, const F *b) { return F##_eq(a, b); } \
    DEVICE_FN void f_set_one(F *r) { *r = F##_one(); } \
    DEVICE_FN void f_set_zero(F *r) { *r = F##_zero(); }

DEVICE_FIELD(bn254_fr)
DEVICE_FIELD(bn254_fq)
DEVICE_FIELD(bls381_fr)
DEVICE_FIELD(bls381_fq)
DEVICE_FN void f_div_pow2(bn254_fr *r, const bn254_fr *a, int k) { bn254_fr_div_pow2(r, a, k); }
DEVICE_FN void f_div_pow2(bls381_fr *r, const bls381_fr *a, int k) { bls381_fr_div_pow2(r, a, k); }
DEVICE_FN void f_set_u64(bn254_fr *r, uint64_t x) { bn254_fr_set_u64(r, x); }
DEVICE_FN void f_set_u64(bls381_fr *r, uint64_t x) { bls381_fr_set_u64(r, x); }

/* T is a row of 64-bit words, a multiple of 16 bytes at a 16-byte aligned address. */
template <class T> static __device__ __forceinline__ void load16(T *r, const T *p)
{
    uint64_t *out = reinterpret_cast<uint64_t *>(r);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / 16); i++) {
        const ulonglong2 v = reinterpret_cast<const ulonglong2 *>(p)[i];
        out[2 * i] = v.x;
        out[2 * i + 1] = v.y;
    }
}

template <class T> static __device__ __forceinline__ void store16(T *p, const T *a)
{
    const uint64_t *in = reinterpret_cast<const uint64_t *>(a);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / 16); i++)
        reinterpret_cast<ulonglong2 *>(p)[i] = make_ulonglong2(in[2 * i], in[2 * i + 1]);
}

/*
 * 0, -ENOMEM, -ENODEV where the device is lost, or -EIO; with the failing call and CUDA's reason in err. Errors of
 * earlier launches surface here too. Lost: CUDA answers every call with the error until the process ends, as after a
 * fault in a kernel; what is asked here has no other reason to fail.
 */
static inline int device_status(cudaError_t e, const char *what, char err[KRN_ERR_TEXT])
{
    size_t free_bytes, total;
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError();
    const bool lost = cudaMemGetInfo(&free_bytes, &total) != cudaSuccess;
    snprintf(err, KRN_ERR_TEXT, "%s%s (%s) in %s", lost ? "device lost: " : "", cudaGetErrorName(e),
             cudaGetErrorString(e), what);
    return lost ? -ENODEV : e == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

/* The number of devices; 0 with the reason in err where there is none. */
static inline int device_count(char err[KRN_ERR_TEXT])
{
    int devices = 0;
    const cudaError_t e = cudaGetDeviceCount(&devices);
    if (e == cudaSuccess && devices > 0)
        return devices;
    snprintf(err, KRN_ERR_TEXT, "%s", e == cudaSuccess ? "no CUDA device" : cudaGetErrorString(e));
    cudaGetLastError();
    return 0;
}

/* cudaMalloc; -ENOMEM with the bytes wanted and free where it fails. */
static inline int device_alloc(void **p, size_t bytes, const char *what, char err[KRN_ERR_TEXT])
{
    size_t free_bytes = 0, total = 0;
    const cudaError_t e = cudaMalloc(p, bytes);
    if (e == cudaSuccess)
        return 0;
    *p = NULL;
    const int status = device_status(e, "cudaMalloc", err);
    if (status != -ENOMEM)
        return status;
    cudaMemGetInfo(&free_bytes, &total);
    snprintf(err, KRN_ERR_TEXT, "%s needs %zu bytes of device memory, %zu of %zu are free", what, bytes, free_bytes,
             total);
    return -ENOMEM;
}

/* For functions that return 0 or -errno and have `err` at hand. */
#define DEVICE_TRY(call) \
    do { \
        const int status_ = device_status((call), #call, err); \
        if (status_) \
            return status_; \
    } while (0)

#endif
