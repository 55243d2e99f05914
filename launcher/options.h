/*
 * launcher/options.h: the command line of pinwheel-tool, after the command's name: options and what is none in any
 * order.
 */
#ifndef LAUNCHER_OPTIONS_H
#define LAUNCHER_OPTIONS_H

#include <stdbool.h>

#include "gpud/error.h"

enum { LAUNCHER_ARGS = 4 };

struct launcher_options {
    const char *instance;       /* --instance, else launcher_options_instance() */
    const char *r1cs;           /* NULL: none; so are all paths here */
    const char *priority;       /* "normal" */
    unsigned threads;           /* 0: all processors */
    bool json, local, times, test_hooks;
    const char *zkey, *wasm, *sym, *vk, *command, *cache;       /* add */
    unsigned seconds, memory_mib;                               /* add: limits of one witness; 0: none */
    bool reduce;                                                /* add */
    bool each;                                                  /* submit: every argument after the name is a job */
    const char *out;                                            /* submit --each: folder of the proofs */
    const char **args;          /* n_args of them, and NULL up to LAUNCHER_ARGS at least; owned */
    int n_args;
};

/* $PINWHEEL_INSTANCE, else "default". */
const char *launcher_options_instance(void);
/* 0, or -1 with err. */
int launcher_options_parse(struct launcher_options *o, int argc, char **argv, struct gpud_error *err);
void launcher_options_free(struct launcher_options *o);

#endif
