#include "kernels/scalar.h"

#include "kernels/field.h"

enum { ROOT_GENERATOR = 5 };

static struct krn_scalar scalar(const uint64_t limbs[KRN_SCALAR_LIMBS])
{
    struct krn_scalar s;
    memcpy(s.l, limbs, sizeof s.l);
    return s;
}

struct krn_scalar_field krn_scalar_field(enum krn_curve_id curve)
{
    if (curve == KRN_BN254)
        return (struct krn_scalar_field){.p = scalar(bn254_fr_modulus().l), .one = scalar(bn254_fr_one().l),
                                         .r2 = scalar(bn254_fr_r2().l), .np0 = bn254_fr_np0(), .two_adicity = 28};
    return (struct krn_scalar_field){.p = scalar(bls381_fr_modulus().l), .one = scalar(bls381_fr_one().l),
                                     .r2 = scalar(bls381_fr_r2().l), .np0 = bls381_fr_np0(), .two_adicity = 32};
}

void krn_scalar_set_u64(const struct krn_scalar_field *f, struct krn_scalar *r, uint64_t x)
{
    const struct krn_scalar plain = {{x}};
    krn_scalar_to_mont(f, r, &plain);
}

void krn_scalar_pow(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a,
                    const struct krn_scalar *e)
{
    const struct krn_scalar base = *a;
    struct krn_scalar acc = f->one;

    for (int i = 64 * KRN_SCALAR_LIMBS - 1; i >= 0; i--) {
        krn_scalar_mul(f, &acc, &acc, &acc);
        if (e->l[i / 64] >> (i % 64) & 1)
            krn_scalar_mul(f, &acc, &acc, &base);
    }
    *r = acc;
}

void krn_scalar_inv(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a)
{
    const struct krn_scalar two = {{2}};
    struct krn_scalar e;

    limbs_sub(e.l, f->p.l, two.l, KRN_SCALAR_LIMBS);
    krn_scalar_pow(f, r, a, &e);
}

void krn_scalar_root(const struct krn_scalar_field *f, struct krn_scalar *r, uint32_t log)
{
    const struct krn_scalar one = {{1}};
    struct krn_scalar e, g;

    limbs_sub(e.l, f->p.l, one.l, KRN_SCALAR_LIMBS);
    for (uint32_t shift = 0; shift < log; shift++) {
        for (int i = 0; i < KRN_SCALAR_LIMBS; i++)
            e.l[i] = e.l[i] >> 1 | (i + 1 < KRN_SCALAR_LIMBS ? e.l[i + 1] << 63 : 0);
    }
    krn_scalar_set_u64(f, &g, ROOT_GENERATOR);
    krn_scalar_pow(f, r, &g, &e);
}
