/*
 * gpud/conclude.h: the end of a proof: what the device has made is verified, its job settled, tried once more or
 * refused, and the main thread told. By any thread; see gpud/flights.h for whose.
 */
#ifndef GPUD_CONCLUDE_H
#define GPUD_CONCLUDE_H

#include "gpud/flights.h"

/* A flight that its device has finished. One with GPUD_DEVICE_ERROR has gone back already. */
void gpud_conclude(struct gpud_work *w, int device, struct gpud_flight *f);

/* A job that cannot be proved: its reason, then its slot. */
void gpud_conclude_refuse(struct gpud_work *w, struct shm_job_ref job, struct shm_slot_ref slot, const char *text);

/* A slot whose job is over, or that is not what it says it is. A job that it should have held is an orphan then. */
void gpud_conclude_discard(struct gpud_work *w, struct shm_slot_ref slot);

/*
 * A job whose device failed under it goes back: with its synthesis where the slot still holds it, else to the queue. It
 * has one attempt less, and fails with `reason` after the last: it may be what the device fails of. reason NULL: it
 * cannot be, since it was not there yet.
 */
void gpud_conclude_return(struct gpud_work *w, const struct gpud_flight *f, const char *reason);

#endif
