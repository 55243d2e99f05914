/*
 * gpud/fault.h: a test hook: devices that fail. PINWHEEL_TEST_FAULT=N makes a device fail at the Nth proof of the
 * process, counted from 1; PINWHEEL_TEST_FAULT=NAME at every proof of that circuit; PINWHEEL_TEST_FAULT=open when it is
 * opened. Looked at only with --test-hooks.
 */
#ifndef GPUD_FAULT_H
#define GPUD_FAULT_H

#include <stdbool.h>

#include "gpud/error.h"
#include "shm/layout.h"

struct gpud_fault {
    bool opening;                   /* devices do not open */
    uint64_t at;                    /* 0: at none */
    char circuit[SHM_NAME_MAX];     /* empty: of none */
    _Atomic uint64_t proofs;        /* so far */
};

/* Reads the environment. 0, or -1 with err. */
int gpud_fault_open(struct gpud_fault *f, struct gpud_error *err);

/* Counts a proof of that circuit. Whether it is the one at which its device fails. */
bool gpud_fault_due(struct gpud_fault *f, const char *circuit);

#endif
