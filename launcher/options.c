#include "launcher/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "formats/number.h"
#include "gpud/msg.h"

enum { MAX_THREADS = 256, MAX_SECONDS = 7 * 24 * 3600, MAX_MIB = 1 << 20, WITNESS_SECONDS = 300, WITNESS_MIB = 4096 };

static const struct option table[] = {
    {"instance", required_argument, NULL, 'i'}, {"r1cs", required_argument, NULL, 'r'},
    {"priority", required_argument, NULL, 'p'}, {"threads", required_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},           {"local", no_argument, NULL, 'l'},
    {"times", no_argument, NULL, 'm'},          {"test-hooks", no_argument, NULL, 'T'},
    {"zkey", required_argument, NULL, 'z'},     {"wasm", required_argument, NULL, 'w'},
    {"sym", required_argument, NULL, 's'},      {"vk", required_argument, NULL, 'v'},
    {"cache", required_argument, NULL, 'c'},    {"witness-program", required_argument, NULL, 'W'},
    {"reduce", no_argument, NULL, 'R'},         {"witness-seconds", required_argument, NULL, 'S'},
    {"each", no_argument, NULL, 'e'},           {"witness-memory", required_argument, NULL, 'M'},
    {"out", required_argument, NULL, 'o'},
    {0},
};

static int parse_number(const char *what, const char *zero, const char *text, unsigned long max, unsigned *out,
                        struct gpud_error *err) {
    uint64_t v;
    if (fmt_number_read(text, 0, max, &v))
        return gpud_fail(err, "--%s %s: a number from 0 (%s) to %lu is wanted", what, text, zero, max);
    *out = (unsigned)v;
    return 0;
}

static int take(struct launcher_options *o, int option, struct gpud_error *err) {
    switch (option) {
    case 'i': o->instance = optarg; return 0;
    case 'r': o->r1cs = optarg; return 0;
    case 'p':
        o->priority = optarg;
        if (gpud_msg_priority(optarg) >= 0) return 0;
        return gpud_fail(err, "--priority %s: high, normal or low is wanted", optarg);
    case 't': return parse_number("threads", "all processors", optarg, MAX_THREADS, &o->threads, err);
    case 'S': return parse_number("witness-seconds", "no limit", optarg, MAX_SECONDS, &o->seconds, err);
    case 'M': return parse_number("witness-memory", "no limit", optarg, MAX_MIB, &o->memory_mib, err);
    case 'z': o->zkey = optarg; return 0;
    case 'w': o->wasm = optarg; return 0;
    case 's': o->sym = optarg; return 0;
    case 'v': o->vk = optarg; return 0;
    case 'c': o->cache = optarg; return 0;
    case 'W': o->command = optarg; return 0;
    case 'R': o->reduce = true; return 0;
    case 'e': o->each = true; return 0;
    case 'o': o->out = optarg; return 0;
    case 'j': o->json = true; return 0;
    case 'l': o->local = true; return 0;
    case 'm': o->times = true; return 0;
    case 'T': o->test_hooks = true; return 0;
    default: return -1;
    }
}

const char *launcher_options_instance(void) {
    const char *instance = getenv("PINWHEEL_INSTANCE");
    return instance && instance[0] ? instance : "default";
}

int launcher_options_parse(struct launcher_options *o, int argc, char **argv, struct gpud_error *err) {
    memset(o, 0, sizeof *o);
    o->instance = launcher_options_instance();
    o->priority = "normal";
    o->seconds = WITNESS_SECONDS;
    o->memory_mib = WITNESS_MIB;
    o->args = calloc((size_t)argc + LAUNCHER_ARGS, sizeof *o->args);
    if (!o->args) return gpud_fail(err, "no memory for %d arguments", argc);
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (option == '?') return gpud_fail(err, "%s: not known, or its value is missing", argv[optind - 1]);
        if (take(o, option, err)) return -1;
    }
    while (optind < argc) o->args[o->n_args++] = argv[optind++];
    return 0;
}

void launcher_options_free(struct launcher_options *o) {
    free(o->args);
    o->args = NULL;
}
