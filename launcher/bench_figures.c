#include "launcher/bench_figures.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The smallest value that at least the share q of all does not exceed. */
static double quantile(const double *sorted, size_t n, double q) {
    size_t rank = (size_t)(q * (double)n);
    if ((double)rank < q * (double)n) rank++;
    return sorted[rank ? rank - 1 : 0];
}

static struct bench_spread spread_of(double *values, size_t n) {
    struct bench_spread s = {0};
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++) s.mean += values[i] / (double)n;
    s.p50 = quantile(values, n, 0.5);
    s.p99 = quantile(values, n, 0.99);
    s.max = values[n - 1];
    return s;
}

static void make_phases(struct bench_figures *f, const struct bench_run *b, double *room) {
    uint64_t ns[BENCH_PHASES];
    for (int phase = 0; phase < BENCH_PHASES; phase++) {
        for (size_t i = 0; i < b->n_records; i++) {
            bench_record_phases(&b->records[i], ns);
            room[i] = 1e-6 * (double)ns[phase];
        }
        f->phases[phase] = spread_of(room, b->n_records);
    }
}

static void make_bus(struct bench_figures *f, const struct bench_run *b, double *room) {
    size_t n = 0;
    double bytes = 0;
    for (size_t i = 0; i < b->n_records; i++) {
        const struct bench_record *r = &b->records[i];
        if (!r->t.upload_us) continue;
        room[n++] = 1e-3 * (double)b->slot_bytes[r->circuit] / r->t.upload_us;
        bytes += (double)b->slot_bytes[r->circuit];
    }
    if (n) f->bus = spread_of(room, n).p50;
    f->bus_all = f->seconds > 0 ? 1e-9 * bytes / f->seconds : 0;
}

/* ---- devices ---- */

static int by_start(const void *a, const void *b) {
    uint64_t x = bench_record_start(*(const struct bench_record *const *)a);
    uint64_t y = bench_record_start(*(const struct bench_record *const *)b);
    return (x > y) - (x < y);
}

/* Seconds of from .. to that lie before `until`; from moves on. */
static double before(uint64_t *from, uint64_t to, uint64_t until) {
    uint64_t end = until < to ? until : to;
    if (end <= *from) return 0;
    double seconds = 1e-9 * (double)(end - *from);
    *from = end;
    return seconds;
}

/* Why the device did not compute before this proof. */
static void add_gap(struct bench_device *d, uint64_t from, const struct bench_record *r) {
    uint64_t to = bench_record_start(r);
    d->no_slot += before(&from, to, r->t.ready_ns);
    d->hand_off += before(&from, to, r->t.taken_ns);
    d->upload += before(&from, to, bench_record_uploaded(r));
    d->between += before(&from, to, to);
}

/* When the device was done with a proof: a CPU's busy time holds its finish too. */
static uint64_t released(const struct bench_record *r) {
    uint64_t end = bench_record_end(r), busy = bench_record_start(r) + 1000ull * r->t.busy_us;
    return end > busy ? end : busy;
}

static void make_devices(struct bench_figures *f, const struct bench_run *b, const struct bench_record **room) {
    uint64_t first[BENCH_DEVICES_MAX], last[BENCH_DEVICES_MAX];
    for (size_t i = 0; i < b->n_records; i++) room[i] = &b->records[i];
    qsort(room, b->n_records, sizeof *room, by_start);
    for (size_t i = 0; i < b->n_records; i++) {
        uint32_t k = room[i]->t.device;
        if (k >= BENCH_DEVICES_MAX) continue;
        struct bench_device *d = &f->devices[k];
        uint64_t start = bench_record_start(room[i]), end = released(room[i]);
        if (d->proofs++ == 0)
            first[k] = start;
        else
            add_gap(d, last[k], room[i]);
        last[k] = end;
        double busy = bench_record_busy(room[i]), rest = 1e-9 * (double)bench_record_rest(room[i]);
        d->busy += busy;
        d->upload += rest;
        d->within += 1e-9 * (double)(end - start) - busy - rest;
        d->span = 1e-9 * (double)(end - first[k]);
    }
}

/* ---- all ---- */

static void make_windows(struct bench_figures *f, const struct bench_run *b, double window) {
    f->window = window;
    f->n_windows = (unsigned)(f->seconds / window < BENCH_WINDOWS_MAX ? f->seconds / window : BENCH_WINDOWS_MAX);
    for (size_t i = 0; i < b->n_records; i++) {
        uint64_t done = b->records[i].t.done_ns;
        if (done < b->start_ns) continue;
        double at = 1e-9 * (double)(done - b->start_ns) / window;
        if (at < f->n_windows) f->windows[(unsigned)at]++;
    }
}

int bench_figures_make(struct bench_figures *f, const struct bench_run *b, double window, struct gpud_error *err) {
    memset(f, 0, sizeof *f);
    if (b->n_records == 0) return gpud_fail(err, "no proof was made%s%s", b->failed ? ": " : "", b->failure);
    double *values = malloc(b->n_records * sizeof *values);
    const struct bench_record **order = malloc(b->n_records * sizeof *order);
    if (values && order) {
        f->seconds = 1e-9 * (double)(b->end_ns - b->start_ns);
        for (size_t i = 0; i < b->n_records; i++) f->proofs += b->records[i].t.done_ns <= b->end_ns;
        f->per_minute = f->seconds > 0 ? 60 * (double)f->proofs / f->seconds : 0;
        make_phases(f, b, values);
        make_bus(f, b, values);
        make_devices(f, b, order);
        make_windows(f, b, window);
    }
    int rc = values && order ? 0 : gpud_fail(err, "no memory for %zu proofs' figures", b->n_records);
    free(values);
    free(order);
    return rc;
}
