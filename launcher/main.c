/*
 * pinwheel-tool: the commands of `pinwheel` that are more than starting processes.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "launcher/bench.h"
#include "launcher/commands.h"
#include "launcher/synthetic.h"
#include "shm/secret.h"

static const struct {
    const char *name, *usage;
    int min_args, max_args;
    launcher_command *run;
} commands[] = {
    {"prove", "NAME|circuit.zkey input.json|witness.wtns proof.json public.json", 4, 4, launcher_prove},
    {"verify", "verification_key.json public.json proof.json", 3, 3, launcher_verify},
    {"submit", "NAME [input.json|witness.wtns], or submit NAME --each FILE... --out FOLDER", 1, INT_MAX,
     launcher_submit},
    {"add", "NAME --zkey F [--wasm F | --witness-program CMD] [--r1cs F] [--sym F] [--vk F]", 1, 1, launcher_add},
    {"forget", "NAME", 1, 1, launcher_forget},
    {"circuits", "", 0, 0, launcher_circuits},
    {"witness", "NAME input.json witness.wtns", 3, 3, launcher_witness},
    {"wait", "ID [proof.json public.json]", 1, 3, launcher_wait},
    {"cancel", "ID", 1, 1, launcher_cancel},
    {"status", "", 0, 0, launcher_status},
    {"region", "", 0, 0, launcher_region},
    {"remove", "", 0, 0, launcher_remove},
    {"paths", "", 0, 0, launcher_paths},
};

/* For development and measurements: these have options of their own. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} tools[] = {
    {"synthetic", tool_synthetic},
    {"bench-pipeline", tool_bench_pipeline},
};

static int run(size_t i, int argc, char **argv) {
    struct launcher_options o;
    struct gpud_error err = {""};
    enum launcher_exit rc = LAUNCHER_USAGE;
    if (launcher_options_parse(&o, argc, argv, &err) == 0) {
        if (o.n_args < commands[i].min_args || o.n_args > commands[i].max_args)
            gpud_fail(&err, "wanted: pinwheel %s %s", commands[i].name, commands[i].usage);
        else
            rc = commands[i].run(&o, &err);
    }
    launcher_options_free(&o);
    if (rc) fprintf(stderr, "pinwheel %s: %s\n", commands[i].name, err.text);
    return rc;
}

int main(int argc, char **argv) {
    shm_secret_process();
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0) return run(i, argc - 1, argv + 1);
    for (size_t i = 0; argc > 1 && i < sizeof tools / sizeof tools[0]; i++)
        if (strcmp(argv[1], tools[i].name) == 0) return tools[i].run(argc - 1, argv + 1);
    fprintf(stderr, "pinwheel-tool: a command is wanted; `pinwheel help` lists them\n");
    return LAUNCHER_USAGE;
}
