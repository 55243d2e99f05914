/*
 * kernels/group.h: the groups of kernels/ec.h behind one table, for code that serves all four and is not on a hot path.
 */
#ifndef KERNELS_GROUP_H
#define KERNELS_GROUP_H

#include "kernels/ec.h"
#include "kernels/krn.h"

/* A sum of points: the G_xyzz of the group at hand. */
union krn_sum {
    bn254_g1_xyzz bn254_g1;
    bn254_g2_xyzz bn254_g2;
    bls381_g1_xyzz bls381_g1;
    bls381_g2_xyzz bls381_g2;
};

struct group_ops {
    uint32_t point_bytes;   /* of an affine point in iden3 bytes, coordinates in Montgomery form, at any alignment */
    void (*set_inf)(union krn_sum *r);
    void (*from_affine)(union krn_sum *r, const uint8_t *point);
    void (*to_affine)(uint8_t *point, const union krn_sum *a);
    void (*dbl)(union krn_sum *r);                          /* r = 2 r */
    void (*add)(union krn_sum *r, const union krn_sum *a);  /* r += a */
    void (*neg)(union krn_sum *r);
    void (*mul)(union krn_sum *r, const uint8_t k[KRN_FR_BYTES]);   /* r = k r, k plain */
};

/* number: 1 or 2, for G1 or G2. */
const struct group_ops *group_ops(enum krn_curve_id curve, int number);

#endif
