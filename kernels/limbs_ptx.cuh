/*
 * kernels/limbs_ptx.cuh: the device twins of kernels/limbs.h, as carry chains over 32-bit words.
 *
 * Included by limbs.h; in device passes the same names, same promises (operands and results below p, r may be a
 * or b, p's top bit clear). Every chain pairs mad.lo with mad.hi on neighbouring words, which ptxas turns into one
 * IMAD.WIDE.U32 with carry in and out. For the pairs to be neighbours, products at even and at odd word positions
 * go into separate rows, merged once at the end (Emmart, "Faster modular exponentiation using double precision
 * floating point arithmetic on the GPU", ARITH 2018, section III describes the layout for integers as well).
 *
 * Cost in wide multiplications, n 32-bit words: mul 2 n^2 + n, sqr n(n+1)/2 + n^2 + n, dot2 3 n^2 + n.
 *
 * The statements are volatile because the carry flag is not an operand that the compiler sees: their order is all
 * that links them.
 */
#ifndef KERNELS_LIMBS_PTX_CUH
#define KERNELS_LIMBS_PTX_CUH

/* A constant that ptxas cannot see: it takes the low half of -x * p for x * -p and then finds no pair to fuse. */
static __constant__ __attribute__((unused)) uint32_t ptx_minus_one = 0xffffffffu;

#ifdef __CUDA_ARCH__

#define PTX_FN static __device__ __forceinline__

enum { PTX_MAX = 2 * LIMBS_MAX };

PTX_FN uint32_t ptx_add_cc(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

PTX_FN uint32_t ptx_addc_cc(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

PTX_FN uint32_t ptx_addc(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

PTX_FN uint32_t ptx_sub_cc(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

PTX_FN uint32_t ptx_subc_cc(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

PTX_FN uint32_t ptx_subc(uint32_t a, uint32_t b)
{
    uint32_t r;
    asm volatile("subc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

/* (hi, lo) = a * b + (chi, clo), starting a chain. */
PTX_FN void ptx_mad_wide_cc(uint32_t *lo, uint32_t *hi, uint32_t a, uint32_t b, uint32_t clo, uint32_t chi)
{
    asm volatile("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.cc.u32 %1, %2, %3, %5;"
                 : "=&r"(*lo), "=r"(*hi) : "r"(a), "r"(b), "r"(clo), "r"(chi));
}

/* (hi, lo) = a * b + (chi, clo) + carry, inside a chain. */
PTX_FN void ptx_madc_wide_cc(uint32_t *lo, uint32_t *hi, uint32_t a, uint32_t b, uint32_t clo, uint32_t chi)
{
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %4; madc.hi.cc.u32 %1, %2, %3, %5;"
                 : "=&r"(*lo), "=r"(*hi) : "r"(a), "r"(b), "r"(clo), "r"(chi));
}

/* The same at a chain's end, where no carry can come out. */
PTX_FN void ptx_madc_wide(uint32_t *lo, uint32_t *hi, uint32_t a, uint32_t b, uint32_t clo, uint32_t chi)
{
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;"
                 : "=&r"(*lo), "=r"(*hi) : "r"(a), "r"(b), "r"(clo), "r"(chi));
}

PTX_FN void ptx_split(uint32_t *w, const uint64_t *l, const int limbs)
{
#pragma unroll
    for (int i = 0; i < limbs; i++) {
        w[2 * i] = (uint32_t)l[i];
        w[2 * i + 1] = (uint32_t)(l[i] >> 32);
    }
}

PTX_FN void ptx_join(uint64_t *l, const uint32_t *w, const int limbs)
{
#pragma unroll
    for (int i = 0; i < limbs; i++)
        l[i] = (uint64_t)w[2 * i + 1] << 32 | w[2 * i];
}

/* r = a + b; no carry comes out. */
PTX_FN void ptx_add(uint32_t *r, const uint32_t *a, const uint32_t *b, const int n)
{
    r[0] = ptx_add_cc(a[0], b[0]);
#pragma unroll
    for (int i = 1; i < n - 1; i++)
        r[i] = ptx_addc_cc(a[i], b[i]);
    r[n - 1] = ptx_addc(a[n - 1], b[n - 1]);
}

/* r = a - b; returns all ones where that is negative, else 0. */
PTX_FN uint32_t ptx_sub(uint32_t *r, const uint32_t *a, const uint32_t *b, const int n)
{
    r[0] = ptx_sub_cc(a[0], b[0]);
#pragma unroll
    for (int i = 1; i < n; i++)
        r[i] = ptx_subc_cc(a[i], b[i]);
    return ptx_subc(0, 0);
}

/* r = t - p where t >= p, else t; t below 2p. */
PTX_FN void ptx_reduce_once(uint32_t *r, const uint32_t *t, const uint32_t *p, const int n)
{
    uint32_t s[PTX_MAX];
    const bool below = ptx_sub(s, t, p, n) != 0;
#pragma unroll
    for (int i = 0; i < n; i++)
        r[i] = below ? t[i] : s[i];
}

/* acc[0..n) += x[0], x[2], .. times m, each product at its own place; the carry is left in the flag. */
PTX_FN void ptx_row(uint32_t *acc, const uint32_t *x, uint32_t m, const int n)
{
    ptx_mad_wide_cc(&acc[0], &acc[1], x[0], m, acc[0], acc[1]);
#pragma unroll
    for (int j = 2; j < n; j += 2)
        ptx_madc_wide_cc(&acc[j], &acc[j + 1], x[j], m, acc[j], acc[j + 1]);
}

/* acc = (acc >> 64) + carry flag + x[0], x[2], .. times m. */
PTX_FN void ptx_row_shift(uint32_t *acc, const uint32_t *x, uint32_t m, const int n)
{
#pragma unroll
    for (int j = 0; j < n - 2; j += 2)
        ptx_madc_wide_cc(&acc[j], &acc[j + 1], x[j], m, acc[j + 2], acc[j + 3]);
    ptx_madc_wide(&acc[n - 2], &acc[n - 1], x[n - 2], m, 0, 0);
}

PTX_FN void ptx_row_first(uint32_t *acc, const uint32_t *x, uint32_t m, const int n)
{
#pragma unroll
    for (int j = 0; j < n; j += 2) {
        const uint64_t t = (uint64_t)x[j] * m;
        acc[j] = (uint32_t)t;
        acc[j + 1] = (uint32_t)(t >> 32);
    }
}

/* Where p ends in 2^64 - 2^32 + 1, as BLS12-381's scalar field does, m = -even[0], and even[0] plus m times p's two low
 * words is, over 2^32, m 2^32 - m + (m > 0): zero at word 0 and no product. A sixth of the multiplications saved. */
PTX_FN bool ptx_is_sparse(const uint32_t *p, uint32_t np0)
{
    return p[0] == 1 && p[1] == 0xffffffffu && np0 == 0xffffffffu;
}

PTX_FN void ptx_redc_row_sparse(uint32_t *even, uint32_t *odd, const uint32_t *p, const int n)
{
    const uint32_t m = even[0] * ptx_minus_one;
    const uint64_t sum = ((uint64_t)m << 32) - (m - (m != 0));
    odd[0] = ptx_add_cc(odd[0], (uint32_t)sum);
    odd[1] = ptx_addc_cc(odd[1], (uint32_t)(sum >> 32));
#pragma unroll
    for (int j = 2; j < n; j += 2)
        ptx_madc_wide_cc(&odd[j], &odd[j + 1], p[j + 1], m, odd[j], odd[j + 1]);
    ptx_row(even + 2, p + 2, m, n - 2);
    even[0] = 0;
    odd[n - 1] = ptx_addc(odd[n - 1], 0);
}

/* even += m * p at even places, odd the rest, m chosen so that even[0] becomes zero. */
PTX_FN void ptx_redc_row(uint32_t *even, uint32_t *odd, const uint32_t *p, uint32_t np0, const int n)
{
    if (ptx_is_sparse(p, np0)) {
        ptx_redc_row_sparse(even, odd, p, n);
        return;
    }
    const uint32_t m = even[0] * np0;
    ptx_row(odd, p + 1, m, n);
    ptx_row(even, p, m, n);
    odd[n - 1] = ptx_addc(odd[n - 1], 0);
}

/* One row of a product and its reduction. The number held is even + odd * 2^32, where `odd` still stands two words
 * too high: it was the even row of the step before, whose word 0 is zero and whose word 1 belongs to even[0]. */
PTX_FN void ptx_mul_row(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t b, const uint32_t *p, uint32_t np0,
                        const int n)
{
    even[0] = ptx_add_cc(even[0], odd[1]);
    ptx_row_shift(odd, a + 1, b, n);
    ptx_row(even, a, b, n);
    odd[n - 1] = ptx_addc(odd[n - 1], 0);
    ptx_redc_row(even, odd, p, np0, n);
}

/* r = odd + (even >> 32): the rows of a finished product or reduction brought together. */
PTX_FN void ptx_merge(uint32_t *r, const uint32_t *even, const uint32_t *odd, const int n)
{
    r[0] = ptx_add_cc(odd[0], even[1]);
#pragma unroll
    for (int i = 1; i < n - 1; i++)
        r[i] = ptx_addc_cc(odd[i], even[i + 1]);
    r[n - 1] = ptx_addc(odd[n - 1], 0);
}

PTX_FN void ptx_mont_mul(uint32_t *r, const uint32_t *a, const uint32_t *b, const uint32_t *p, uint32_t np0,
                         const int n)
{
    uint32_t even[PTX_MAX], odd[PTX_MAX], t[PTX_MAX];
    ptx_row_first(even, a, b[0], n);
    ptx_row_first(odd, a + 1, b[0], n);
    ptx_redc_row(even, odd, p, np0, n);
    ptx_mul_row(odd, even, a, b[1], p, np0, n);
#pragma unroll
    for (int i = 2; i < n; i += 2) {
        ptx_mul_row(even, odd, a, b[i], p, np0, n);
        ptx_mul_row(odd, even, a, b[i + 1], p, np0, n);
    }
    ptx_merge(t, odd, even, n);
    ptx_reduce_once(r, t, p, n);
}

/* A row of a second product on top of one; the sum of both and its reduction stay below 3 p 2^32. */
PTX_FN void ptx_row_more(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t b, const int n)
{
    ptx_row(odd, a + 1, b, n);
    ptx_row(even, a, b, n);
    odd[n - 1] = ptx_addc(odd[n - 1], 0);
}

PTX_FN void ptx_dot2_row(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t b, const uint32_t *c, uint32_t d,
                         const uint32_t *p, uint32_t np0, const int n)
{
    even[0] = ptx_add_cc(even[0], odd[1]);
    ptx_row_shift(odd, a + 1, b, n);
    ptx_row(even, a, b, n);
    odd[n - 1] = ptx_addc(odd[n - 1], 0);
    ptx_row_more(even, odd, c, d, n);
    ptx_redc_row(even, odd, p, np0, n);
}

PTX_FN void ptx_mont_dot2(uint32_t *r, const uint32_t *a, const uint32_t *b, const uint32_t *c, const uint32_t *d,
                          const uint32_t *p, uint32_t np0, const int n)
{
    uint32_t even[PTX_MAX], odd[PTX_MAX], t[PTX_MAX];
    ptx_row_first(even, a, b[0], n);
    ptx_row_first(odd, a + 1, b[0], n);
    ptx_row_more(even, odd, c, d[0], n);
    ptx_redc_row(even, odd, p, np0, n);
    ptx_dot2_row(odd, even, a, b[1], c, d[1], p, np0, n);
#pragma unroll
    for (int i = 2; i < n; i += 2) {
        ptx_dot2_row(even, odd, a, b[i], c, d[i], p, np0, n);
        ptx_dot2_row(odd, even, a, b[i + 1], c, d[i + 1], p, np0, n);
    }
    ptx_merge(t, odd, even, n);
    ptx_reduce_once(r, t, p, n);
}

/* w[0..2n) = a * b as whole numbers. Rows of b alternate between the two accumulators. */
PTX_FN void ptx_wide_mul(uint32_t *w, const uint32_t *a, const uint32_t *b, const int n)
{
    uint32_t even[2 * PTX_MAX], odd[2 * PTX_MAX];
#pragma unroll
    for (int i = 0; i < 2 * n; i++)
        even[i] = odd[i] = 0;
    ptx_row_first(even, a, b[0], n);
    ptx_row_first(odd, a + 1, b[0], n);
    /* Row i ends at word i + n; what it carries out there starts the next row of the same parity. */
#pragma unroll
    for (int i = 1; i < n; i++) {
        uint32_t *same = i & 1 ? odd : even, *other = i & 1 ? even : odd;
        uint32_t *low = same + (i & 1 ? i - 1 : i), *high = other + (i & 1 ? i + 1 : i);
        ptx_row(low, a, b[i], n);
        low[n] = ptx_addc(low[n], 0);
        ptx_row(high, a + 1, b[i], n);
    }
    w[0] = even[0];
    w[1] = ptx_add_cc(even[1], odd[0]);
#pragma unroll
    for (int i = 2; i < 2 * n - 1; i++)
        w[i] = ptx_addc_cc(even[i], odd[i - 1]);
    w[2 * n - 1] = ptx_addc(even[2 * n - 1], odd[2 * n - 2]);
}

/* w[0..2n) = a^2: the products of different words once, doubled, then the squares on top. */
PTX_FN void ptx_wide_sqr(uint32_t *w, const uint32_t *a, const int n)
{
    uint32_t even[2 * PTX_MAX], odd[2 * PTX_MAX];
#pragma unroll
    for (int i = 0; i < 2 * n; i++)
        even[i] = odd[i] = 0;
    /* Row i holds a[i] a[j], j > i, at place i + j. Row 0 finds only zeros, so nothing is carried into it. */
#pragma unroll
    for (int i = 0; i < n - 1; i++) {
        const int n_odd = (n - i) & ~1, n_even = (n - i - 1) & ~1;
        uint32_t *o = odd + 2 * i, *e = even + 2 * i + 2;
        ptx_row(o, a + i + 1, a[i], n_odd);
        o[n_odd] = ptx_addc(o[n_odd], 0);
        if (n_even > 0) {
            ptx_row(e, a + i + 2, a[i], n_even);
            e[n_even] = ptx_addc(e[n_even], 0);
        }
    }
    uint32_t t[2 * PTX_MAX];
    t[0] = 0;
    t[1] = odd[0];
    t[2] = ptx_add_cc(even[2], odd[1]);
#pragma unroll
    for (int i = 3; i < 2 * n - 1; i++)
        t[i] = ptx_addc_cc(even[i], odd[i - 1]);
    t[2 * n - 1] = ptx_addc(even[2 * n - 1], odd[2 * n - 2]);
#pragma unroll
    for (int i = 2 * n - 1; i > 0; i--)
        t[i] = __funnelshift_l(t[i - 1], t[i], 1);
    ptx_mad_wide_cc(&w[0], &w[1], a[0], a[0], 0, t[1]);
#pragma unroll
    for (int i = 1; i < n; i++)
        ptx_madc_wide_cc(&w[2 * i], &w[2 * i + 1], a[i], a[i], t[2 * i], t[2 * i + 1]);
}

/* r = w / 2^(32 n) mod p, for w below p * 2^(32 n). The low half is reduced to at most p, the high half added. */
PTX_FN void ptx_wide_redc(uint32_t *r, const uint32_t *w, const uint32_t *p, uint32_t np0, const int n)
{
    uint32_t even[PTX_MAX], odd[PTX_MAX], t[PTX_MAX];
#pragma unroll
    for (int i = 0; i < n; i++)
        even[i] = w[i];
    uint32_t m = even[0] * np0;
    ptx_row_first(odd, p + 1, m, n);
    ptx_row(even, p, m, n);
    odd[n - 1] = ptx_addc(odd[n - 1], 0);
#pragma unroll
    for (int i = 1; i < n; i++) {
        uint32_t *e = i & 1 ? odd : even, *o = i & 1 ? even : odd;
        e[0] = ptx_add_cc(e[0], o[1]);
        m = e[0] * np0;
        ptx_row_shift(o, p + 1, m, n);
        ptx_row(e, p, m, n);
        o[n - 1] = ptx_addc(o[n - 1], 0);
    }
    ptx_merge(t, odd, even, n);
    ptx_add(t, t, w + n, n);
    ptx_reduce_once(r, t, p, n);
}

/* ---- the names of limbs.h; n counts 64-bit limbs ---- */

PTX_FN void limbs_mod_add(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, const int n)
{
    uint32_t x[PTX_MAX], y[PTX_MAX], q[PTX_MAX];
    ptx_split(x, a, n);
    ptx_split(y, b, n);
    ptx_split(q, p, n);
    ptx_add(x, x, y, 2 * n);
    ptx_reduce_once(x, x, q, 2 * n);
    ptx_join(r, x, n);
}

PTX_FN void limbs_mod_sub(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, const int n)
{
    uint32_t x[PTX_MAX], y[PTX_MAX], q[PTX_MAX];
    ptx_split(x, a, n);
    ptx_split(y, b, n);
    ptx_split(q, p, n);
    const uint32_t negative = ptx_sub(x, x, y, 2 * n);
#pragma unroll
    for (int i = 0; i < 2 * n; i++)
        q[i] &= negative;
    ptx_add(x, x, q, 2 * n);
    ptx_join(r, x, n);
}

PTX_FN void limbs_mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, uint64_t np0,
                           const int n)
{
    uint32_t x[PTX_MAX], y[PTX_MAX], q[PTX_MAX];
    ptx_split(x, a, n);
    ptx_split(y, b, n);
    ptx_split(q, p, n);
    ptx_mont_mul(x, x, y, q, (uint32_t)np0, 2 * n);
    ptx_join(r, x, n);
}

PTX_FN void limbs_mont_sqr(uint64_t *r, const uint64_t *a, const uint64_t *p, uint64_t np0, const int n)
{
    uint32_t x[PTX_MAX], q[PTX_MAX], w[2 * PTX_MAX];
    ptx_split(x, a, n);
    ptx_split(q, p, n);
    ptx_wide_sqr(w, x, 2 * n);
    ptx_wide_redc(x, w, q, (uint32_t)np0, 2 * n);
    ptx_join(r, x, n);
}

PTX_FN void limbs_mont_dot2(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *c, const uint64_t *d,
                            const uint64_t *p, uint64_t np0, const int n)
{
    uint32_t x[PTX_MAX], y[PTX_MAX], s[PTX_MAX], t[PTX_MAX], q[PTX_MAX];
    ptx_split(x, a, n);
    ptx_split(y, b, n);
    ptx_split(s, c, n);
    ptx_split(t, d, n);
    ptx_split(q, p, n);
    ptx_mont_dot2(x, x, y, s, t, q, (uint32_t)np0, 2 * n);
    ptx_join(r, x, n);
}

/* k <= 32: one row of a reduction. */
PTX_FN void limbs_div_pow2(uint64_t *r, const uint64_t *a, int k, const uint64_t *p, uint64_t np0, const int limbs)
{
    const int n = 2 * limbs;
    uint32_t even[PTX_MAX], odd[PTX_MAX], q[PTX_MAX], w[PTX_MAX + 1];
    ptx_split(even, a, limbs);
    ptx_split(q, p, limbs);
    const uint32_t m = even[0] * (uint32_t)np0 & (uint32_t)((1ull << k) - 1);
    ptx_row_first(odd, q + 1, m, n);
    ptx_row(even, q, m, n);
    odd[n - 1] = ptx_addc(odd[n - 1], 0);
    w[0] = even[0];
    w[1] = ptx_add_cc(even[1], odd[0]);
#pragma unroll
    for (int i = 2; i < n; i++)
        w[i] = ptx_addc_cc(even[i], odd[i - 1]);
    w[n] = ptx_addc(odd[n - 1], 0);
#pragma unroll
    for (int i = 0; i < n; i++)
        w[i] = __funnelshift_rc(w[i], w[i + 1], k);
    ptx_join(r, w, limbs);
}

/* (a0 + a1 u)(b0 + b1 u), u^2 = -1, for p of two spare bits: Karatsuba on whole products and two reductions, where
 * three Montgomery multiplications have three (5 n^2 wide multiplications in place of 6 n^2). Results may be
 * operands. */
PTX_FN void limbs_mont_mul_fq2(uint64_t *r0, uint64_t *r1, const uint64_t *a0, const uint64_t *a1, const uint64_t *b0,
                               const uint64_t *b1, const uint64_t *p, uint64_t np0, const int limbs)
{
    const int n = 2 * limbs;
    uint32_t x[PTX_MAX], y[PTX_MAX], s[PTX_MAX], t[PTX_MAX], q[PTX_MAX];
    uint32_t difference[2 * PTX_MAX], sum[2 * PTX_MAX];
    ptx_split(q, p, limbs);
    ptx_split(x, a0, limbs);
    ptx_split(y, b0, limbs);
    ptx_wide_mul(sum, x, y, n);
    ptx_split(s, a1, limbs);
    ptx_split(t, b1, limbs);
    ptx_wide_mul(difference, s, t, n);
    ptx_add(s, s, x, n);
    ptx_add(t, t, y, n);

    /* a0 b0 - a1 b1, and p times 2^(32 n) more where that is negative; a0 b0 + a1 b1. */
    uint32_t w[2 * PTX_MAX];
    const uint32_t negative = ptx_sub(w, sum, difference, 2 * n);
    ptx_add(sum, sum, difference, 2 * n);
#pragma unroll
    for (int i = 0; i < n; i++)
        x[i] = q[i] & negative;
    ptx_add(w + n, w + n, x, n);
    ptx_wide_redc(x, w, q, (uint32_t)np0, n);
    ptx_join(r0, x, limbs);

    ptx_wide_mul(w, s, t, n);
    ptx_sub(w, w, sum, 2 * n);
    ptx_wide_redc(x, w, q, (uint32_t)np0, n);
    ptx_join(r1, x, limbs);
}

#endif

#endif
