/*
 * kernels/sum.h: sums of many points, by affine additions that share inversions.
 *
 * An affine addition costs 5M + 1S and one inversion; Montgomery's trick turns the inversions of a batch into one
 * and three of those multiplications each, where a mixed addition costs 8M + 2S. And the additions of a batch are
 * independent: eight at a time go through the lanes of AVX-512.
 *
 * Terms come as lists of indices in groups; each group is summed as a binary tree, one level of all the groups' trees
 * a batch. So it does not matter how the terms spread over the groups, and no two additions of a batch touch the same
 * sum. Infinity, equal and opposite points are right everywhere.
 *
 * Sums lie in an arena, an array of affine points in a form of the twin's own (infinity is all zero bytes), named
 * by their index. All functions are for one thread; threads may share an arena and write different entries.
 */
#ifndef KERNELS_SUM_H
#define KERNELS_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/krn.h"

enum {
    SUM_CHUNK = 4096,   /* terms summed in one go: their points and the batch's scratch stay in the L2 cache */
    SUM_PAD = 16,       /* pairs that a twin may append to a list of pairs */
};

/* Points of a key. A term is 2 * index, or 2 * index + 1 where the point is to be negated. */
struct sum_source {
    const uint8_t *points;  /* iden3 bytes of the points from index `first` on */
    uint32_t first;
    const uint64_t *skip;   /* bit i set: index i adds nothing (infinity, or before `first`); NULL: none is skipped */
};

/* to = a + b. `to` may be a; no entry is written by one pair and used by another. */
struct sum_pair {
    uint32_t a, b, to;
};

/* One group's arithmetic in one of its twins. src NULL: a and b are arena indices, else terms of src. */
struct sum_ops {
    uint32_t point_bytes;       /* of a point, in keys and in the arena */
    uint32_t scratch_bytes;     /* per pair */
    /* Adds n >= 1 pairs; `pairs` and `scratch` have room for SUM_PAD more. */
    void (*add)(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t n, void *scratch);
    /* arena[to] = a for n pairs; b is not used. `pairs` has room for SUM_PAD more. */
    void (*take)(uint8_t *arena, const struct sum_source *src, struct sum_pair *pairs, size_t n);
    /* The iden3 bytes of an arena's point. */
    void (*leave)(uint8_t *point, const uint8_t *arena, uint32_t index);
    /* How many of n points (iden3 bytes) lead the list that are known to be on the curve or infinity, with coordinates
     * below q; a twin may stop early. NULL: it knows nothing. */
    size_t (*lead)(const uint8_t *points, size_t n);
};

/* group: 1 or 2 for G1 or G2. */
const struct sum_ops *sum_ops(enum krn_curve_id curve, int group, enum krn_isa isa);

/* The twins' tables, defined in kernels/sum.c, kernels/sum_adx.c and kernels/sum_ifma.c. */
extern const struct sum_ops *const sum_ops_portable[KRN_CURVES][2], *const sum_ops_adx[KRN_CURVES][2],
    *const sum_ops_ifma[KRN_CURVES][2];

/* The sum of one group under way: `size` partial sums, each `stride` entries from the last. */
struct sum_tree {
    uint32_t slot, size, to;
};

/* One thread's workspace; all in memory of the caller's. */
struct sum_space {
    uint32_t slots;             /* first of SUM_CHUNK arena entries */
    uint32_t *live;             /* SUM_CHUNK */
    struct sum_pair *pairs;     /* SUM_CHUNK / 2 + SUM_PAD */
    struct sum_pair *singles;   /* SUM_CHUNK + SUM_PAD */
    struct sum_tree *trees;     /* SUM_CHUNK */
    void *scratch;              /* scratch_bytes for each of SUM_CHUNK / 2 + SUM_PAD pairs; 64-byte aligned */
};

/* Bytes of a sum_space's arrays, the slots aside, and their layout in such a piece of 64-byte aligned memory. */
size_t sum_space_bytes(uint32_t scratch_bytes);
void sum_space_init(struct sum_space *space, uint8_t *memory, uint32_t slots);

/* Groups of terms: group g has terms[starts[g] .. starts[g + 1]). */
struct sum_groups {
    const struct sum_source *src;   /* NULL: terms are arena indices */
    const uint32_t *terms, *starts;
    uint32_t n;
};

/*
 * Sums terms [lo, hi), at most SUM_CHUNK, for work shared by chunks of terms. A group that begins in the range goes to
 * arena[to + its number]; what belongs to a group begun earlier goes to arena[head], and its number is returned, or
 * groups->n where there is none. Over all chunks up to starts[n] each group's entry is written once, empty ones
 * as infinity.
 */
uint32_t sum_chunk(const struct sum_ops *ops, uint8_t *arena, struct sum_space *space, const struct sum_groups *groups,
                   uint32_t lo, uint32_t hi, uint32_t to, uint32_t head);

/* Sums all groups in one thread; the arena's entry `head` is used on the way. */
void sum_all(const struct sum_ops *ops, uint8_t *arena, struct sum_space *space, const struct sum_groups *groups,
             uint32_t to, uint32_t head);

#endif
