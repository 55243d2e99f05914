/*
 * The portable twin: a row's products are added up whole (576 bits: no number of terms overflows it) and reduced once.
 * Values of w of one word, most of a real witness, cost four multiplications in place of sixteen; zeros and ones
 * none.
 */
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

static void dot(const struct krn_scalar_field *f, const struct krn_dot *d, const struct krn_row *row)
{
    const uint8_t *term = row->terms;
    uint64_t acc[WIDE] = {0};
    struct krn_scalar sum;

    for (size_t i = 0; i < row->n; i++, term += d->stride) {
        uint32_t index;
        uint64_t v[LIMBS], x[LIMBS];
        memcpy(&index, term, sizeof index);
        memcpy(v, term + sizeof index, sizeof v);
        memcpy(x, d->w + (size_t)index * KRN_FR_BYTES, sizeof x);
        wide_mac(acc, v, x);
    }
    wide_reduce(f, &sum, acc);
    memcpy(row->out, sum.l, sizeof sum.l);
}

void krn_dot_rows_portable(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows)
{
    const struct krn_scalar_field f = krn_scalar_field(d->curve);
    for (size_t i = 0; i < n_rows; i++)
        dot(&f, d, &rows[i]);
}

void krn_dot_rows(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows)
{
#ifdef __x86_64__
    if (d->isa == KRN_ISA_IFMA) {
        krn_dot_rows_ifma(d, rows, n_rows);
        return;
    }
#endif
    krn_dot_rows_portable(d, rows, n_rows);
}
