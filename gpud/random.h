/*
 * gpud/random.h: the two scalars that blind a proof.
 */
#ifndef GPUD_RANDOM_H
#define GPUD_RANDOM_H

#include "gpud/error.h"
#include "kernels/krn.h"

struct gpud_blinding {
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];   /* plain, below the group order */
};

/* Draws both uniformly below the curve's order: getrandom, cut to the order's bits, rejected where not below it. */
int gpud_random_blinding(const struct krn_curve *curve, struct gpud_blinding *b, struct gpud_error *err);

/*
 * Test hook. Fixed scalars from the environment, PINWHEEL_TEST_RS="r,s" in decimal: with them proofs are comparable
 * byte by byte, and worthless as secrets. Programs call this only when they were started with --test-hooks. Returns 1
 * with *b set, 0 where the variable is not set, -1 with err.
 */
int gpud_random_fixed(struct gpud_blinding *b, struct gpud_error *err);

#endif
