/*
 * setup/trapdoor.h: the five secrets of a setup.
 */
#ifndef SETUP_TRAPDOOR_H
#define SETUP_TRAPDOOR_H

#include "formats/error.h"
#include "kernels/scalar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Montgomery form, and none of them zero. */
struct setup_trapdoor {
    struct krn_scalar tau, alpha, beta, gamma, delta;
};

/* Uniform, from getrandom. 0, or -1 with err. */
int setup_trapdoor_draw(const struct krn_scalar_field *f, struct setup_trapdoor *t, struct fmt_error *err);

/* For tests: from text, the five as decimal numbers below the group order, in the order above, with commas between. */
int setup_trapdoor_read(const struct krn_scalar_field *f, struct setup_trapdoor *t, const char *text,
                        struct fmt_error *err);

#ifdef __cplusplus
}
#endif
#endif
