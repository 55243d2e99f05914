#include "gpud/work.h"

#include <stdlib.h>
#include <string.h>

#include "shm/bell.h"

int gpud_work_open(struct gpud_work *w, struct shm_region *region, const struct krn_backend *backend,
                   struct gpud_circuit *circuits, uint32_t n_devices, const struct gpud_blinding *fixed,
                   struct gpud_error *err) {
    memset(w, 0, sizeof *w);
    w->region = region;
    w->backend = backend;
    w->circuits = circuits;
    w->n_devices = n_devices;
    w->fixed = fixed;
    w->own_eventfd = -1;
    w->suspects = calloc(region->n_jobs, sizeof *w->suspects);
    w->receipts = calloc(region->n_jobs, sizeof *w->receipts);
    if (!w->suspects || !w->receipts) {
        free(w->suspects);
        free(w->receipts);
        w->suspects = NULL;
        return gpud_fail(err, "no memory for %u jobs", region->n_jobs);
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_mutex_init(&w->results, NULL);
    pthread_mutex_init(&w->registering, NULL);
    pthread_cond_init(&w->kicked, NULL);
    return 0;
}

void gpud_work_close(struct gpud_work *w) {
    if (!w->suspects) return;
    pthread_mutex_destroy(&w->lock);
    pthread_mutex_destroy(&w->results);
    pthread_mutex_destroy(&w->registering);
    pthread_cond_destroy(&w->kicked);
    free(w->suspects);
    free(w->receipts);
    w->suspects = NULL;
}

void gpud_work_kick(struct gpud_work *w) {
    pthread_mutex_lock(&w->lock);
    w->kicks++;
    pthread_cond_broadcast(&w->kicked);
    pthread_mutex_unlock(&w->lock);
}

void gpud_work_stop(struct gpud_work *w) {
    if (!w->suspects) return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->kicked);
    pthread_mutex_unlock(&w->lock);
}

void gpud_work_tell(struct gpud_work *w) {
    shm_bell_ring(&w->region->super->bell, w->own_eventfd);
}

void gpud_work_enter(struct gpud_work *w) {
    pthread_mutex_lock(&w->lock);
    w->n_threads++;
    pthread_mutex_unlock(&w->lock);
}

void gpud_work_leave(struct gpud_work *w) {
    pthread_mutex_lock(&w->lock);
    w->n_threads--;
    pthread_cond_broadcast(&w->kicked);
    pthread_mutex_unlock(&w->lock);
}

void gpud_work_outlive(struct gpud_work *w) {
    pthread_mutex_lock(&w->lock);
    while (w->n_threads > 1) pthread_cond_wait(&w->kicked, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void gpud_work_lose(struct gpud_work *w, int device, const char *text) {
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->shown[device].state, GPUD_DEVICE_LOST);
    atomic_store(&w->shown[device].loaded, 0);
    atomic_store(&w->shown[device].idle, false);
    if (--w->n_devices == 0) {
        w->failed = w->stop = true;
        strncpy(w->failure, text, sizeof w->failure - 1);
    }
    w->kicks++;                         /* what it leaves is for the others */
    pthread_cond_broadcast(&w->kicked);
    pthread_mutex_unlock(&w->lock);
    gpud_work_tell(w);
}

bool gpud_work_failed(struct gpud_work *w, struct gpud_error *err) {
    pthread_mutex_lock(&w->lock);
    bool failed = w->failed;
    if (failed && err) gpud_fail(err, "%s", w->failure);
    pthread_mutex_unlock(&w->lock);
    return failed;
}

static const struct gpud_circuit *circuit_of(const struct gpud_work *w, const struct shm_slot_desc *d) {
    return d->circuit < GPUD_MAX_CIRCUITS && w->circuits[d->circuit].open ? &w->circuits[d->circuit] : NULL;
}

int gpud_work_check(const struct gpud_work *w, uint32_t slot, const struct shm_slot_desc *d, struct gpud_error *err) {
    const struct gpud_circuit *c = circuit_of(w, d);
    if (!c) return gpud_fail(err, "slot %u names circuit %u, which is not registered", slot, d->circuit);
    if (d->n_vars != c->zkey.n_vars || d->n_rows != c->zkey.n_rows)
        return gpud_fail(err, "slot %u holds %u signals and %u rows; circuit %s has %u and %u", slot, d->n_vars,
                         d->n_rows, c->spec.name, c->zkey.n_vars, c->zkey.n_rows);
    if (d->flags & ~(uint32_t)SHM_SLOT_HAS_C) return gpud_fail(err, "slot %u has unknown flags %#x", slot, d->flags);
    uint64_t need = d->flags & SHM_SLOT_HAS_C ? c->place.bytes_with_c : c->place.bytes;
    if (need > w->region->slot_bytes[slot])
        return gpud_fail(err, "slot %u has %llu bytes; circuit %s needs %llu", slot,
                         (unsigned long long)w->region->slot_bytes[slot], c->spec.name, (unsigned long long)need);
    const uint8_t *values = shm_region_payload(w->region, slot) + c->place.w;
    size_t above = krn_fr_first_above(c->zkey.curve, values, d->n_vars);
    if (above < d->n_vars)
        return gpud_fail(err, "slot %u: the witness value of signal %zu is not below the group order", slot, above);
    return 0;
}

struct krn_vectors gpud_work_vectors(const struct gpud_work *w, uint32_t slot, const struct shm_slot_desc *d) {
    const struct fmt_payload *place = &w->circuits[d->circuit].place;
    const uint8_t *base = shm_region_payload(w->region, slot);
    return (struct krn_vectors){
        .w = base + place->w,
        .a = base + place->a,
        .b = base + place->b,
        .c = d->flags & SHM_SLOT_HAS_C ? base + place->c : NULL,
    };
}

uint64_t gpud_work_digest(const struct gpud_work *w, uint32_t slot, const struct shm_slot_desc *d) {
    const struct fmt_payload *place = &w->circuits[d->circuit].place;
    const uint64_t *words = (const uint64_t *)shm_region_payload(w->region, slot);
    uint64_t n = (d->flags & SHM_SLOT_HAS_C ? place->bytes_with_c : place->bytes) / sizeof *words;
    uint64_t hash = 0xcbf29ce484222325u;    /* FNV-1a over words; the shift since a product only carries upwards */
    for (uint64_t i = 0; i < n; i++) {
        hash = (hash ^ words[i]) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash;
}
