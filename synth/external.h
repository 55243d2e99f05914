/*
 * synth/external.h: a witness by a command: circom's own C++ generator, or anything that turns an input into a .wtns.
 *
 * The command is a line for sh. {input} and {output} in it stand for the two files; without them both are put at its
 * end, as circom's generators want them. The output is a memory file (/dev/fd/3): nothing is written to disk.
 */
#ifndef SYNTH_EXTERNAL_H
#define SYNTH_EXTERNAL_H

#include <stdint.h>

#include "formats/error.h"
#include "kernels/krn.h"

struct synth_external {
    const char *command, *folder;   /* folder: where it runs */
    double seconds;                 /* wall clock; 0: no limit */
    uint64_t memory;                /* bytes of each process; 0: no limit */
};

/* The witness of the input file for a circuit of n_vars over curve into w (n_vars plain values). -1 with err: the
 * command's end and its last words, or what is wrong with what it wrote. */
int synth_external_run(const struct synth_external *x, const char *input, const struct krn_curve *curve,
                       uint32_t n_vars, uint8_t *w, struct fmt_error *err);

/* Checks that a command can be used: not empty, and short enough with its files put in. */
int synth_external_check(const char *command, struct fmt_error *err);

#endif
