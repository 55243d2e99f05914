/*
 * synth/circuit.h: a circuit as synthesis needs it: the mapped key for its matrices, and the constraints where they are
 * given; and how a witness becomes a payload.
 */
#ifndef SYNTH_CIRCUIT_H
#define SYNTH_CIRCUIT_H

#include <stdbool.h>

#include "formats/payload.h"
#include "formats/r1cs.h"
#include "formats/zkey.h"

struct synth_circuit {
    bool open, has_r1cs;
    struct fmt_zkey zkey;       /* mapped; all processes share one copy */
    struct fmt_r1cs r1cs;
    struct fmt_payload place;
};

/* r1cs: NULL or "" where there is none. */
int synth_circuit_open(struct synth_circuit *c, const char *zkey, const char *r1cs, struct fmt_error *err);
void synth_circuit_close(struct synth_circuit *c);      /* all zero bytes, twice: harmless */

/*
 * Reads the witness file straight into payload (c->place.bytes, page-aligned), checks it against the constraints where
 * there are any, and evaluates a = A.w, b = B.w. Fails with one line: what is wrong with the file, or the first
 * constraint that it breaks with its three values. On failure the payload holds anything.
 */
int synth_circuit_fill(const struct synth_circuit *c, const char *witness, uint8_t *payload, unsigned threads,
                       struct fmt_error *err);

#endif
