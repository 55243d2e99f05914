/*
 * gpud/pick.h: which READY slot a device takes next.
 *
 * It leaves alone what another device will serve better: with a proof in its hands, a slot whose key an idle device
 * has; and a slot whose key another device has and for which a key of its own would have to go, until both it has been
 * idle and that slot has been READY for as long as a load takes.
 *
 * Of the others the head is the one of the highest priority and, of these, the lowest ticket. It may be overtaken by
 * slots of the same priority whose tickets are less than GPUD_WINDOW above its own, so by fewer than GPUD_WINDOW jobs:
 * nothing starves. Among these a device takes, lower tickets first,
 *
 *   1. one whose key it has, on its own NUMA node,
 *   2. one whose key it has, on another node,
 *   3. one whose key it must load.
 */
#ifndef GPUD_PICK_H
#define GPUD_PICK_H

#include "gpud/keys.h"

enum { GPUD_WINDOW = 16 };

struct gpud_pick {
    const struct shm_region *region;
    int node;               /* the device's; -1: every slot is near */
    uint64_t has;           /* keys on it, bit by circuit */
    uint64_t has_room;      /* keys that are there or can come without that another goes */
    uint64_t elsewhere;     /* keys on other devices */
    uint64_t idle;          /* keys on other devices that are idle */
    bool busy;              /* it has a proof */
    uint64_t now_ns, idle_ns, load_ns;      /* idle since; how long a load takes */
};

/* Takes it (READY -> UPLOADING). 0 with *far: whether it lies on another node; -EAGAIN: there is none; at *again_ns
 * (UINT64_MAX: never) one that is another device's until then may be taken; -EBADMSG: as shm_slot_take. */
int gpud_pick_take(struct shm_region *region, const struct gpud_pick *pick, struct shm_slot_ref *ref,
                   struct shm_slot_desc *desc, bool *far, uint64_t *again_ns);

#endif
