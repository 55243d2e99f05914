#include "gpud/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpud/log.h"
#include "shm/host.h"

static double mib(uint64_t bytes) {
    return (double)bytes / (1 << 20);
}

static const struct gpud_circuit *circuit_of(const struct gpud_keys *k, uint32_t i) {
    return &k->work->circuits[i];
}

/* ---- what is seen from outside ---- */

static void show(struct gpud_keys *k) {
    struct gpud_keys_view *v = &k->view;
    struct gpud_shown *shown = &k->work->shown[k->index];
    v->loaded = 0;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) v->loaded |= (uint64_t)(k->keys[i].loaded != NULL) << i;
    k->work->backend->memory(k->device, &v->memory);
    atomic_store(&shown->loaded, v->loaded);
    pthread_mutex_lock(&k->work->lock);
    shown->keys = *v;
    pthread_mutex_unlock(&k->work->lock);
}

void gpud_keys_look(struct gpud_work *work, int device, struct gpud_keys_view *view) {
    pthread_mutex_lock(&work->lock);
    *view = work->shown[device].keys;
    pthread_mutex_unlock(&work->lock);
}

/* ---- room ---- */

bool gpud_keys_has(const struct gpud_keys *k, uint32_t circuit) {
    return k->keys[circuit].loaded != NULL;
}

bool gpud_keys_has_room(const struct gpud_keys *k, uint32_t circuit) {
    return gpud_keys_has(k, circuit) || k->keys[circuit].bytes <= k->view.room - k->view.used;
}

/* The idle key that was used longest ago; NULL where all that are loaded are in use. */
static struct gpud_key *oldest_idle(struct gpud_keys *k) {
    struct gpud_key *oldest = NULL;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) {
        struct gpud_key *key = &k->keys[i];
        if (key->loaded && !key->in_flight && (!oldest || key->used < oldest->used)) oldest = key;
    }
    return oldest;
}

static bool any_in_flight(const struct gpud_keys *k) {
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (k->keys[i].in_flight) return true;
    return false;
}

static void unload(struct gpud_keys *k, struct gpud_key *key) {
    k->work->backend->key_free(key->loaded);
    key->loaded = NULL;
    k->view.used -= key->bytes;
}

/* 0, or -EBUSY where the rest is in use, or -ENOMEM where nothing is left. */
static int evict_one(struct gpud_keys *k) {
    struct gpud_key *key = oldest_idle(k);
    if (!key) return any_in_flight(k) ? -EBUSY : -ENOMEM;
    gpud_log("device %d: key of %s goes, %.1f MiB", k->index, circuit_of(k, (uint32_t)(key - k->keys))->spec.name,
             mib(key->bytes));
    unload(k, key);
    k->view.evictions++;
    return 0;
}

/* ---- loading ---- */

/* As key_load, from the file. */
static int load_once(struct gpud_keys *k, uint32_t circuit, struct gpud_error *err) {
    const struct krn_backend *backend = k->work->backend;
    const struct gpud_circuit *c = circuit_of(k, circuit);
    const struct krn_source source = {.ctx = &k->reader, .fill = gpud_reader_fill};
    char why[KRN_ERR_TEXT] = "";
    gpud_reader_use(&k->reader, &c->zkey.file);
    int rc = backend->key_load(k->device, &c->zkey.key, backend->plan ? &source : NULL, &k->keys[circuit].loaded, why);
    if (rc == 0) return 0;
    k->keys[circuit].loaded = NULL;
    gpud_fail(err, "the key of circuit %s cannot be loaded on %s device %d: %s", c->spec.name, backend->name, k->index,
              k->reader.error.text[0] ? k->reader.error.text : why);
    return rc;
}

static void log_load(const struct gpud_keys *k, uint32_t circuit, uint64_t ns) {
    char use[80] = "";
    if (k->view.room != UINT64_MAX)
        snprintf(use, sizeof use, ", %.1f MiB; %.1f of %.1f MiB for keys are used", mib(k->keys[circuit].bytes),
                 mib(k->view.used), mib(k->view.room));
    gpud_log("device %d: key of %s ready, %.3f s, %s%s", k->index, circuit_of(k, circuit)->spec.name,
             1e-9 * (double)ns, k->view.form[circuit], use);
}

static int load(struct gpud_keys *k, uint32_t circuit, struct gpud_error *err) {
    struct gpud_key *key = &k->keys[circuit];
    uint64_t start = shm_host_now_ns();
    int rc = 0;
    while (rc == 0 && !gpud_keys_has_room(k, circuit)) rc = evict_one(k);
    if (rc) return rc;
    /* Memory can be short though the sum fits, where free pieces are small: then another goes. */
    while ((rc = load_once(k, circuit, err)) == -ENOMEM && (rc = evict_one(k)) == 0) continue;
    if (rc) return rc;
    uint64_t ns = shm_host_now_ns() - start;
    if (ns > k->load_ns) k->load_ns = ns;
    key->loads++;
    k->view.loads++;
    k->view.used += key->bytes;
    log_load(k, circuit, ns);
    return 0;
}

int gpud_keys_take(struct gpud_keys *k, uint32_t circuit, struct krn_dev_key **key, struct gpud_error *err) {
    struct gpud_key *taken = &k->keys[circuit];
    int rc = taken->loaded ? 0 : load(k, circuit, err);
    if (rc == 0) {
        taken->in_flight++;
        taken->used = ++k->tick;
        *key = taken->loaded;
    }
    show(k);
    return rc;
}

void gpud_keys_put(struct gpud_keys *k, uint32_t circuit) {
    k->keys[circuit].in_flight--;
    show(k);
}

/* ---- life ---- */

static int plan(struct gpud_keys *k, uint64_t budget, struct gpud_error *err) {
    const struct krn_backend *backend = k->work->backend;
    const struct krn_key *all[GPUD_MAX_CIRCUITS];
    char why[KRN_ERR_TEXT] = "";
    unsigned n = 0;
    k->view.room = UINT64_MAX;
    if (!backend->plan) return 0;       /* keys are used where they lie */
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (circuit_of(k, i)->open) all[n++] = &circuit_of(k, i)->zkey.key;
    if (backend->plan(k->device, all, n, budget, why))
        return gpud_fail(err, "%s device %d: %s", backend->name, k->index, why);
    backend->memory(k->device, &k->view.memory);
    k->view.room = k->view.memory.key_room;
    return 0;
}

/* What each key will take; one that can never have it is refused. */
static int measure(struct gpud_keys *k, struct gpud_error *err) {
    const struct krn_backend *backend = k->work->backend;
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) {
        const struct gpud_circuit *c = circuit_of(k, i);
        if (!c->open) continue;
        k->view.bytes[i] = k->keys[i].bytes = backend->key_bytes(k->device, &c->zkey.key);
        k->view.form[i] = backend->key_form(k->device, &c->zkey.key);
        if (k->keys[i].bytes > k->view.room)
            return gpud_fail(err, "%s device %d: the key of circuit %s takes %llu bytes, and there is room for %llu of "
                             "all keys", backend->name, k->index, c->spec.name,
                             (unsigned long long)k->keys[i].bytes, (unsigned long long)k->view.room);
    }
    return 0;
}

int gpud_keys_open(struct gpud_keys *k, struct gpud_work *work, struct krn_device *device, int index, uint64_t budget,
                   struct gpud_error *err) {
    memset(k, 0, sizeof *k);
    k->work = work;
    k->device = device;
    k->index = index;
    if (plan(k, budget, err) || measure(k, err)) return -1;
    if (work->backend->plan) {
        gpud_reader_open(&k->reader);
        gpud_log("device %d: keys are read by %s%s%s", index, k->reader.ring ? "io_uring" : "pread",
                 k->reader.ring ? "" : ": ", k->reader.why);
    }
    show(k);
    return 0;
}

int gpud_keys_load_all(struct gpud_keys *k, struct gpud_error *err) {
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++) {
        if (!circuit_of(k, i)->open) continue;
        if (!gpud_keys_has_room(k, i))
            gpud_log("device %d: key of %s, %.1f MiB, is loaded when it is needed", k->index,
                     circuit_of(k, i)->spec.name, mib(k->keys[i].bytes));
        else if (load(k, i, err))
            return -1;
    }
    show(k);
    return 0;
}

void gpud_keys_close(struct gpud_keys *k) {
    for (uint32_t i = 0; i < GPUD_MAX_CIRCUITS; i++)
        if (k->keys[i].loaded) unload(k, &k->keys[i]);
    gpud_reader_close(&k->reader);
}

void gpud_keys_abandon(struct gpud_keys *k) {
    gpud_reader_close(&k->reader);
}
