/*
 * tests/gpu/field_gputest.cu: field arithmetic on the device against the C twin on the host: the four prime fields and
 * both quadratic extensions, more than 10^7 operations (10^5 where PINWHEEL_GPU_SMALL is set), every pair of edge
 * values among the operands.
 */
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/device.cuh"
#include "kernels/fq2.h"
#include "tests/gpu/generate.cuh"

DEVICE_FIELD(bn254_fq2)
DEVICE_FIELD(bls381_fq2)

enum operation { ADD, SUB, MUL, SQR, NEG, FROM_MONT, MUL_SUB, DIV_POW2, INV, OPERATIONS };
static const char *const names[OPERATIONS] = {"add", "sub", "mul", "sqr", "neg", "from_mont", "mul_sub", "div_pow2",
                                              "inv"};

static size_t operands_of(int op)
{
    return small_sizes() ? (op == INV ? 256 : 4096) : (op == INV ? 1 << 14 : 1 << 18);
}

/* What not every field has: mul_sub asks for two spare bits, div_pow2 for a prime field. */
template <class F> static constexpr bool has(int) { return true; }
template <> constexpr bool has<bls381_fr>(int op) { return op != MUL_SUB; }
template <> constexpr bool has<bn254_fq2>(int op) { return op != DIV_POW2; }
template <> constexpr bool has<bls381_fq2>(int op) { return op != DIV_POW2; }

DEVICE_FN void f_div_pow2(bn254_fq *r, const bn254_fq *a, int k) { bn254_fq_div_pow2(r, a, k); }
DEVICE_FN void f_div_pow2(bls381_fq *r, const bls381_fq *a, int k) { bls381_fq_div_pow2(r, a, k); }

#define MUL_SUB_OF(F) \
    DEVICE_FN void f_mul_sub(F *r, const F *a, const F *b, const F *c, const F *d) { F##_mul_sub(r, a, b, c, d); }
MUL_SUB_OF(bn254_fr)
MUL_SUB_OF(bn254_fq)
MUL_SUB_OF(bls381_fq)
MUL_SUB_OF(bn254_fq2)
MUL_SUB_OF(bls381_fq2)

template <class F> static __host__ __device__ void apply(int op, F *r, const F *a, const F *b)
{
    if constexpr (has<F>(MUL_SUB)) {
        F c;
        f_add(&c, a, b);
        if (op == MUL_SUB)
            f_mul_sub(r, a, b, &c, b);
    }
    if constexpr (has<F>(DIV_POW2)) {
        if (op == DIV_POW2)
            f_div_pow2(r, a, (int)(b->l[0] % 33));
    }
    switch (op) {
    case ADD: f_add(r, a, b); break;
    case SUB: f_sub(r, a, b); break;
    case MUL: f_mul(r, a, b); break;
    case SQR: f_sqr(r, a); break;
    case NEG: f_neg(r, a); break;
    case FROM_MONT: f_from_mont(r, a); break;
    case INV: f_inv(r, a); break;
    }
}

/* The result may be an operand: the kernel works in place. */
template <class F> __global__ void kernel(int op, F *a, const F *b, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        apply(op, &a[i], &a[i], &b[i]);
}

static uint64_t state = 0x5eed;

static uint64_t draw()
{
    state += 0x9e3779b97f4a7c15ull;
    uint64_t x = state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* 0, 1, p-1, p-2, (p-1)/2, single bits and runs of ones: all below p. */
template <class P> static std::vector<P> edges(const P &p)
{
    const int limbs = sizeof p.l / 8;
    std::vector<P> v;
    P x = {};
    v.push_back(x);
    for (uint64_t small : {1ull, 2ull, 0xffffffffull, 0x100000000ull, ~0ull}) {
        x = {};
        x.l[0] = small;
        v.push_back(x);
    }
    for (uint64_t less : {1ull, 2ull, 3ull}) {
        x = p;
        x.l[0] -= less;     /* no prime here has a smaller lowest limb */
        v.push_back(x);
    }
    for (int i = 0; i < limbs; i++)
        x.l[i] = p.l[i] >> 1 | (i + 1 < limbs ? p.l[i + 1] << 63 : 0);
    v.push_back(x);
    for (int bit = 31; bit < 64 * limbs - 8; bit += 32) {
        x = {};
        x.l[bit / 64] = 1ull << bit % 64;
        v.push_back(x);
        for (int i = 0; i < bit / 64; i++)
            x.l[i] = ~0ull;
        x.l[bit / 64] -= 1;
        v.push_back(x);
    }
    return v;
}

template <class P> static P random_below(const P &p)
{
    const int limbs = sizeof p.l / 8;
    for (;;) {
        P x;
        uint64_t borrow = 0;
        for (int i = 0; i < limbs; i++)
            x.l[i] = draw();
        x.l[limbs - 1] &= ~0ull >> __builtin_clzll(p.l[limbs - 1]);
        for (int i = 0; i < limbs; i++)
            limbs_subb(x.l[i], p.l[i], &borrow);
        if (borrow)
            return x;
    }
}

/* Operands of a prime field, or of its extension, whose elements are one or two of P. */
template <class F, class P> static void operands(const P &p, std::vector<F> *a, std::vector<F> *b)
{
    const int parts = sizeof(F) / sizeof(P);
    const std::vector<P> e = edges(p);
    a->resize(operands_of(ADD));
    b->resize(operands_of(ADD));
    for (size_t i = 0; i < a->size(); i++)
        for (int k = 0; k < parts; k++) {
            const bool edge = i < e.size() * e.size();
            ((P *)&(*a)[i])[k] = edge ? e[(i + k) % e.size()] : random_below(p);
            ((P *)&(*b)[i])[k] = edge ? e[(i / e.size() + 3 * k) % e.size()] : random_below(p);
        }
}

template <class F, class P> static int test(const char *field, const P &p)
{
    std::vector<F> a, b, got(operands_of(ADD));
    F *device_a, *device_b;
    int failures = 0;
    operands(p, &a, &b);
    const size_t size = sizeof(F) * a.size();
    if (cudaMalloc(&device_a, size) || cudaMalloc(&device_b, size))
        return 1;
    for (int op = 0; op < OPERATIONS; op++) {
        const int n = (int)operands_of(op);
        if (!has<F>(op))
            continue;
        cudaMemcpy(device_a, a.data(), size, cudaMemcpyHostToDevice);
        cudaMemcpy(device_b, b.data(), size, cudaMemcpyHostToDevice);
        kernel<F><<<(n + 127) / 128, 128>>>(op, device_a, device_b, n);
        const cudaError_t e = cudaMemcpy(got.data(), device_a, size, cudaMemcpyDeviceToHost);
        if (e != cudaSuccess) {
            printf("%s %s: %s\n", field, names[op], cudaGetErrorString(e));
            return 1;
        }
        int different = 0;
        for (int i = 0; i < n; i++) {
            F want;
            apply(op, &want, &a[i], &b[i]);
            different += memcmp(&want, &got[i], sizeof want) != 0;
        }
        if (different)
            printf("%s %s: %d of %d results differ\n", field, names[op], different, n);
        failures += different != 0;
    }
    cudaFree(device_a);
    cudaFree(device_b);
    return failures;
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    int failures = 0;
    printf("seed %llx\n", (unsigned long long)state);
    for (int round = 0; round < (small_sizes() ? 1 : 2); round++) {
        failures += test<bn254_fr>("bn254_fr", bn254_fr_modulus());
        failures += test<bn254_fq>("bn254_fq", bn254_fq_modulus());
        failures += test<bls381_fr>("bls381_fr", bls381_fr_modulus());
        failures += test<bls381_fq>("bls381_fq", bls381_fq_modulus());
        failures += test<bn254_fq2>("bn254_fq2", bn254_fq_modulus());
        failures += test<bls381_fq2>("bls381_fq2", bls381_fq_modulus());
    }
    printf("fields: %s\n", failures ? "failed" : "all results equal");
    return failures != 0;
}
