#include "gpud/options.h"

#include <getopt.h>
#include <string.h>

#include "formats/number.h"

const char gpud_options_help[] =
    "pinwheel-gpud [options]: the proving daemon (normally started by `pinwheel up`)\n"
    "  --instance NAME            service name (default: default)\n"
    "  --circuit NAME=ZKEY[,R1CS] a circuit to serve; repeatable. With an r1cs a bad witness is told its constraint\n"
    "  --backend auto|cpu|cuda    auto: cuda where there is a GPU, else cpu (default)\n"
    "  --workers N[/node]         synthesis processes on each NUMA node (default: 2)\n"
    "  --worker-threads N         threads of each of them (default: 1)\n"
    "  --threads N                threads of the CPU back end (default: all CPUs)\n"
    "  --slots N                  slots of each size (default: by workers and devices, as memory allows)\n"
    "  --gpu-memory BYTES[K|M|G]  of each GPU, for proofs and keys (default: what is free, less a margin)\n"
    "  --job-timeout SECONDS      kill a worker that is longer at one job; 0: never (default: 900)\n"
    "  --bell auto|futex|eventfd|epoll   how to sleep (default: auto)\n"
    "  --memory registered|pageable      pageable: for measurements only; nothing is page-locked and uploads are slow\n"
    "  --wipe                     zero slots when they become free\n"
    "  --small-pages              do not collapse slots into 2 MiB pages\n"
    "  --ready-fd FD              write one line there: ready, or failed: why\n";

enum { MAX_WORKERS = 256, MAX_THREADS = 1024, MAX_TIMEOUT_S = 7 * 24 * 3600, DEFAULT_TIMEOUT_S = 900 };

static int parse_number(const char *name, const char *text, uint32_t min, uint32_t max, uint32_t *out,
                        struct gpud_error *err) {
    uint64_t v;
    if (fmt_number_read(text, min, max, &v))
        return gpud_fail(err, "--%s %s: a number from %u to %u is wanted", name, text, min, max);
    *out = (uint32_t)v;
    return 0;
}

/* A number of bytes, at least one, with K, M or G for powers of 1024. */
static int parse_bytes(const char *name, const char *text, uint64_t *out, struct gpud_error *err) {
    if (fmt_number_read_scaled(text, 1, UINT64_MAX, out))
        return gpud_fail(err, "--%s %s: a number of bytes is wanted, such as 100000000, 500M or 80G", name, text);
    return 0;
}

/* N or N/node: the number is for each node either way. */
static int parse_workers(const char *text, uint32_t *out, struct gpud_error *err) {
    char number[16];
    const char *unit = strstr(text, "/node");
    if (!unit || unit[strlen("/node")] || (size_t)(unit - text) >= sizeof number)
        return parse_number("workers", text, 0, MAX_WORKERS, out, err);
    memcpy(number, text, (size_t)(unit - text));
    number[unit - text] = 0;
    return parse_number("workers", number, 0, MAX_WORKERS, out, err);
}

static int parse_choice(const char *name, const char *text, const char *const *choices, uint32_t n, uint32_t *out,
                        struct gpud_error *err) {
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(text, choices[i]) != 0) continue;
        *out = i;
        return 0;
    }
    return gpud_fail(err, "--%s %s: not known", name, text);
}

static int add_circuit(struct gpud_options *o, const char *text, struct gpud_error *err) {
    if (o->n_circuits == GPUD_MAX_CIRCUITS)
        return gpud_fail(err, "--circuit: more than %d circuits", GPUD_MAX_CIRCUITS);
    struct gpud_circuit_spec *spec = &o->circuits[o->n_circuits];
    if (gpud_circuit_spec_parse(spec, text, err)) return -1;
    for (uint32_t i = 0; i < o->n_circuits; i++)
        if (strcmp(o->circuits[i].name, spec->name) == 0)
            return gpud_fail(err, "--circuit: name '%s' is given twice", spec->name);
    o->n_circuits++;
    return 0;
}

enum {
    OPT_INSTANCE = 256, OPT_CIRCUIT, OPT_BACKEND, OPT_WORKERS, OPT_WORKER_THREADS, OPT_THREADS, OPT_SLOTS, OPT_TIMEOUT,
    OPT_GPU_MEMORY, OPT_BELL, OPT_MEMORY, OPT_WIPE, OPT_SMALL_PAGES, OPT_READY, OPT_HOOKS, OPT_HELP,
};

static const struct option table[] = {
    {"instance", required_argument, NULL, OPT_INSTANCE},
    {"circuit", required_argument, NULL, OPT_CIRCUIT},
    {"backend", required_argument, NULL, OPT_BACKEND},
    {"workers", required_argument, NULL, OPT_WORKERS},
    {"worker-threads", required_argument, NULL, OPT_WORKER_THREADS},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"slots", required_argument, NULL, OPT_SLOTS},
    {"gpu-memory", required_argument, NULL, OPT_GPU_MEMORY},
    {"job-timeout", required_argument, NULL, OPT_TIMEOUT},
    {"bell", required_argument, NULL, OPT_BELL},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"wipe", no_argument, NULL, OPT_WIPE},
    {"small-pages", no_argument, NULL, OPT_SMALL_PAGES},
    {"ready-fd", required_argument, NULL, OPT_READY},
    {"test-hooks", no_argument, NULL, OPT_HOOKS},
    {"help", no_argument, NULL, OPT_HELP},
    {0},
};

static int take_option(struct gpud_options *o, int option, const char *arg, struct gpud_error *err) {
    static const char *const bells[] = {"auto", "futex", "eventfd", "epoll"};
    static const char *const memories[] = {"registered", "pageable"};
    uint32_t v = 0;
    int rc;
    switch (option) {
    case OPT_INSTANCE:
        if (gpud_path_check_instance(arg, err)) return -1;
        strcpy(o->instance, arg);
        return 0;
    case OPT_CIRCUIT: return add_circuit(o, arg, err);
    case OPT_BACKEND:
        return krn_choice_read(arg, &o->backend) ? gpud_fail(err, "--backend %s: not known", arg) : 0;
    case OPT_BELL:
        rc = parse_choice("bell", arg, bells, 4, &v, err);
        o->bell = (enum shm_backend)v;
        return rc;
    case OPT_MEMORY:
        rc = parse_choice("memory", arg, memories, 2, &v, err);
        o->pageable = v == 1;
        return rc;
    case OPT_WORKERS: return parse_workers(arg, &o->workers, err);
    case OPT_WORKER_THREADS: return parse_number("worker-threads", arg, 1, MAX_THREADS, &o->worker_threads, err);
    case OPT_THREADS: return parse_number("threads", arg, 0, MAX_THREADS, &o->threads, err);
    case OPT_SLOTS: return parse_number("slots", arg, 1, SHM_MAX_SLOTS, &o->slots, err);
    case OPT_GPU_MEMORY: return parse_bytes("gpu-memory", arg, &o->gpu_memory, err);
    case OPT_TIMEOUT: return parse_number("job-timeout", arg, 0, MAX_TIMEOUT_S, &o->job_timeout_s, err);
    case OPT_READY:
        rc = parse_number("ready-fd", arg, 0, 1023, &v, err);
        o->ready_fd = (int)v;
        return rc;
    case OPT_WIPE: o->wipe = true; return 0;
    case OPT_SMALL_PAGES: o->small_pages = true; return 0;
    case OPT_HOOKS: o->test_hooks = true; return 0;
    case OPT_HELP: o->help = true; return 0;
    default: return gpud_fail(err, "--help lists the options");
    }
}

int gpud_options_parse(struct gpud_options *o, int argc, char **argv, struct gpud_error *err) {
    memset(o, 0, sizeof *o);
    strcpy(o->instance, "default");
    o->workers = 2;
    o->worker_threads = 1;
    o->job_timeout_s = DEFAULT_TIMEOUT_S;
    o->ready_fd = -1;
    optind = 0;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return gpud_fail(err, "%s: not known, or its value is missing; --help lists the options", argv[optind - 1]);
        if (take_option(o, option, optarg, err)) return -1;
    }
    if (optind < argc) return gpud_fail(err, "'%s' is no option; --help lists them", argv[optind]);
    return 0;
}
