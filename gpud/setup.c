#include "gpud/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpud/log.h"
#include "gpud/repair.h"
#include "gpud/result.h"
#include "shm/guard.h"
#include "shm/job.h"

enum {
    ADOPT_WAIT_MS = 5000,           /* for a daemon that is just going */
    FOREIGN_PEERS = 64,
    MAX_JOBS = 1024, MIN_JOBS = 64,
    RESULTS_BYTES = 64 << 20,       /* of all jobs; fewer jobs where results are large */
};

#define MARGIN_MAX (1ull << 30)

/* ---- back end ---- */

int gpud_setup_backend(struct gpud_daemon *d, const struct krn_backend *cpu, const struct krn_backend *cuda,
                       struct gpud_error *err) {
    char text[KRN_CHOICE_TEXT];
    int n = krn_choice_gpus(d->options->backend, cuda ? cuda->count : NULL, text);
    if (n < 0) return gpud_fail(err, "%s", text);
    if (text[0]) gpud_log("%s: proving on the CPU", text);
    d->backend = n ? cuda : cpu;
    if (n == 0) n = cpu->count(text);
    if (n <= 0) return gpud_fail(err, "CPU back end: %s", text);
    d->n_devices = n < GPUD_MAX_DEVICES ? n : GPUD_MAX_DEVICES;
    return 0;
}

/* ---- circuits ---- */

static int open_circuit(struct gpud_daemon *d, uint32_t i, const struct gpud_circuit_spec *spec,
                        struct gpud_error *err) {
    uint64_t start = shm_host_now_ns();
    struct gpud_circuit *c = &d->circuits[i];
    if (gpud_circuit_open(c, spec, d->options->threads, err)) return -1;
    gpud_log("circuit %s: %s, %u constraints, %u signals, %u public, domain 2^%u, key checked in %.3f s", spec->name,
             c->zkey.curve->name, c->zkey.n_constraints, c->zkey.n_vars, c->zkey.n_public, c->zkey.log_domain,
             1e-9 * (double)(shm_host_now_ns() - start));
    return 0;
}

static void write_entry(struct gpud_daemon *d, uint32_t i, uint32_t slot_class) {
    const struct gpud_circuit *c = &d->circuits[i];
    struct shm_circuit *entry = &d->region.circuits[i];
    entry->slot_class = slot_class;
    entry->slot_bytes = c->place.bytes;
    entry->digest = c->zkey.digest;
    memcpy(entry->name, c->spec.name, sizeof entry->name);
    memcpy(entry->zkey, c->spec.zkey, sizeof entry->zkey);
    memcpy(entry->r1cs, c->spec.r1cs, sizeof entry->r1cs);
    atomic_store(&entry->state, 1);
}

static uint32_t most_publics(const struct gpud_daemon *d) {
    uint32_t most = 0;
    for (int i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (d->circuits[i].open && d->circuits[i].zkey.n_public > most) most = d->circuits[i].zkey.n_public;
    return most;
}

/* ---- a region of our own ---- */

/* Slots are as many on each node, so the one with the least free memory bounds them all. */
static uint64_t node_budget(uint64_t budget, const char **bound_by) {
    struct shm_node nodes[SHM_MAX_NODES];
    uint32_t n = shm_host_nodes(nodes);
    for (uint32_t i = 0; n > 1 && i < n; i++) {
        if (nodes[i].free_bytes >= budget / n) continue;
        budget = nodes[i].free_bytes * n;
        *bound_by = "the smallest NUMA node";
    }
    return budget;
}

/* What slots may take: what the host has, less a margin, less the keys that the CPU reads in place. */
static uint64_t slot_budget(const struct gpud_daemon *d, const char **bound_by) {
    uint64_t budget = node_budget(shm_host_budget(bound_by), bound_by);
    uint64_t keys = 0, margin = budget / 16 < MARGIN_MAX ? budget / 16 : MARGIN_MAX;
    for (int i = 0; i < GPUD_MAX_CIRCUITS; i++) keys += d->circuits[i].open ? d->circuits[i].zkey.file.size : 0;
    if (strcmp(*bound_by, "/dev/shm") == 0) keys = 0;
    return budget > margin + keys ? budget - margin - keys : 0;
}

static int make_plan(struct gpud_daemon *d, struct gpud_error *err) {
    uint64_t payload[GPUD_MAX_CIRCUITS];
    for (uint32_t i = 0; i < d->options->n_circuits; i++) payload[i] = d->circuits[i].place.bytes;
    struct gpud_plan_in in = {
        .payload = payload,
        .n_circuits = d->options->n_circuits,
        .nodes = d->n_nodes,
        .devices = (uint32_t)d->n_devices,
        .workers = d->options->workers * d->n_nodes,
        .per_class = d->options->slots,
    };
    in.budget = slot_budget(d, &in.bound_by);
    return gpud_plan_make(&d->plan, &in, err);
}

static void log_plan(const struct gpud_daemon *d) {
    for (uint32_t k = 0; k < d->plan.n_classes; k++) {
        char names[512] = "";
        size_t n = 0;
        for (uint32_t i = 0; i < d->options->n_circuits; i++)
            if (d->plan.class_of[i] == k && n < sizeof names)
                n += (size_t)snprintf(names + n, sizeof names - n, " %s (%.2f MiB)", d->circuits[i].spec.name,
                                      (double)d->circuits[i].place.bytes / (1 << 20));
        gpud_log("slots of %6llu MiB: %3u on each of %u nodes, for%s",
                 (unsigned long long)d->plan.classes[k].bytes >> 20, d->plan.classes[k].per_node, d->n_nodes, names);
    }
}

static int guard(struct gpud_daemon *d, struct gpud_error *err) {
    int rc = shm_guard_install(&d->region);
    return rc ? gpud_fail(err, "cannot guard the region: %s", strerror(-rc)) : 0;
}

static int make_region(struct gpud_daemon *d, struct gpud_error *err) {
    const struct gpud_options *o = d->options;
    if (o->n_circuits == 0) return gpud_fail(err, "no circuit: at least one --circuit NAME=circuit.zkey is wanted");
    for (uint32_t i = 0; i < o->n_circuits; i++)
        if (open_circuit(d, i, &o->circuits[i], err)) return -1;
    if (make_plan(d, err)) return -1;
    log_plan(d);

    uint64_t result_bytes = gpud_result_bytes(most_publics(d)), jobs = RESULTS_BYTES / result_bytes;
    struct shm_spec spec = {
        .instance = o->instance,
        .n_classes = d->plan.n_classes,
        .classes = d->plan.classes,
        .n_nodes = d->n_nodes,
        .nodes = d->n_nodes > 1 ? d->nodes : NULL,
        .n_jobs = jobs > MAX_JOBS ? MAX_JOBS : jobs < MIN_JOBS ? MIN_JOBS : (uint32_t)jobs,
        .n_peers = o->workers * d->n_nodes + FOREIGN_PEERS,
        .n_circuits = GPUD_MAX_CIRCUITS,
        .result_bytes = result_bytes,
        .wipe = o->wipe,
        .small_pages = o->small_pages,
    };
    struct shm_error why;
    if (shm_region_create(&d->region, &spec, &why)) return gpud_fail(err, "%s", why.text);
    if (guard(d, err)) return -1;
    for (uint32_t i = 0; i < o->n_circuits; i++) write_entry(d, i, d->plan.class_of[i]);
    gpud_log("region /pinwheel-%s: %llu MiB, %llu MiB of it in 2 MiB pages", o->instance,
             (unsigned long long)d->region.bytes >> 20, (unsigned long long)d->region.huge_bytes >> 20);
    return 0;
}

/* ---- a region that was there ---- */

static void copy_text(char *out, const char *in, size_t room) {
    memcpy(out, in, room);
    out[room - 1] = 0;
}

static int open_catalogue(struct gpud_daemon *d, struct gpud_error *err) {
    for (uint32_t i = 0; i < d->region.n_circuits && i < GPUD_MAX_CIRCUITS; i++) {
        const struct shm_circuit *entry = &d->region.circuits[i];
        struct gpud_circuit_spec spec;
        if (!atomic_load(&entry->state)) continue;
        copy_text(spec.name, entry->name, sizeof spec.name);
        if (!gpud_circuit_name_valid(spec.name))
            return gpud_fail(err, "/dev/shm/pinwheel-%s: entry %u of its catalogue is damaged; `pinwheel down` first",
                             d->options->instance, i);
        copy_text(spec.zkey, entry->zkey, sizeof spec.zkey);
        copy_text(spec.r1cs, entry->r1cs, sizeof spec.r1cs);
        if (open_circuit(d, i, &spec, err)) return -1;
        if (d->circuits[i].zkey.digest != entry->digest)
            return gpud_fail(err, "%s: not the key that circuit %s was registered with (digest %016llx, then %016llx); "
                             "`pinwheel down` first", spec.zkey, spec.name,
                             (unsigned long long)d->circuits[i].zkey.digest, (unsigned long long)entry->digest);
    }
    return 0;
}

static uint64_t largest_slot(const struct shm_region *r) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < r->n_slots; i++)
        if (r->slot_bytes[i] > most) most = r->slot_bytes[i];
    return most;
}

static int find_entry(const struct gpud_daemon *d, const char *name) {
    for (int i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (d->circuits[i].open && strcmp(d->circuits[i].spec.name, name) == 0) return i;
    return -1;
}

/* A circuit from the options on a region whose slots are what they are. */
static int add_circuit(struct gpud_daemon *d, const struct gpud_circuit_spec *spec, struct gpud_error *err) {
    uint32_t i = 0;
    while (i < d->region.n_circuits && i < GPUD_MAX_CIRCUITS && d->circuits[i].open) i++;
    if (i == d->region.n_circuits || i == GPUD_MAX_CIRCUITS)
        return gpud_fail(err, "the region's catalogue is full: %u circuits", i);
    if (open_circuit(d, i, spec, err)) return -1;
    uint64_t need = d->circuits[i].place.bytes, have = largest_slot(&d->region);
    if (need > have)
        return gpud_fail(err, "circuit %s needs slots of %llu bytes and the largest of this region has %llu; "
                         "`pinwheel down`, then `up` with all circuits", spec->name, (unsigned long long)need,
                         (unsigned long long)have);
    uint64_t result = gpud_result_bytes(d->circuits[i].zkey.n_public);
    if (result > d->region.result_bytes)
        return gpud_fail(err, "circuit %s needs %llu bytes for a result and this region has %llu; `pinwheel down`, "
                         "then `up` with all circuits", spec->name, (unsigned long long)result,
                         (unsigned long long)d->region.result_bytes);
    write_entry(d, i, 0);
    return 0;
}

/* A circuit in both the catalogue and the options must be the same one. */
static int merge_circuit(struct gpud_daemon *d, const struct gpud_circuit_spec *spec, struct gpud_error *err) {
    int i = find_entry(d, spec->name);
    if (i < 0) return add_circuit(d, spec, err);
    struct fmt_zkey z;
    struct fmt_error why;
    if (fmt_zkey_open(&z, spec->zkey, &why)) return gpud_fail(err, "%s", why.text);
    uint64_t digest = z.digest;
    fmt_zkey_close(&z);
    if (digest == d->circuits[i].zkey.digest) return 0;
    return gpud_fail(err, "circuit %s is registered with another key (%s); `pinwheel down` first", spec->name,
                     d->circuits[i].spec.zkey);
}

/* A job on the device when daemons died under it, once too often, may be what kills them. */
static void fail_deadly_jobs(struct gpud_daemon *d) {
    for (uint32_t i = 0; i < d->region.n_jobs; i++) {
        struct shm_job *job = &d->region.jobs[i];
        struct shm_job_ref ref = {.index = i, .gen = shm_ctl_gen(atomic_load(&job->ctl))};
        if (shm_job_state(&d->region, ref) != SHM_JOB_PROVING) continue;
        if (atomic_fetch_add(&job->attempts, 1) + 1 < GPUD_MAX_ATTEMPTS) continue;
        char text[SHM_ERROR_MAX];
        snprintf(text, sizeof text, "the daemon died %d times while it was being synthesised or proved",
                 GPUD_MAX_ATTEMPTS);
        shm_job_fail(&d->region, ref, text);
        gpud_log("job %llu failed: %s", (unsigned long long)shm_job_id(&d->region, ref), text);
    }
}

static int take_over(struct gpud_daemon *d, struct gpud_error *err) {
    d->adopted = true;
    if (guard(d, err)) return -1;
    if (open_catalogue(d, err)) return -1;
    if (gpud_result_bytes(most_publics(d)) > d->region.result_bytes)
        return gpud_fail(err, "/dev/shm/pinwheel-%s: its results are too small for its circuits; `pinwheel down` first",
                         d->options->instance);
    for (uint32_t i = 0; i < d->options->n_circuits; i++)
        if (merge_circuit(d, &d->options->circuits[i], err)) return -1;
    gpud_repair_states(&d->region);
    fail_deadly_jobs(d);
    uint32_t ready = shm_slot_recover(&d->region);
    uint32_t back = shm_job_recover(&d->region);
    gpud_log("region /pinwheel-%s taken over: %u slots are READY, %u jobs go on", d->options->instance, ready, back);
    return 0;
}

int gpud_setup_region(struct gpud_daemon *d, struct gpud_error *err) {
    struct shm_error why;
    struct shm_node nodes[SHM_MAX_NODES];
    d->n_nodes = shm_host_nodes(nodes);
    for (uint32_t i = 0; i < d->n_nodes; i++) {
        char cpus[SHM_CPUS_TEXT];
        shm_nodes_cpus_text(&nodes[i].set, cpus);
        gpud_log("node %d: CPUs %s, %llu of %llu MiB free", nodes[i].number, cpus,
                 (unsigned long long)nodes[i].free_bytes >> 20, (unsigned long long)nodes[i].total_bytes >> 20);
        d->nodes[i] = nodes[i].number;
    }
    if (shm_region_adopt(&d->region, d->options->instance, ADOPT_WAIT_MS, &why) == 0) return take_over(d, err);
    if (why.code == ENOENT) return make_region(d, err);
    return gpud_fail(err, "%s", why.text);
}
