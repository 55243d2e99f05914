/*
 * kernels/cuda.h: what the GPU back end takes of a device's memory, for those who plan. Linked only where CUDA was
 * there at build time; needs no device.
 */
#ifndef KERNELS_CUDA_H
#define KERNELS_CUDA_H

#include "kernels/backend.h"

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

/* The forms of a key on a device, from the fastest to the one that takes the least memory. */
enum krn_cuda_mode {
    KRN_CUDA_EXPANDED,      /* points, and their multiples by powers of two: one bucket set for all digits */
    KRN_CUDA_H_EXPANDED,    /* points, those of h alone so: its scalars are always of full length */
    KRN_CUDA_RESIDENT,      /* points */
    KRN_CUDA_STREAMED,      /* points are on the host; they come in tiles for every proof */
    KRN_CUDA_MODES,
};

/*
 * How a device's memory is divided for a set of keys, bytes: workspace = slots * slot + work + load, room = budget -
 * workspace. Each part is the largest that any of the keys needs. With n the larger of rows and variables, W digits a
 * scalar, B buckets, t = min(n, tile), points of G1 and G2 bytes:
 *
 *   slot   32 n_vars + 64 rows                                     w, a and b of one proof
 *   work   32 rows + 32 n_b                                        h, and the scalars of B where it is kept compact
 *          + max(64 rows, sums)                                    transforms, and later in the same place
 *          + 2 tile G2                                             two tiles of points where they are streamed
 *          sums: pairs, buckets and tasks of krn_workspace_bytes once, partial sums and scratch of the largest set
 *          once, XYZZ B for each of the five sets
 *   load   XYZZ of up to 2^20 points, where keys are expanded
 *   key    48 rows + (n_vars (A + L) + n_b (B1 + B2 + 4 bytes) + rows H) times their copies; streamed: 48 rows
 */
struct krn_cuda_plan {
    enum krn_cuda_mode mode;            /* of keys of up to `whole` bytes; larger ones are streamed */
    uint64_t whole;
    unsigned slots;                     /* proofs in flight */
    uint64_t tile;                      /* scalars that are sorted at once */
    uint64_t budget, workspace, room;
    uint64_t slot, work, load;
};

/*
 * The fastest division of `budget` bytes: all keys expanded where these take no more than half of it, else all in one
 * copy with room for each of them alone, first with two slots and tiles of 2^26, then with tiles of 2^24, then with one
 * slot; else those keys streamed that exceed the room. -ENOMEM with both numbers where a key does not even fit so.
 */
int krn_cuda_plan_make(const struct krn_key *const keys[], unsigned n, uint64_t budget, struct krn_cuda_plan *plan,
                       char err[KRN_ERR_TEXT]);

/* A word or two for people. */
const char *krn_cuda_mode_name(enum krn_cuda_mode mode);

/* The form of a key under a plan, and its bytes in the room. */
enum krn_cuda_mode krn_cuda_key_mode(const struct krn_cuda_plan *plan, const struct krn_key *key);
uint64_t krn_cuda_key_bytes(const struct krn_cuda_plan *plan, const struct krn_key *key);

/* One line: key, workspace, slots and what is left, GiB each. Returns text. */
const char *krn_cuda_plan_text(const struct krn_cuda_plan *plan, const struct krn_key *key, char text[KRN_ERR_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
