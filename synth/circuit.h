/*
 * synth/circuit.h: a circuit as synthesis needs it: the mapped key for its matrices, the constraints and the source of
 * witnesses where they are given; and how a witness or an input becomes a payload.
 */
#ifndef SYNTH_CIRCUIT_H
#define SYNTH_CIRCUIT_H

#include <stdbool.h>

#include "formats/payload.h"
#include "formats/r1cs.h"
#include "formats/zkey.h"
#include "synth/source.h"

struct synth_circuit {
    bool open, has_r1cs;
    struct fmt_zkey zkey;       /* mapped; all processes share one copy */
    struct fmt_r1cs r1cs;
    struct synth_source source; /* empty where the circuit is not registered with one */
    struct fmt_payload place;
};

/* r1cs: NULL or "" where there is none. recipe: how witnesses come about; NULL: as files only. */
int synth_circuit_open(struct synth_circuit *c, const char *zkey, const char *r1cs, const struct synth_recipe *recipe,
                       struct fmt_error *err);
void synth_circuit_close(struct synth_circuit *c);      /* all zero bytes, twice: harmless */

/*
 * Reads the witness file (.wtns) straight into payload (c->place.bytes, page-aligned), or computes the witness there
 * from an input file; a file that does not begin as a .wtns is an input where the circuit's recipe can compute. Then
 * checks it against the constraints where there are any, and evaluates a = A.w, b = B.w. Fails with one line: what is
 * wrong with the file, what the witness program said, or the first constraint that is broken, its wires and its three
 * values. On failure the payload holds anything.
 */
int synth_circuit_fill(struct synth_circuit *c, const char *file, uint8_t *payload, unsigned threads,
                       struct fmt_error *err);

#endif
