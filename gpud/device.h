/*
 * gpud/device.h: one thread for each device. It takes READY slots by priority and age and proves; what it has computed
 * its closer (gpud/flights.h) verifies and settles.
 *
 * Where the device holds its own copy of the vectors soon after begin, the next proof is begun before the previous one
 * is finished, so that its upload runs while the device computes. Where it never does (CPU), the device makes one proof
 * at a time.
 *
 * A device that fails is in doubt and is not touched again: what it had goes back (gpud_conclude_return), the others go
 * on, and where none is left the daemon ends for a restart.
 */
#ifndef GPUD_DEVICE_H
#define GPUD_DEVICE_H

#include "gpud/flights.h"

struct gpud_device {
    struct gpud_work *work;
    int index;
    unsigned threads;           /* host threads it may use; 0: all */
    bool registers;             /* this device page-locks the region for all */
    pthread_t thread;
    bool started;
    struct krn_device *device;                          /* this and what follows: by the thread only */
    struct krn_dev_key *keys[GPUD_MAX_CIRCUITS];
    struct gpud_flights flights;
    uint64_t busy_ns;           /* since when it has had a proof, where it has one */
};

/* Starts the thread, which loads the keys of all open circuits, sets its state in work->shown and rings the daemon's
 * bell. */
int gpud_device_start(struct gpud_device *d, struct gpud_work *work, int index, unsigned threads, bool registers,
                      struct gpud_error *err);

/* After gpud_work_stop: waits up to timeout_ms for what the thread has under way to end. Returns false where it did not
 * end: then the device must be left as it is until the process exits. */
bool gpud_device_join(struct gpud_device *d, int timeout_ms);

#endif
