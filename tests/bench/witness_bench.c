/*
 * Witnesses in process beside node's: the least of several, reading the input file included on our side; node's program
 * is compiled and warm, and its values are parsed before. Circuits whose packages are not there (make deps) are left
 * out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "synth/build.h"
#include "synth/program.h"

#define AUTH_INPUT "build/authV2.json"

static const struct {
    const char *name, *wasm, *input;
    int rounds;
    const char *make_input;     /* the command that makes it; NULL where the input is there */
} circuits[] = {
    {"sorted16", "tests/data/cases/sorted16_bn128/sorted16.wasm",
     "tests/data/cases/sorted16_bn128/sorted16.json", 200, NULL},
    {"merkle20", "tests/data/cases/merkle20o2_bn128/merkle20o2.wasm",
     "tests/data/cases/merkle20o2_bn128/merkle20o2.json", 50, NULL},
    {"authV2", "build/npm/keys/@rarimo_zkp-gen-iden3/assets/authV2/circuit.wasm", AUTH_INPUT, 10,
     "node tests/auth_input.js " AUTH_INPUT " 1 >/dev/null"},
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* The least of several runs; negative with err. */
static double ours(struct synth_program *p, const char *input, int rounds, struct fmt_error *err)
{
    const struct synth_program_info *info = synth_program_info(p);
    uint8_t *w = malloc((size_t)info->n_witness * KRN_FR_BYTES);
    double least = -1;

    for (int i = 0; w && i < rounds; i++) {
        struct synth_input in;
        double start = now_ms();
        if (synth_input_read(&in, input, info->curve, 0, err) != 0)
            break;
        int rc = synth_program_run(p, &in, NULL, w, err);
        synth_input_free(&in);
        if (rc != 0)
            break;
        double ms = now_ms() - start;
        least = least < 0 || ms < least ? ms : least;
    }
    free(w);
    return least;
}

static double node(const char *wasm, const char *input, int rounds)
{
    char command[512];
    double ms = -1;
    snprintf(command, sizeof command, "node tests/bench/witness.js %s %s %d 2>/dev/null", wasm, input, rounds);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%lf", &ms) != 1)
        ms = -1;
    if (f)
        pclose(f);
    return ms;
}

int main(void)
{
    const struct synth_program_limits none = {0};
    int rc = 0;

    printf("%-10s %10s %12s %12s %8s   witness, ms (least of several)\n", "circuit", "values", "in process", "node",
           "ratio");
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++) {
        struct synth_build b;
        struct fmt_error err = {""};
        if (access(circuits[i].wasm, R_OK) != 0) {
            printf("%-10s not there: make deps\n", circuits[i].name);
            continue;
        }
        if (circuits[i].make_input && system(circuits[i].make_input) != 0) {
            printf("%-10s no input: %s\n", circuits[i].name, circuits[i].make_input);
            rc = 1;
            continue;
        }
        struct synth_program *p = synth_build_program(circuits[i].wasm, "build/test-cache", &b, &err) == 0
            ? synth_program_open(b.path, &none, &err) : NULL;
        double a = p ? ours(p, circuits[i].input, circuits[i].rounds, &err) : -1;
        if (a < 0) {
            printf("%-10s %s\n", circuits[i].name, err.text);
            rc = 1;
        } else {
            double n = node(circuits[i].wasm, circuits[i].input, circuits[i].rounds);
            printf("%-10s %10u %12.2f %12.2f %8.2f\n", circuits[i].name, synth_program_info(p)->n_witness, a, n, n / a);
        }
        synth_program_close(p);
    }
    return rc;
}
