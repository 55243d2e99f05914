/*
 * gpud/plan.h: how many slots of which sizes a region gets. Sizes are exact, since they follow from the circuits that
 * were registered at start; a slot too few only makes workers wait, a slot too many can starve the host.
 */
#ifndef GPUD_PLAN_H
#define GPUD_PLAN_H

#include "gpud/error.h"
#include "shm/region.h"

enum {
    GPUD_MAX_CIRCUITS = 64,
    GPUD_SLOTS_PER_DEVICE = 2,      /* one in upload or proof, one ready */
};

struct gpud_plan_in {
    const uint64_t *payload;        /* bytes that a job of each circuit needs */
    uint32_t n_circuits;            /* 1 to GPUD_MAX_CIRCUITS */
    uint32_t nodes, devices, workers;       /* workers: in all */
    uint32_t per_class;             /* --slots: this many of each size; 0: as memory allows */
    uint64_t budget;                /* bytes the slots may take */
    const char *bound_by;           /* what sets the budget, for messages */
};

struct gpud_plan {
    struct shm_class classes[GPUD_MAX_CIRCUITS];    /* largest first; bytes in whole pages of SHM_PAGE */
    uint32_t n_classes;
    uint32_t class_of[GPUD_MAX_CIRCUITS];   /* by circuit */
    uint64_t bytes;                         /* of all slots */
};

/*
 * Circuits of which the smaller needs at least half of the larger's slot share a class. Each class gets at
 * least GPUD_SLOTS_PER_DEVICE per device (fewer is refused with the numbers), and where the budget allows one per
 * worker and one per device more. Counts are rounded up to a whole number per node.
 */
int gpud_plan_make(struct gpud_plan *plan, const struct gpud_plan_in *in, struct gpud_error *err);

#endif
