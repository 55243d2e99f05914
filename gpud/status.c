#include "gpud/status.h"

#include <stdio.h>
#include <unistd.h>

#include "shm/job.h"
#include "shm/peer.h"

static struct fmt_json *slots_json(struct gpud_daemon *d) {
    static const char *const names[SHM_SLOT_STATES] = {
        "free", "claimed", "filling", "ready", "uploading", "uploaded", "quarantine", "wiping",
    };
    uint32_t counts[SHM_SLOT_STATES];
    shm_slot_count(&d->region, counts);
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_int(j, "all", d->region.n_slots);
    for (int i = 0; i < SHM_SLOT_STATES; i++) fmt_json_set_int(j, names[i], counts[i]);
    return j;
}

static struct fmt_json *jobs_json(struct gpud_daemon *d) {
    uint32_t counts[SHM_JOB_STATES];
    shm_job_count(&d->region, counts);
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_int(j, "room", d->region.n_jobs);
    fmt_json_set_int(j, "queued", counts[SHM_JOB_QUEUED]);
    fmt_json_set_int(j, "synthesis", counts[SHM_JOB_SYNTHESIS]);
    fmt_json_set_int(j, "proving", counts[SHM_JOB_PROVING]);
    fmt_json_set_int(j, "done", counts[SHM_JOB_DONE]);
    fmt_json_set_int(j, "failed", counts[SHM_JOB_FAILED]);
    fmt_json_set_int(j, "cancelled", counts[SHM_JOB_CANCELLED]);
    return j;
}

static struct fmt_json *worker_json(struct gpud_daemon *d, const struct gpud_member *m) {
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_int(j, "pid", m->pid);
    fmt_json_set_string(j, "kind", m->foreign ? "foreign" : "worker");
    if (m->peer >= 0) {
        struct shm_peer *p = &d->region.peers[m->peer];
        fmt_json_set_int(j, "peer", m->peer);
        fmt_json_set_int(j, "node", p->node);
        fmt_json_set_count(j, "job", atomic_load(&p->job));
        fmt_json_set_count(j, "jobs_done", atomic_load(&p->jobs_done));
        fmt_json_set_count(j, "slots_other_node", atomic_load(&p->slots_other_node));
    }
    return j;
}

/* Slots of a node; those of a region that is bound to none count to every node: there is one. */
static void count_slots(const struct shm_region *r, int node, uint32_t *all, uint32_t *unused) {
    *all = *unused = 0;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        if (r->slot_node[i] != (uint32_t)node && r->slot_node[i] != SHM_ANY_NODE) continue;
        ++*all;
        *unused += shm_ctl_state(atomic_load(&r->slots[i].ctl)) == SHM_SLOT_FREE;
    }
}

/* Workers of a node, and how many slots of other nodes they have claimed in their lives. */
static void count_workers(const struct gpud_daemon *d, int node, uint32_t *workers, uint64_t *elsewhere) {
    *workers = 0;
    *elsewhere = 0;
    for (uint32_t i = 0; i < d->workers.n_members; i++) {
        const struct gpud_member *m = &d->workers.members[i];
        if (!m->used || m->peer < 0 || d->region.peers[m->peer].node != (uint32_t)node) continue;
        ++*workers;
        *elsewhere += atomic_load(&d->region.peers[m->peer].slots_other_node);
    }
}

/* The NUMA map as it is now. */
static struct fmt_json *nodes_json(struct gpud_daemon *d) {
    struct fmt_json *all = fmt_json_array();
    struct shm_node nodes[SHM_MAX_NODES];
    uint32_t n = shm_host_nodes(nodes), slots, unused, workers;
    uint64_t elsewhere;
    for (uint32_t i = 0; i < n; i++) {
        char cpus[SHM_CPUS_TEXT];
        shm_nodes_cpus_text(&nodes[i].set, cpus);
        count_slots(&d->region, nodes[i].number, &slots, &unused);
        count_workers(d, nodes[i].number, &workers, &elsewhere);
        struct fmt_json *j = fmt_json_object();
        fmt_json_set_int(j, "node", nodes[i].number);
        fmt_json_set_string(j, "cpus", cpus);
        fmt_json_set_int(j, "memory_bytes", (int64_t)nodes[i].total_bytes);
        fmt_json_set_int(j, "free_bytes", (int64_t)nodes[i].free_bytes);
        fmt_json_set_int(j, "slots", slots);
        fmt_json_set_int(j, "slots_free", unused);
        fmt_json_set_int(j, "workers", workers);
        fmt_json_set_count(j, "slots_other_node", elsewhere);
        fmt_json_append(all, j);
    }
    return all;
}

static struct fmt_json *workers_json(struct gpud_daemon *d) {
    struct fmt_json *all = fmt_json_array();
    for (uint32_t i = 0; i < d->workers.n_members; i++)
        if (d->workers.members[i].used) fmt_json_append(all, worker_json(d, &d->workers.members[i]));
    return all;
}

static struct fmt_json *circuits_json(struct gpud_daemon *d) {
    struct fmt_json *all = fmt_json_array();
    for (int i = 0; i < GPUD_MAX_CIRCUITS; i++) {
        const struct gpud_circuit *c = &d->circuits[i];
        if (!c->open) continue;
        char digest[20];
        snprintf(digest, sizeof digest, "%016llx", (unsigned long long)c->zkey.digest);
        struct fmt_json *j = fmt_json_object();
        fmt_json_set_string(j, "name", c->spec.name);
        fmt_json_set_string(j, "curve", c->zkey.curve->snarkjs_name);
        fmt_json_set_string(j, "zkey", c->spec.zkey);
        fmt_json_set_string(j, "r1cs", c->spec.r1cs);
        fmt_json_set_string(j, "digest", digest);
        fmt_json_set_int(j, "constraints", c->zkey.n_constraints);
        fmt_json_set_int(j, "signals", c->zkey.n_vars);
        fmt_json_set_int(j, "public", c->zkey.n_public);
        fmt_json_set_int(j, "slot_bytes", (int64_t)c->place.bytes);
        fmt_json_append(all, j);
    }
    return all;
}

static struct fmt_json *memory_json(const struct krn_memory *m) {
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_count(j, "total", m->total);
    fmt_json_set_count(j, "workspace", m->workspace);
    fmt_json_set_count(j, "allocations", m->allocations);
    fmt_json_set_count(j, "registrations", m->registrations);
    fmt_json_set_count(j, "registered_bytes", m->registered_bytes);
    fmt_json_set_count(j, "host_copies", m->host_copies);
    fmt_json_set_count(j, "host_copied_bytes", m->host_copied_bytes);
    return j;
}

/* Keys on the device. Where they are used in place there is no room to speak of. */
static struct fmt_json *keys_json(const struct gpud_daemon *d, const struct gpud_keys_view *v) {
    struct fmt_json *j = fmt_json_object(), *loaded = fmt_json_array();
    if (v->room != UINT64_MAX) fmt_json_set_count(j, "room", v->room);
    fmt_json_set_count(j, "used", v->used);
    fmt_json_set_count(j, "loads", v->loads);
    fmt_json_set_count(j, "evictions", v->evictions);
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) {
        if (!(v->loaded >> i & 1)) continue;
        struct fmt_json *key = fmt_json_object();
        fmt_json_set_string(key, "circuit", d->circuits[i].spec.name);
        fmt_json_set_count(key, "bytes", v->bytes[i]);
        fmt_json_set_string(key, "form", v->form[i]);
        fmt_json_append(loaded, key);
    }
    fmt_json_set(j, "loaded", loaded);
    return j;
}

static struct fmt_json *device_json(struct gpud_daemon *d, int i) {
    static const char *const states[] = {"loading", "ready", "lost"};
    const struct gpud_shown *shown = &d->work.shown[i];
    struct gpud_keys_view keys;
    gpud_keys_look(&d->work, i, &keys);
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_int(j, "index", i);
    fmt_json_set_string(j, "state", states[atomic_load(&shown->state)]);
    fmt_json_set_int(j, "node", atomic_load(&shown->node));
    fmt_json_set_count(j, "proofs", atomic_load(&shown->proofs));
    fmt_json_set_count(j, "busy_us", atomic_load(&shown->busy_us));
    fmt_json_set_count(j, "slots_other_node", atomic_load(&shown->far_slots));
    fmt_json_set(j, "keys", keys_json(d, &keys));
    fmt_json_set(j, "memory", memory_json(&keys.memory));
    return j;
}

static struct fmt_json *devices_json(struct gpud_daemon *d) {
    struct fmt_json *all = fmt_json_array();
    for (int i = 0; i < d->n_devices; i++) fmt_json_append(all, device_json(d, i));
    return all;
}

static int64_t clients_waiting(const struct gpud_daemon *d) {
    int64_t n = 0;
    for (int i = 0; i < GPUD_CONNECTIONS; i++) n += d->sock.conns[i].fd >= 0 && d->sock.conns[i].waiting;
    return n;
}

struct fmt_json *gpud_status(struct gpud_daemon *d) {
    struct fmt_json *j = fmt_json_object();
    int rc = fmt_json_set_string(j, "instance", d->options->instance) | fmt_json_set_int(j, "pid", getpid()) |
             fmt_json_set_bool(j, "ready", d->ready) |
             fmt_json_set_int(j, "uptime_s", (int64_t)((shm_host_now_ns() - d->started_ns) / 1000000000)) |
             fmt_json_set_count(j, "starts", atomic_load(&d->region.super->starts)) |
             fmt_json_set_string(j, "backend", d->backend->name) |
             fmt_json_set_string(j, "memory", d->options->pageable ? "pageable" : "registered") |
             fmt_json_set_string(j, "bell", shm_waiter_name(d->waiter)) |
             fmt_json_set_int(j, "region_bytes", (int64_t)d->region.bytes) |
             fmt_json_set_int(j, "worker_restarts", (int64_t)d->workers.restarts) |
             fmt_json_set_int(j, "clients_waiting", clients_waiting(d)) |
             fmt_json_set_int(j, "clients_dropped", (int64_t)d->sock.dropped) |
             fmt_json_set(j, "devices", devices_json(d)) | fmt_json_set(j, "slots", slots_json(d)) |
             fmt_json_set(j, "jobs", jobs_json(d)) | fmt_json_set(j, "nodes", nodes_json(d)) |
             fmt_json_set(j, "workers", workers_json(d)) |
             fmt_json_set(j, "circuits", circuits_json(d));
    if (rc == 0) return j;
    fmt_json_free(j);
    return NULL;
}
