/* The device thread against a back end that does as it is told: the order of begin and finish, the overlap,
 * priorities, what becomes of slots and jobs when a proof is wrong, a row differs, the device fails or a job is
 * cancelled. The back end's good proofs are snarkjs's, so that they pass the check that every proof must pass.
 * RUN_TSAN */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpud/receipt.h"
#include "synth/eval.h"
#include "tests/gpud_world.h"

enum { SLOTS = 6, MAX_CALLS = 64 };

/* Every allocation of the process is counted (not under sanitizers, whose own malloc it is). */
static _Atomic unsigned long allocations;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *malloc(size_t n) {
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(p, n);
}
#endif

/* ---- the back end ---- */

struct krn_job {
    int number;     /* of its begin */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool uploads;                       /* what uploaded() returns */
    int finish_allowed;                 /* finishes that may go on; -1: all */
    enum krn_result result[MAX_CALLS];  /* of each begin; KRN_INVALID: a proof that does not verify */
    int error_at;                       /* begin whose finish fails with an error; -1: none */
    struct krn_proof good;
    const uint8_t *w[MAX_CALLS];        /* of each begin: which slot */
    char calls[4 * MAX_CALLS];          /* "b0 b1 f0 ..." */
    int begun;
    struct krn_job jobs[MAX_CALLS];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .finish_allowed = -1, .error_at = -1};

static void note(char what, int number) {
    size_t n = strlen(fake.calls);
    snprintf(fake.calls + n, sizeof fake.calls - n, "%c%d ", what, number);
    pthread_cond_broadcast(&fake.changed);
}

static int fake_count(char err[KRN_ERR_TEXT]) {
    (void)err;
    return 1;
}
static struct krn_device *fake_open(int index, unsigned threads, char err[KRN_ERR_TEXT]) {
    (void)index, (void)threads, (void)err;
    return (struct krn_device *)&fake;
}
static void fake_close(struct krn_device *dev) {
    (void)dev;
}
static int fake_key_load(struct krn_device *dev, const struct krn_key *key, const struct krn_source *source,
                         struct krn_dev_key **loaded, char err[KRN_ERR_TEXT]) {
    (void)dev, (void)key, (void)source, (void)err;
    *loaded = (struct krn_dev_key *)&fake;
    return 0;
}
static void fake_key_free(struct krn_dev_key *key) {
    (void)key;
}
static int fake_begin(struct krn_dev_key *key, const struct krn_vectors *v, const uint8_t r[KRN_FR_BYTES],
                      const uint8_t s[KRN_FR_BYTES], struct krn_job **job, char err[KRN_ERR_TEXT]) {
    (void)key, (void)r, (void)s, (void)err;
    pthread_mutex_lock(&fake.lock);
    int n = fake.begun++;
    fake.jobs[n].number = n;
    fake.w[n] = v->w;
    note('b', n);
    pthread_mutex_unlock(&fake.lock);
    *job = &fake.jobs[n];
    return 0;
}
static int fake_uploaded(struct krn_job *job) {
    (void)job;
    return fake.uploads;
}
static int fake_finish(struct krn_job *job, struct krn_proof *proof, struct krn_times *times, uint64_t *row,
                       char err[KRN_ERR_TEXT]) {
    pthread_mutex_lock(&fake.lock);
    while (fake.finish_allowed == 0) pthread_cond_wait(&fake.changed, &fake.lock);
    if (fake.finish_allowed > 0) fake.finish_allowed--;
    note('f', job->number);
    enum krn_result result = fake.result[job->number];
    bool error = job->number == fake.error_at;
    pthread_mutex_unlock(&fake.lock);
    *proof = fake.good;
    memset(times, 0, sizeof *times);
    *row = 17;
    if (error) {
        snprintf(err, KRN_ERR_TEXT, "the fake is broken");
        return -5;
    }
    if (result == KRN_BAD_SCALAR) return -ERANGE;
    if (result == KRN_INVALID) memcpy(proof->c, proof->a, sizeof proof->c);
    return result == KRN_ROW_DIFFERS ? KRN_ROW_DIFFERS : KRN_OK;
}

static uint64_t fake_key_bytes(struct krn_device *dev, const struct krn_key *key) {
    (void)dev, (void)key;
    return 0;
}
static void fake_memory(struct krn_device *dev, struct krn_memory *m) {
    (void)dev;
    memset(m, 0, sizeof *m);
}
static unsigned fake_depth(struct krn_device *dev) {
    (void)dev;
    return 8;
}

static const struct krn_backend backend = {
    .name = "fake", .count = fake_count, .open = fake_open, .close = fake_close, .key_load = fake_key_load,
    .key_free = fake_key_free, .host_register = fake_register, .host_unregister = fake_unregister, .begin = fake_begin,
    .uploaded = fake_uploaded, .finish = fake_finish, .key_bytes = fake_key_bytes, .key_form = fake_key_form,
    .memory = fake_memory, .depth = fake_depth,
};

/* ---- the world around it ---- */

static struct gpud_device device;

static void make_world_on(const struct krn_backend *with, bool uploads) {
    open_world(with, 1, SLOTS);
    fake.uploads = uploads;
    fake.finish_allowed = -1;
    fake.error_at = -1;
    fake.begun = 0;
    fake.calls[0] = 0;
    memset(fake.result, 0, sizeof fake.result);
}

static void make_world(bool uploads) {
    make_world_on(&backend, uploads);
}

static void start(void) {
    struct gpud_error err;
    CHECK(gpud_device_start(&device, &work, 0, 1, true, &err) == 0);
}

static void end_world(void) {
    gpud_work_stop(&work);
    CHECK(gpud_device_join(&device, DEADLINE_S * 1000));
    close_world();
}

static void allow_finishes(int n) {
    pthread_mutex_lock(&fake.lock);
    fake.finish_allowed = n;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

static void wait_for_calls(const char *calls) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += DEADLINE_S;
    pthread_mutex_lock(&fake.lock);
    while (strcmp(fake.calls, calls) != 0)
        if (pthread_cond_timedwait(&fake.changed, &fake.lock, &end)) break;
    if (strcmp(fake.calls, calls) != 0) {
        printf("calls '%s', wanted '%s'\n", fake.calls, calls);
        failures++;
    }
    pthread_mutex_unlock(&fake.lock);
}

/* ---- tests ---- */

static void check_result(struct shm_job_ref job) {
    CHECK(memcmp(shm_region_result(&region, job.index), &fake.good, sizeof fake.good) == 0);
    CHECK(memcmp(gpud_result_publics(&region, job.index), witness + KRN_FR_BYTES, KRN_FR_BYTES) == 0);
    const struct shm_job_times *t = &region.jobs[job.index].times;
    CHECK(t->submitted_ns <= t->synth_started_ns && t->synth_started_ns <= t->ready_ns && t->ready_ns <= t->taken_ns &&
          t->taken_ns <= t->verify_ns && t->verify_ns <= t->done_ns);
}

/* The upload of the next proof runs while the last one computes: begin(k+1) before finish(k), and never three at
 * once. */
static void test_overlap(void) {
    struct shm_job_ref jobs[4];
    make_world(true);
    allow_finishes(0);
    for (int i = 0; i < 4; i++) jobs[i] = add_job(1);
    start();
    wait_for_calls("b0 b1 ");
    CHECK(settle_at(SHM_SLOT_UPLOADED, 2) && slots_in(SHM_SLOT_READY) == 2);
    allow_finishes(-1);
    for (int i = 0; i < 4; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    wait_for_calls("b0 b1 f0 b2 f1 b3 f2 f3 ");
    for (int i = 0; i < 4; i++) check_result(jobs[i]);
    CHECK(settle_at(SHM_SLOT_FREE, SLOTS));
    CHECK(registered == 1 && unregistered == 0);      /* once, at the start, and never for a proof */
    end_world();
    CHECK(registered == 1 && unregistered == 1);
}

/* A device that reads the slot to the end gets one proof at a time, and the slot stays its own until then. */
static void test_no_upload(void) {
    struct shm_job_ref jobs[3];
    make_world(false);
    allow_finishes(0);
    for (int i = 0; i < 3; i++) jobs[i] = add_job(1);
    start();
    wait_for_calls("b0 ");
    CHECK(slots_in(SHM_SLOT_UPLOADING) == 1 && slots_in(SHM_SLOT_READY) == 2);
    allow_finishes(-1);
    for (int i = 0; i < 3; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    wait_for_calls("b0 f0 b1 f1 b2 f2 ");
    end_world();
}

/* An uploaded slot can be claimed when no other is free, and the proof in flight is none the worse. */
static void test_claim_uploaded(void) {
    struct shm_job_ref jobs[SLOTS + 1];
    make_world(true);
    allow_finishes(0);
    for (int i = 0; i < SLOTS; i++) jobs[i] = add_job(1);
    start();
    wait_for_calls("b0 b1 ");
    jobs[SLOTS] = add_job(1);       /* fails by its deadline where no slot is to be had */
    CHECK(settle_at(SHM_SLOT_UPLOADED, 1) && slots_in(SHM_SLOT_READY) == SLOTS - 1);
    allow_finishes(-1);
    for (int i = 0; i <= SLOTS; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    end_world();
}

static void test_priorities(void) {
    static const uint32_t priority[] = {2, 1, 0, 1, 0, 2};
    static const int order[] = {2, 4, 1, 3, 0, 5};
    struct shm_job_ref jobs[6];
    struct shm_slot_ref slots[6];
    make_world(true);
    for (int i = 0; i < 6; i++) {
        jobs[i] = add_job(priority[i]);
        CHECK(shm_slot_holds(&region, shm_job_id(&region, jobs[i]), &slots[i]));
    }
    start();
    for (int i = 0; i < 6; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    for (int i = 0; i < 6; i++) CHECK(fake.w[i] == shm_region_payload(&region, slots[order[i]].index));
    end_world();
}

/* One bad proof is made again; two are the witness's fault, and the slot's digest is told. */
static void test_bad_proofs(bool uploads) {
    make_world(uploads);
    fake.result[0] = fake.result[2] = fake.result[3] = KRN_INVALID;
    start();
    struct shm_job_ref once = add_job(1);
    CHECK(reaches(once, SHM_JOB_DONE));
    check_result(once);
    struct shm_job_ref twice = add_job(1);
    CHECK(reaches(twice, SHM_JOB_FAILED));
    CHECK(strstr(region.jobs[twice.index].error, "twice") && strstr(region.jobs[twice.index].error, "digest"));
    struct shm_job_ref after = add_job(1);
    CHECK(reaches(after, SHM_JOB_DONE));
    CHECK(fake.begun == 5);
    end_world();
}

/* A witness that changes after it was checked: the device says so, and goes on. */
static void test_changed_witness(void) {
    make_world(true);
    fake.result[0] = fake.result[1] = KRN_BAD_SCALAR;
    start();
    struct shm_job_ref job = add_job(1);
    CHECK(reaches(job, SHM_JOB_FAILED));
    CHECK(reaches(add_job(1), SHM_JOB_DONE));
    CHECK(!gpud_work_failed(&work, NULL));
    end_world();
}

/* What stands in the region is released only where it is what was verified. */
static void test_receipts(void) {
    struct gpud_result result;
    struct gpud_error err;
    make_world(true);
    start();
    struct shm_job_ref job = add_job(1);
    CHECK(reaches(job, SHM_JOB_DONE));
    struct shm_job *record = &region.jobs[job.index];
    uint8_t *area = shm_region_result(&region, job.index);

    record->circuit = 63;           /* the daemon knows it better */
    record->n_public = UINT32_MAX;
    CHECK(gpud_receipt_read(&work, job, &result, &err) == 0 && result.circuit == 0);
    CHECK(memcmp(&result.proof, &fake.good, sizeof fake.good) == 0);
    CHECK(memcmp(result.publics, witness + KRN_FR_BYTES, KRN_FR_BYTES) == 0);
    free(result.publics);
    for (size_t i = 0; i < 2; i++) {
        size_t at = i ? sizeof fake.good : 5;       /* in the public signal; in the proof */
        area[at] ^= 1;
        CHECK(gpud_receipt_read(&work, job, &result, &err) && strstr(err.text, "not the one that was verified"));
        area[at] ^= 1;
    }

    memset(work.receipts, 0, region.n_jobs * sizeof *work.receipts);       /* as the next daemon finds it */
    CHECK(gpud_receipt_read(&work, job, &result, &err) && strstr(err.text, "circuit 63"));
    record->circuit = 0;
    area[5] ^= 1;
    CHECK(gpud_receipt_read(&work, job, &result, &err));
    area[5] ^= 1;
    CHECK(gpud_receipt_read(&work, job, &result, &err) == 0);
    free(result.publics);
    end_world();
}

static void test_row_differs(void) {
    make_world(true);
    fake.result[0] = KRN_ROW_DIFFERS;
    start();
    struct shm_job_ref job = add_job(1);
    CHECK(reaches(job, SHM_JOB_FAILED));
    CHECK(strstr(region.jobs[job.index].error, "constraint 17"));
    CHECK(reaches(add_job(1), SHM_JOB_DONE));
    end_world();
}

/* A device in doubt: the daemon is told, what was in flight goes back with its slot and one attempt less, and the next
 * daemon proves it. */
static void test_device_fails(void) {
    struct gpud_error err;
    make_world(true);
    fake.error_at = 0;
    allow_finishes(0);
    struct shm_job_ref first = add_job(1), second = add_job(1);
    start();
    wait_for_calls("b0 b1 ");
    allow_finishes(-1);
    CHECK(gpud_device_join(&device, DEADLINE_S * 1000));
    CHECK(gpud_work_failed(&work, &err) && strstr(err.text, "the fake is broken"));
    CHECK(shm_job_state(&region, first) == SHM_JOB_SYNTHESIS && shm_job_state(&region, second) == SHM_JOB_SYNTHESIS);
    CHECK(slots_in(SHM_SLOT_READY) == 2);
    CHECK(atomic_load(&region.jobs[first.index].attempts) == 1);
    CHECK(atomic_load(&region.jobs[second.index].attempts) == 1);
    end_world();
}

/* A job that its device fails of each time fails after its attempts, with the reason. The one that was there with it is
 * not taken along a second time, and is proved. */
static void test_deadly_job(void) {
    make_world(true);
    fake.error_at = 0;
    allow_finishes(0);
    struct shm_job_ref job = add_job(1), other = add_job(1);
    start();
    wait_for_calls("b0 b1 ");
    allow_finishes(-1);
    for (int i = 1; i <= GPUD_MAX_ATTEMPTS; i++) {
        CHECK(gpud_device_join(&device, DEADLINE_S * 1000) && gpud_work_failed(&work, NULL));
        CHECK(atomic_load(&region.jobs[job.index].attempts) == (uint32_t)i);
        work.failed = work.stop = false;        /* as in the next daemon */
        work.n_devices = 1;
        fake.error_at = fake.begun;
        if (i < GPUD_MAX_ATTEMPTS) start();
    }
    CHECK(shm_job_state(&region, job) == SHM_JOB_FAILED);
    CHECK(strstr(region.jobs[job.index].error, "failed 3 times") &&
          strstr(region.jobs[job.index].error, "the fake is broken"));
    CHECK(atomic_load(&region.jobs[other.index].attempts) == 1 && slots_in(SHM_SLOT_READY) == 1);
    fake.error_at = -1;
    start();
    CHECK(reaches(other, SHM_JOB_DONE) && reaches(add_job(1), SHM_JOB_DONE));
    wait_for_calls("b0 b1 f0 b2 f2 b3 f3 b4 f4 b5 f5 ");
    end_world();
}

static void test_cancel(bool uploads) {
    make_world(uploads);
    allow_finishes(0);
    struct shm_job_ref flying = add_job(1), ready = add_job(1);
    start();
    wait_for_calls(uploads ? "b0 b1 " : "b0 ");
    CHECK(shm_job_cancel(&region, flying) == 0 && shm_job_cancel(&region, ready) == 0);
    allow_finishes(-1);
    CHECK(reaches(add_job(1), SHM_JOB_DONE));
    CHECK(shm_job_state(&region, flying) == SHM_JOB_CANCELLED && shm_job_state(&region, ready) == SHM_JOB_CANCELLED);
    CHECK(settle_at(SHM_SLOT_FREE, SLOTS));
    end_world();
}

/* A line that was written over after its seal: the slot is put aside, and the job is synthesised again. */
static void test_quarantine(void) {
    struct shm_slot_ref slot;
    make_world(true);
    struct shm_job_ref job = add_job(1), other = add_job(1);
    CHECK(shm_slot_holds(&region, shm_job_id(&region, job), &slot));
    region.slots[slot.index].desc.n_rows ^= 1;
    start();
    CHECK(reaches(other, SHM_JOB_DONE));
    CHECK(reaches(job, SHM_JOB_QUEUED));
    CHECK(slots_in(SHM_SLOT_QUARANTINE) == 1 && atomic_load(&region.jobs[job.index].attempts) == 1);
    CHECK(fake.begun == 1);
    end_world();
}

/*
 * With the real CPU back end, and vectors that are right: after the first proof nothing is allocated by any thread,
 * proof after proof.
 */
static void test_no_allocation(void) {
    struct fmt_error why;
    struct shm_job_ref jobs[4];
    make_world_on(&krn_cpu_backend, false);
    for (int i = 0; i < 4; i++) {
        struct shm_slot_ref slot;
        jobs[i] = add_job(1);
        CHECK(shm_slot_holds(&region, shm_job_id(&region, jobs[i]), &slot));
        uint8_t *at = shm_region_payload(&region, slot.index);
        const struct fmt_payload *p = &circuits[0].place;
        CHECK(synth_eval(&circuits[0].zkey, at + p->w, at + p->a, at + p->b, 1, &why) == 0);
    }
    start();
    CHECK(reaches(jobs[0], SHM_JOB_DONE));
    unsigned long before = atomic_load(&allocations);
    for (int i = 1; i < 4; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    CHECK(atomic_load(&allocations) == before);
    end_world();
}

/* What a proof on a GPU needs of a key besides what is loaded does not lie in the file's mapping. */
static void test_points(void) {
    const struct fmt_zkey *z = &circuits[0].zkey;
    const uint8_t *const single[] = {z->key.alpha1, z->key.beta1, z->key.delta1, z->key.beta2, z->key.delta2,
                                     circuits[0].ic};
    struct fmt_zkey fresh;
    struct fmt_error why;
    for (int i = 0; i < 6; i++) CHECK(single[i] < z->file.bytes || single[i] >= z->file.bytes + z->file.size);
    CHECK(fmt_zkey_open(&fresh, CASE "mul2_final.zkey", &why) == 0);
    const uint8_t *const mapped[] = {fresh.key.alpha1, fresh.key.beta1, fresh.key.delta1, fresh.key.beta2,
                                     fresh.key.delta2};
    for (int i = 0; i < 5; i++) CHECK(memcmp(single[i], mapped[i], (i < 3 ? 2u : 4u) * z->curve->fq_bytes) == 0);
    fmt_zkey_close(&fresh);
}

/* What is wrong with a slot is found before the device sees it. */
static void test_checks(void) {
    struct shm_slot_desc good = {.n_vars = circuits[0].zkey.n_vars, .n_rows = circuits[0].zkey.n_rows}, d;
    struct gpud_error err;
    make_world(true);
    memcpy(shm_region_payload(&region, 0), witness, witness_bytes);
    CHECK(gpud_work_check(&work, 0, &good, &err) == 0);
    d = good, d.circuit = CIRCUITS;
    CHECK(gpud_work_check(&work, 0, &d, &err) && strstr(err.text, "circuit 2"));
    d = good, d.circuit = UINT32_MAX;
    CHECK(gpud_work_check(&work, 0, &d, &err));
    d = good, d.n_vars++;
    CHECK(gpud_work_check(&work, 0, &d, &err));
    d = good, d.n_rows--;
    CHECK(gpud_work_check(&work, 0, &d, &err));
    d = good, d.flags = SHM_SLOT_HAS_C | 2;
    CHECK(gpud_work_check(&work, 0, &d, &err) && strstr(err.text, "flags"));
    d = good, d.flags = SHM_SLOT_HAS_C;
    CHECK(gpud_work_check(&work, 0, &d, &err) == 0);
    CHECK(gpud_work_vectors(&work, 0, &d).c == shm_region_payload(&region, 0) + circuits[0].place.c);
    CHECK(gpud_work_vectors(&work, 0, &good).c == NULL);
    uint64_t before = gpud_work_digest(&work, 0, &good);
    for (uint64_t i = 0; i < circuits[0].place.bytes; i += 1000) {
        shm_region_payload(&region, 0)[i] ^= 0x40;
        CHECK(gpud_work_digest(&work, 0, &good) != before);
        shm_region_payload(&region, 0)[i] ^= 0x40;
    }
    CHECK(gpud_work_digest(&work, 0, &good) == before);
    memcpy(shm_region_payload(&region, 0) + 3 * KRN_FR_BYTES, circuits[0].zkey.curve->r, KRN_FR_BYTES);
    CHECK(gpud_work_check(&work, 0, &good, &err) && strstr(err.text, "signal 3"));
    start();
    end_world();
}

int main(void) {
    load_case(&fake.good);
    test_overlap();
    test_no_upload();
    test_claim_uploaded();
    test_priorities();
    for (int uploads = 0; uploads < 2; uploads++) {
        test_bad_proofs(uploads);
        test_cancel(uploads);
    }
    test_row_differs();
    test_changed_witness();
    test_receipts();
    test_device_fails();
    test_deadly_job();
    test_quarantine();
    test_checks();
    test_points();
    test_no_allocation();
    unload_case();
    return failures != 0;
}
