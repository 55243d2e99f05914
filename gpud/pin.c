#include "gpud/pin.h"

uint32_t gpud_pin_next(const struct shm_region *r, uint32_t first, uint64_t limit, uint64_t *offset, uint64_t *bytes) {
    *offset = r->slot_offset[first];
    *bytes = r->slot_bytes[first];
    uint32_t next = first + 1;
    while (next < r->n_slots) {
        uint64_t end = r->slot_offset[next] + r->slot_bytes[next];
        if (end - *offset > limit) break;
        *bytes = end - *offset;
        next++;
    }
    return next;
}
