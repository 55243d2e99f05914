/*
 * launcher/setup.h: proving keys for development: a Groth16 setup (Groth 2016, section 3.2) by one party that draws the
 * trapdoor itself. Whoever has the trapdoor can prove anything, so a key made so is worth nothing in production.
 */
#ifndef LAUNCHER_SETUP_H
#define LAUNCHER_SETUP_H

#include "formats/error.h"

/* Told how far the work is: done of total points. */
struct setup_progress {
    void (*step)(void *ctx, unsigned long long done, unsigned long long total);
    void *ctx;
};

/*
 * Writes a key for the circuit at r1cs, whole or not at all, with a trapdoor from getrandom that is wiped
 * afterwards. threads: 0 for all processors. progress may be NULL. Takes 96 bytes of memory for each wire and 32 for
 * each row.
 * 0, or -1 with err.
 */
int setup_write(const char *r1cs, const char *zkey, unsigned threads, const struct setup_progress *progress,
                struct fmt_error *err);

/* The command `pinwheel setup`; returns its exit code. */
int tool_setup(int argc, char **argv);

#endif
