/*
 * kernels/cuda.h: what the GPU back end takes of a device's memory, for those who plan. Linked only where CUDA was
 * there at build time; needs no device.
 */
#ifndef KERNELS_CUDA_H
#define KERNELS_CUDA_H

#include "kernels/krn.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Device bytes of the workspace for one sum of up to n terms in G1 or G2 of a curve, scalars and bases not counted.
 * copies: 1, or the most copies that expanded bases may be in. With W digits a scalar in B buckets, t = min(n, 2^26),
 * and S = min(W t, max(B, 2^19, W t / 128)) partial sums, it is, each part rounded up to 256 bytes,
 *
 *   16 W t + CUB's scratch + 8 B + 16 (B + S) + 16 (S/2 + S/32 + S/2048)      pairs, buckets, tasks
 *   XYZZ (B + S + S/1024 + 4 max(B/16, 2^17))                                 sums
 *   threads (128 (affine + coordinate) + 2 coordinate)                        affine rounds, up to 202,752 threads
 */
size_t krn_workspace_bytes(size_t n, enum krn_curve_id curve, int g2, int copies);

/* Device bytes of a key and all that its proofs need, points on the device in one copy; where they do not fit, points
 * are streamed from the host, and this many are enough: streamed = 1. */
size_t krn_cuda_key_bytes(const struct krn_key *key, int streamed);

#ifdef __cplusplus
}
#endif
#endif
