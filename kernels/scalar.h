/*
 * kernels/scalar.h: the scalar field of a curve that is known only at run time, as one type for both: for code that is
 * not about arithmetic (circuits, setup) and would gain nothing from being compiled twice. The same representation
 * as kernels/field.h's; a multiplication costs a tenth more, its prime being data.
 */
#ifndef KERNELS_SCALAR_H
#define KERNELS_SCALAR_H

#include "kernels/krn.h"
#include "kernels/limbs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KRN_SCALAR_LIMBS = KRN_FR_BYTES / 8 };

struct krn_scalar {
    uint64_t l[KRN_SCALAR_LIMBS];
};

struct krn_scalar_field {
    struct krn_scalar p, one, r2;   /* the group order, R and R^2 modulo it */
    uint64_t np0;                   /* -1/p mod 2^64 */
    uint32_t two_adicity;
};

struct krn_scalar_field krn_scalar_field(enum krn_curve_id curve);

/* As in field.h. Every result may be an operand. mul of a plain and a Montgomery value is plain. */
KRN_FN void krn_scalar_add(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a,
                           const struct krn_scalar *b)
{
    limbs_mod_add(r->l, a->l, b->l, f->p.l, KRN_SCALAR_LIMBS);
}

KRN_FN void krn_scalar_sub(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a,
                           const struct krn_scalar *b)
{
    limbs_mod_sub(r->l, a->l, b->l, f->p.l, KRN_SCALAR_LIMBS);
}

KRN_FN void krn_scalar_mul(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a,
                           const struct krn_scalar *b)
{
    limbs_mont_mul(r->l, a->l, b->l, f->p.l, f->np0, KRN_SCALAR_LIMBS);
}

KRN_FN void krn_scalar_to_mont(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a)
{
    krn_scalar_mul(f, r, a, &f->r2);
}

KRN_FN void krn_scalar_from_mont(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a)
{
    const struct krn_scalar plain_one = {{1}};
    krn_scalar_mul(f, r, a, &plain_one);
}

KRN_FN int krn_scalar_eq(const struct krn_scalar *a, const struct krn_scalar *b)
{
    uint64_t diff = 0;
    for (int i = 0; i < KRN_SCALAR_LIMBS; i++)
        diff |= a->l[i] ^ b->l[i];
    return diff == 0;
}

/* Whether the limbs are below the group order. */
KRN_FN int krn_scalar_is_reduced(const struct krn_scalar_field *f, const struct krn_scalar *a)
{
    struct krn_scalar t;
    return (int)limbs_sub(t.l, a->l, f->p.l, KRN_SCALAR_LIMBS);
}

/* The Montgomery form of x. */
void krn_scalar_set_u64(const struct krn_scalar_field *f, struct krn_scalar *r, uint64_t x);

/* a^e, e plain, and 1/a (0 for 0), Montgomery form. */
void krn_scalar_pow(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a,
                    const struct krn_scalar *e);
void krn_scalar_inv(const struct krn_scalar_field *f, struct krn_scalar *r, const struct krn_scalar *a);

/* A root of unity of order 2^log, Montgomery form, log <= two_adicity: 5^((p-1) / 2^log), as in iden3's tools. */
void krn_scalar_root(const struct krn_scalar_field *f, struct krn_scalar *r, uint32_t log);

#ifdef __cplusplus
}
#endif
#endif
