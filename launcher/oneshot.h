/*
 * launcher/oneshot.h: one proof in this process, without a service: key and witness in, proof out, on the CPU.
 */
#ifndef LAUNCHER_ONESHOT_H
#define LAUNCHER_ONESHOT_H

#include "gpud/random.h"
#include "synth/recipe.h"

struct launcher_oneshot {
    const char *zkey, *witness, *r1cs;      /* r1cs: NULL: the witness is not checked against constraints */
    const struct synth_recipe *recipe;      /* of a registered circuit: witness may be an input then; or NULL */
    const char *proof, *publics;            /* files to write */
    unsigned threads;                       /* 0: all processors */
    const struct gpud_blinding *fixed;      /* test hook, or NULL */
};

/* 0, or -1 with err and no file written. */
int launcher_oneshot_prove(const struct launcher_oneshot *o, struct gpud_error *err);

#endif
