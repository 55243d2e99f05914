/*
 * tests/gpud_world.h: what device threads need around them: a region, two circuits (both the bundled mul2, so that its
 * proof is good for either), and a producer that makes slots READY. The including file has its own back end; what is
 * the same in each is here.
 */
#ifndef TESTS_GPUD_WORLD_H
#define TESTS_GPUD_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/snarkjs.h"
#include "gpud/device.h"
#include "gpud/pick.h"
#include "gpud/result.h"
#include "shm/host.h"
#include "synth/producer.h"
#include "tests/check.h"

#define CASE "tests/data/cases/mul2_bn128/"

enum { CIRCUITS = 2, DEADLINE_S = 20 };

static struct gpud_circuit circuits[GPUD_MAX_CIRCUITS];
static struct shm_region region;
static struct gpud_work work;
static struct synth_producer producer;
static struct shm_waiter *waiter;
static uint8_t *witness;
static size_t witness_bytes;
static int registered, unregistered;    /* by the back end, ranges of memory */

static void open_world(const struct krn_backend *backend, uint32_t n_devices, uint32_t n_slots) {
    struct gpud_error err;
    struct fmt_error why;
    struct shm_error shm_why;
    registered = unregistered = 0;
    char instance[SHM_INSTANCE_MAX], text[160];
    snprintf(instance, sizeof instance, "gpud_world%d", (int)getpid());
    const struct shm_class slots = {.bytes = circuits[0].place.bytes_with_c, .per_node = n_slots};
    const struct shm_spec spec = {
        .instance = instance, .n_classes = 1, .classes = &slots, .n_nodes = 1, .n_jobs = 256, .n_peers = 4,
        .n_circuits = GPUD_MAX_CIRCUITS, .result_bytes = gpud_result_bytes(circuits[0].zkey.n_public),
        .small_pages = true,
    };
    if (shm_region_create(&region, &spec, &shm_why)) {
        printf("%s\n", shm_why.text);
        exit(1);
    }
    for (int i = 0; i < CIRCUITS; i++) region.circuits[i].slot_bytes = circuits[0].place.bytes_with_c;
    CHECK(gpud_work_open(&work, &region, backend, circuits, n_devices, NULL, &err) == 0);
    CHECK(shm_waiter_open(&waiter, &region.super->bell, SHM_BACKEND_AUTO, text) == 0);
    work.own_eventfd = shm_waiter_eventfd(waiter);
    const struct synth_producer_options o = {.instance = instance, .kind = SYNTH_FOREIGN};
    if (synth_producer_join(&producer, &o, &why)) {
        printf("%s\n", why.text);
        exit(1);
    }
}

static int fake_register(struct krn_device *dev, void *base, size_t bytes) {
    (void)dev, (void)base, (void)bytes;
    registered++;
    return 0;
}

static void fake_unregister(struct krn_device *dev, void *base, size_t bytes) {
    (void)dev, (void)base, (void)bytes;
    unregistered++;
}

static const char *fake_key_form(struct krn_device *dev, const struct krn_key *key) {
    (void)dev, (void)key;
    return "made up";
}

/* Once all device threads have ended. */
static void close_world(void) {
    struct shm_error why;
    char instance[SHM_INSTANCE_MAX];
    synth_producer_leave(&producer);
    shm_waiter_close(waiter);
    gpud_work_close(&work);
    memcpy(instance, region.super->instance, sizeof instance);
    shm_region_close(&region);
    CHECK(shm_region_unlink(instance, &why) == 0);
}

/* A job, and its slot READY with the bundled witness; a and b are left as they are. */
static struct shm_job_ref add_job_of(uint32_t circuit, uint32_t priority) {
    struct shm_job_ref ref = {0};
    struct synth_work w;
    const struct shm_job_new j = {.circuit = circuit, .priority = priority, .witness = ""};
    CHECK(shm_job_add(&region, &j, shm_host_now_ns(), 0, &ref) == 0);
    CHECK(synth_producer_next(&producer, NULL, NULL, DEADLINE_S * 1000, &w) == SYNTH_GOT_WORK);
    memcpy(w.payload + circuits[0].place.w, witness, witness_bytes);
    const struct synth_filled filled = {.n_vars = circuits[0].zkey.n_vars, .n_rows = circuits[0].zkey.n_rows};
    CHECK(synth_producer_commit(&producer, &w, &filled) == 0);
    return ref;
}

static struct shm_job_ref add_job(uint32_t priority) {
    return add_job_of(0, priority);
}

/* As the daemon's loop does: passes the bell on, until the job is in that state. */
static bool reaches(struct shm_job_ref job, enum shm_job_state state) {
    uint64_t end = shm_host_now_ns() + DEADLINE_S * 1000000000ull;
    while (shm_job_state(&region, job) != state) {
        struct shm_event ev[4];
        uint32_t seen = shm_bell_read(&region.super->bell);
        gpud_work_kick(&work);
        if (shm_job_state(&region, job) == state) break;
        shm_waiter_wait(waiter, seen, 100, ev, 4);
        if (shm_host_now_ns() > end) return false;
    }
    return true;
}

static uint32_t slots_in(enum shm_slot_state state) {
    uint32_t counts[SHM_SLOT_STATES];
    shm_slot_count(&region, counts);
    return counts[state];
}

/* The thread moves a slot just after the call that we waited for. */
static bool settle_at(enum shm_slot_state state, uint32_t n) {
    uint64_t end = shm_host_now_ns() + DEADLINE_S * 1000000000ull;
    while (slots_in(state) != n)
        if (shm_host_now_ns() > end) return false;
    return true;
}

/* The circuits, and their witness's good proof. */
static void load_case(struct krn_proof *good) {
    struct gpud_error err = {""};
    struct fmt_error why = {""};
    for (int i = 0; i < CIRCUITS; i++) {
        struct gpud_circuit_spec spec = {.zkey = CASE "mul2_final.zkey"};
        snprintf(spec.name, sizeof spec.name, "mul2_%d", i);
        if (!gpud_circuit_open(&circuits[i], &spec, 1, &err)) continue;
        printf("%s\n", err.text);
        exit(1);
    }
    if (fmt_proof_read(CASE "proof.json", circuits[0].zkey.curve, good, &why)) {
        printf("%s\n", why.text);
        exit(1);
    }
    witness_bytes = (size_t)circuits[0].zkey.n_vars * KRN_FR_BYTES;
    FILE *f = fopen(CASE "mul2.wtns", "rb");
    witness = malloc(witness_bytes);
    if (!f || fseek(f, -(long)witness_bytes, SEEK_END) || fread(witness, witness_bytes, 1, f) != 1) exit(1);
    fclose(f);
}

static void unload_case(void) {
    for (int i = 0; i < CIRCUITS; i++) gpud_circuit_close(&circuits[i]);
    free(witness);
}

#endif
