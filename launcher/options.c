#include "launcher/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "gpud/msg.h"

enum { MAX_THREADS = 256 };

static const struct option table[] = {
    {"instance", required_argument, NULL, 'i'}, {"r1cs", required_argument, NULL, 'r'},
    {"priority", required_argument, NULL, 'p'}, {"threads", required_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},           {"local", no_argument, NULL, 'l'},
    {"times", no_argument, NULL, 'm'},          {"test-hooks", no_argument, NULL, 'T'},
    {0},
};

static int parse_threads(const char *text, unsigned *out, struct gpud_error *err) {
    char *end;
    unsigned long v = strtoul(text, &end, 10);
    if (end == text || *end || text[0] == '-' || v > MAX_THREADS)
        return gpud_fail(err, "--threads %s: a number from 0 (all processors) to %d is wanted", text, MAX_THREADS);
    *out = (unsigned)v;
    return 0;
}

static int take(struct launcher_options *o, int option, struct gpud_error *err) {
    switch (option) {
    case 'i': o->instance = optarg; return 0;
    case 'r': o->r1cs = optarg; return 0;
    case 'p':
        o->priority = optarg;
        return gpud_msg_priority(optarg) >= 0 ? 0 : gpud_fail(err, "--priority %s: high, normal or low is wanted", optarg);
    case 't': return parse_threads(optarg, &o->threads, err);
    case 'j': o->json = true; return 0;
    case 'l': o->local = true; return 0;
    case 'm': o->times = true; return 0;
    case 'T': o->test_hooks = true; return 0;
    default: return -1;
    }
}

int launcher_options_parse(struct launcher_options *o, int argc, char **argv, struct gpud_error *err) {
    memset(o, 0, sizeof *o);
    o->instance = getenv("PINWHEEL_INSTANCE");
    if (!o->instance || !o->instance[0]) o->instance = "default";
    o->priority = "normal";
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (option == '?') return gpud_fail(err, "%s: not known, or its value is missing", argv[optind - 1]);
        if (take(o, option, err)) return -1;
    }
    for (; optind < argc; optind++) {
        if (o->n_args == LAUNCHER_MAX_ARGS) return gpud_fail(err, "'%s' is one argument too many", argv[optind]);
        o->args[o->n_args++] = argv[optind];
    }
    return 0;
}
