#include "kernels/dot.h"

#include <string.h>

enum { LIMBS = KRN_SCALAR_LIMBS, WIDE = 2 * LIMBS + 1 };

/* acc += t, t of n limbs below the ninth. */
KRN_FN void wide_add(uint64_t acc[WIDE], const uint64_t *t, const int n)
{
    uint64_t carry = 0;
    KRN_UNROLL
    for (int i = 0; i < WIDE; i++)
        acc[i] = limbs_addc(acc[i], i < n ? t[i] : 0, &carry);
}

/* acc += v * w */
KRN_FN void wide_mac(uint64_t acc[WIDE], const uint64_t v[LIMBS], const uint64_t w[LIMBS])
{
    uint64_t t[2 * LIMBS] = {0};

    if ((w[1] | w[2] | w[3]) == 0) {
        if (w[0] == 0)
            return;
        if (w[0] == 1) {
            wide_add(acc, v, LIMBS);
            return;
        }
        KRN_UNROLL
        for (int j = 0; j < LIMBS; j++)
            t[j] = limbs_mac(v[j], w[0], 0, &t[LIMBS]);
        wide_add(acc, t, LIMBS + 1);
        return;
    }
    KRN_UNROLL
    for (int i = 0; i < LIMBS; i++) {
        uint64_t high = 0;
        KRN_UNROLL
        for (int j = 0; j < LIMBS; j++)
            t[i + j] = limbs_mac(v[j], w[i], t[i + j], &high);
        t[i + LIMBS] = high;
    }
    wide_add(acc, t, 2 * LIMBS);
}

/* r = acc / R mod p: Montgomery's reduction row by row. What is left is below acc / R + p, so after n products of
 * reduced values at most n subtractions of p remain. */
KRN_FN void wide_reduce(const struct krn_scalar_field *f, struct krn_scalar *r, uint64_t acc[WIDE])
{
    KRN_UNROLL
    for (int i = 0; i < LIMBS; i++) {
        uint64_t m = acc[i] * f->np0, high = 0, carry = 0;
        KRN_UNROLL
        for (int j = 0; j < LIMBS; j++)
            acc[i + j] = limbs_mac(m, f->p.l[j], acc[i + j], &high);
        acc[i + LIMBS] = limbs_addc(acc[i + LIMBS], high, &carry);
        KRN_UNROLL
        for (int j = i + LIMBS + 1; j < WIDE; j++)
            acc[j] = limbs_addc(acc[j], 0, &carry);
    }
    uint64_t top = acc[WIDE - 1], borrow, less[LIMBS];
    memcpy(r->l, acc + LIMBS, sizeof r->l);
    while ((borrow = limbs_sub(less, r->l, f->p.l, LIMBS)) <= top) {
        top -= borrow;
        memcpy(r->l, less, sizeof r->l);
    }
}

void krn_dot(const struct krn_scalar_field *f, struct krn_scalar *r, const uint8_t *terms, size_t stride, size_t n,
             const uint8_t *w)
{
    uint64_t acc[WIDE] = {0};

    for (size_t i = 0; i < n; i++, terms += stride) {
        uint32_t index;
        uint64_t v[LIMBS], x[LIMBS];
        memcpy(&index, terms, sizeof index);
        memcpy(v, terms + sizeof index, sizeof v);
        memcpy(x, w + (size_t)index * KRN_FR_BYTES, sizeof x);
        wide_mac(acc, v, x);
    }
    wide_reduce(f, r, acc);
}
