#include "gpud/bench_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpud/hammer.h"
#include "kernels/clock.h"
#include "kernels/parallel.h"
#include "shm/region.h"

const char *const gpud_bench_kind_names[GPUD_BENCH_KINDS] = {
    [GPUD_BENCH_HEAP] = "heap, pageable",
    [GPUD_BENCH_SHM] = "shared memory, not registered",
    [GPUD_BENCH_EACH] = "shared memory, registered each time",
    [GPUD_BENCH_LOCKED] = "cudaHostAlloc",
    [GPUD_BENCH_REGISTERED] = "shared memory, registered once",
};

enum { PROBE = 4096, PROBES = 3 };      /* bytes and places at which a copy is compared with its source */

struct bench {
    struct gpud_bench_memory *b;
    const struct krn_copies *copies;
    struct krn_copier *copier;
    struct shm_region region;
    bool has_region, registered;
    uint8_t *heap, *locked;
    const uint8_t *from[GPUD_BENCH_KINDS];
    char why[KRN_ERR_TEXT];
};

/* ---- memory of every kind ---- */

struct fill {
    uint8_t *to;
    size_t bytes;
    uint64_t seed;
};

/* splitmix64 in counter mode (Steele, Lea, Flood 2014). */
static void fill_part(void *ctx, unsigned i, unsigned n) {
    const struct fill *f = ctx;
    size_t words = f->bytes / sizeof(uint64_t), end = krn_part(words, i + 1, n);
    for (size_t k = krn_part(words, i, n); k < end; k++) {
        uint64_t z = f->seed + (k + 1) * 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        z ^= z >> 31;
        memcpy(f->to + k * sizeof z, &z, sizeof z);
    }
}

static void fill(struct bench *s, uint8_t *to, uint64_t which) {
    struct fill f = {.to = to, .bytes = s->b->bytes, .seed = s->b->seed ^ which << 56};
    krn_parallel(0, fill_part, &f);
}

/* Two slots of a region like the service's: one stays as it is, one is registered. */
static int make_region(struct bench *s, struct gpud_error *err) {
    char instance[SHM_INSTANCE_MAX];
    struct shm_error why;
    const struct shm_class slots = {.bytes = s->b->bytes, .per_node = 2};
    struct shm_spec spec = {
        .instance = instance, .n_classes = 1, .classes = &slots, .n_nodes = 1, .n_jobs = 1, .n_peers = 1,
        .n_circuits = 1, .result_bytes = SHM_LINE,
    };
    snprintf(instance, sizeof instance, "bench-memory-%d", (int)getpid());
    if (shm_region_create(&s->region, &spec, &why)) return gpud_fail(err, "%s", why.text);
    s->has_region = true;
    shm_region_unlink(instance, &why);      /* the mapping stays; nothing is left whatever becomes of us */
    s->b->huge = (double)s->region.huge_bytes / (2.0 * (double)s->b->bytes);
    return 0;
}

static int make_memory(struct bench *s, struct gpud_error *err) {
    struct gpud_bench_memory *b = s->b;
    if (make_region(s, err)) return -1;
    s->heap = malloc(b->bytes);
    if (!s->heap) return gpud_fail(err, "no memory for %zu MiB", b->bytes >> 20);
    double start = krn_seconds();
    s->locked = s->copies->take(s->copier, b->bytes, s->why);
    b->locked_alloc = krn_seconds() - start;
    if (!s->locked) return gpud_fail(err, "%zu MiB of page-locked memory: %s", b->bytes >> 20, s->why);

    uint8_t *plain = shm_region_payload(&s->region, 0), *registered = shm_region_payload(&s->region, 1);
    fill(s, s->heap, 1);
    fill(s, s->locked, 2);
    fill(s, plain, 3);
    fill(s, registered, 4);
    start = krn_seconds();
    if (s->copies->lock(s->copier, registered, b->bytes, s->why))
        return gpud_fail(err, "%zu MiB cannot be page-locked: %s", b->bytes >> 20, s->why);
    b->register_once = krn_seconds() - start;
    s->registered = true;
    s->from[GPUD_BENCH_HEAP] = s->heap;
    s->from[GPUD_BENCH_SHM] = s->from[GPUD_BENCH_EACH] = plain;
    s->from[GPUD_BENCH_LOCKED] = s->locked;
    s->from[GPUD_BENCH_REGISTERED] = registered;
    return 0;
}

static void free_memory(struct bench *s) {
    if (s->registered) s->copies->unlock(s->copier, shm_region_payload(&s->region, 1), s->why);
    if (s->locked) s->copies->give_back(s->copier, s->locked);
    if (s->has_region) shm_region_close(&s->region);
    free(s->heap);
}

/* ---- one copy ---- */

static int check_copy(struct bench *s, enum gpud_bench_kind kind, struct gpud_error *err) {
    uint8_t seen[PROBE];
    for (int i = 0; i < PROBES; i++) {
        size_t at = (s->b->bytes - PROBE) / (PROBES - 1) * (size_t)i;
        if (s->copies->read(s->copier, seen, at, PROBE, s->why))
            return gpud_fail(err, "reading the device's buffer: %s", s->why);
        if (memcmp(seen, s->from[kind] + at, PROBE) != 0)
            return gpud_fail(err, "%s: other bytes on the device than in memory, from byte %zu on",
                             gpud_bench_kind_names[kind], at);
    }
    return 0;
}

/* Seconds of the parts of one copy. */
struct parts {
    double lock, copy, unlock;
};

static int copy_once(struct bench *s, enum gpud_bench_kind kind, struct parts *p, struct gpud_error *err) {
    void *from = (void *)(uintptr_t)s->from[kind];
    bool each = kind == GPUD_BENCH_EACH;
    double t0 = krn_seconds();
    int rc = each ? s->copies->lock(s->copier, from, s->b->bytes, s->why) : 0;
    double t1 = krn_seconds();
    if (rc == 0) rc = s->copies->copy(s->copier, from, s->why);
    double t2 = krn_seconds();
    if (rc == 0 && each) rc = s->copies->unlock(s->copier, from, s->why);
    *p = (struct parts){.lock = t1 - t0, .copy = t2 - t1, .unlock = krn_seconds() - t2};
    if (rc) return gpud_fail(err, "%s: %s", gpud_bench_kind_names[kind], s->why);
    return check_copy(s, kind, err);
}

/* ---- all of them ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct gpud_bench_spread spread_of(double *samples, unsigned n) {
    qsort(samples, n, sizeof *samples, by_value);
    double median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
    return (struct gpud_bench_spread){.median = median, .min = samples[0], .max = samples[n - 1]};
}

struct samples {
    double time[GPUD_BENCH_KINDS][GPUD_BENCH_RUNS_MAX];
    double lock[GPUD_BENCH_RUNS_MAX], unlock[GPUD_BENCH_RUNS_MAX];
};

static int measure(struct bench *s, int load, struct samples *t, struct gpud_error *err) {
    struct gpud_bench_memory *b = s->b;
    for (unsigned run = 0; run <= b->runs; run++) {
        for (int kind = 0; kind < GPUD_BENCH_KINDS; kind++) {
            struct parts p;
            if (copy_once(s, (enum gpud_bench_kind)kind, &p, err)) return -1;
            if (run == 0) continue;     /* the first warms up */
            t->time[kind][run - 1] = p.copy + (kind == GPUD_BENCH_EACH ? p.lock + p.unlock : 0);
            if (kind != GPUD_BENCH_EACH) continue;
            t->lock[run - 1] = p.lock;
            t->unlock[run - 1] = p.unlock;
        }
        if (b->step) b->step(b->ctx, (unsigned)load * (b->runs + 1) + run + 1, GPUD_BENCH_LOADS * (b->runs + 1));
    }
    for (int kind = 0; kind < GPUD_BENCH_KINDS; kind++) b->time[kind][load] = spread_of(t->time[kind], b->runs);
    b->lock[load] = spread_of(t->lock, b->runs);
    b->unlock[load] = spread_of(t->unlock, b->runs);
    return 0;
}

static int measure_loads(struct bench *s, struct gpud_error *err) {
    struct samples *t = malloc(sizeof *t);
    if (!t) return gpud_fail(err, "no memory for %u samples", s->b->runs);
    int rc = measure(s, GPUD_BENCH_IDLE, t, err);
    if (rc == 0) {
        struct gpud_hammer *h = gpud_hammer_start(err);
        rc = h ? measure(s, GPUD_BENCH_LOADED, t, err) : -1;
        s->b->hammers = h ? gpud_hammer_threads(h) : 0;
        s->b->hammer_rate = gpud_hammer_stop(h);
    }
    free(t);
    return rc;
}

int gpud_bench_memory(struct gpud_bench_memory *b, const struct krn_copies *copies, struct gpud_error *err) {
    struct bench s = {.b = b, .copies = copies};
    b->bytes = (b->bytes + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
    s.copier = copies->open(b->device, b->bytes, b->card, s.why);
    if (!s.copier) return gpud_fail(err, "device %d: %s", b->device, s.why);
    int rc = make_memory(&s, err) ? -1 : measure_loads(&s, err);
    free_memory(&s);
    copies->close(s.copier);
    return rc;
}
