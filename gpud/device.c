#include "gpud/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpud/conclude.h"
#include "gpud/log.h"
#include "gpud/pick.h"
#include "gpud/pin.h"
#include "gpud/receipt.h"
#include "shm/host.h"

/* ---- start and end ---- */

static int register_region(struct gpud_device *d, struct gpud_error *err) {
    struct shm_region *r = d->work->region;
    uint64_t offset, bytes, start = shm_host_now_ns(), sum = 0;
    uint32_t ranges = 0;
    for (uint32_t slot = 0; slot < r->n_slots; ranges++, sum += bytes) {
        slot = gpud_pin_next(r, slot, GPUD_PIN_MAX, &offset, &bytes);
        int rc = d->work->backend->host_register(d->device, r->base + offset, bytes);
        if (rc)
            return gpud_fail(err, "device %d cannot page-lock %llu MiB of the region: %s", d->index,
                             (unsigned long long)bytes >> 20, strerror(-rc));
    }
    gpud_log("device %d: registered %llu MiB of slots in %u ranges, %.3f s", d->index, (unsigned long long)sum >> 20,
             ranges, 1e-9 * (double)(shm_host_now_ns() - start));
    return 0;
}

/* One registers for all; the others wait until it has. */
static int register_once(struct gpud_device *d, struct gpud_error *err) {
    struct gpud_work *w = d->work;
    pthread_mutex_lock(&w->registering);
    int rc = w->registered ? 0 : register_region(d, err);
    d->has_registered = !w->registered && rc == 0;
    w->registered |= d->has_registered;
    pthread_mutex_unlock(&w->registering);
    return rc;
}

/* Once no other device uploads from it. */
static void unregister_region(struct gpud_device *d) {
    struct shm_region *r = d->work->region;
    uint64_t offset, bytes;
    gpud_work_outlive(d->work);
    for (uint32_t slot = 0; slot < r->n_slots;) {
        slot = gpud_pin_next(r, slot, GPUD_PIN_MAX, &offset, &bytes);
        d->work->backend->host_unregister(d->device, r->base + offset, bytes);
    }
}

static uint32_t most_publics(const struct gpud_work *w) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (w->circuits[i].open && w->circuits[i].zkey.n_public > most) most = w->circuits[i].zkey.n_public;
    return most;
}

static bool has_slots(const struct shm_region *r, int node) {
    for (uint32_t i = 0; i < r->n_slots; i++)
        if (r->slot_node[i] == (uint32_t)node) return true;
    return false;
}

/* This thread, and those that it starts, go to the CPUs of the device's node. Where no slots lie there all are
 * alike. */
static void pin(struct gpud_device *d) {
    const struct krn_backend *backend = d->work->backend;
    int node = backend->node ? backend->node(d->index) : -1;
    atomic_store(&d->work->shown[d->index].node, has_slots(d->work->region, node) ? node : -1);
    if (node < 0) return;
    int rc = shm_host_pin(node);
    gpud_log("device %d: on node %d%s%s", d->index, node, rc ? ", to whose CPUs its thread cannot go: " : "",
             rc ? strerror(-rc) : "");
}

static int open_device(struct gpud_device *d, struct gpud_error *err) {
    const struct krn_backend *backend = d->work->backend;
    char why[KRN_ERR_TEXT] = "";
    pin(d);
    if (d->work->fault.opening) return gpud_fail(err, "device %d was told to fail (PINWHEEL_TEST_FAULT)", d->index);
    d->device = backend->open(d->index, d->threads, why);
    if (!d->device) return gpud_fail(err, "cannot open %s device %d: %s", backend->name, d->index, why);
    if (gpud_keys_open(&d->keys, d->work, d->device, d->index, d->work->gpu_memory, err) ||
        gpud_keys_load_all(&d->keys, err) ||
        gpud_flights_open(&d->flights, d->work, d->index, most_publics(d->work), err))
        return -1;
    d->depth = backend->depth(d->device) < GPUD_DEPTH ? backend->depth(d->device) : GPUD_DEPTH;
    return d->registers ? register_once(d, err) : 0;
}

static void close_device(struct gpud_device *d) {
    gpud_flights_close(&d->flights);
    if (!d->device) return;
    gpud_keys_close(&d->keys);
    if (d->has_registered) unregister_region(d);
    d->work->backend->close(d->device);
}

/* ---- one proof ---- */

/* Binds a taken slot to its job. False: the slot was given back. */
static bool accept(struct gpud_device *d, struct gpud_flight *f) {
    struct gpud_work *w = d->work;
    struct gpud_error err;
    bool known = shm_job_find(w->region, f->desc.job, &f->job) == 0 &&
                 gpud_receipt_circuit(w, f->job) == f->desc.circuit;
    if (!known || shm_job_proving(w->region, f->job)) {
        gpud_conclude_discard(w, f->slot);      /* cancelled meanwhile, as a rule */
        return false;
    }
    if (gpud_work_check(w, f->slot.index, &f->desc, &err)) {
        gpud_conclude_refuse(w, f->job, f->slot, err.text);
        return false;
    }
    f->alone = atomic_load(&w->region->jobs[f->job.index].attempts) > 0;
    return true;
}

/* The device needs the slot's content no more: a worker may have it where no other is free. */
static void give_up_slot(struct gpud_device *d, struct gpud_flight *f) {
    f->uploaded = true;
    shm_slot_uploaded(d->work->region, f->slot);
    gpud_work_tell(d->work);
}

/* The device failed: its proofs go back, and it is not touched again. */
static void lose(struct gpud_device *d, const char *why) {
    struct gpud_error err;
    gpud_fail(&err, "%s device %d: %s", d->work->backend->name, d->index, why);
    gpud_log("%s: it is not used any more", err.text);
    for (; gpud_flights_on_device(&d->flights); gpud_flights_hand_on(&d->flights)) {
        struct gpud_flight *f = gpud_flights_oldest(&d->flights);
        f->outcome = GPUD_DEVICE_ERROR;
        gpud_conclude_return(d->work, f, why);
    }
    gpud_work_lose(d->work, d->index, err.text);
}

static enum gpud_outcome finish(struct gpud_work *w, struct gpud_flight *f) {
    enum gpud_outcome outcome = gpud_prove_finish(w->backend, f->proof, &f->result);
    if (!gpud_fault_due(&w->fault, w->circuits[f->desc.circuit].spec.name)) return outcome;
    strcpy(f->result.text, "it was told to fail (PINWHEEL_TEST_FAULT)");
    return GPUD_DEVICE_ERROR;
}

/* Waits for the oldest. -1: the device is lost. */
static int finish_oldest(struct gpud_device *d) {
    struct gpud_flight *f = gpud_flights_oldest(&d->flights);
    struct gpud_shown *shown = &d->work->shown[d->index];
    f->outcome = finish(d->work, f);
    uint64_t now = shm_host_now_ns();
    atomic_fetch_add(&shown->busy_us, (now - d->busy_ns) / 1000);
    d->busy_ns = d->idle_ns = now;
    if (f->outcome == GPUD_DEVICE_ERROR) {
        lose(d, f->result.text);
        return -1;
    }
    gpud_keys_put(&d->keys, f->desc.circuit);
    if (!f->uploaded) give_up_slot(d, f);
    gpud_flights_hand_on(&d->flights);
    return 0;
}

/* The key of a taken slot, for which proofs may have to end first and other keys to go. 1; 0: the job was refused; -1:
 * the device is lost, and the flight is one of those that went back. */
static int fetch_key(struct gpud_device *d, struct gpud_flight *f, struct krn_dev_key **key) {
    struct gpud_error err;
    for (;;) {
        bool wait = f->alone && gpud_flights_on_device(&d->flights);
        int rc = wait ? -EBUSY : gpud_keys_take(&d->keys, f->desc.circuit, key, &err);
        if (rc == 0) return 1;
        if (rc == -ENODEV) {
            gpud_flights_begin(&d->flights);
            lose(d, err.text);
            return -1;
        }
        if (rc != -EBUSY) {
            gpud_conclude_refuse(d->work, f->job, f->slot, err.text);
            return 0;
        }
        if (finish_oldest(d) == 0) continue;
        gpud_conclude_return(d->work, f, NULL);
        return -1;
    }
}

/* The job's vectors go to the device. -1: the device is lost. */
static int begin(struct gpud_device *d, struct gpud_flight *f, struct krn_dev_key *key) {
    struct gpud_work *w = d->work;
    const struct gpud_circuit *c = &w->circuits[f->desc.circuit];
    struct krn_vectors v = gpud_work_vectors(w, f->slot.index, &f->desc);
    struct gpud_error err;
    memcpy(f->publics, v.w + KRN_FR_BYTES, (size_t)c->zkey.n_public * KRN_FR_BYTES);
    f->uploaded = false;
    f->proof = gpud_prove_begin(w->backend, key, c->zkey.curve, &v, w->fixed, &err);
    if (!gpud_flights_on_device(&d->flights)) d->busy_ns = f->taken_ns;
    gpud_flights_begin(&d->flights);
    if (!f->proof) {
        lose(d, err.text);
        return -1;
    }
    if (w->backend->uploaded(f->proof)) give_up_slot(d, f);
    return 0;
}

/* Keys on the devices besides this one; `idle`: on those of them that are idle. */
static uint64_t keys_elsewhere(const struct gpud_device *d, bool idle) {
    uint64_t keys = 0;
    for (int i = 0; i < GPUD_MAX_DEVICES; i++) {
        const struct gpud_shown *other = &d->work->shown[i];
        if (i != d->index && (!idle || atomic_load(&other->idle))) keys |= atomic_load(&other->loaded);
    }
    return keys;
}

static uint64_t keys_with_room(const struct gpud_device *d) {
    uint64_t keys = 0;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) keys |= (uint64_t)gpud_keys_has_room(&d->keys, i) << i;
    return keys;
}

/* Takes a READY slot. 0, or as gpud_pick_take. */
static int take_slot(struct gpud_device *d, struct gpud_flight *f, uint64_t *again_ns) {
    struct gpud_shown *shown = &d->work->shown[d->index];
    const struct gpud_pick pick = {
        .region = d->work->region, .node = atomic_load(&shown->node), .has = atomic_load(&shown->loaded),
        .has_room = keys_with_room(d), .elsewhere = keys_elsewhere(d, false), .idle = keys_elsewhere(d, true),
        .busy = gpud_flights_on_device(&d->flights) > 0,
        .now_ns = shm_host_now_ns(), .idle_ns = d->idle_ns, .load_ns = d->keys.load_ns,
    };
    bool far = false;
    int rc = gpud_pick_take(d->work->region, &pick, &f->slot, &f->desc, &far, again_ns);
    if (rc == 0) atomic_store(&shown->idle, false);
    if (rc == 0 && far) atomic_fetch_add(&shown->far_slots, 1);
    return rc;
}

/* Takes the next READY slot and begins its proof. 1; 0: there is none, but at *again_ns there may be without that
 * anybody kicks; -1: the device is lost. */
static int start_next(struct gpud_device *d, uint64_t *again_ns) {
    struct gpud_flight *f = gpud_flights_next(&d->flights);
    struct gpud_work *w = d->work;
    struct krn_dev_key *key;
    int rc = take_slot(d, f, again_ns);
    if (rc == -EBADMSG) {
        gpud_log("slot %u has a bad seal and goes to quarantine; it says job %llu", f->slot.index,
                 (unsigned long long)f->desc.job);
        shm_job_sweep(w->region, GPUD_MAX_ATTEMPTS, "its slot was damaged on every attempt: something writes astray");
        gpud_work_tell(w);
        return 1;
    }
    if (rc) return 0;
    f->taken_ns = shm_host_now_ns();
    if (!accept(d, f)) return 1;
    rc = fetch_key(d, f, &key);
    if (rc <= 0) return rc ? -1 : 1;
    return begin(d, f, key) ? -1 : 1;
}

/* ---- the thread ---- */

static bool may_start(struct gpud_device *d) {
    unsigned n = gpud_flights_on_device(&d->flights);
    if (n == 0) return true;
    const struct gpud_flight *last = gpud_flights_youngest(&d->flights);
    return n < d->depth && last->uploaded && !last->alone && !gpud_flights_full(&d->flights);
}

static bool is_stopped(struct gpud_work *w, uint64_t *kicks) {
    pthread_mutex_lock(&w->lock);
    *kicks = w->kicks;
    bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return stop;
}

/* Waits until somebody kicks; until_ns (UINT64_MAX: never): and no longer than until then. */
static void wait_for_kick(struct gpud_work *w, uint64_t seen, uint64_t until_ns) {
    const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    int rc = 0;
    pthread_mutex_lock(&w->lock);
    while (w->kicks == seen && !w->stop && rc == 0)
        rc = until_ns == UINT64_MAX ? pthread_cond_wait(&w->kicked, &w->lock)
                                    : pthread_cond_clockwait(&w->kicked, &w->lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&w->lock);
}

/* Proves until it is told to stop: 0. -1: the device is lost. */
static int prove(struct gpud_device *d) {
    uint64_t kicks;
    while (!is_stopped(d->work, &kicks)) {
        uint64_t again_ns = UINT64_MAX;
        atomic_store(&d->work->shown[d->index].idle, !gpud_flights_on_device(&d->flights));
        int started = may_start(d) ? start_next(d, &again_ns) : 0;
        if (started < 0) return -1;
        if (started) continue;
        if (!gpud_flights_on_device(&d->flights))
            wait_for_kick(d->work, kicks, again_ns);
        else if (finish_oldest(d))
            return -1;
    }
    while (gpud_flights_on_device(&d->flights))
        if (finish_oldest(d)) return -1;
    return 0;
}

static void live(struct gpud_device *d) {
    struct gpud_error err;
    if (open_device(d, &err)) {
        close_device(d);
        gpud_log("%s", err.text);
        gpud_work_lose(d->work, d->index, err.text);
        return;
    }
    d->idle_ns = shm_host_now_ns();
    atomic_store(&d->work->shown[d->index].state, GPUD_DEVICE_READY);
    gpud_work_tell(d->work);
    if (prove(d) == 0) {
        close_device(d);
    } else {                        /* in doubt: it is left to the exit of the process */
        gpud_flights_close(&d->flights);
        gpud_keys_abandon(&d->keys);
    }
}

static void *run(void *arg) {
    struct gpud_device *d = arg;
    live(d);
    gpud_work_leave(d->work);
    return NULL;
}

int gpud_device_start(struct gpud_device *d, struct gpud_work *work, int index, unsigned threads, bool registers,
                      struct gpud_error *err) {
    memset(d, 0, sizeof *d);
    d->work = work;
    d->index = index;
    d->threads = threads;
    d->registers = registers && work->backend->host_register;
    gpud_work_enter(work);
    int rc = pthread_create(&d->thread, NULL, run, d);
    d->started = rc == 0;
    if (rc == 0) return 0;
    gpud_work_leave(work);
    return gpud_fail(err, "cannot start a thread for device %d: %s", index, strerror(rc));
}

bool gpud_device_join(struct gpud_device *d, int timeout_ms) {
    if (!d->started) return true;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_timedjoin_np(d->thread, NULL, &until)) return false;
    d->started = false;
    return true;
}
