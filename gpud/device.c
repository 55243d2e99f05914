#include "gpud/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpud/conclude.h"
#include "gpud/log.h"
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

static void unregister_region(struct gpud_device *d) {
    struct shm_region *r = d->work->region;
    uint64_t offset, bytes;
    for (uint32_t slot = 0; slot < r->n_slots;) {
        slot = gpud_pin_next(r, slot, GPUD_PIN_MAX, &offset, &bytes);
        d->work->backend->host_unregister(d->device, r->base + offset, bytes);
    }
}

static int load_key(struct gpud_device *d, uint32_t i, struct gpud_error *err) {
    const struct gpud_circuit *c = &d->work->circuits[i];
    char why[KRN_ERR_TEXT] = "";
    uint64_t start = shm_host_now_ns();
    if (d->work->backend->key_load(d->device, &c->zkey.key, NULL, &d->keys[i], why))
        return gpud_fail(err, "device %d cannot load the key of circuit %s: %s", d->index, c->spec.name, why);
    gpud_log("device %d: key of %s ready, %.3f s", d->index, c->spec.name, 1e-9 * (double)(shm_host_now_ns() - start));
    return 0;
}

/* Workspace for proofs of any of the circuits. */
static int plan_memory(struct gpud_device *d, struct gpud_error *err) {
    const struct krn_key *keys[GPUD_MAX_CIRCUITS];
    char why[KRN_ERR_TEXT] = "";
    unsigned n = 0;
    if (!d->work->backend->plan) return 0;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (d->work->circuits[i].open) keys[n++] = &d->work->circuits[i].zkey.key;
    if (d->work->backend->plan(d->device, keys, n, 0, why)) return gpud_fail(err, "device %d: %s", d->index, why);
    return 0;
}

static int open_device(struct gpud_device *d, struct gpud_error *err) {
    char why[KRN_ERR_TEXT] = "";
    uint32_t most = 0;
    d->device = d->work->backend->open(d->index, d->threads, why);
    if (!d->device) return gpud_fail(err, "cannot open %s device %d: %s", d->work->backend->name, d->index, why);
    if (plan_memory(d, err)) return -1;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) {
        if (!d->work->circuits[i].open) continue;
        if (load_key(d, i, err)) return -1;
        if (d->work->circuits[i].zkey.n_public > most) most = d->work->circuits[i].zkey.n_public;
    }
    if (gpud_flights_open(&d->flights, d->work, d->index, most, err)) return -1;
    return d->registers ? register_region(d, err) : 0;
}

static void close_device(struct gpud_device *d) {
    gpud_flights_close(&d->flights);
    if (!d->device) return;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (d->keys[i]) d->work->backend->key_free(d->keys[i]);
    if (d->registers) unregister_region(d);
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

/* The job's vectors go to the device. -1: the device is lost. */
static int begin(struct gpud_device *d, struct gpud_flight *f) {
    struct gpud_work *w = d->work;
    const struct gpud_circuit *c = &w->circuits[f->desc.circuit];
    struct krn_vectors v = gpud_work_vectors(w, f->slot.index, &f->desc);
    struct gpud_error err;
    memcpy(f->publics, v.w + KRN_FR_BYTES, (size_t)c->zkey.n_public * KRN_FR_BYTES);
    f->uploaded = false;
    f->proof = gpud_prove_begin(w->backend, d->keys[f->desc.circuit], c->zkey.curve, &v, w->fixed, &err);
    if (!gpud_flights_on_device(&d->flights)) d->busy_ns = f->taken_ns;
    gpud_flights_begin(&d->flights);
    if (!f->proof) {
        lose(d, err.text);
        return -1;
    }
    if (w->backend->uploaded(f->proof)) give_up_slot(d, f);
    return 0;
}

/* Takes the next READY slot. 1; 0: there is none; -1: the device is lost. */
static int start_next(struct gpud_device *d) {
    struct gpud_flight *f = gpud_flights_next(&d->flights);
    struct gpud_work *w = d->work;
    int rc = shm_slot_take(w->region, NULL, NULL, &f->slot, &f->desc);
    if (rc == -EBADMSG) {
        gpud_log("slot %u has a bad seal and goes to quarantine; it says job %llu", f->slot.index,
                 (unsigned long long)f->desc.job);
        shm_job_sweep(w->region, GPUD_MAX_ATTEMPTS, "its slot was damaged on every attempt: something writes astray");
        gpud_work_tell(w);
        return 1;
    }
    if (rc) return 0;
    f->taken_ns = shm_host_now_ns();
    return accept(d, f) && begin(d, f) ? -1 : 1;
}

/* Waits for the oldest. -1: the device is lost. */
static int finish_oldest(struct gpud_device *d) {
    struct gpud_flight *f = gpud_flights_oldest(&d->flights);
    struct gpud_shown *shown = &d->work->shown[d->index];
    f->outcome = gpud_prove_finish(d->work->backend, f->proof, &f->result);
    uint64_t now = shm_host_now_ns();
    atomic_fetch_add(&shown->busy_us, (now - d->busy_ns) / 1000);
    d->busy_ns = now;
    if (f->outcome == GPUD_DEVICE_ERROR) {
        lose(d, f->result.text);
        return -1;
    }
    if (!f->uploaded) give_up_slot(d, f);
    gpud_flights_hand_on(&d->flights);
    return 0;
}

/* ---- the thread ---- */

static bool may_start(struct gpud_device *d) {
    unsigned n = gpud_flights_on_device(&d->flights);
    if (n == 0) return true;
    return n < GPUD_DEPTH && gpud_flights_youngest(&d->flights)->uploaded && !gpud_flights_full(&d->flights);
}

static bool is_stopped(struct gpud_work *w, uint64_t *kicks) {
    pthread_mutex_lock(&w->lock);
    *kicks = w->kicks;
    bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return stop;
}

static void wait_for_kick(struct gpud_work *w, uint64_t seen) {
    pthread_mutex_lock(&w->lock);
    while (w->kicks == seen && !w->stop) pthread_cond_wait(&w->kicked, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* Proves until it is told to stop: 0. -1: the device is lost. */
static int prove(struct gpud_device *d) {
    uint64_t kicks;
    while (!is_stopped(d->work, &kicks)) {
        int started = may_start(d) ? start_next(d) : 0;
        if (started < 0) return -1;
        if (started) continue;
        if (!gpud_flights_on_device(&d->flights))
            wait_for_kick(d->work, kicks);
        else if (finish_oldest(d))
            return -1;
    }
    while (gpud_flights_on_device(&d->flights))
        if (finish_oldest(d)) return -1;
    return 0;
}

static void *run(void *arg) {
    struct gpud_device *d = arg;
    struct gpud_error err;
    if (open_device(d, &err)) {
        close_device(d);
        gpud_log("%s", err.text);
        gpud_work_lose(d->work, d->index, err.text);
        return NULL;
    }
    atomic_store(&d->work->shown[d->index].state, GPUD_DEVICE_READY);
    gpud_work_tell(d->work);
    if (prove(d) == 0)
        close_device(d);
    else
        gpud_flights_close(&d->flights);        /* a device in doubt is left to the exit of the process */
    return NULL;
}

int gpud_device_start(struct gpud_device *d, struct gpud_work *work, int index, unsigned threads, bool registers,
                      struct gpud_error *err) {
    memset(d, 0, sizeof *d);
    d->work = work;
    d->index = index;
    d->threads = threads;
    d->registers = registers && work->backend->host_register;
    int rc = pthread_create(&d->thread, NULL, run, d);
    if (rc) return gpud_fail(err, "cannot start a thread for device %d: %s", index, strerror(rc));
    d->started = true;
    return 0;
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
