/*
 * synth/recipe.h: registered circuits: what belongs to a name, and how its witnesses come about. One JSON file for each
 * circuit, NAME.json, in the registry: the folder $PINWHEEL_REGISTRY, else $XDG_CONFIG_HOME/pinwheel/circuits, else
 * ~/.config/pinwheel/circuits. `pinwheel add` writes it, `up` serves what is in it, and workers look there for the
 * program of a circuit that they are given an input for.
 */
#ifndef SYNTH_RECIPE_H
#define SYNTH_RECIPE_H

#include <stdbool.h>

#include "formats/error.h"
#include "shm/layout.h"

enum { SYNTH_RECIPE_COMMAND = 2048 };

struct synth_recipe {
    char name[SHM_NAME_MAX];
    char zkey[SHM_PATH_MAX];            /* absolute, like all paths here; "" where there is none */
    char r1cs[SHM_PATH_MAX];
    char sym[SHM_PATH_MAX];
    char program[SHM_PATH_MAX];         /* the translated witness program, in the cache */
    char wasm[SHM_PATH_MAX];            /* what it was made from */
    char command[SYNTH_RECIPE_COMMAND]; /* or a command that turns an input into a .wtns; see synth/external.h */
    char folder[SHM_PATH_MAX];          /* where the command runs */
    bool reduce;                        /* input values at or above the prime are taken modulo it */
    int64_t seconds;                    /* limit of one witness: CPU time of a program, wall clock of a command */
    int64_t memory_mib;                 /* limit of its memory */
};

/* Whether a name may be registered: letters, digits, '_', '-', '.', shorter than SHM_NAME_MAX, not first '.'. */
int synth_recipe_check_name(const char *name, struct fmt_error *err);

/* 0; 1 where the name is not registered; -1 with err. */
int synth_recipe_read(struct synth_recipe *r, const char *name, struct fmt_error *err);
/* Writes it, whole or not at all; makes the registry where it is missing. */
int synth_recipe_write(const struct synth_recipe *r, struct fmt_error *err);
/* 0; 1 where it was not registered; -1 with err. */
int synth_recipe_remove(const char *name, struct fmt_error *err);

/* Calls each with every registered name in alphabetical order until one returns other than 0, which it returns; -1 with
 * err. */
int synth_recipe_each(int (*each)(void *ctx, const char *name), void *ctx, struct fmt_error *err);

#endif
