#include "gpud/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpud/log.h"
#include "gpud/pin.h"
#include "gpud/prove.h"
#include "gpud/receipt.h"
#include "shm/host.h"

/* ---- start and end ---- */

static int register_region(struct gpud_device *d) {
    struct shm_region *r = d->work->region;
    uint64_t offset, bytes, start = shm_host_now_ns(), sum = 0;
    uint32_t ranges = 0;
    for (uint32_t slot = 0; slot < r->n_slots; ranges++, sum += bytes) {
        slot = gpud_pin_next(r, slot, GPUD_PIN_MAX, &offset, &bytes);
        int rc = d->work->backend->host_register(d->device, r->base + offset, bytes);
        if (rc)
            return gpud_fail(&d->error, "device %d cannot page-lock %llu MiB of the region: %s", d->index,
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

static int load_key(struct gpud_device *d, uint32_t i) {
    const struct gpud_circuit *c = &d->work->circuits[i];
    char why[KRN_ERR_TEXT] = "";
    uint64_t start = shm_host_now_ns();
    d->keys[i] = d->work->backend->key_load(d->device, &c->zkey.key, why);
    if (!d->keys[i])
        return gpud_fail(&d->error, "device %d cannot load the key of circuit %s: %s", d->index, c->spec.name, why);
    gpud_log("device %d: key of %s ready, %.3f s", d->index, c->spec.name, 1e-9 * (double)(shm_host_now_ns() - start));
    return 0;
}

static int open_device(struct gpud_device *d) {
    char why[KRN_ERR_TEXT] = "";
    uint32_t most = 0;
    d->device = d->work->backend->open(d->index, d->threads, why);
    if (!d->device) return gpud_fail(&d->error, "cannot open %s device %d: %s", d->work->backend->name, d->index, why);
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) {
        if (!d->work->circuits[i].open) continue;
        if (load_key(d, i)) return -1;
        if (d->work->circuits[i].zkey.n_public > most) most = d->work->circuits[i].zkey.n_public;
    }
    for (int i = 0; i < GPUD_DEPTH; i++) {
        d->flights[i].publics = malloc((size_t)(most + 1) * KRN_FR_BYTES);
        if (!d->flights[i].publics) return gpud_fail(&d->error, "no memory for %u public signals", most);
    }
    return d->registers ? register_region(d) : 0;
}

static void free_publics(struct gpud_device *d) {
    for (int i = 0; i < GPUD_DEPTH; i++) free(d->flights[i].publics);
}

static void close_device(struct gpud_device *d) {
    free_publics(d);
    if (!d->device) return;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (d->keys[i]) d->work->backend->key_free(d->keys[i]);
    if (d->registers) unregister_region(d);
    d->work->backend->close(d->device);
}

/* ---- one proof ---- */

/* A job that cannot be proved: its reason, then its slot. */
static void refuse(struct gpud_device *d, struct shm_job_ref job, struct shm_slot_ref slot, const char *text) {
    struct shm_region *r = d->work->region;
    gpud_log("job %llu failed: %s", (unsigned long long)shm_job_id(r, job), text);
    pthread_mutex_lock(&d->work->results);
    shm_job_fail(r, job, text);
    pthread_mutex_unlock(&d->work->results);
    shm_slot_release(r, slot);
    gpud_work_tell(d->work);
}

/* A slot whose job is over, or that is not what it says it is. A job that it should have held is an orphan then. */
static void discard(struct gpud_device *d, struct shm_slot_ref slot) {
    shm_slot_release(d->work->region, slot);
    shm_job_sweep(d->work->region, GPUD_MAX_ATTEMPTS,
                  "its slot was not the job's on any attempt: something writes astray");
    gpud_work_tell(d->work);
}

/* Binds a taken slot to its job. False: the slot was given back. */
static bool accept(struct gpud_device *d, struct gpud_flight *f) {
    struct shm_region *r = d->work->region;
    struct gpud_error err;
    bool known = shm_job_find(r, f->desc.job, &f->job) == 0 && gpud_receipt_circuit(d->work, f->job) == f->desc.circuit;
    if (!known || shm_job_proving(r, f->job)) {
        discard(d, f->slot);    /* cancelled meanwhile, as a rule */
        return false;
    }
    if (gpud_work_check(d->work, f->slot.index, &f->desc, &err)) {
        refuse(d, f->job, f->slot, err.text);
        return false;
    }
    return true;
}

/* The job's vectors go to the device. */
static void begin(struct gpud_device *d, struct gpud_flight *f) {
    struct gpud_work *w = d->work;
    const struct gpud_circuit *c = &w->circuits[f->desc.circuit];
    struct krn_vectors v = gpud_work_vectors(w, f->slot.index, &f->desc);
    struct gpud_error err;
    memcpy(f->publics, v.w + KRN_FR_BYTES, (size_t)c->zkey.n_public * KRN_FR_BYTES);
    f->proof = gpud_prove_begin(w->backend, d->keys[f->desc.circuit], c->zkey.curve, &v, w->fixed, &err);
    if (!f->proof) {
        gpud_work_fail(w, err.text);
        return;
    }
    f->uploaded = w->backend->uploaded(f->proof);
    if (f->uploaded) {
        shm_slot_uploaded(w->region, f->slot);
        gpud_work_tell(w);
    }
    d->n_flights++;
}

/* Takes the next READY slot. False: there is none. */
static bool start_next(struct gpud_device *d) {
    struct gpud_flight *f = &d->flights[d->n_flights];
    struct gpud_work *w = d->work;
    int rc = shm_slot_take(w->region, NULL, NULL, &f->slot, &f->desc);
    if (rc == -EBADMSG) {
        gpud_log("slot %u has a bad seal and goes to quarantine; it says job %llu", f->slot.index,
                 (unsigned long long)f->desc.job);
        shm_job_sweep(w->region, GPUD_MAX_ATTEMPTS, "its slot was damaged on every attempt: something writes astray");
        gpud_work_tell(w);
        return true;
    }
    if (rc) return false;
    f->taken_ns = shm_host_now_ns();
    if (accept(d, f)) begin(d, f);
    return true;
}

static double ms(uint64_t from_ns, uint64_t to_ns) {
    return to_ns > from_ns ? 1e-6 * (double)(to_ns - from_ns) : 0;
}

static uint32_t us(double seconds) {
    return (uint32_t)(seconds * 1e6);
}

static void record(struct gpud_device *d, const struct gpud_flight *f, const struct gpud_proof *p) {
    struct shm_region *r = d->work->region;
    const struct krn_times *t = &p->times;
    struct shm_job *job = &r->jobs[f->job.index];
    job->n_public = d->work->circuits[f->desc.circuit].zkey.n_public;
    job->times = (struct shm_job_times){
        .submitted_ns = job->times.submitted_ns, .synth_started_ns = f->desc.started_ns,
        .ready_ns = f->desc.committed_ns, .taken_ns = f->taken_ns, .done_ns = shm_host_now_ns(),
        .upload_us = us(t->upload), .ntt_us = us(t->ntt), .msm_a_us = us(t->msm_a), .msm_b1_us = us(t->msm_b1),
        .msm_b2_us = us(t->msm_b2), .msm_l_us = us(t->msm_l), .msm_h_us = us(t->msm_h), .finish_us = us(t->finish),
        .verify_us = us(p->verify),
    };
    gpud_receipt_write(d->work, f->job, f->desc.circuit, &p->proof, f->publics);
}

static void log_times(const struct gpud_device *d, uint64_t id, const char *circuit, const struct shm_job_times *t) {
    gpud_log("job %llu %s device %d ms: queue %.2f synthesis %.2f hand-off %.2f upload %.2f ntt %.2f A %.2f B1 %.2f "
             "B2 %.2f L %.2f H %.2f finish %.2f verify %.2f total %.2f",
             (unsigned long long)id, circuit, d->index, ms(t->submitted_ns, t->synth_started_ns),
             ms(t->synth_started_ns, t->ready_ns), ms(t->ready_ns, t->taken_ns), 1e-3 * t->upload_us, 1e-3 * t->ntt_us, 1e-3 * t->msm_a_us, 1e-3 * t->msm_b1_us, 1e-3 * t->msm_b2_us,
             1e-3 * t->msm_l_us, 1e-3 * t->msm_h_us, 1e-3 * t->finish_us, 1e-3 * t->verify_us,
             ms(t->submitted_ns, t->done_ns));
}

static void settle(struct gpud_device *d, struct gpud_flight *f, const struct gpud_proof *p) {
    struct gpud_work *w = d->work;
    uint64_t id = shm_job_id(w->region, f->job);
    pthread_mutex_lock(&w->results);
    bool live = shm_job_state(w->region, f->job) == SHM_JOB_PROVING;
    if (live) record(d, f, p);
    struct shm_job_times times = w->region->jobs[f->job.index].times;
    shm_job_settle(w->region, f->job, f->slot);
    pthread_mutex_unlock(&w->results);

    atomic_fetch_add(&d->proofs, 1);
    atomic_fetch_add(&d->busy_us, (shm_host_now_ns() - f->taken_ns) / 1000);
    if (live) log_times(d, id, w->circuits[f->desc.circuit].spec.name, &times);
    gpud_work_tell(w);
}

/* A proof that the check refuses is made once more: a bit may have flipped. Then it is the witness. */
static void doubt(struct gpud_device *d, struct gpud_flight *f) {
    struct gpud_work *w = d->work;
    struct gpud_suspect *s = &w->suspects[f->job.index];
    uint64_t id = shm_job_id(w->region, f->job), digest = gpud_work_digest(w, f->slot.index, &f->desc);
    if (s->job != id) {
        *s = (struct gpud_suspect){.job = id, .digest = digest};
        gpud_log("job %llu: its proof does not verify; once more (slot %u, digest %016llx)", (unsigned long long)id,
                 f->slot.index, (unsigned long long)digest);
        shm_job_retry(w->region, f->job, f->slot);
        gpud_work_tell(w);
        return;
    }
    const struct gpud_circuit *c = &w->circuits[f->desc.circuit];
    struct gpud_error err;
    gpud_fail(&err,
              "the proof does not verify, twice (slot %u, digest %016llx%s): the witness does not satisfy circuit %s%s",
              f->slot.index, (unsigned long long)digest,
              s->digest == digest ? "" : ", other content than the first time",
              c->spec.name, c->spec.r1cs[0] ? "" : "; register it with its .r1cs to be told the constraint");
    s->job = 0;
    refuse(d, f->job, f->slot, err.text);
}

static void conclude(struct gpud_device *d, struct gpud_flight *f, enum gpud_outcome outcome,
                     const struct gpud_proof *p) {
    struct gpud_error err;
    switch (outcome) {
    case GPUD_PROVED:
        settle(d, f, p);
        break;
    case GPUD_INVALID:
        doubt(d, f);
        break;
    case GPUD_ROW_DIFFERS:
        gpud_fail(&err, "constraint %llu is not satisfied: the c that was sent differs from a * b",
                  (unsigned long long)p->row);
        refuse(d, f->job, f->slot, err.text);
        break;
    case GPUD_BAD_PUBLIC:
        refuse(d, f->job, f->slot, "a public signal is not below the group order");
        break;
    case GPUD_DEVICE_ERROR:
        gpud_fail(&err, "%s device %d: %s", d->work->backend->name, d->index, p->text);
        gpud_work_fail(d->work, err.text);
        break;
    }
}

static void finish_oldest(struct gpud_device *d) {
    struct gpud_flight f = d->flights[0];
    struct gpud_proof p;
    const struct gpud_circuit *c = &d->work->circuits[f.desc.circuit];
    enum gpud_outcome outcome = gpud_prove_finish(d->work->backend, f.proof, &c->vk, f.publics, &p);
    conclude(d, &f, outcome, &p);
    for (unsigned i = 1; i < d->n_flights; i++) d->flights[i - 1] = d->flights[i];
    d->n_flights--;
    d->flights[d->n_flights].publics = f.publics;   /* the buffers only change places */
}

/* ---- the thread ---- */

static bool may_start(const struct gpud_device *d) {
    return d->n_flights == 0 || (d->n_flights < GPUD_DEPTH && d->flights[d->n_flights - 1].uploaded);
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

static void *run(void *arg) {
    struct gpud_device *d = arg;
    uint64_t kicks;
    if (open_device(d)) {
        close_device(d);
        atomic_store(&d->state, GPUD_DEVICE_FAILED);
        gpud_work_tell(d->work);
        return NULL;
    }
    atomic_store(&d->state, GPUD_DEVICE_READY);
    gpud_work_tell(d->work);

    while (!is_stopped(d->work, &kicks)) {
        if (may_start(d) && start_next(d)) continue;
        if (d->n_flights)
            finish_oldest(d);
        else
            wait_for_kick(d->work, kicks);
    }
    if (gpud_work_failed(d->work, NULL)) {      /* a device in doubt is left to the exit of the process */
        free_publics(d);
        return NULL;
    }
    while (d->n_flights) finish_oldest(d);
    close_device(d);
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
