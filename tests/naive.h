/*
 * tests/naive.h: arithmetic modulo a 255-bit prime as one does it by hand, bit by bit: slow, without Montgomery's form,
 * and sharing nothing with kernels/, so that it may judge them.
 */
#ifndef TESTS_NAIVE_H
#define TESTS_NAIVE_H

#include <stdint.h>
#include <string.h>

#include "formats/r1cs.h"

struct naive {
    uint64_t l[4];
};

static inline struct naive naive_load(const uint8_t *bytes)
{
    struct naive v;
    memcpy(v.l, bytes, sizeof v.l);
    return v;
}

/* a - b; *borrow says whether it went below zero. */
static inline struct naive naive_minus(struct naive a, struct naive b, int *borrow)
{
    unsigned __int128 t = 0;
    for (int i = 0; i < 4; i++) {
        t = (unsigned __int128)a.l[i] - b.l[i] - (uint64_t)(t >> 127);
        a.l[i] = (uint64_t)t;
    }
    *borrow = (int)(t >> 127);
    return a;
}

/* a + b mod p for a, b below p < 2^255 */
static inline struct naive naive_add(struct naive a, struct naive b, struct naive p)
{
    unsigned __int128 t = 0;
    for (int i = 0; i < 4; i++) {
        t = (unsigned __int128)a.l[i] + b.l[i] + (uint64_t)(t >> 64);
        a.l[i] = (uint64_t)t;
    }
    int borrow;
    struct naive less = naive_minus(a, p, &borrow);
    return borrow ? a : less;
}

/* a * b mod p: double and add */
static inline struct naive naive_mul(struct naive a, struct naive b, struct naive p)
{
    struct naive r = {{0}};
    for (int bit = 255; bit >= 0; bit--) {
        r = naive_add(r, r, p);
        if (b.l[bit / 64] >> (bit % 64) & 1)
            r = naive_add(r, a, p);
    }
    return r;
}

/* a * 2^n mod p */
static inline struct naive naive_shift(struct naive a, int n, struct naive p)
{
    while (n-- > 0)
        a = naive_add(a, a, p);
    return a;
}

static inline int naive_equal(struct naive a, struct naive b)
{
    return memcmp(a.l, b.l, sizeof a.l) == 0;
}

/* The sum's value for the plain witness w. */
static inline struct naive naive_sum(const struct fmt_r1cs_sum *s, const uint8_t *w, struct naive p)
{
    struct naive sum = {{0}};
    for (uint32_t i = 0; i < s->n; i++) {
        const uint8_t *term = s->terms + (size_t)i * FMT_R1CS_TERM_BYTES;
        uint32_t wire;
        memcpy(&wire, term, 4);
        sum = naive_add(sum, naive_mul(naive_load(term + 4), naive_load(w + (size_t)wire * 32), p), p);
    }
    return sum;
}

#endif
