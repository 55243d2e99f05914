/*
 * setup/setup.h: proving keys for development: a Groth16 setup (Groth 2016, section 3.2) by one party that draws the
 * trapdoor itself. Whoever has the trapdoor can prove anything, so a key made so is worth nothing in production.
 */
#ifndef SETUP_SETUP_H
#define SETUP_SETUP_H

#include "formats/error.h"
#include "kernels/setup.h"

/* Told how far the work is: done of total points. */
struct setup_progress {
    void (*step)(void *ctx, unsigned long long done, unsigned long long total);
    void *ctx;
};

struct setup_options {
    const struct krn_setup_backend *backend;    /* what computes the points; NULL: the CPU */
    unsigned threads;                           /* of the host; 0: all processors */
    const char *trapdoor;                       /* for tests, as setup_trapdoor_read takes it; NULL: a random one */
    const struct setup_progress *progress;      /* or NULL */
};

/*
 * Writes a key for the circuit at r1cs, whole or not at all; for one trapdoor every back end writes the same bytes. A
 * random trapdoor is wiped afterwards. Takes 96 bytes of memory for each wire and 32 for each row. 0, or -1 with err.
 */
int setup_write(const char *r1cs, const char *zkey, const struct setup_options *o, struct fmt_error *err);

/* Writes the verification key of the key at zkey, as snarkjs exports it. */
int setup_write_vk(const char *zkey, const char *path, struct fmt_error *err);

#endif
