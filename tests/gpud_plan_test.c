/* How slots are sized and counted: classes, minima, budgets, refusals with numbers; and how a region is cut for
 * page-locking. */
#include <stdio.h>
#include <string.h>

#include "gpud/pin.h"
#include "gpud/plan.h"
#include "tests/check.h"

#define MIB (1ull << 20)

static const struct gpud_plan_in base = {
    .nodes = 1, .devices = 1, .workers = 2, .budget = 1 << 30, .bound_by = "a test",
};

static struct gpud_plan_in with(const uint64_t *payload, uint32_t n) {
    struct gpud_plan_in in = base;
    in.payload = payload;
    in.n_circuits = n;
    return in;
}

static void test_classes(void) {
    const uint64_t payload[] = {3 * MIB, 100 * MIB, 1, 60 * MIB, 4 * MIB, 50 * MIB};
    struct gpud_plan_in in = with(payload, 6);
    struct gpud_plan plan;
    struct gpud_error err;
    CHECK(gpud_plan_make(&plan, &in, &err) == 0);
    CHECK(plan.n_classes == 2);
    CHECK(plan.classes[0].bytes == 100 * MIB && plan.classes[1].bytes == 4 * MIB);
    const uint32_t want[] = {1, 0, 1, 0, 1, 0};     /* 50 is half of 100, 2 (1 byte in a page) half of 4 */
    CHECK(memcmp(plan.class_of, want, sizeof want) == 0);
    for (int i = 0; i < 6; i++) CHECK(payload[i] <= plan.classes[plan.class_of[i]].bytes);
    CHECK(plan.classes[0].per_node == 3 && plan.classes[1].per_node == 3);     /* 2 workers + 1 device */
    CHECK(plan.bytes == 3 * 104 * MIB);
}

static void test_minimum_and_budget(void) {
    const uint64_t payload[] = {100 * MIB};
    struct gpud_plan_in in = with(payload, 1);
    struct gpud_plan plan;
    struct gpud_error err;
    in.workers = 50;
    CHECK(gpud_plan_make(&plan, &in, &err) == 0 && plan.classes[0].per_node == 10);    /* all that the budget holds */
    in.budget = 200 * MIB;
    CHECK(gpud_plan_make(&plan, &in, &err) == 0 && plan.classes[0].per_node == GPUD_SLOTS_PER_DEVICE);
    in.budget = 200 * MIB - 1;
    CHECK(gpud_plan_make(&plan, &in, &err) == -1);
    CHECK(strstr(err.text, "200 MiB") && strstr(err.text, "199 MiB") && strstr(err.text, "a test"));
    in.devices = 3;
    in.budget = 1024 * MIB;
    in.workers = 1;
    CHECK(gpud_plan_make(&plan, &in, &err) == 0 && plan.classes[0].per_node == 9);
    in.per_class = 4;
    CHECK(gpud_plan_make(&plan, &in, &err) == 0 && plan.classes[0].per_node == 4);
    in.per_class = 11;
    CHECK(gpud_plan_make(&plan, &in, &err) == -1);
}

static void test_nodes(void) {
    const uint64_t payload[] = {10 * MIB};
    struct gpud_plan_in in = with(payload, 1);
    struct gpud_plan plan;
    struct gpud_error err;
    in.nodes = 2;
    in.workers = 6;
    CHECK(gpud_plan_make(&plan, &in, &err) == 0);
    CHECK(plan.classes[0].per_node == 4 && plan.bytes == 8 * 10 * MIB);     /* 7 slots, rounded up to whole nodes */
    in.n_circuits = 0;
    CHECK(gpud_plan_make(&plan, &in, &err) == -1);
    in.n_circuits = GPUD_MAX_CIRCUITS + 1;
    CHECK(gpud_plan_make(&plan, &in, &err) == -1);
}

static void test_slot_limit(void) {
    const uint64_t payload[] = {1};
    struct gpud_plan_in in = with(payload, 1);
    struct gpud_plan plan;
    struct gpud_error err;
    in.budget = 1ull << 40;
    in.per_class = SHM_MAX_SLOTS;
    CHECK(gpud_plan_make(&plan, &in, &err) == 0);
    in.nodes = 3;   /* 4096 is no multiple of 3: one slot too many */
    CHECK(gpud_plan_make(&plan, &in, &err) == -1);
}

/* Slots of 3, 3, 5 and 20 MiB, two bytes of gap before the third. */
static void test_pin(void) {
    uint64_t offset[] = {0, 3 * MIB, 6 * MIB + 2, 12 * MIB}, bytes[] = {3 * MIB, 3 * MIB, 5 * MIB, 20 * MIB};
    struct shm_region r = {.n_slots = 4, .slot_offset = offset, .slot_bytes = bytes};
    const struct {
        uint64_t limit;
        uint32_t n, first[4];
    } cases[] = {
        {64 * MIB, 1, {0}}, {12 * MIB, 2, {0, 3}}, {6 * MIB, 3, {0, 2, 3}}, {1, 4, {0, 1, 2, 3}}, {32 * MIB, 1, {0}},
        {32 * MIB - 1, 2, {0, 3}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint32_t n = 0, slot = 0;
        uint64_t end = 0;
        while (slot < r.n_slots) {
            uint64_t at, len;
            CHECK(n < cases[c].n && slot == cases[c].first[n]);
            uint32_t next = gpud_pin_next(&r, slot, cases[c].limit, &at, &len);
            CHECK(at == offset[slot] && at >= end);
            CHECK(at + len == offset[next - 1] + bytes[next - 1]);      /* ends where a slot ends */
            CHECK(len <= cases[c].limit || next == slot + 1);
            end = at + len;
            slot = next;
            n++;
        }
        CHECK(n == cases[c].n);
    }
}

int main(void) {
    test_classes();
    test_minimum_and_budget();
    test_nodes();
    test_slot_limit();
    test_pin();
    return failures != 0;
}
