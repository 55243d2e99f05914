/*
 * kernels/msm_combine.h: the last step of the device's multi-scalar multiplication, on the host: a few hundred points
 * to one. 250 dependent doublings are a tenth of a millisecond here and several on a GPU.
 */
#ifndef KERNELS_MSM_COMBINE_H
#define KERNELS_MSM_COMBINE_H

#include "kernels/krn.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * out = sum over `sets` bucket sets w of 2^(bits w) (T_w + sum over d < levels of 2^(run + d) U_w,d), affine and
 * Montgomery. rows: XYZZ points, 2 + levels rows of one point a set: row 0 unused, row 1 T, row 2 + d U_d.
 */
void msm_combine(enum krn_curve_id curve, int g2, int bits, int sets, int run, int levels, const void *rows, void *out);

#ifdef __cplusplus
}
#endif
#endif
