#include "launcher/bench_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/jobs.h"
#include "shm/host.h"

enum { REDRAW_MS = 200, LOOK_MS = 1 };

struct flight {
    uint64_t id;
    unsigned circuit;
};

struct state {
    struct bench_run *b;
    struct launcher_client client;
    struct bench_feed *feed;
    struct flight flights[BENCH_IN_FLIGHT_MAX];     /* oldest first, from `first` */
    unsigned first, n_flights;
    uint64_t begun, settled;
    size_t room;
    uint64_t drawn_ns;
};

/* ---- what the service says of itself ---- */

static int64_t number(const struct fmt_json *j, const char *key) {
    struct fmt_error why;
    int64_t v = 0;
    fmt_json_get_int(j, key, 0, INT64_MAX, &v, &why);
    return v;
}

/* Bytes of the line `key` of /proc/PID/status; 0 where there is none. */
static uint64_t own_memory(int64_t pid) {
    char path[64], line[256];
    uint64_t kib = 0;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1) break;
    if (f) fclose(f);
    return kib << 10;
}

/* One of the service's own: foreign producers, ours too, are not. */
static bool is_worker(const struct fmt_json *peer) {
    struct fmt_error why;
    const char *kind = "";
    fmt_json_get_string(peer, "kind", &kind, &why);
    return strcmp(kind, "worker") == 0;
}

static uint64_t count_workers(const struct fmt_json *peers) {
    uint64_t n = 0;
    for (size_t i = 0; i < fmt_json_length(peers); i++) n += is_worker(fmt_json_at(peers, i));
    return n;
}

static struct bench_memory memory_of(const struct fmt_json *status) {
    struct bench_memory m = {.daemon = own_memory(number(status, "pid"))};
    const struct fmt_json *workers = fmt_json_field(status, "workers"), *devices = fmt_json_field(status, "devices");
    for (size_t i = 0; i < fmt_json_length(workers); i++)
        if (is_worker(fmt_json_at(workers, i))) m.workers += own_memory(number(fmt_json_at(workers, i), "pid"));
    for (size_t i = 0; i < fmt_json_length(devices); i++) {
        const struct fmt_json *device = fmt_json_at(devices, i), *memory = fmt_json_field(device, "memory");
        m.device += (uint64_t)number(memory, "workspace") + (uint64_t)number(fmt_json_field(device, "keys"), "used");
        m.allocations += (uint64_t)number(memory, "allocations");
        m.registrations += (uint64_t)number(memory, "registrations");
        m.host_copies += (uint64_t)number(memory, "host_copies");
    }
    return m;
}

static void copy_text(char *to, size_t room, const struct fmt_json *j, const char *key) {
    struct fmt_error why;
    const char *text = "?";
    fmt_json_get_string(j, key, &text, &why);
    snprintf(to, room, "%s", text);
}

static int find_circuit(const struct bench_run *b, const char *name) {
    for (unsigned i = 0; i < b->n_circuits; i++)
        if (strcmp(b->circuits[i].name, name) == 0) return (int)i;
    return -1;
}

static void read_circuits(struct bench_run *b, const struct fmt_json *all) {
    for (size_t k = 0; k < fmt_json_length(all); k++) {
        char name[SHM_NAME_MAX];
        copy_text(name, sizeof name, fmt_json_at(all, k), "name");
        int i = find_circuit(b, name);
        if (i >= 0) b->slot_bytes[i] = (uint64_t)number(fmt_json_at(all, k), "slot_bytes");
    }
}

static enum launcher_exit look(struct state *s, struct bench_memory *m, struct gpud_error *err) {
    struct bench_run *b = s->b;
    struct fmt_json *status;
    enum launcher_exit rc = launcher_client_ask(&s->client, launcher_jobs_request("status"), &status, err);
    if (rc) return rc;
    *m = memory_of(status);
    copy_text(b->backend, sizeof b->backend, status, "backend");
    copy_text(b->memory_kind, sizeof b->memory_kind, status, "memory");
    b->workers = count_workers(fmt_json_field(status, "workers"));
    b->devices = fmt_json_length(fmt_json_field(status, "devices"));
    b->slots = (uint64_t)number(fmt_json_field(status, "slots"), "all");
    read_circuits(b, fmt_json_field(status, "circuits"));
    fmt_json_free(status);
    for (unsigned i = 0; i < b->n_circuits; i++) {
        if (b->slot_bytes[i]) continue;
        gpud_fail(err, "service %s has no circuit '%s'", b->instance, b->circuits[i].name);
        return LAUNCHER_FAILED;
    }
    return LAUNCHER_OK;
}

/* ---- one proof ---- */

static void draw(struct state *s) {
    struct bench_run *b = s->b;
    uint64_t now = shm_host_now_ns();
    if (!b->progress || now - s->drawn_ns < REDRAW_MS * 1000000ull) return;
    s->drawn_ns = now;
    if (s->settled <= b->warm_up) {
        fprintf(stderr, "\r\033[Kwarming up: %" PRIu64 " of %u", s->settled, b->warm_up);
        return;
    }
    double seconds = 1e-9 * (double)(now - b->start_ns);
    fprintf(stderr, "\r\033[K%zu proofs, %zu failed, %.1f proofs/min, %.0f s", b->n_records, b->failed,
            60 * (double)b->n_records / seconds, seconds);
}

static int keep(struct state *s, const struct fmt_json *reply, unsigned circuit, struct gpud_error *err) {
    struct bench_run *b = s->b;
    struct fmt_error why;
    if (b->n_records == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        struct bench_record *more = realloc(b->records, room * sizeof *more);
        if (!more) return gpud_fail(err, "no memory for %zu proofs' figures", room);
        b->records = more;
        s->room = room;
    }
    struct bench_record *r = &b->records[b->n_records];
    *r = (struct bench_record){.circuit = circuit};
    if (bench_record_read(r, reply, &why)) return gpud_fail(err, "%s", why.text);
    b->n_records++;
    return 0;
}

/* A warm-up's end may be the begin of the measurement. */
static void count_warm_up(struct bench_run *b, const struct fmt_json *reply) {
    uint64_t done = (uint64_t)number(fmt_json_field(reply, "at_ns"), "done");
    if (done > b->start_ns) b->start_ns = done;
}

/* Waits for the oldest job; its own failure is counted. */
static enum launcher_exit settle_oldest(struct state *s, struct gpud_error *err) {
    struct bench_run *b = s->b;
    struct flight f = s->flights[s->first];
    struct fmt_json *reply;
    enum launcher_exit rc = launcher_client_wait(&s->client, f.id, &reply, err);
    if (rc == LAUNCHER_UNREACHABLE) return rc;
    if (rc == LAUNCHER_FAILED && !b->failed++) snprintf(b->failure, sizeof b->failure, "%s", err->text);
    if (rc == LAUNCHER_OK) {
        if (s->settled < b->warm_up)
            count_warm_up(b, reply);
        else if (keep(s, reply, f.circuit, err))
            rc = LAUNCHER_UNREACHABLE;
        fmt_json_free(reply);
        if (rc) return rc;
    }
    s->settled++;
    s->first = (s->first + 1) % BENCH_IN_FLIGHT_MAX;
    s->n_flights--;
    draw(s);
    return s->settled == b->warm_up ? look(s, &b->before, err) : LAUNCHER_OK;   /* what is there once it runs */
}

/* ---- the stream ---- */

/* 1 with a new job; 0: none just now; -1 with err. */
static int next_job(struct state *s, struct flight *f, struct gpud_error *err) {
    struct bench_run *b = s->b;
    if (s->feed) return bench_feed_next(s->feed, &f->id, &f->circuit, err);
    f->circuit = bench_pick(b->circuits, b->n_circuits, s->begun);
    const struct bench_circuit *c = &b->circuits[f->circuit];
    return launcher_jobs_submit(&s->client, c->name, c->witness, "normal", &f->id, err) ? -1 : 1;
}

static bool is_enough(const struct state *s) {
    const struct bench_run *b = s->b;
    if (b->proofs) return s->begun >= b->warm_up + b->proofs;
    return s->settled >= b->warm_up && (double)(shm_host_now_ns() - b->start_ns) > 1e9 * b->seconds;
}

static void nap(void) {
    struct timespec t = {.tv_nsec = LOOK_MS * 1000000};
    nanosleep(&t, NULL);
}

static enum launcher_exit stream(struct state *s, struct gpud_error *err) {
    enum launcher_exit rc = LAUNCHER_OK;
    bool enough = false;
    while (rc == LAUNCHER_OK && (!enough || s->n_flights > 0)) {
        struct flight f;
        enough = enough || is_enough(s);
        int more = !enough && s->n_flights < s->b->in_flight ? next_job(s, &f, err) : 0;
        if (more < 0) return LAUNCHER_FAILED;
        if (more > 0) {
            s->flights[(s->first + s->n_flights++) % BENCH_IN_FLIGHT_MAX] = f;
            s->begun++;
        } else if (s->n_flights > 0) {
            rc = settle_oldest(s, err);
        } else if (!enough) {
            nap();
        }
    }
    return rc;
}

/* Jobs that were handed over after the last that was asked for are waited for, so that nothing of ours is left. */
static void drain_feed(struct state *s) {
    struct gpud_error ignored;
    struct fmt_json *reply;
    uint64_t id;
    unsigned circuit;
    bench_feed_end(s->feed);
    while (bench_feed_next(s->feed, &id, &circuit, &ignored) == 1)
        if (launcher_client_wait(&s->client, id, &reply, &ignored) == LAUNCHER_OK) fmt_json_free(reply);
    bench_feed_free(s->feed);
}

static void find_end(struct bench_run *b) {
    if (!b->proofs) {
        b->end_ns = b->start_ns + (uint64_t)(1e9 * b->seconds);
        return;
    }
    b->end_ns = b->start_ns;
    for (size_t i = 0; i < b->n_records; i++)
        if (b->records[i].t.done_ns > b->end_ns) b->end_ns = b->records[i].t.done_ns;
}

enum launcher_exit bench_run(struct bench_run *b, struct gpud_error *err) {
    struct state s = {.b = b};
    enum launcher_exit rc = launcher_client_reach(&s.client, b->instance, err);
    if (rc) return rc;
    rc = look(&s, &b->before, err);
    b->start_ns = shm_host_now_ns();
    if (rc == LAUNCHER_OK && b->producers) {
        s.feed = bench_feed_start(b->instance, b->circuits, b->n_circuits, b->producers, err);
        if (!s.feed) rc = LAUNCHER_FAILED;
    }
    if (rc == LAUNCHER_OK) rc = stream(&s, err);
    if (s.feed) drain_feed(&s);
    find_end(b);
    if (rc == LAUNCHER_OK) rc = look(&s, &b->after, err);
    launcher_client_close(&s.client);
    if (b->progress) fprintf(stderr, "\r\033[K");
    return rc;
}

void bench_run_free(struct bench_run *b) {
    free(b->records);
    b->records = NULL;
}
