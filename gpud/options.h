/*
 * gpud/options.h: what a person may set when the daemon starts.
 */
#ifndef GPUD_OPTIONS_H
#define GPUD_OPTIONS_H

#include "gpud/circuit.h"
#include "gpud/paths.h"
#include "gpud/plan.h"
#include "kernels/choice.h"
#include "shm/bell.h"

struct gpud_options {
    char instance[SHM_INSTANCE_MAX];
    struct gpud_circuit_spec circuits[GPUD_MAX_CIRCUITS];
    uint32_t n_circuits;
    enum krn_choice backend;
    enum shm_backend bell;
    uint32_t workers;           /* per NUMA node */
    uint32_t threads;           /* of the CPU back end and of checks at start; 0: all CPUs */
    uint32_t worker_threads;    /* of each worker */
    uint32_t slots;             /* of each size; 0: as memory allows */
    uint64_t gpu_memory;        /* bytes of each device for workspace and keys; 0: what is free */
    uint32_t job_timeout_s;     /* of one synthesis; 0: no limit */
    int ready_fd;               /* gets "ready\n" or "failed: why\n" once; -1: none */
    bool wipe, small_pages, test_hooks, help;
    bool pageable;              /* the region is not registered: a control for measurements */
};

extern const char gpud_options_help[];

/* Fills o from the command line, defaults first. 0, or -1 with err (wrong usage). */
int gpud_options_parse(struct gpud_options *o, int argc, char **argv, struct gpud_error *err);

#endif
