/*
 * gpud/setup.h: from options to a region with circuits, before any device or worker is started.
 */
#ifndef GPUD_SETUP_H
#define GPUD_SETUP_H

#include "gpud/daemon.h"

/* Chooses the back end and counts its devices. A CPU back end that was asked for asks nothing of a GPU's driver. */
int gpud_setup_backend(struct gpud_daemon *d, const struct krn_backend *cpu, const struct krn_backend *cuda,
                       struct gpud_error *err);

/*
 * Takes over the region that an earlier daemon left, with the circuits of its catalogue and those new in the options,
 * and puts its slots and jobs in order; or, where there is none, makes one for the options' circuits. On failure a
 * region that was made is removed again, one that was there is left.
 */
int gpud_setup_region(struct gpud_daemon *d, struct gpud_error *err);

#endif
