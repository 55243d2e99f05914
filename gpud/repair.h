/*
 * gpud/repair.h: what the daemon does about a region into which somebody wrote astray. What it is to do is decided by
 * its own memory, never by what stands there. Main thread.
 */
#ifndef GPUD_REPAIR_H
#define GPUD_REPAIR_H

#include "gpud/error.h"
#include "shm/region.h"

/* Slots and jobs in states that cannot be become FREE, each with a line in the log; before shm_slot_recover, and now
 * and then. Returns how many. */
uint32_t gpud_repair_states(struct shm_region *r);

/* Lowers the flag that tells workers to leave, which only a daemon that stops may raise. True: it was raised. */
bool gpud_repair_flag(struct shm_region *r);

/* Whether the region is shorter than it was made, or has lost its name. The short one is removed, and err says so: the
 * next daemon makes a new one, and workers leave one that has no name. */
bool gpud_repair_is_lost(struct shm_region *r, const char *instance, struct gpud_error *err);

#endif
