/*
 * pinwheel-synth: a synthesis worker. The daemon starts it; by hand it joins a running service just as well.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/host.h"
#include "shm/secret.h"
#include "synth/worker.h"

static const char help[] =
    "pinwheel-synth [options]: a synthesis worker (started by pinwheel-gpud)\n"
    "  --instance NAME   service to join (default: default)\n"
    "  --socket PATH     its control socket\n"
    "  --node N          NUMA node to run on and to claim slots from (default: 0)\n"
    "  --threads N       threads for one job (default: 1)\n"
    "  --bell auto|futex|eventfd|epoll   how to sleep (default: auto)\n";

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, MAX_THREADS = 1024 };

static int usage(const char *what) {
    fprintf(stderr, "pinwheel-synth: %s: not understood; --help lists the options\n", what);
    return EXIT_USAGE;
}

static bool number(const char *text, unsigned long max, unsigned long *out) {
    char *end;
    *out = strtoul(text, &end, 10);
    return end != text && !*end && text[0] != '-' && *out <= max;
}

static bool bell_of(const char *text, enum shm_backend *out) {
    static const char *const names[] = {"auto", "futex", "eventfd", "epoll"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = (enum shm_backend)i;
        return true;
    }
    return false;
}

/* 0, -1 wrong usage, 1 help was printed. */
static int parse(struct synth_worker_options *o, int argc, char **argv) {
    static const struct option table[] = {
        {"instance", required_argument, NULL, 'i'}, {"socket", required_argument, NULL, 's'},
        {"node", required_argument, NULL, 'n'},     {"threads", required_argument, NULL, 't'},
        {"bell", required_argument, NULL, 'b'},     {"test-hooks", no_argument, NULL, 'T'},
        {"help", no_argument, NULL, 'h'},           {0},
    };
    unsigned long v;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        bool good = true;
        switch (option) {
        case 'i': o->producer.instance = optarg; break;
        case 's': o->producer.socket = optarg; break;
        case 'n':
            good = number(optarg, SHM_MAX_NODES - 1, &v);
            o->producer.node = (uint32_t)v;
            break;
        case 't':
            good = number(optarg, MAX_THREADS, &v) && v > 0;
            o->threads = (unsigned)v;
            break;
        case 'b': good = bell_of(optarg, &o->producer.bell); break;
        case 'T':
            o->stop_file = getenv("PINWHEEL_TEST_STOP");
            o->eat_file = getenv("PINWHEEL_TEST_EAT");
            break;
        case 'h': fputs(help, stdout); return 1;
        default: good = false;
        }
        if (!good) return -1;
    }
    return optind < argc ? -1 : 0;
}

int main(int argc, char **argv) {
    struct synth_worker_options o = {.producer = {.instance = "default"}, .threads = 1};
    struct fmt_error err;
    int rc = parse(&o, argc, argv);
    if (rc) return rc > 0 ? 0 : usage(argv[optind - 1]);
    shm_host_first_to_go();
    shm_secret_process();
    shm_host_pin((int)o.producer.node);     /* without it memory is farther away, nothing else */
    if (synth_worker_run(&o, &err) == 0) return 0;
    fprintf(stderr, "pinwheel-synth: %s\n", err.text);
    return EXIT_REFUSED;
}
