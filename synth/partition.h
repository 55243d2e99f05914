/*
 * synth/partition.h: a circuit in the shape of a PoRep partition, of any size, that no file describes. Its
 * constraints, its witness and its matrices' columns are functions of a seed and an index, so that one process writes
 * the vectors straight into a slot while another makes the key on a device, for sizes whose files would be a hundred
 * gigabytes. It computes nothing of use.
 *
 * Wires: the constant, the publics, then `blocks` blocks of 200, then free bits that fill up. A block is 49 units and
 * four full-width values f0 .. f3: 98 % of the witness is 0 or 1. Unit u has the bits p, q, r, s:
 *   p free                           p p = p
 *   q = q' xor P1                    2 q' P1 = q' + P1 - q
 *   r = P2 ? q' : r'                 (q' - r') P2 = r - r'
 *   s = s' xor P3                    2 s' P3 = s' + P3 - s
 * with q', r', s' those of the unit before (in the first unit p, nothing, p), and P1, P2, P3 the p of units far away.
 * So B is zero but for p and f0, a quarter of the variables. f0 is free, and F another block's:
 *   (sum of 49 q and f0) f0 = f1     f1 F = f2      f0 F = f3
 * After the blocks' 199 rows come the bits that fill up (x x = x), the publics ((f1 + sum 2^u q_u) 1 = public), and
 * rows that follow from others but have coefficients of their own ((f1 + f0) F = f2 + f3) up to the number of
 * constraints. Every term has a factor that is drawn by hash, up to 2^62, where the row allows one.
 *
 * What is inline here is the common subset of C11 and CUDA C++.
 */
#ifndef SYNTH_PARTITION_H
#define SYNTH_PARTITION_H

#include "kernels/krn.h"
#include "kernels/limbs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PARTITION_UNITS = 49,
    PARTITION_WIRES = 4 * PARTITION_UNITS + 4,      /* of a block */
    PARTITION_ROWS = PARTITION_WIRES - 1,
    PARTITION_F0 = 4 * PARTITION_UNITS,             /* place of f0 in a block; f1, f2, f3 follow */
    PARTITION_B = PARTITION_UNITS + 1,              /* wires of a block in B */
    PARTITION_WORD = PARTITION_UNITS + 1,           /* terms of the longest sum */
    PARTITION_FULL_LOG = 27,                        /* domain of PoRep's 32 GiB partition */
};

struct partition {
    enum krn_curve_id curve;
    uint64_t seed;
    uint32_t n_constraints, n_public, n_wires, log_domain;
    uint32_t blocks, tail;                          /* tail: bits that fill up */
    uint32_t shift[4];                              /* units to P1, P2, P3, blocks to F */
    uint32_t first_aux, first_tail;                 /* wires */
    uint32_t tail_row, public_row, check_row;       /* first rows of each kind; check_row .. n_constraints - 1 follow */
    uint64_t coef_key, bit_key, value_key;
};

/* The shape of so many constraints, publics (the constant not counted) and other wires. 0; -EINVAL where there are
 * fewer than two blocks, or fewer constraints than the wires need. */
int partition_init(struct partition *p, enum krn_curve_id curve, uint32_t n_constraints, uint32_t n_public,
                   uint32_t n_aux, uint64_t seed);

/* PoRep's 32 GiB partition for log_domain = 27 (130,278,541 constraints, 327 publics, 130,169,893 other wires), and
 * the same proportions for 10 and above. */
int partition_scaled(struct partition *p, enum krn_curve_id curve, uint32_t log_domain, uint64_t seed);

/* ---- pieces ---- */

KRN_FN uint64_t partition_mix(uint64_t x)   /* splitmix64's */
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Factor i of a row: 1 .. 2^62 - 1. */
KRN_FN int64_t partition_coef(const struct partition *p, uint32_t row, uint32_t i)
{
    return (int64_t)(partition_mix(partition_mix(p->coef_key + row) + i) >> 2 | 1);
}

KRN_FN uint32_t partition_wire(const struct partition *p, uint32_t block, uint32_t place)
{
    return p->first_aux + PARTITION_WIRES * block + place;
}

/* i + by, or i - by, modulo n; by < n. */
KRN_FN uint32_t partition_forth(uint32_t i, uint32_t by, uint32_t n)
{
    return (uint32_t)(((uint64_t)i + by) % n);
}

KRN_FN uint32_t partition_back(uint32_t i, uint32_t by, uint32_t n)
{
    return i >= by ? i - by : i + n - by;
}

KRN_FN uint32_t partition_checks(const struct partition *p)
{
    return p->n_constraints - p->check_row;
}

/* How many wires B touches, and the i-th of them. */
KRN_FN uint32_t partition_n_b(const struct partition *p)
{
    return (p->n_public > 0) + PARTITION_B * p->blocks + p->tail;
}

KRN_FN uint32_t partition_b_wire(const struct partition *p, uint32_t i)
{
    if (p->n_public > 0 && i-- == 0)
        return 0;
    if (i >= PARTITION_B * p->blocks)
        return p->first_tail + (i - PARTITION_B * p->blocks);
    const uint32_t place = i % PARTITION_B;
    return partition_wire(p, i / PARTITION_B, place < PARTITION_UNITS ? 4 * place : (uint32_t)PARTITION_F0);
}

/* ---- rows ---- */

struct partition_term {
    uint32_t wire;
    int64_t coef;
};

/* A * B = C; no wire twice in a sum. */
struct partition_row {
    uint32_t n_a, n_b, n_c;
    struct partition_term a[PARTITION_WORD], b[1], c[3];
};

/* Row i < n_constraints. */
void partition_row(const struct partition *p, uint32_t i, struct partition_row *row);

/* ---- vectors ---- */

/* All n_wires plain values. threads: 0 for all processors. */
void partition_witness(const struct partition *p, uint8_t *w, unsigned threads);

/* The payload of a slot (formats/payload.h): w, then a and b, all 2^log_domain rows. */
void partition_fill(const struct partition *p, uint8_t *payload, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
