/*
 * kernels/setup.h: what a setup computes its points with: the CPU's threads, or one GPU. Both give the same bytes.
 */
#ifndef KERNELS_SETUP_H
#define KERNELS_SETUP_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct krn_setup;       /* a device, made ready for one curve */

struct krn_setup_backend {
    const char *name;   /* "cpu", "cuda" */
    /* How many devices there are; 0 with the reason in err where it cannot run. */
    int (*count)(char err[KRN_ERR_TEXT]);
    /* Device 0 and its tables, of the size that is best for so many points in each group. threads: host threads, 0 for
     * all processors. NULL with err on failure. */
    struct krn_setup *(*open)(enum krn_curve_id curve, size_t n_g1, size_t n_g2, unsigned threads,
                              char err[KRN_ERR_TEXT]);
    void (*close)(struct krn_setup *s);
    /* The multiples of the generator of G1 or G2 (group 1 or 2) by the first *n plain scalars: Montgomery affine
     * points, iden3's bytes, valid until the next call. *n becomes smaller where that is as many as are made at once.
     * NULL with err on failure. */
    const uint8_t *(*multiples)(struct krn_setup *s, int group, const uint8_t *scalars, size_t *n,
                                char err[KRN_ERR_TEXT]);
};

extern const struct krn_setup_backend krn_setup_cpu;
/* Linked only where CUDA was there at build time; count() says why it cannot run where there is no device. */
extern const struct krn_setup_backend krn_setup_cuda;

#ifdef __cplusplus
}
#endif
#endif
