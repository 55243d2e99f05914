/*
 * gpud/device.h: one thread for each device, on the CPUs of the device's NUMA node. It takes READY slots (gpud/pick.h
 * says which), loads keys that are not there (gpud/keys.h) and proves; what it has computed its closer (gpud/flights.h)
 * verifies and settles.
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
#include "gpud/keys.h"

struct gpud_device {
    struct gpud_work *work;
    int index;
    unsigned threads;           /* host threads it may use; 0: all */
    bool registers;             /* the region is to be page-locked, by the first device that is open, for all */
    bool has_registered;        /* it was this one */
    pthread_t thread;
    bool started;
    struct krn_device *device;                          /* this and what follows: by the thread only */
    unsigned depth;             /* proofs on the device at a time */
    struct gpud_keys keys;
    struct gpud_flights flights;
    uint64_t busy_ns, idle_ns;  /* since when it has had a proof, where it has one; or none */
};

/* Starts the thread, which loads the keys of the open circuits as far as they fit, sets its state in work->shown and
 * rings the daemon's bell. */
int gpud_device_start(struct gpud_device *d, struct gpud_work *work, int index, unsigned threads, bool registers,
                      struct gpud_error *err);

/* After gpud_work_stop: waits up to timeout_ms for what the thread has under way to end. Returns false where it did not
 * end: then the device must be left as it is until the process exits. */
bool gpud_device_join(struct gpud_device *d, int timeout_ms);

#endif
