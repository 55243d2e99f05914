#include "gpud/pick.h"

#include <errno.h>

enum { NEAR = 0, FAR, TO_LOAD, NOT_OURS };

/* One look at all READY slots. */
struct look {
    const struct gpud_pick *pick;
    bool found;
    uint64_t again_ns;
    uint32_t slot;
    int rank;
    struct shm_slot_desc head, best;
};

static bool is_in(uint64_t set, uint32_t circuit) {
    return circuit < GPUD_MAX_CIRCUITS && set >> circuit & 1;
}

static bool is_far(const struct gpud_pick *p, uint32_t slot) {
    uint32_t node = p->region->slot_node[slot];
    return p->node >= 0 && node != SHM_ANY_NODE && node != (uint32_t)p->node;
}

/* When this device may load the key of a slot although another has it. */
static uint64_t patient_until(const struct gpud_pick *p, const struct shm_slot_desc *d) {
    if (p->busy) return UINT64_MAX;
    return (d->committed_ns > p->idle_ns ? d->committed_ns : p->idle_ns) + p->load_ns;
}

/* A circuit that is not known is refused when it is taken; until then it is as one whose key is there. */
static int rank_of(const struct gpud_pick *p, uint32_t slot, const struct shm_slot_desc *d) {
    if (p->busy && is_in(p->idle, d->circuit)) return NOT_OURS;
    if (d->circuit >= GPUD_MAX_CIRCUITS || is_in(p->has, d->circuit)) return is_far(p, slot) ? FAR : NEAR;
    bool others = is_in(p->elsewhere, d->circuit) && !is_in(p->has_room, d->circuit);
    return others && p->now_ns < patient_until(p, d) ? NOT_OURS : TO_LOAD;
}

static bool before(const struct shm_slot_desc *a, const struct shm_slot_desc *b) {
    return a->priority != b->priority ? a->priority < b->priority : a->ticket < b->ticket;
}

/* These are called by shm_slot_take for each READY slot with a good seal, and refuse all: it takes none. */

static bool see_head(void *ctx, uint32_t slot, const struct shm_slot_desc *d) {
    struct look *l = ctx;
    if (rank_of(l->pick, slot, d) == NOT_OURS) {
        uint64_t again_ns = patient_until(l->pick, d);
        if (again_ns < l->again_ns) l->again_ns = again_ns;
        return false;
    }
    if (!l->found || before(d, &l->head)) l->head = *d;
    l->found = true;
    return false;
}

static bool see_best(void *ctx, uint32_t slot, const struct shm_slot_desc *d) {
    struct look *l = ctx;
    if (d->priority != l->head.priority || d->ticket - l->head.ticket >= GPUD_WINDOW) return false;
    int rank = rank_of(l->pick, slot, d);
    if (rank == NOT_OURS || (l->found && (rank > l->rank || (rank == l->rank && !before(d, &l->best))))) return false;
    l->found = true;
    l->slot = slot;
    l->rank = rank;
    l->best = *d;
    return false;
}

static bool is_the_one(void *ctx, uint32_t slot, const struct shm_slot_desc *d) {
    const struct look *l = ctx;
    return slot == l->slot && d->job == l->best.job;
}

int gpud_pick_take(struct shm_region *region, const struct gpud_pick *pick, struct shm_slot_ref *ref,
                   struct shm_slot_desc *desc, bool *far, uint64_t *again_ns) {
    int rc;
    do {
        struct look l = {.pick = pick, .again_ns = UINT64_MAX};
        rc = shm_slot_take(region, see_head, &l, ref, desc);
        *again_ns = l.again_ns;
        if (rc != -EAGAIN || !l.found) return rc;
        l.found = false;
        rc = shm_slot_take(region, see_best, &l, ref, desc);
        if (rc != -EAGAIN) return rc;
        if (!l.found) continue;
        *far = is_far(pick, l.slot);
        rc = shm_slot_take(region, is_the_one, &l, ref, desc);
    } while (rc == -EAGAIN);            /* another device was faster, or the job was cancelled: look again */
    return rc;
}
