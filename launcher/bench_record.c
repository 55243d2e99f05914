#include "launcher/bench_record.h"

const char *const bench_phase_names[BENCH_PHASES] = {
    [BENCH_QUEUE] = "wait for a worker", [BENCH_SLOT] = "wait for a slot", [BENCH_SYNTHESIS] = "synthesis",
    [BENCH_HAND_OFF] = "wait for the hand-off", [BENCH_UPLOAD] = "upload", [BENCH_GPU] = "wait for the device",
    [BENCH_A] = "sum A", [BENCH_L] = "sum L", [BENCH_B1] = "sum B1", [BENCH_B2] = "sum B2",
    [BENCH_REST] = "wait for a and b", [BENCH_NTT] = "ntt", [BENCH_H] = "sum H", [BENCH_FINISH] = "finish",
    [BENCH_VERIFY] = "verify", [BENCH_SETTLE] = "settle", [BENCH_TOTAL] = "total",
};

const char *const bench_phase_keys[BENCH_PHASES] = {
    [BENCH_QUEUE] = "worker_wait", [BENCH_SLOT] = "slot_wait", [BENCH_SYNTHESIS] = "synthesis",
    [BENCH_HAND_OFF] = "hand_off", [BENCH_UPLOAD] = "upload", [BENCH_GPU] = "device_wait", [BENCH_A] = "msm_a",
    [BENCH_L] = "msm_l", [BENCH_B1] = "msm_b1", [BENCH_B2] = "msm_b2", [BENCH_REST] = "upload_wait",
    [BENCH_NTT] = "ntt", [BENCH_H] = "msm_h", [BENCH_FINISH] = "finish", [BENCH_VERIFY] = "verify",
    [BENCH_SETTLE] = "settle", [BENCH_TOTAL] = "total",
};

static int get(const struct fmt_json *j, const char *key, int64_t max, int64_t *value, struct fmt_error *err) {
    int rc = fmt_json_get_int(j, key, 0, max, value, err);
    if (rc == 0) fmt_fail(err, "reply: no field '%s'", key);
    return rc == 1 ? 0 : -1;
}

struct place {
    const char *key;
    void *to;
};

static int get_moments(const struct fmt_json *j, struct shm_job_times *t, struct fmt_error *err) {
    const struct place places[] = {
        {"submitted", &t->submitted_ns}, {"synthesis", &t->synth_started_ns}, {"ready", &t->ready_ns},
        {"taken", &t->taken_ns},         {"upload", &t->upload_ns},           {"compute", &t->start_ns},
        {"verify", &t->verify_ns},       {"done", &t->done_ns},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int64_t v;
        if (get(j, places[i].key, INT64_MAX, &v, err)) return -1;
        *(uint64_t *)places[i].to = (uint64_t)v;
    }
    return 0;
}

static int get_words(const struct fmt_json *j, const struct place *places, size_t n, struct fmt_error *err) {
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        if (get(j, places[i].key, UINT32_MAX, &v, err)) return -1;
        *(uint32_t *)places[i].to = (uint32_t)v;
    }
    return 0;
}

int bench_record_read(struct bench_record *r, const struct fmt_json *reply, struct fmt_error *err) {
    struct shm_job_times *t = &r->t;
    const struct place times[] = {
        {"upload", &t->upload_us}, {"ntt", &t->ntt_us},       {"msm_a", &t->msm_a_us},   {"msm_b1", &t->msm_b1_us},
        {"msm_b2", &t->msm_b2_us}, {"msm_l", &t->msm_l_us},   {"msm_h", &t->msm_h_us},   {"finish", &t->finish_us},
        {"verify", &t->verify_us}, {"slot_wait", &t->slot_wait_us}, {"busy", &t->busy_us},
    };
    const struct place by[] = {{"device", &t->device}, {"peer", &t->peer}, {"pid", &t->pid}};
    int64_t id;
    if (get(reply, "id", INT64_MAX, &id, err) || get_moments(fmt_json_field(reply, "at_ns"), t, err) ||
        get_words(fmt_json_field(reply, "times_us"), times, sizeof times / sizeof *times, err) ||
        get_words(fmt_json_field(reply, "by"), by, sizeof by / sizeof *by, err))
        return -1;
    r->id = (uint64_t)id;
    return 0;
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

uint64_t bench_record_uploaded(const struct bench_record *r) {
    const struct shm_job_times *t = &r->t;
    return t->upload_ns ? later(t->taken_ns, t->upload_ns + 1000ull * t->upload_us) : t->taken_ns;
}

uint64_t bench_record_start(const struct bench_record *r) {
    return later(r->t.taken_ns, r->t.start_ns);
}

static uint64_t sums_over_w(const struct shm_job_times *t) {
    return 1000ull * (t->msm_a_us + t->msm_l_us + t->msm_b1_us + t->msm_b2_us);
}

uint64_t bench_record_rest(const struct bench_record *r) {
    uint64_t summed = bench_record_start(r) + sums_over_w(&r->t), uploaded = bench_record_uploaded(r);
    return r->t.upload_ns && uploaded > summed ? uploaded - summed : 0;
}

uint64_t bench_record_end(const struct bench_record *r) {
    return bench_record_start(r) + sums_over_w(&r->t) + bench_record_rest(r) + 1000ull * (r->t.ntt_us + r->t.msm_h_us);
}

double bench_record_busy(const struct bench_record *r) {
    double busy = 1e-6 * r->t.busy_us, rest = 1e-9 * (double)bench_record_rest(r);
    return busy > rest ? busy - rest : 0;
}

void bench_record_phases(const struct bench_record *r, uint64_t ns[BENCH_PHASES]) {
    const struct shm_job_times *t = &r->t;
    uint64_t synth = later(t->submitted_ns, t->synth_started_ns), ready = later(synth, t->ready_ns);
    uint64_t taken = later(ready, t->taken_ns), start = later(taken, bench_record_start(r));
    uint64_t uploaded = later(taken, bench_record_uploaded(r));
    uint64_t end = start + (bench_record_end(r) - bench_record_start(r));
    uint64_t verify = later(end, t->verify_ns), verified = verify + 1000ull * t->verify_us;
    uint64_t done = later(verified, t->done_ns), queued = synth - t->submitted_ns, slot = 1000ull * t->slot_wait_us;
    ns[BENCH_SLOT] = slot < queued ? slot : queued;
    ns[BENCH_QUEUE] = queued - ns[BENCH_SLOT];
    ns[BENCH_SYNTHESIS] = ready - synth;
    ns[BENCH_HAND_OFF] = taken - ready;
    ns[BENCH_UPLOAD] = (uploaded < start ? uploaded : start) - taken;
    ns[BENCH_GPU] = start - taken - ns[BENCH_UPLOAD];
    ns[BENCH_REST] = bench_record_rest(r);
    ns[BENCH_NTT] = 1000ull * t->ntt_us;
    ns[BENCH_A] = 1000ull * t->msm_a_us;
    ns[BENCH_B1] = 1000ull * t->msm_b1_us;
    ns[BENCH_L] = 1000ull * t->msm_l_us;
    ns[BENCH_B2] = 1000ull * t->msm_b2_us;
    ns[BENCH_H] = 1000ull * t->msm_h_us;
    ns[BENCH_FINISH] = verify - end;
    ns[BENCH_VERIFY] = verified - verify;
    ns[BENCH_SETTLE] = done - verified;
    ns[BENCH_TOTAL] = done - t->submitted_ns;
}
