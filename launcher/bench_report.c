#include "launcher/bench_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double share(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

static double mib(uint64_t bytes) {
    return (double)bytes / (1 << 20);
}

/* ---- tables ---- */

static void print_head(const struct bench_run *b, const struct bench_figures *f) {
    printf("%" PRIu64 " proofs in %.2f s: %.1f proofs/min; %zu failed\n", f->proofs, f->seconds, f->per_minute,
           b->failed);
    if (b->failed) printf("the first that failed: %s\n", b->failure);
    printf("%s, %" PRIu64 " devices, %" PRIu64 " slots, %" PRIu64 " workers%s; %u warm-up proofs before, not counted\n",
           b->backend, b->devices, b->slots, b->workers,
           b->producers ? ", slots filled with copies by the benchmark's producers" : "", b->warm_up);
    if (strcmp(b->memory_kind, "pageable") == 0) printf("CONTROL: --memory pageable: the region is not registered\n");
    for (unsigned i = 0; i < b->n_circuits; i++)
        printf("  circuit %s: %u in a round, %.1f MiB a slot\n", b->circuits[i].name, b->circuits[i].weight,
               mib(b->slot_bytes[i]));
}

static void print_phases(const struct bench_figures *f) {
    printf("\n%-22s %10s %10s %10s %10s\n", "phase, ms", "p50", "p99", "max", "mean");
    for (int i = 0; i < BENCH_PHASES; i++) {
        const struct bench_spread *s = &f->phases[i];
        printf("%-22s %10.2f %10.2f %10.2f %10.2f\n", bench_phase_names[i], s->p50, s->p99, s->max, s->mean);
    }
}

/* What bounds the device: the largest of the reasons for which it did not compute. */
static const char *bound(const struct bench_device *d) {
    const struct {
        const char *name;
        double seconds;
    } reasons[] = {
        {"the device's own computing", d->busy},
        {"synthesis: no slot was READY", d->no_slot},
        {"the hand-off", d->hand_off},
        {"uploads", d->upload},
        {"the host between and within proofs", d->between + d->within},
    };
    size_t best = 0;
    for (size_t i = 1; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].seconds > reasons[best].seconds) best = i;
    return reasons[best].name;
}

static void print_device(unsigned i, const struct bench_device *d) {
    double ready = d->span - d->no_slot;
    printf("\ndevice %u: %" PRIu64 " proofs, %.2f s from the first to the last; bound by %s\n", i, d->proofs, d->span,
           bound(d));
    printf("  busy (kernels ran)             %6.2f %%; of the time in which a slot was READY %.2f %%\n",
           share(d->busy, d->span), share(d->busy, ready));
    printf("  idle within proofs             %6.2f %%\n", share(d->within, d->span));
    printf("  idle between, no slot READY    %6.2f %%\n", share(d->no_slot, d->span));
    printf("  idle between, hand-off         %6.2f %%\n", share(d->hand_off, d->span));
    printf("  idle, waiting for an upload    %6.2f %%\n", share(d->upload, d->span));
    printf("  idle between, the rest         %6.2f %%\n", share(d->between, d->span));
}

static void print_windows(const struct bench_figures *f) {
    if (f->n_windows < 2) return;
    printf("\nproofs/min in each %.0f s:", f->window);
    for (unsigned i = 0; i < f->n_windows; i++) printf(" %.1f", 60 * (double)f->windows[i] / f->window);
    printf("\n");
}

static void print_memory(const struct bench_run *b) {
    const struct bench_memory *m = &b->before, *n = &b->after;
    printf("\nmemory, MiB, after the warm-up and at the end: "
           "daemon %.1f %.1f; workers %.1f %.1f; on devices %.1f %.1f\n",
           mib(m->daemon), mib(n->daemon), mib(m->workers), mib(n->workers), mib(m->device), mib(n->device));
    printf("meanwhile: %" PRIu64 " allocations on devices, %" PRIu64 " registrations, %" PRIu64 " copies on the host\n",
           n->allocations - m->allocations, n->registrations - m->registrations, n->host_copies - m->host_copies);
}

void bench_report_print(const struct bench_run *b, const struct bench_figures *f) {
    print_head(b, f);
    print_phases(f);
    for (unsigned i = 0; i < BENCH_DEVICES_MAX; i++)
        if (f->devices[i].proofs) print_device(i, &f->devices[i]);
    if (f->bus > 0)
        printf("\nuploads: %.1f GB/s (median of each), %.2f GB/s over the whole time\n", f->bus, f->bus_all);
    print_windows(f);
    print_memory(b);
}

/* ---- JSON ---- */

static struct fmt_json *spread_json(const struct bench_spread *s) {
    struct fmt_json *j = fmt_json_object();
    int rc = fmt_json_set_real(j, "p50", s->p50) | fmt_json_set_real(j, "p99", s->p99) |
             fmt_json_set_real(j, "max", s->max) | fmt_json_set_real(j, "mean", s->mean);
    if (rc == 0) return j;
    fmt_json_free(j);
    return NULL;
}

static struct fmt_json *phases_json(const struct bench_figures *f) {
    struct fmt_json *j = fmt_json_object();
    for (int i = 0; i < BENCH_PHASES; i++) fmt_json_set(j, bench_phase_keys[i], spread_json(&f->phases[i]));
    return j;
}

static struct fmt_json *devices_json(const struct bench_figures *f) {
    struct fmt_json *all = fmt_json_array();
    for (int i = 0; i < BENCH_DEVICES_MAX; i++) {
        const struct bench_device *d = &f->devices[i];
        if (!d->proofs) continue;
        struct fmt_json *j = fmt_json_object();
        fmt_json_set_int(j, "index", i);
        fmt_json_set_count(j, "proofs", d->proofs);
        fmt_json_set_real(j, "span_s", d->span);
        fmt_json_set_real(j, "busy_s", d->busy);
        fmt_json_set_real(j, "idle_within_s", d->within);
        fmt_json_set_real(j, "idle_no_slot_s", d->no_slot);
        fmt_json_set_real(j, "idle_hand_off_s", d->hand_off);
        fmt_json_set_real(j, "idle_upload_s", d->upload);
        fmt_json_set_real(j, "idle_between_s", d->between);
        fmt_json_set_real(j, "busy_share", share(d->busy, d->span) / 100);
        fmt_json_append(all, j);
    }
    return all;
}

static struct fmt_json *windows_json(const struct bench_figures *f) {
    struct fmt_json *all = fmt_json_array();
    for (unsigned i = 0; i < f->n_windows; i++) fmt_json_append(all, fmt_json_int((int64_t)f->windows[i]));
    return all;
}

static struct fmt_json *memory_json(const struct bench_memory *m) {
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_count(j, "daemon_bytes", m->daemon);
    fmt_json_set_count(j, "workers_bytes", m->workers);
    fmt_json_set_count(j, "device_bytes", m->device);
    fmt_json_set_count(j, "device_allocations", m->allocations);
    fmt_json_set_count(j, "registrations", m->registrations);
    fmt_json_set_count(j, "host_copies", m->host_copies);
    return j;
}

static struct fmt_json *circuits_json(const struct bench_run *b) {
    struct fmt_json *all = fmt_json_array();
    for (unsigned i = 0; i < b->n_circuits; i++) {
        struct fmt_json *j = fmt_json_object();
        int64_t proofs = 0;
        for (size_t k = 0; k < b->n_records; k++) proofs += b->records[k].circuit == i;
        fmt_json_set_string(j, "name", b->circuits[i].name);
        fmt_json_set_int(j, "weight", b->circuits[i].weight);
        fmt_json_set_int(j, "slot_bytes", (int64_t)b->slot_bytes[i]);
        fmt_json_set_int(j, "proofs", proofs);
        fmt_json_append(all, j);
    }
    return all;
}

struct fmt_json *bench_report_json(const struct bench_run *b, const struct bench_figures *f) {
    struct fmt_json *j = fmt_json_object();
    int rc = fmt_json_set_string(j, "backend", b->backend) | fmt_json_set_string(j, "memory", b->memory_kind) |
             fmt_json_set_int(j, "workers", (int64_t)b->workers) | fmt_json_set_int(j, "slots", (int64_t)b->slots) |
             fmt_json_set_int(j, "producers", b->producers) | fmt_json_set_real(j, "seconds", f->seconds) |
             fmt_json_set_int(j, "proofs", (int64_t)f->proofs) |
             fmt_json_set_int(j, "measured", (int64_t)b->n_records) |
             fmt_json_set_int(j, "failed", (int64_t)b->failed) | fmt_json_set_real(j, "per_minute", f->per_minute) |
             fmt_json_set(j, "circuits", circuits_json(b)) | fmt_json_set(j, "phases_ms", phases_json(f)) |
             fmt_json_set(j, "devices", devices_json(f)) | fmt_json_set_real(j, "upload_gb_s", f->bus) |
             fmt_json_set_real(j, "upload_gb_s_overall", f->bus_all) | fmt_json_set_real(j, "window_s", f->window) |
             fmt_json_set(j, "windows", windows_json(f)) | fmt_json_set(j, "before", memory_json(&b->before)) |
             fmt_json_set(j, "after", memory_json(&b->after));
    if (rc == 0) return j;
    fmt_json_free(j);
    return NULL;
}

/* ---- two runs ---- */

static int real_at(const struct fmt_json *j, const char *key, double *value, struct gpud_error *err) {
    struct fmt_error why;
    int rc = fmt_json_get_real(j, key, value, &why);
    if (rc == 1) return 0;
    return gpud_fail(err, "the other run's figures: %s", rc ? why.text : key);
}

static void print_pair(const char *what, double other, double this) {
    printf("%-34s %12.2f %12.2f", what, other, this);
    if (other > 0 && this > 0) printf(" %9.2f", this / other);
    printf("\n");
}

static double busy_share(const struct bench_figures *f) {
    double busy = 0, span = 0;
    for (int i = 0; i < BENCH_DEVICES_MAX; i++) {
        busy += f->devices[i].busy;
        span += f->devices[i].span;
    }
    return share(busy, span);
}

static int other_busy_share(const struct fmt_json *other, double *value, struct gpud_error *err) {
    const struct fmt_json *devices = fmt_json_field(other, "devices");
    double busy = 0, span = 0;
    for (size_t i = 0; i < fmt_json_length(devices); i++) {
        double b, s;
        if (real_at(fmt_json_at(devices, i), "busy_s", &b, err) || real_at(fmt_json_at(devices, i), "span_s", &s, err))
            return -1;
        busy += b;
        span += s;
    }
    *value = share(busy, span);
    return 0;
}

int bench_report_compare(const struct bench_run *b, const struct bench_figures *f, const struct fmt_json *other,
                         struct gpud_error *err) {
    struct fmt_error why;
    const char *kind = "?";
    const struct fmt_json *phases = fmt_json_field(other, "phases_ms");
    double p50[BENCH_PHASES], rate, bus, busy;
    if (real_at(other, "per_minute", &rate, err) || real_at(other, "upload_gb_s", &bus, err) ||
        other_busy_share(other, &busy, err))
        return -1;
    for (int i = 0; i < BENCH_PHASES; i++)
        if (real_at(fmt_json_field(phases, bench_phase_keys[i]), "p50", &p50[i], err)) return -1;
    fmt_json_get_string(other, "memory", &kind, &why);
    printf("\n%-34s %12s %12s %9s\n", "memory", kind, b->memory_kind, "ratio");
    print_pair("proofs/min", rate, f->per_minute);
    print_pair("device busy, %", busy, busy_share(f));
    print_pair("upload, GB/s", bus, f->bus);
    for (int i = 0; i < BENCH_PHASES; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s, p50 ms", bench_phase_names[i]);
        print_pair(text, p50[i], f->phases[i].p50);
    }
    return 0;
}
