/*
 * gpud/work.h: what the device threads share with each other and with the main thread. Everything is allocated before
 * the service is ready; the threads allocate nothing.
 */
#ifndef GPUD_WORK_H
#define GPUD_WORK_H

#include <pthread.h>

#include "formats/sha256.h"
#include "gpud/circuit.h"
#include "gpud/fault.h"
#include "gpud/plan.h"
#include "gpud/random.h"
#include "kernels/backend.h"
#include "shm/slot.h"

enum {
    GPUD_MAX_DEVICES = 16,
    GPUD_MAX_ATTEMPTS = 3,      /* of synthesis, and of proving when the daemon or the device dies of it */
};

enum gpud_device_state { GPUD_DEVICE_LOADING = 0, GPUD_DEVICE_READY, GPUD_DEVICE_LOST };

/* A device's keys, for people: see gpud/keys.h. */
struct gpud_keys_view {
    uint64_t room, used;        /* bytes for keys; UINT64_MAX: no limit */
    uint64_t loads, evictions;
    uint64_t loaded;                        /* bit by circuit */
    uint64_t bytes[GPUD_MAX_CIRCUITS];      /* that each takes, or would take */
    const char *form[GPUD_MAX_CIRCUITS];    /* in which it lies there; a constant */
    struct krn_memory memory;
};
static_assert(GPUD_MAX_CIRCUITS <= 64, "a set of circuits is one word");

/* What a device shows to the others. Written by its own threads. */
struct gpud_shown {
    _Atomic int state;                  /* enum gpud_device_state */
    _Atomic int node;                   /* NUMA node; -1: not known, every slot is near */
    _Atomic bool idle;                  /* it has no slot in hand and no proof on it, and looks for one */
    _Atomic uint64_t loaded;            /* keys on it, bit by circuit */
    _Atomic uint64_t proofs, busy_us;   /* settled; time with at least one proof on the device */
    _Atomic uint64_t far_slots;         /* taken from another node */
    struct gpud_keys_view keys;         /* guarded by lock */
};

/* A job of which one proof was refused: it is proved again once. */
struct gpud_suspect {
    uint64_t job;       /* id; 0: none */
    uint64_t digest;    /* of the payload then */
};

/* What this daemon knows of a job, whatever the region says: see gpud/receipt.h. */
struct gpud_receipt {
    uint64_t job;       /* id; 0: none */
    uint32_t circuit;
    char digest[FMT_SHA256_TEXT];       /* of its result; empty: this daemon has made none */
};

struct gpud_work {
    struct shm_region *region;
    const struct krn_backend *backend;
    struct gpud_circuit *circuits;      /* GPUD_MAX_CIRCUITS, by catalogue index */
    const struct gpud_blinding *fixed;  /* test hook, or NULL */
    struct gpud_suspect *suspects;      /* by job index */
    struct gpud_receipt *receipts;      /* by job index; guarded by results */
    int own_eventfd;                    /* the main thread's waiter's, or -1 */

    uint64_t gpu_memory;                /* bytes of each device for workspace and keys; 0: what is free */
    struct gpud_fault fault;            /* test hook */

    pthread_mutex_t registering;        /* guards registered */
    bool registered;                    /* a device has page-locked the region for all */

    pthread_mutex_t lock;               /* guards kicks, stop, n_devices, n_threads, failed, failure, shown[].keys */
    pthread_cond_t kicked;
    uint64_t kicks;                     /* slots may be READY: look */
    bool stop;
    uint32_t n_devices;                 /* that are not LOST */
    uint32_t n_threads;                 /* of devices, that have not ended */
    bool failed;                        /* none is left; the daemon must restart */
    char failure[GPUD_ERROR_MAX];       /* of the last one */

    struct gpud_shown shown[GPUD_MAX_DEVICES];

    pthread_mutex_t results;            /* a result is written and its job settled, or the job is cancelled, not both */
};

/* 0, or -1 with err. */
int gpud_work_open(struct gpud_work *w, struct shm_region *region, const struct krn_backend *backend,
                   struct gpud_circuit *circuits, uint32_t n_devices, const struct gpud_blinding *fixed,
                   struct gpud_error *err);
void gpud_work_close(struct gpud_work *w);

/* Makes every device thread look for READY slots. */
void gpud_work_kick(struct gpud_work *w);
/* Device threads end when their proofs under way have; harmless where the work was never opened. */
void gpud_work_stop(struct gpud_work *w);

/* By a device thread: wakes the main thread. */
void gpud_work_tell(struct gpud_work *w);
/* A device thread begins and ends; gpud_work_outlive waits, in one of them, until the others have ended. */
void gpud_work_enter(struct gpud_work *w);
void gpud_work_leave(struct gpud_work *w);
void gpud_work_outlive(struct gpud_work *w);

/* By a device thread: it is LOST. The others go on; where none is left, all stop. */
void gpud_work_lose(struct gpud_work *w, int device, const char *text);
/* Whether no device is left; err (may be NULL) then says why the last one went. */
bool gpud_work_failed(struct gpud_work *w, struct gpud_error *err);

/* A slot's payload against the circuit: what is wrong with it as one line, or 0. */
int gpud_work_check(const struct gpud_work *w, uint32_t slot, const struct shm_slot_desc *d, struct gpud_error *err);

/* A job's vectors in a slot; c is NULL where it was not sent. */
struct krn_vectors gpud_work_vectors(const struct gpud_work *w, uint32_t slot, const struct shm_slot_desc *d);

/* A 64-bit hash of a slot's payload, to tell whether it changed and to find it in the log. */
uint64_t gpud_work_digest(const struct gpud_work *w, uint32_t slot, const struct shm_slot_desc *d);

#endif
