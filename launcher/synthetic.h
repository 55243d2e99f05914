/*
 * launcher/synthetic.h: circuits of a stated size and mix with a witness that satisfies them, for tests and
 * measurements where no real circuit of the size is at hand. They compute nothing of use.
 */
#ifndef LAUNCHER_SYNTHETIC_H
#define LAUNCHER_SYNTHETIC_H

#include "formats/error.h"
#include "kernels/krn.h"

enum synthetic_mix {
    SYNTHETIC_UNIFORM,  /* every value full-width: products of short sums */
    SYNTHETIC_BITS,     /* 90 % of the witness 0 or 1, each held so by b (b - 1) = 0 */
    SYNTHETIC_SHA256,   /* 98 % bits by xor, and, b (b - 1) = 0; words of 32 bits; a few rows of hundreds of terms */
    SYNTHETIC_PARTITION,    /* the shape of a PoRep partition: synth/partition.h, as many wires as rows */
};

struct synthetic {
    enum krn_curve_id curve;
    enum synthetic_mix mix;
    uint32_t n_constraints, n_public;
    uint64_t seed;      /* the same seed gives the same files */
};

/* Most constraints, with the publics and the constant, that a circuit may have: the largest domain. */
enum { SYNTHETIC_MAX_ROWS = 1 << KRN_MAX_LOG_DOMAIN };

/* Wires of the circuit: the constant, the publics, a few private inputs, and one defined by each constraint (a
 * partition has neither the inputs, nor a constraint more than wires behind the constant). */
uint32_t synthetic_wires(const struct synthetic *s);

/* Writes both files, each whole or not at all, in one pass that holds a few megabytes whatever the size, and for a
 * partition the witness, 32 bytes a wire. n_constraints is 1 or more, and with n_public + 1 at most
 * SYNTHETIC_MAX_ROWS. 0, or -1 with err. */
int synthetic_write(const struct synthetic *s, const char *r1cs, const char *wtns, struct fmt_error *err);

/* The command `pinwheel synthetic`; returns its exit code. */
int tool_synthetic(int argc, char **argv);

#endif
