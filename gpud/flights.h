/*
 * gpud/flights.h: the proofs that one device has under way, oldest first. Each passes three hands: the device thread
 * begins it (upload, then computing) and finishes it; a thread of its own, the closer, verifies it and settles its job,
 * while the device computes the next. So three proofs are under way: one uploading, one computing, one being verified.
 *
 *   settled <= computed <= begun        ring[i % GPUD_FLIGHTS]; begun - settled <= GPUD_FLIGHTS
 *   computed .. begun                   the device thread's
 *   settled .. computed                 the closer's
 *
 * Nothing is allocated after gpud_flights_open.
 */
#ifndef GPUD_FLIGHTS_H
#define GPUD_FLIGHTS_H

#include "gpud/prove.h"
#include "gpud/work.h"
#include "shm/job.h"

enum {
    GPUD_DEPTH = 2,             /* on the device: one uploads while one computes */
    GPUD_FLIGHTS = 4,           /* and as many with the closer: where it is slower, the device waits for it */
};

/* A proof under way. */
struct gpud_flight {
    struct krn_job *proof;      /* on the device; freed by its finish */
    struct shm_job_ref job;
    struct shm_slot_ref slot;
    struct shm_slot_desc desc;
    uint64_t taken_ns;
    bool alone;                 /* an attempt has failed before: if devices fail of it, it takes no other along */
    bool uploaded;              /* the slot's content is no longer needed by the device */
    uint8_t *publics;           /* a snapshot, since the slot goes before the proof ends; room for any circuit's */
    enum gpud_outcome outcome;  /* of the device's part */
    struct gpud_proof result;
};

struct gpud_flights {
    struct gpud_work *work;
    int device;                 /* its number, for messages */
    struct gpud_flight ring[GPUD_FLIGHTS];
    uint64_t begun;             /* by the device thread only */
    uint64_t computed, settled; /* guarded by lock */
    bool closing, started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t closer;
};

/* most_publics: of any circuit. 0 with the closer running, or -1 with err. */
int gpud_flights_open(struct gpud_flights *f, struct gpud_work *work, int device, uint32_t most_publics,
                      struct gpud_error *err);
/* Waits until all that was computed is settled, and ends the closer. All zero bytes, twice: harmless. */
void gpud_flights_close(struct gpud_flights *f);

/* ---- by the device thread ---- */

/* How many the device has. */
unsigned gpud_flights_on_device(const struct gpud_flights *f);
/* Whether all entries are in use. */
bool gpud_flights_full(struct gpud_flights *f);
/* The entry for the next proof; waits for the closer while all are in use. gpud_flights_begin puts it under way. */
struct gpud_flight *gpud_flights_next(struct gpud_flights *f);
void gpud_flights_begin(struct gpud_flights *f);
/* The oldest and the youngest on the device; there must be one. */
struct gpud_flight *gpud_flights_oldest(struct gpud_flights *f);
struct gpud_flight *gpud_flights_youngest(struct gpud_flights *f);
/* The oldest has its outcome: the closer's from now on. One whose job went back is GPUD_DEVICE_ERROR, and passed
 * over. */
void gpud_flights_hand_on(struct gpud_flights *f);

#endif
