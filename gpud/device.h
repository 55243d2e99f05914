/*
 * gpud/device.h: one thread for each device. It takes READY slots by priority and age, proves, and settles the jobs.
 *
 * Where the device holds its own copy of the vectors soon after begin, the next proof is begun before the previous one
 * is finished, so that its upload runs while the device computes. Where it never does (CPU), one proof is made at a
 * time.
 */
#ifndef GPUD_DEVICE_H
#define GPUD_DEVICE_H

#include "gpud/work.h"
#include "shm/job.h"

enum { GPUD_DEPTH = 2 };

/* A proof in flight. */
struct gpud_flight {
    struct krn_job *proof;
    struct shm_job_ref job;
    struct shm_slot_ref slot;
    struct shm_slot_desc desc;
    uint64_t taken_ns;
    bool uploaded;              /* the slot's content is no longer needed by the device */
    uint8_t *publics;           /* a snapshot, since the slot goes before the proof ends; room for any circuit's */
};

struct gpud_device {
    struct gpud_work *work;
    int index;
    unsigned threads;           /* host threads it may use; 0: all */
    bool registers;             /* this device page-locks the region for all */
    pthread_t thread;
    bool started;
    struct krn_device *device;                          /* by the thread only */
    struct krn_dev_key *keys[GPUD_MAX_CIRCUITS];
    struct gpud_flight flights[GPUD_DEPTH];             /* oldest first */
    unsigned n_flights;
    _Atomic int state;          /* enum gpud_device_state */
    struct gpud_error error;    /* set before FAILED */
    _Atomic uint64_t proofs, busy_us;
};

enum gpud_device_state { GPUD_DEVICE_LOADING = 0, GPUD_DEVICE_READY, GPUD_DEVICE_FAILED };

/* Starts the thread, which loads the keys of all open circuits and then rings the daemon's bell: see state. */
int gpud_device_start(struct gpud_device *d, struct gpud_work *work, int index, unsigned threads, bool registers,
                      struct gpud_error *err);

/* After gpud_work_stop: waits up to timeout_ms for the thread's current proofs to end. Returns false where it did not
 * end: then the device must be left as it is until the process exits. */
bool gpud_device_join(struct gpud_device *d, int timeout_ms);

#endif
