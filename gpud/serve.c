#include "gpud/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/snarkjs.h"
#include "gpud/log.h"
#include "gpud/receipt.h"
#include "gpud/status.h"
#include "shm/job.h"

static const char *const state_names[SHM_JOB_STATES] = {
    [SHM_JOB_FREE] = "gone",         [SHM_JOB_FILLING] = "queued", [SHM_JOB_QUEUED] = "queued",
    [SHM_JOB_SYNTHESIS] = "synthesis", [SHM_JOB_PROVING] = "proving", [SHM_JOB_DONE] = "done",
    [SHM_JOB_FAILED] = "failed",     [SHM_JOB_CANCELLED] = "cancelled", [SHM_JOB_FAILING] = "failing",
};

/* ---- submit ---- */

static int find_circuit(const struct gpud_daemon *d, const char *name) {
    for (int i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (d->circuits[i].open && strcmp(d->circuits[i].spec.name, name) == 0) return i;
    return -1;
}

static void submit(struct gpud_daemon *d, struct gpud_conn *c, const struct gpud_request *req) {
    int circuit = find_circuit(d, req->circuit);
    if (circuit < 0) {
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_UNKNOWN, "circuit '%s' is not registered", req->circuit);
        return;
    }
    char owner[SHM_JOB_OWNER_MAX] = "";
    if (req->peer != SHM_NOBODY) {
        if (!gpud_workers_is(&d->workers, req->peer, c->pid)) {
            gpud_sock_refuse(&d->sock, c, GPUD_CODE_UNKNOWN, "process %d is not peer %u", c->pid, req->peer);
            return;
        }
        shm_job_owner_text(owner, req->peer);
    }
    struct shm_job_new job = {
        .circuit = (uint32_t)circuit, .priority = req->priority, .uid = c->uid,
        .witness = owner[0] ? owner : req->witness,
    };
    struct shm_job_ref ref;
    int rc = shm_job_add(&d->region, &job, shm_host_now_ns(), GPUD_KEEP_NS, &ref);
    if (rc) {
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_BUSY, "the job table is full: %u jobs are waiting or unfetched",
                         d->region.n_jobs);
        return;
    }
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_int(j, "id", (int64_t)shm_job_id(&d->region, ref));
    gpud_receipt_open(&d->work, ref, job.circuit);
    gpud_sock_reply(&d->sock, c, j, -1);
    gpud_workers_ring(&d->workers);
}

/* ---- wait ---- */

struct named {
    const char *name;
    uint64_t value;
};

static struct fmt_json *numbers_json(const struct named *fields, size_t n) {
    struct fmt_json *j = fmt_json_object();
    for (size_t i = 0; i < n; i++) fmt_json_set_count(j, fields[i].name, fields[i].value);
    return j;
}

/* Where a job's time went, microseconds. */
static struct fmt_json *times_json(const struct shm_job_times *t) {
    const struct named fields[] = {
        {"queue", (t->synth_started_ns - t->submitted_ns) / 1000},
        {"synthesis", (t->ready_ns - t->synth_started_ns) / 1000},
        {"hand_off", (t->taken_ns - t->ready_ns) / 1000},
        {"upload", t->upload_us},
        {"ntt", t->ntt_us},
        {"msm_a", t->msm_a_us},
        {"msm_b1", t->msm_b1_us},
        {"msm_b2", t->msm_b2_us},
        {"msm_l", t->msm_l_us},
        {"msm_h", t->msm_h_us},
        {"finish", t->finish_us},
        {"verify", t->verify_us},
        {"total", (t->done_ns - t->submitted_ns) / 1000},
        {"slot_wait", t->slot_wait_us},
        {"busy", t->busy_us},
    };
    return numbers_json(fields, sizeof fields / sizeof fields[0]);
}

/* When things happened, nanoseconds of CLOCK_MONOTONIC; 0: no such step, or not known. */
static struct fmt_json *moments_json(const struct shm_job_times *t) {
    const struct named fields[] = {
        {"submitted", t->submitted_ns}, {"synthesis", t->synth_started_ns}, {"ready", t->ready_ns},
        {"taken", t->taken_ns},         {"upload", t->upload_ns},           {"compute", t->start_ns},
        {"verify", t->verify_ns},       {"done", t->done_ns},
    };
    return numbers_json(fields, sizeof fields / sizeof fields[0]);
}

static struct fmt_json *where_json(const struct shm_job_times *t) {
    const struct named fields[] = {{"device", t->device}, {"peer", t->peer}, {"pid", t->pid}};
    return numbers_json(fields, sizeof fields / sizeof fields[0]);
}

static struct fmt_json *done_json(const struct gpud_daemon *d, uint64_t id, const struct gpud_result *result,
                                  const struct shm_job_times *times) {
    const struct gpud_circuit *c = &d->circuits[result->circuit];
    struct fmt_json *j = fmt_json_object();
    int rc = fmt_json_set_int(j, "id", (int64_t)id) | fmt_json_set_string(j, "state", "done") |
             fmt_json_set_string(j, "circuit", c->spec.name) |
             fmt_json_set_string(j, "curve", c->zkey.curve->snarkjs_name) |
             fmt_json_set(j, "proof", fmt_json_from_proof(c->zkey.curve, &result->proof)) |
             fmt_json_set(j, "public", fmt_json_from_public(result->publics, c->zkey.n_public)) |
             fmt_json_set(j, "times_us", times_json(times)) | fmt_json_set(j, "at_ns", moments_json(times)) |
             fmt_json_set(j, "by", where_json(times));
    if (rc == 0) return j;
    fmt_json_free(j);
    return NULL;
}

static void deliver(struct gpud_daemon *d, struct gpud_conn *c, uint64_t id, struct shm_job_ref ref) {
    struct gpud_result result;
    struct gpud_error err;
    struct shm_job_times times = d->region.jobs[ref.index].times;
    if (gpud_receipt_read(&d->work, ref, &result, &err)) {
        gpud_log("job %llu is not released: %s", (unsigned long long)id, err.text);
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_FAILED, "job %llu: %s", (unsigned long long)id, err.text);
        return;
    }
    gpud_sock_reply(&d->sock, c, done_json(d, id, &result, &times), -1);
    free(result.publics);
}

/* The text of a failed job, ended within its field whatever wrote there. */
static void refuse_failed(struct gpud_daemon *d, struct gpud_conn *c, uint64_t id, const struct shm_job *job) {
    char text[SHM_ERROR_MAX];
    memcpy(text, job->error, sizeof text);
    text[sizeof text - 1] = 0;
    gpud_sock_refuse(&d->sock, c, GPUD_CODE_FAILED, "job %llu: %s", (unsigned long long)id, text);
}

/* Answers if the job has ended (or at once, if asked). False: the client waits on. */
static bool answer(struct gpud_daemon *d, struct gpud_conn *c, bool at_once) {
    struct shm_job_ref ref;
    uint64_t id = c->wait_id;
    enum shm_job_state state = shm_job_find(&d->region, id, &ref) ? SHM_JOB_FREE : shm_job_state(&d->region, ref);
    struct shm_job *job = state == SHM_JOB_FREE ? NULL : &d->region.jobs[ref.index];
    struct fmt_json *j;
    switch (state) {
    case SHM_JOB_FREE:
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_UNKNOWN, "job %llu is not known (any more)", (unsigned long long)id);
        return true;
    case SHM_JOB_FAILED:
        atomic_store(&job->fetched, 1);
        refuse_failed(d, c, id, job);
        return true;
    case SHM_JOB_CANCELLED:
        atomic_store(&job->fetched, 1);
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_CANCELLED, "job %llu was cancelled", (unsigned long long)id);
        return true;
    case SHM_JOB_DONE:
        atomic_store(&job->fetched, 1);
        deliver(d, c, id, ref);
        return true;
    default:
        if (!at_once) return false;
        j = fmt_json_object();
        fmt_json_set_int(j, "id", (int64_t)id);
        fmt_json_set_string(j, "state", state_names[state]);
        gpud_sock_reply(&d->sock, c, j, -1);
        return true;
    }
}

static void wait_for(struct gpud_daemon *d, struct gpud_conn *c, const struct gpud_request *req) {
    c->wait_id = req->id;
    c->wait_until_ns = req->timeout_ms < 0 ? UINT64_MAX : shm_host_now_ns() + (uint64_t)req->timeout_ms * 1000000;
    c->waiting = true;
    answer(d, c, req->timeout_ms == 0);
}

uint64_t gpud_serve_waiting(struct gpud_daemon *d, uint64_t now_ns) {
    uint64_t again = UINT64_MAX;
    for (int i = 0; i < GPUD_CONNECTIONS; i++) {
        struct gpud_conn *c = &d->sock.conns[i];
        if (c->fd < 0 || !c->waiting) continue;
        if (!answer(d, c, c->wait_until_ns <= now_ns) && c->wait_until_ns < again) again = c->wait_until_ns;
    }
    return again;
}

void gpud_serve_farewell(struct gpud_daemon *d) {
    for (int i = 0; i < GPUD_CONNECTIONS; i++) {
        struct gpud_conn *c = &d->sock.conns[i];
        if (c->fd >= 0 && c->waiting)
            gpud_sock_refuse(&d->sock, c, GPUD_CODE_STOPPING, "the service stops; job %llu is lost",
                             (unsigned long long)c->wait_id);
    }
}

/* ---- the others ---- */

static void cancel(struct gpud_daemon *d, struct gpud_conn *c, const struct gpud_request *req) {
    struct shm_job_ref ref;
    if (shm_job_find(&d->region, req->id, &ref)) {
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_UNKNOWN, "job %llu is not known (any more)",
                         (unsigned long long)req->id);
        return;
    }
    pthread_mutex_lock(&d->work.results);
    int rc = shm_job_cancel(&d->region, ref);
    pthread_mutex_unlock(&d->work.results);
    enum shm_job_state state = shm_job_state(&d->region, ref);
    if (rc && state != SHM_JOB_CANCELLED) {
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_FAILED, "job %llu cannot be cancelled: it is %s",
                         (unsigned long long)req->id, state_names[state]);
        return;
    }
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_int(j, "id", (int64_t)req->id);
    fmt_json_set_string(j, "state", "cancelled");
    gpud_sock_reply(&d->sock, c, j, -1);
}

static void stop(struct gpud_daemon *d, struct gpud_conn *c) {
    gpud_log("client (pid %d) asks to stop", c->pid);
    d->stopping = true;
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_bool(j, "stopping", true);
    gpud_sock_reply(&d->sock, c, j, -1);
}

static void hello(struct gpud_daemon *d, struct gpud_conn *c, const struct gpud_request *req) {
    int eventfd = c->passed_fd;
    c->passed_fd = -1;
    if (gpud_workers_hello(&d->workers, req->peer, c->pid, eventfd)) {
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_UNKNOWN, "process %d is not peer %u", c->pid, req->peer);
        return;
    }
    c->keep = true;
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_int(j, "peer", req->peer);
    gpud_sock_reply(&d->sock, c, j, shm_waiter_eventfd(d->waiter));
}

void gpud_serve_request(void *ctx, struct gpud_conn *c, const struct gpud_request *req) {
    struct gpud_daemon *d = ctx;
    if (d->stopping && req->type != GPUD_STATUS && req->type != GPUD_STOP) {
        gpud_sock_refuse(&d->sock, c, GPUD_CODE_STOPPING, "the service stops");
        return;
    }
    switch (req->type) {
    case GPUD_SUBMIT: submit(d, c, req); break;
    case GPUD_WAIT: wait_for(d, c, req); break;
    case GPUD_CANCEL: cancel(d, c, req); break;
    case GPUD_STATUS: gpud_sock_reply(&d->sock, c, gpud_status(d), -1); break;
    case GPUD_STOP: stop(d, c); break;
    case GPUD_HELLO: hello(d, c, req); break;
    }
}
