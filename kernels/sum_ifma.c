/*
 * The twin of kernels/sum_tmpl.h in eight lanes of AVX-512 IFMA, for all four groups. Entered only where
 * krn_cpu_isa() says so.
 *
 * The arena's points are those of an isomorphic curve, chosen so that next to nothing has to be converted. Keys hold
 * x R and y R; products here divide by S = 2^(52 n) in place of R. The map (x, y) -> (u^2 x, u^3 y) with u^2 = R / S
 * leaves the bytes of x as they are, and makes of y R the number y u^3 S = y R u: so y is divided by 1/u, a small
 * power of two (4 for BN254, 2^16 for BLS12-381), and the formulas, which do not use the curve's constant, stay as
 * they are. Both coordinates are kept canonical, so equal points are equal bytes.
 *
 * Cost of an addition in G1, n = 5: 5 products of 105 and a square of 85 IFMA instructions for eight lanes, of which a
 * core begins two a cycle: 38 cycles an addition if nothing else took time; about twice that is measured.
 */
#include "kernels/sum.h"

#include <string.h>

#include "kernels/ec.h"
#include "kernels/lanes.h"

#ifdef __x86_64__

enum {
    BLOCKS = 2,                 /* vectors of additions under way together: hides the latency of the carry chains */
    STEP = BLOCKS * LANES,      /* additions a step */
};

_Static_assert((int)SUM_PAD >= STEP, "a list of pairs is filled up to whole steps");
_Static_assert(sizeof(struct sum_pair) == 3 * sizeof(uint32_t), "terms of pairs are read by steps of three");

/* Lanes in which a + b has no slope, or a tangent's. */
struct special {
    __mmask8 a_inf, b_inf, equal, opposite;
};

/* Fills the list up to whole steps with copies of its last pair. They compute the same and write the same. */
static size_t fill_up(struct sum_pair *pairs, size_t n, size_t step)
{
    const size_t end = (n + step - 1) / step * step;
    for (size_t i = n; i < end; i++)
        pairs[i] = pairs[n - 1];
    return end;
}

/* Products are called: inlined everywhere, they would not fit the instruction cache. */
KRN_FN void mul_5(lanes_v *r, const lanes_v *a, const lanes_v *b, const struct lanes_prime *m)
{
    lanes_mul(r, a, b, m, 5);
}

KRN_FN void sqr_5(lanes_v *r, const lanes_v *a, const struct lanes_prime *m)
{
    lanes_sqr(r, a, m, 5);
}

static __attribute__((noinline)) void mul_8(lanes_v *r, const lanes_v *a, const lanes_v *b, const struct lanes_prime *m)
{
    lanes_mul(r, a, b, m, 8);
}

static __attribute__((noinline)) void sqr_8(lanes_v *r, const lanes_v *a, const struct lanes_prime *m)
{
    lanes_sqr(r, a, m, 8);
}

#define EC_BASE bn254_fq
#define N 5
#define Y_SHIFT 2

#define EC bn254_g1
#define DEGREE 1
#include "kernels/sum_lanes_tmpl.h"

#define EC bn254_g2
#define DEGREE 2
#include "kernels/sum_lanes_tmpl.h"

#undef EC_BASE
#undef N
#undef Y_SHIFT
#define EC_BASE bls381_fq
#define N 8
#define Y_SHIFT 16

#define EC bls381_g1
#define DEGREE 1
#include "kernels/sum_lanes_tmpl.h"

#define EC bls381_g2
#define DEGREE 2
#include "kernels/sum_lanes_tmpl.h"

const struct sum_ops *const sum_ops_ifma[KRN_CURVES][2] = {
    [KRN_BN254] = {&bn254_g1_lanes_ops, &bn254_g2_lanes_ops},
    [KRN_BLS12_381] = {&bls381_g1_lanes_ops, &bls381_g2_lanes_ops},
};

#endif
