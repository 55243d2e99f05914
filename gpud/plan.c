#include "gpud/plan.h"

#include <string.h>

static uint64_t pages(uint64_t bytes) {
    return (bytes + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
}

static uint32_t per_node(uint32_t slots, uint32_t nodes) {
    return (slots + nodes - 1) / nodes;
}

static uint32_t max(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* The circuit with the largest payload that has no class yet; n_circuits where all have one. */
static uint32_t largest_left(const struct gpud_plan_in *in, const bool *placed) {
    uint32_t best = in->n_circuits;
    for (uint32_t i = 0; i < in->n_circuits; i++)
        if (!placed[i] && (best == in->n_circuits || in->payload[i] > in->payload[best])) best = i;
    return best;
}

static void make_classes(struct gpud_plan *plan, const struct gpud_plan_in *in) {
    bool placed[GPUD_MAX_CIRCUITS] = {false};
    for (uint32_t big; (big = largest_left(in, placed)) < in->n_circuits;) {
        struct shm_class *k = &plan->classes[plan->n_classes];
        k->bytes = pages(in->payload[big]);
        for (uint32_t i = 0; i < in->n_circuits; i++) {
            if (placed[i] || pages(in->payload[i]) < k->bytes / 2) continue;
            plan->class_of[i] = plan->n_classes;
            placed[i] = true;
        }
        plan->n_classes++;
    }
}

static uint64_t bytes_of(const struct gpud_plan *plan, uint32_t nodes) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < plan->n_classes; k++) sum += plan->classes[k].bytes * plan->classes[k].per_node * nodes;
    return sum;
}

/* One slot per node more for every class below `wanted`, smallest classes first, as long as the budget holds. */
static void grow(struct gpud_plan *plan, const struct gpud_plan_in *in, uint32_t wanted) {
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t k = plan->n_classes; k-- > 0;) {
            struct shm_class *c = &plan->classes[k];
            if (c->per_node >= wanted || bytes_of(plan, in->nodes) + c->bytes * in->nodes > in->budget) continue;
            c->per_node++;
            grown = true;
        }
    }
}

int gpud_plan_make(struct gpud_plan *plan, const struct gpud_plan_in *in, struct gpud_error *err) {
    memset(plan, 0, sizeof *plan);
    if (in->n_circuits == 0 || in->n_circuits > GPUD_MAX_CIRCUITS)
        return gpud_fail(err, "%u circuits are registered; 1 to %d are allowed", in->n_circuits, GPUD_MAX_CIRCUITS);
    make_classes(plan, in);

    uint32_t least = GPUD_SLOTS_PER_DEVICE * in->devices;
    uint32_t start = per_node(in->per_class ? in->per_class : least, in->nodes);
    for (uint32_t k = 0; k < plan->n_classes; k++) plan->classes[k].per_node = start;
    if (!in->per_class) grow(plan, in, per_node(max(least, in->workers) + in->devices, in->nodes));

    plan->bytes = bytes_of(plan, in->nodes);
    uint64_t slots = 0;
    for (uint32_t k = 0; k < plan->n_classes; k++) slots += (uint64_t)plan->classes[k].per_node * in->nodes;
    if (slots > SHM_MAX_SLOTS)
        return gpud_fail(err, "%llu slots; a region holds %d", (unsigned long long)slots, SHM_MAX_SLOTS);
    if (plan->bytes > in->budget)
        return gpud_fail(err, "too little memory: %llu slots of %u sizes, the largest %llu MiB, take %llu MiB and %s "
                         "allows %llu MiB; free memory, register fewer circuits, or give fewer --slots",
                         (unsigned long long)slots, plan->n_classes, (unsigned long long)plan->classes[0].bytes >> 20,
                         (unsigned long long)plan->bytes >> 20, in->bound_by, (unsigned long long)in->budget >> 20);
    return 0;
}
