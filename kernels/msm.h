/*
 * kernels/msm.h: sums of points times scalars on the CPU, both curves, G1 and G2.
 *
 * Pippenger's method with signed digits. A scalar above r/2 is replaced by its negative; scalars are ordered by length,
 * so that zeros cost nothing and small ones, most of a real witness, only the windows they reach. The window size is
 * chosen for the lengths at hand. Points of a window are sorted by digit and summed as kernels/sum.h says. Several
 * sets of points under the same scalars share all but the sums.
 *
 * Results are exact points in affine form: threads, windows and twins cannot change a byte.
 */
#ifndef KERNELS_MSM_H
#define KERNELS_MSM_H

#include "kernels/group.h"
#include "kernels/pool.h"
#include "kernels/sum.h"

/*
 * out = sum of scalars[i] * points[i], i < n. group: 1 or 2. points: iden3 bytes (Montgomery affine), not checked, at
 * any alignment; out the same form. scalars: n times 32 plain bytes. threads: 0 for all.
 * 0, -EINVAL where a scalar is not below the group order, -EOVERFLOW where n >= 2^31, or -errno for want of
 * memory or threads.
 */
int krn_msm(enum krn_curve_id curve, int group, const uint8_t *points, const uint8_t *scalars, size_t n,
            unsigned threads, uint8_t *out);

/* ---- for the prover ---- */

/* Sums of up to n >= 1 scalars, shared by the threads of a pool. */
struct krn_msm;

/* Borrows the pool. groups: 1, or 2 where sets in G2 occur too. NULL with errno set. */
struct krn_msm *krn_msm_new(enum krn_curve_id curve, int groups, size_t n, struct krn_pool *pool);
void krn_msm_free(struct krn_msm *msm);

/* The workspace: its size, and 64-byte aligned memory of that size, the caller's, to be lent before the first run. It
 * holds nothing between runs. */
size_t krn_msm_bytes(const struct krn_msm *msm);
void krn_msm_use(struct krn_msm *msm, void *memory);

/* One set of points; src.points[i - src.first] goes with scalar i. */
struct krn_msm_set {
    int group;
    struct sum_source src;
    union krn_sum sum;      /* the result */
    double seconds;         /* the time that went into it, sorting and shared work aside */
};

enum { KRN_MSM_SETS = 4 };

/* Sums up to KRN_MSM_SETS sets over n plain scalars, all below the group order. */
void krn_msm_run(struct krn_msm *msm, const uint8_t *scalars, size_t n, struct krn_msm_set *sets, int n_sets);

/* Sets bit i of skip[] (n bits, whole words written) where point i is infinity. */
void krn_msm_find_infinities(struct krn_pool *pool, uint64_t *skip, const uint8_t *points, uint32_t point_bytes,
                             size_t n);

#endif
