/*
 * launcher/options.h: the command line of pinwheel-tool, after the command's name: options and what is none in any order.
 */
#ifndef LAUNCHER_OPTIONS_H
#define LAUNCHER_OPTIONS_H

#include <stdbool.h>

#include "gpud/error.h"

enum { LAUNCHER_MAX_ARGS = 4 };

struct launcher_options {
    const char *instance;       /* --instance, else $PINWHEEL_INSTANCE, else "default" */
    const char *r1cs;           /* NULL: none */
    const char *priority;       /* "normal" */
    unsigned threads;           /* 0: all processors */
    bool json, local, times, test_hooks;
    const char *args[LAUNCHER_MAX_ARGS];
    int n_args;
};

/* 0, or -1 with err. */
int launcher_options_parse(struct launcher_options *o, int argc, char **argv, struct gpud_error *err);

#endif
