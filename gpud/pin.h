/*
 * gpud/pin.h: the region's payload in ranges that are page-locked one by one: at most GPUD_PIN_MAX bytes each (one
 * call for 512 GiB or more fails on current drivers), cut between slots (a copy across two registrations is an
 * error).
 */
#ifndef GPUD_PIN_H
#define GPUD_PIN_H

#include "shm/region.h"

#define GPUD_PIN_MAX (64ull << 30)

/* The range that begins at slot `first` (slots lie in order of their offsets); sets *offset and *bytes, and returns the
 * first slot of the next range, or n_slots. A slot larger than limit is a range of its own. */
uint32_t gpud_pin_next(const struct shm_region *r, uint32_t first, uint64_t limit, uint64_t *offset, uint64_t *bytes);

#endif
