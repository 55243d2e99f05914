/*
 * pinwheel-gpud: the proving daemon. The only file that names the CUDA back end.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpud/bench.h"
#include "gpud/daemon.h"
#include "gpud/log.h"
#include "shm/secret.h"

#ifdef PINWHEEL_CUDA
static const struct krn_backend *const cuda = &krn_cuda_backend;
static const struct krn_copies *const copies = &krn_cuda_copies;
#else
static const struct krn_backend *const cuda = NULL;
static const struct krn_copies *const copies = NULL;
#endif

int main(int argc, char **argv) {
    static struct gpud_options options;
    static struct gpud_daemon daemon_state;
    struct gpud_error err;
    if (argc > 1 && strcmp(argv[1], "--bench-memory") == 0) return gpud_bench(argc - 1, argv + 1, cuda, copies);
    if (gpud_options_parse(&options, argc, argv, &err)) {
        fprintf(stderr, "pinwheel-gpud: %s\n", err.text);
        return GPUD_EXIT_USAGE;
    }
    if (options.help) {
        fputs(gpud_options_help, stdout);
        return 0;
    }
    shm_secret_process();
    gpud_log_to(STDERR_FILENO);
    int rc = gpud_daemon_run(&daemon_state, &options, &krn_cpu_backend, cuda, &err);
    if (rc) gpud_log("%s: %s", rc >= GPUD_EXIT_RESTART ? "cannot go on" : "not started", err.text);
    _exit(rc);      /* a thread may still work on a proof that nobody wants any more */
}
