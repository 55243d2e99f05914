/*
 * launcher/output.h: the two files of a proof, both whole or both not there. They are opened before the work begins, so
 * that a path that cannot be written costs no proof.
 */
#ifndef LAUNCHER_OUTPUT_H
#define LAUNCHER_OUTPUT_H

#include "formats/output.h"
#include "kernels/krn.h"

struct launcher_output {
    struct fmt_output proof, publics;
};

int launcher_output_open(struct launcher_output *o, const char *proof_path, const char *public_path,
                         struct fmt_error *err);
int launcher_output_write(struct launcher_output *o, const struct krn_curve *curve, const struct krn_proof *proof,
                          const uint8_t *publics, size_t n_public, struct fmt_error *err);
void launcher_output_discard(struct launcher_output *o);    /* harmless after a write */

#endif
