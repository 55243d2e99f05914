#include "kernels/assemble.h"

#include <string.h>

#include "kernels/group.h"
#include "kernels/scalar.h"

static void add_point(const struct group_ops *group, union krn_sum *sum, const uint8_t *point)
{
    union krn_sum x;
    group->from_affine(&x, point);
    group->add(sum, &x);
}

static void times(const struct group_ops *group, const uint8_t *point, const uint8_t k[KRN_FR_BYTES], uint8_t *out)
{
    union krn_sum x;
    group->from_affine(&x, point);
    group->mul(&x, k);
    group->to_affine(out, &x);
}

/* -r s modulo the group order, plain. */
static void minus_product(enum krn_curve_id curve, const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES],
                          uint8_t out[KRN_FR_BYTES])
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    struct krn_scalar x, y;
    const struct krn_scalar zero = {{0}};
    memcpy(&x, r, sizeof x);
    memcpy(&y, s, sizeof y);
    krn_scalar_to_mont(&f, &x, &x);
    krn_scalar_mul(&f, &x, &x, &y);
    krn_scalar_sub(&f, &x, &zero, &x);
    memcpy(out, &x, sizeof x);
}

void krn_blind(const struct krn_key *key, const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES],
               struct krn_blinds *out)
{
    const struct group_ops *g1 = group_ops(key->curve, 1), *g2 = group_ops(key->curve, 2);
    uint8_t minus_rs[KRN_FR_BYTES];
    minus_product(key->curve, r, s, minus_rs);
    times(g1, key->delta1, r, out->r_delta1);
    times(g1, key->delta1, s, out->s_delta1);
    times(g1, key->delta1, minus_rs, out->minus_rs_delta1);
    times(g2, key->delta2, s, out->s_delta2);
}

static void sum_of_three(const struct group_ops *group, const uint8_t *a, const uint8_t *b, const uint8_t *c,
                         union krn_sum *out)
{
    group->from_affine(out, a);
    add_point(group, out, b);
    add_point(group, out, c);
}

void krn_assemble(const struct krn_key *key, const struct krn_proof_sums *sums, const struct krn_blinds *blinds,
                  const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES], struct krn_proof *proof)
{
    const struct krn_curve *curve = krn_curve(key->curve);
    const struct group_ops *g1 = group_ops(key->curve, 1), *g2 = group_ops(key->curve, 2);
    union krn_sum a, b1, b2, c;
    sum_of_three(g1, key->alpha1, sums->a, blinds->r_delta1, &a);
    sum_of_three(g1, key->beta1, sums->b1, blinds->s_delta1, &b1);
    sum_of_three(g2, key->beta2, sums->b2, blinds->s_delta2, &b2);
    sum_of_three(g1, sums->l, sums->h, blinds->minus_rs_delta1, &c);
    memset(proof, 0, sizeof *proof);
    g1->to_affine(proof->a, &a);
    g2->to_affine(proof->b, &b2);
    g1->mul(&a, s);
    g1->mul(&b1, r);
    g1->add(&c, &a);
    g1->add(&c, &b1);
    g1->to_affine(proof->c, &c);
    krn_fq_to_plain(curve, proof->a, proof->a, 2);
    krn_fq_to_plain(curve, proof->b, proof->b, 4);
    krn_fq_to_plain(curve, proof->c, proof->c, 2);
}
