#include "gpud/conclude.h"

#include "gpud/log.h"
#include "gpud/receipt.h"
#include "shm/host.h"
#include "shm/peer.h"

/* ---- jobs that do not end well ---- */

void gpud_conclude_refuse(struct gpud_work *w, struct shm_job_ref job, struct shm_slot_ref slot, const char *text) {
    struct shm_region *r = w->region;
    gpud_log("job %llu failed: %s", (unsigned long long)shm_job_id(r, job), text);
    pthread_mutex_lock(&w->results);
    shm_job_fail(r, job, text);
    pthread_mutex_unlock(&w->results);
    shm_slot_release(r, slot);
    gpud_work_tell(w);
}

void gpud_conclude_discard(struct gpud_work *w, struct shm_slot_ref slot) {
    shm_slot_release(w->region, slot);
    shm_job_sweep(w->region, GPUD_MAX_ATTEMPTS,
                  "its slot was not the job's on any attempt: something writes astray");
    gpud_work_tell(w);
}

void gpud_conclude_return(struct gpud_work *w, const struct gpud_flight *f, const char *reason) {
    struct shm_region *r = w->region;
    struct gpud_error err;
    uint32_t attempts = reason ? atomic_fetch_add(&r->jobs[f->job.index].attempts, 1) + 1 : 0;
    if (attempts >= GPUD_MAX_ATTEMPTS) {
        gpud_fail(&err, "the device failed %u times while it was being proved: %s", attempts, reason);
        gpud_conclude_refuse(w, f->job, f->slot, err.text);
        return;
    }
    uint64_t id = shm_job_id(r, f->job);
    bool kept = shm_job_retry(r, f->job, f->slot) == 0;
    gpud_log("job %llu goes back to %s", (unsigned long long)id, kept ? "the devices with its slot" : "the queue");
    gpud_work_tell(w);
}

/* ---- a good proof ---- */

static double ms(uint64_t from_ns, uint64_t to_ns) {
    return to_ns > from_ns ? 1e-6 * (double)(to_ns - from_ns) : 0;
}

static uint32_t us(double seconds) {
    return (uint32_t)(seconds * 1e6);
}

/* 0 where that worker is gone; a number that no peer can have is a stray write's. */
static uint32_t worker_pid(struct shm_region *r, uint32_t peer) {
    int pid = 0;
    if (peer < r->n_peers) shm_peer_look(r, peer, &pid);
    return (uint32_t)pid;
}

static void record(struct gpud_work *w, int device, const struct gpud_flight *f) {
    const struct krn_times *t = &f->result.times;
    struct shm_job *job = &w->region->jobs[f->job.index];
    job->n_public = w->circuits[f->desc.circuit].zkey.n_public;
    job->times = (struct shm_job_times){
        .submitted_ns = job->times.submitted_ns, .synth_started_ns = f->desc.started_ns,
        .ready_ns = f->desc.committed_ns, .taken_ns = f->taken_ns, .done_ns = shm_host_now_ns(),
        .upload_us = us(t->upload), .ntt_us = us(t->ntt), .msm_a_us = us(t->msm_a), .msm_b1_us = us(t->msm_b1),
        .msm_b2_us = us(t->msm_b2), .msm_l_us = us(t->msm_l), .msm_h_us = us(t->msm_h), .finish_us = us(t->finish),
        .verify_us = us(f->result.verify), .busy_us = us(t->busy), .slot_wait_us = f->desc.slot_wait_us,
        .upload_ns = t->upload_ns, .start_ns = t->start_ns, .verify_ns = f->result.verify_ns,
        .device = (uint32_t)device, .peer = f->desc.peer, .pid = worker_pid(w->region, f->desc.peer),
    };
    gpud_receipt_write(w, f->job, f->desc.circuit, &f->result.proof, f->publics);
}

static void log_times(int device, uint64_t id, const char *circuit, const struct shm_job_times *t) {
    gpud_log("job %llu %s device %d ms: queue %.2f synthesis %.2f hand-off %.2f upload %.2f ntt %.2f A %.2f B1 %.2f "
             "B2 %.2f L %.2f H %.2f finish %.2f verify %.2f total %.2f",
             (unsigned long long)id, circuit, device, ms(t->submitted_ns, t->synth_started_ns),
             ms(t->synth_started_ns, t->ready_ns), ms(t->ready_ns, t->taken_ns), 1e-3 * t->upload_us,
             1e-3 * t->ntt_us, 1e-3 * t->msm_a_us, 1e-3 * t->msm_b1_us, 1e-3 * t->msm_b2_us, 1e-3 * t->msm_l_us,
             1e-3 * t->msm_h_us, 1e-3 * t->finish_us, 1e-3 * t->verify_us, ms(t->submitted_ns, t->done_ns));
}

static void settle(struct gpud_work *w, int device, const struct gpud_flight *f) {
    uint64_t id = shm_job_id(w->region, f->job);
    pthread_mutex_lock(&w->results);
    bool live = shm_job_state(w->region, f->job) == SHM_JOB_PROVING;
    if (live) record(w, device, f);
    struct shm_job_times times = w->region->jobs[f->job.index].times;
    shm_job_settle(w->region, f->job, f->slot);
    pthread_mutex_unlock(&w->results);

    atomic_fetch_add(&w->shown[device].proofs, 1);
    if (live) log_times(device, id, w->circuits[f->desc.circuit].spec.name, &times);
    gpud_work_tell(w);
}

/* ---- the others ---- */

/* A proof that the check refuses is made once more: a bit may have flipped. Then it is the witness. */
static void doubt(struct gpud_work *w, const struct gpud_flight *f) {
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
    gpud_conclude_refuse(w, f->job, f->slot, err.text);
}

void gpud_conclude(struct gpud_work *w, int device, struct gpud_flight *f) {
    struct gpud_error err;
    if (f->outcome == GPUD_COMPUTED)
        f->outcome = gpud_prove_verify(&w->circuits[f->desc.circuit].vk, f->publics, &f->result);
    switch (f->outcome) {
    case GPUD_PROVED: settle(w, device, f); break;
    case GPUD_INVALID: doubt(w, f); break;
    case GPUD_ROW_DIFFERS:
        gpud_fail(&err, "constraint %llu is not satisfied: the c that was sent differs from a * b",
                  (unsigned long long)f->result.row);
        gpud_conclude_refuse(w, f->job, f->slot, err.text);
        break;
    case GPUD_BAD_PUBLIC:
        gpud_conclude_refuse(w, f->job, f->slot, "a public signal is not below the group order");
        break;
    case GPUD_COMPUTED:         /* verified above */
    case GPUD_DEVICE_ERROR:     /* gpud_conclude_return has seen to it */
        break;
    }
}
