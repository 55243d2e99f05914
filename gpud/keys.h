/*
 * gpud/keys.h: which keys lie on one device: a cache in its memory, counted in bytes. docs/adr has the policy.
 *
 * The room is what the back end's plan leaves for keys. At the start keys are loaded in the catalogue's order as far as
 * they fit. Later a key is loaded when a proof needs it, one at a time, by the device's thread; where room is short the
 * idle keys that were used longest ago go first. A key with a proof on the device never goes. A key that alone exceeds
 * the room is refused at the start. Bytes come from the key's file by gpud/reader.h, not through its mapping.
 *
 * One thread, the device's, calls everything but gpud_keys_look, which is anybody's.
 */
#ifndef GPUD_KEYS_H
#define GPUD_KEYS_H

#include "gpud/reader.h"
#include "gpud/work.h"

struct gpud_key {
    struct krn_dev_key *loaded; /* NULL: not on the device */
    uint64_t bytes;             /* that it takes there, or would take */
    uint64_t used;              /* when it was taken last, by gpud_keys.tick */
    unsigned in_flight;         /* proofs on the device */
    uint64_t loads;
};

struct gpud_keys {
    struct gpud_work *work;
    struct krn_device *device;
    int index;                  /* of the device */
    struct gpud_reader reader;
    struct gpud_key keys[GPUD_MAX_CIRCUITS];    /* by circuit */
    uint64_t tick;
    uint64_t load_ns;           /* the longest load so far */
    struct gpud_keys_view view; /* shown in work->shown */
};

/* Plans the device's memory for all open circuits; budget: its bytes for workspace and keys, 0: what is free. 0, or -1
 * with err: a key has no room, or the device failed. */
int gpud_keys_open(struct gpud_keys *k, struct gpud_work *work, struct krn_device *device, int index, uint64_t budget,
                   struct gpud_error *err);
/* Loads what fits. 0, or -1 with err. */
int gpud_keys_load_all(struct gpud_keys *k, struct gpud_error *err);
/* No proof may be on the device. All zero bytes, twice: harmless. */
void gpud_keys_close(struct gpud_keys *k);

/* The same for a device that is lost: what lies on it is left to the exit of the process. */
void gpud_keys_abandon(struct gpud_keys *k);

bool gpud_keys_has(const struct gpud_keys *k, uint32_t circuit);
/* Whether the key is there or can come without that another goes. */
bool gpud_keys_has_room(const struct gpud_keys *k, uint32_t circuit);

/*
 * The key for one more proof, loaded where it is not. 0; -EBUSY: only keys with proofs on the device could make room:
 * finish one and ask again; -ENODEV: the device is lost; else this key cannot be loaded and the others are well. err is
 * set for all but 0 and -EBUSY.
 */
int gpud_keys_take(struct gpud_keys *k, uint32_t circuit, struct krn_dev_key **key, struct gpud_error *err);
/* That proof is off the device. */
void gpud_keys_put(struct gpud_keys *k, uint32_t circuit);

/* What a device shows of its keys, by any thread. */
void gpud_keys_look(struct gpud_work *work, int device, struct gpud_keys_view *view);

#endif
