#include "launcher/bench_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/output.h"

/* Process numbers of the timeline: what belongs together on the screen. */
enum { WORKERS = 1, HOST = 2, DEVICES = 10 };
/* Rows of a device, and of the host for a device. */
enum { COPIES = 1, COMPUTE = 2, FINISH = 1, VERIFY = 2, HOST_ROWS = 10 };

/* A stream does one thing at a time, but its times come from the device's clock, and two proofs' may be laid on the
 * host's with so much difference. */
enum { CLOCKS_NS = 200000 };

struct event {
    const char *name;
    uint64_t process, row, begin_ns, end_ns;
};

/* Ends of what a device's streams did last; proofs come in the order in which they were computed. */
struct streams {
    uint64_t copied_ns, computed_ns;
};

static int add_event(struct fmt_json *all, const struct bench_trace *t, const struct bench_record *r,
                     const struct event *e) {
    uint64_t begin = (e->begin_ns - t->zero_ns) / 1000, end = (e->end_ns - t->zero_ns) / 1000;
    if (e->end_ns == e->begin_ns) return 0;
    struct fmt_json *j = fmt_json_object(), *args = fmt_json_object();
    int rc = fmt_json_set_string(j, "ph", "X") | fmt_json_set_string(j, "name", e->name) |
             fmt_json_set_int(j, "pid", (int64_t)e->process) | fmt_json_set_int(j, "tid", (int64_t)e->row) |
             fmt_json_set_int(j, "ts", (int64_t)begin) | fmt_json_set_int(j, "dur", (int64_t)(end - begin)) |
             fmt_json_set_int(args, "job", (int64_t)r->id) |
             fmt_json_set_string(args, "circuit", t->circuits[r->circuit]) | fmt_json_set(j, "args", args);
    return fmt_json_append(all, j) | rc;
}

static int add_name(struct fmt_json *all, const char *kind, uint64_t process, uint64_t row, const char *name) {
    struct fmt_json *j = fmt_json_object(), *args = fmt_json_object();
    int rc = fmt_json_set_string(j, "ph", "M") | fmt_json_set_string(j, "name", kind) |
             fmt_json_set_int(j, "pid", (int64_t)process) | fmt_json_set_int(j, "tid", (int64_t)row) |
             fmt_json_set_string(args, "name", name) | fmt_json_set(j, "args", args);
    return fmt_json_append(all, j) | rc;
}

/* The begin of what follows on a stream: not before the end of what came before, within the clocks' difference. */
static uint64_t after(uint64_t last_ns, uint64_t begin_ns) {
    return begin_ns < last_ns && last_ns - begin_ns <= CLOCKS_NS ? last_ns : begin_ns;
}

/* The computing's steps, one after the other, in the order in which the back end makes them. */
static int add_computing(struct fmt_json *all, const struct bench_trace *t, const struct bench_record *r,
                         struct streams *s) {
    static const enum bench_phase on_gpu[] = {BENCH_A, BENCH_L, BENCH_B1, BENCH_B2, BENCH_NTT, BENCH_H};
    static const enum bench_phase on_cpu[] = {BENCH_NTT, BENCH_H, BENCH_A, BENCH_B1, BENCH_B2, BENCH_L};
    const enum bench_phase *order = t->cpu ? on_cpu : on_gpu;
    struct event e = {.process = DEVICES + r->t.device, .row = COMPUTE, .end_ns = bench_record_start(r)};
    uint64_t ns[BENCH_PHASES];
    int rc = 0;
    bench_record_phases(r, ns);
    for (size_t i = 0; i < sizeof on_gpu / sizeof *on_gpu; i++) {
        if (order[i] == BENCH_NTT) e.end_ns += ns[BENCH_REST];
        e.name = bench_phase_names[order[i]];
        e.begin_ns = after(s->computed_ns, e.end_ns);
        e.end_ns += ns[order[i]];
        if (e.end_ns > e.begin_ns) rc |= add_event(all, t, r, &e);
    }
    s->computed_ns = e.end_ns;
    return rc;
}

static int add_record(struct fmt_json *all, const struct bench_trace *t, const struct bench_record *r,
                      struct streams *s) {
    const struct shm_job_times *m = &r->t;
    uint64_t end = bench_record_end(r), host = (uint64_t)HOST_ROWS * m->device;
    const struct event synthesis = {"synthesis", WORKERS, m->peer + 1ull, m->synth_started_ns, m->ready_ns};
    const struct event upload = {"upload", DEVICES + m->device, COPIES, after(s->copied_ns, m->upload_ns),
                                 m->upload_ns + 1000ull * m->upload_us};
    const struct event finish = {"finish", HOST, host + FINISH, end, end + 1000ull * m->finish_us};
    const struct event verify = {"verify", HOST, host + VERIFY, m->verify_ns, m->verify_ns + 1000ull * m->verify_us};
    int rc = add_event(all, t, r, &synthesis) | add_computing(all, t, r, s) | add_event(all, t, r, &finish) |
             add_event(all, t, r, &verify);
    if (!m->upload_ns || upload.end_ns <= upload.begin_ns) return rc;
    s->copied_ns = upload.end_ns;
    return rc | add_event(all, t, r, &upload);
}

static int by_start(const void *a, const void *b) {
    uint64_t x = bench_record_start(*(const struct bench_record *const *)a);
    uint64_t y = bench_record_start(*(const struct bench_record *const *)b);
    return (x > y) - (x < y);
}

static int add_records(struct fmt_json *all, const struct bench_trace *t) {
    const struct bench_record **order = malloc((t->n + 1) * sizeof *order);
    struct streams streams[BENCH_TRACE_DEVICES] = {0};
    int rc = order ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < t->n; i++) order[i] = &t->records[i];
    if (rc == 0) qsort(order, t->n, sizeof *order, by_start);
    for (size_t i = 0; rc == 0 && i < t->n; i++)
        rc = add_record(all, t, order[i], &streams[order[i]->t.device % BENCH_TRACE_DEVICES]);
    free(order);
    return rc;
}

static int add_device_names(struct fmt_json *all, uint32_t device) {
    char text[64];
    int rc = 0;
    snprintf(text, sizeof text, "device %" PRIu32, device);
    rc |= add_name(all, "process_name", DEVICES + device, 0, text);
    rc |= add_name(all, "thread_name", DEVICES + device, COPIES, "copies");
    rc |= add_name(all, "thread_name", DEVICES + device, COMPUTE, "computing");
    snprintf(text, sizeof text, "finish, device %" PRIu32, device);
    rc |= add_name(all, "thread_name", HOST, (uint64_t)HOST_ROWS * device + FINISH, text);
    snprintf(text, sizeof text, "verify, device %" PRIu32, device);
    return rc | add_name(all, "thread_name", HOST, (uint64_t)HOST_ROWS * device + VERIFY, text);
}

/* Names of all rows that the records use: once each. */
static int add_names(struct fmt_json *all, const struct bench_trace *t) {
    int rc = add_name(all, "process_name", WORKERS, 0, "workers") | add_name(all, "process_name", HOST, 0, "daemon");
    for (size_t i = 0; i < t->n; i++) {
        const struct shm_job_times *m = &t->records[i].t;
        bool device = true, worker = true;
        for (size_t k = 0; k < i && (device || worker); k++) {
            device &= t->records[k].t.device != m->device;
            worker &= t->records[k].t.peer != m->peer;
        }
        char text[64];
        snprintf(text, sizeof text, "worker %" PRIu32 ", pid %" PRIu32, m->peer, m->pid);
        if (worker) rc |= add_name(all, "thread_name", WORKERS, m->peer + 1ull, text);
        if (device) rc |= add_device_names(all, m->device);
    }
    return rc;
}

int bench_trace_write(const struct bench_trace *t, const char *path, struct fmt_error *err) {
    struct fmt_json *top = fmt_json_object(), *all = fmt_json_array();
    struct fmt_output out;
    size_t len = 0;
    int rc = add_names(all, t) | add_records(all, t);
    rc |= fmt_json_set_string(top, "displayTimeUnit", "ms") | fmt_json_set(top, "traceEvents", all);
    char *text = rc ? NULL : fmt_json_dump(top, &len);
    fmt_json_free(top);
    if (!text) return fmt_fail(err, "%s: no memory for a timeline of %zu proofs", path, t->n);
    rc = fmt_output_open(&out, path, err);
    if (rc == 0) {
        rc = fmt_output_write(&out, text, len, err);
        if (rc == 0) rc = fmt_output_commit(&out, err);
        fmt_output_discard(&out);
    }
    free(text);
    return rc;
}
