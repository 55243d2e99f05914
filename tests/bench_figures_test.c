/* What a run of proofs amounts to, on records whose figures are known: phases, quantiles, idle time by its reason. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/bench_figures.h"
#include "tests/check.h"

#define MS 1000000ull

static bool near(double a, double b) {
    return fabs(a - b) < 1e-9;
}

/* Submitted at 0, synthesised from 10 to 30, taken at 32, uploaded from 33 to 38, computed from 40 to 70 (busy for 27),
 * verified from 74 to 75, done at 76: milliseconds, all moved by `at`. */
static struct bench_record record(uint64_t at) {
    return (struct bench_record){.id = at + 1, .t = {
        .submitted_ns = at * MS, .synth_started_ns = (at + 10) * MS, .ready_ns = (at + 30) * MS,
        .taken_ns = (at + 32) * MS, .upload_ns = (at + 33) * MS, .start_ns = (at + 40) * MS,
        .verify_ns = (at + 74) * MS, .done_ns = (at + 76) * MS, .slot_wait_us = 4000, .upload_us = 5000,
        .ntt_us = 6000, .msm_a_us = 5000, .msm_b1_us = 4000, .msm_l_us = 3000, .msm_b2_us = 2000, .msm_h_us = 10000,
        .finish_us = 1000, .verify_us = 1000, .busy_us = 27000,
    }};
}

static void test_phases(void) {
    static const double wanted[BENCH_PHASES] = {6, 4, 20, 2, 6, 2, 5, 3, 4, 2, 0, 6, 10, 4, 1, 1, 76};
    struct bench_record r = record(1000);
    uint64_t ns[BENCH_PHASES], sum = 0;
    bench_record_phases(&r, ns);
    for (int i = 0; i < BENCH_PHASES; i++) CHECK(near(1e-6 * (double)ns[i], wanted[i]));
    for (int i = 0; i < BENCH_TOTAL; i++) sum += ns[i];
    CHECK(sum == ns[BENCH_TOTAL]);
    r.t.start_ns -= 4 * MS;                 /* sums over w began while a and b travelled, until 38; they end at 50 */
    bench_record_phases(&r, ns);
    CHECK(ns[BENCH_UPLOAD] == 4 * MS && ns[BENCH_GPU] == 0 && ns[BENCH_REST] == 0 && ns[BENCH_FINISH] == 8 * MS);
    r.t.upload_us = 20000;                  /* a and b are there at 53 alone */
    bench_record_phases(&r, ns);
    CHECK(ns[BENCH_REST] == 3 * MS && ns[BENCH_FINISH] == 5 * MS && bench_record_end(&r) == (1000 + 69) * MS);
    CHECK(near(bench_record_busy(&r), 0.024));
    r = record(1000);
    r.t.upload_ns = r.t.upload_us = 0;      /* nothing is uploaded: it waits for the device from when it was taken */
    r.t.slot_wait_us = 99000;               /* longer than the job was there */
    bench_record_phases(&r, ns);
    CHECK(ns[BENCH_UPLOAD] == 0 && ns[BENCH_GPU] == 8 * MS && ns[BENCH_SLOT] == 10 * MS && ns[BENCH_QUEUE] == 0);
}

/* Three proofs, computed from 40 to 70, 90 to 120 and 125 to 155. The second becomes READY at 80 and is uploaded at 88;
 * the third is READY before the device is idle, and uploaded at 123. */
static void test_device(void) {
    struct bench_record records[] = {record(0), record(50), record(85)};
    struct bench_run run = {
        .records = records, .n_records = 3, .start_ns = 0, .end_ns = 170 * MS, .n_circuits = 1,
        .slot_bytes = {50000000},
    };
    struct bench_figures f;
    struct gpud_error err;
    CHECK(bench_figures_make(&f, &run, 0.05, &err) == 0);
    const struct bench_device *d = &f.devices[0];
    CHECK(d->proofs == 3 && f.devices[1].proofs == 0);
    CHECK(near(d->span, 0.115) && near(d->busy, 0.081) && near(d->within, 0.009));
    CHECK(near(d->no_slot, 0.010) && near(d->hand_off, 0.002) && near(d->upload, 0.009) && near(d->between, 0.004));
    CHECK(f.proofs == 3 && near(f.per_minute, 60 * 3 / 0.170));
    CHECK(near(f.bus, 10) && near(f.bus_all, 0.15 / 0.170));
    CHECK(f.n_windows == 3 && f.windows[0] == 0 && f.windows[1] == 1 && f.windows[2] == 1);
    run.n_records = 0;
    CHECK(bench_figures_make(&f, &run, 1, &err) && strstr(err.text, "no proof"));
}

static void test_quantiles(void) {
    static struct bench_record records[200];
    struct bench_run run = {.records = records, .n_records = 200, .end_ns = 1000 * MS};
    struct bench_figures f;
    struct gpud_error err;
    for (uint64_t i = 0; i < 200; i++) {
        records[(i * 77) % 200] = record(0);
        records[(i * 77) % 200].t.synth_started_ns -= (i + 1) * 1000;       /* synthesis of 20 ms and 1 to 200 us */
    }
    CHECK(bench_figures_make(&f, &run, 1, &err) == 0);
    CHECK(near(f.phases[BENCH_SYNTHESIS].p50, 20.100) && near(f.phases[BENCH_SYNTHESIS].p99, 20.198));
    CHECK(near(f.phases[BENCH_SYNTHESIS].max, 20.200) && near(f.phases[BENCH_TOTAL].p99, 76));
}

static void test_pick(void) {
    const struct bench_circuit circuits[] = {{"a", "", 4}, {"b", "", 1}, {"c", "", 3}};
    unsigned count[3] = {0};
    for (uint64_t i = 0; i < 800; i++) count[bench_pick(circuits, 3, i)]++;
    CHECK(count[0] == 400 && count[1] == 100 && count[2] == 300);
}

int main(void) {
    test_phases();
    test_device();
    test_quantiles();
    test_pick();
    return failures != 0;
}
