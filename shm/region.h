/*
 * shm/region.h: one POSIX shared-memory object, /pinwheel-<instance>, that holds everything processes share.
 *
 * Life: create (daemon, alone by lock) or adopt (a daemon on an existing region), open (a worker) -> use -> close;
 * unlink when the service goes down. Order of creation: ftruncate, mmap 2 MiB-aligned, free memory of each node
 * checked, mbind per slot, populate by threads on the node, collapse to 2 MiB pages, verify placement, tables,
 * magic last. Nothing here prints or exits; errors are -1 with one line in err that says what, which object, both
 * numbers and the remedy.
 */
#ifndef SHM_REGION_H
#define SHM_REGION_H

#include <stdbool.h>

#include "shm/error.h"
#include "shm/layout.h"

struct shm_class {
    uint64_t bytes;         /* payload bytes a slot must hold; rounded up to SHM_PAGE */
    uint32_t per_node;      /* slots of this size on each node */
};

struct shm_spec {
    const char *instance;
    uint32_t n_classes;
    const struct shm_class *classes;
    uint32_t n_nodes;       /* with memory and CPUs */
    const int *nodes;       /* their numbers; NULL: no binding */
    uint32_t n_jobs, n_peers, n_circuits;
    uint64_t result_bytes;
    bool wipe;              /* zero a slot's payload when it becomes FREE */
    bool small_pages;       /* skip the collapse */
};

/* A process's handle. The geometry is its own copy, checked once against the file's size. */
struct shm_region {
    int fd;
    uint8_t *base;
    uint64_t bytes;
    struct shm_super *super;
    struct shm_slot_line *slots;
    struct shm_peer *peers;
    struct shm_job *jobs;
    struct shm_circuit *circuits;
    uint8_t *results;
    uint32_t n_slots, n_peers, n_jobs, n_circuits;
    uint64_t result_bytes;
    uint64_t payload_at;
    bool wipe;
    bool is_daemon;                         /* created or adopted: holds the daemon's lock */
    uint64_t *slot_offset, *slot_bytes;     /* n_slots each, private */
    uint32_t *slot_node, *slot_class;       /* n_slots each, private */
    uint64_t huge_bytes;                    /* payload found in 2 MiB pages at creation */
};

/* Bytes that a region of this spec takes. */
uint64_t shm_region_size(const struct shm_spec *spec);

/* Creates the region and takes the daemon's lock, which lives as long as r->fd and every copy of it (a forked child's
 * too). code EEXIST: one is there (adopt it, or unlink it if no one holds the lock); ENOSPC: /dev/shm or the node is
 * too small. Leaves nothing behind on failure. */
int shm_region_create(struct shm_region *r, const struct shm_spec *spec, struct shm_error *err);

/* Takes over an existing region as daemon: waits up to wait_ms for the old daemon's lock, then maps it.
 * ENOENT: none, or one that was never finished (create replaces it). EBUSY: another daemon lives. ESTALE: other layout,
 * boot or size. Then the caller repairs: shm_slot_recover, shm_job_recover, and reaps every peer that is dead. */
int shm_region_adopt(struct shm_region *r, const char *instance, int wait_ms, struct shm_error *err);

/* Maps an existing region as a worker. ENOENT, ESTALE as above; EAGAIN: still being created. */
int shm_region_open(struct shm_region *r, const char *instance, struct shm_error *err);

/* Unmaps and gives up the lock; the object stays. */
void shm_region_close(struct shm_region *r);

/* Removes the object's name. 0, or -1 with err (ENOENT is success). */
int shm_region_unlink(const char *instance, struct shm_error *err);

/* Whether a live process holds the daemon's lock of this instance: 1, 0, or -1 (no region). */
int shm_region_daemon_lives(const char *instance);

/* A job's result area. */
static inline uint8_t *shm_region_result(const struct shm_region *r, uint32_t job_index) {
    return r->results + (uint64_t)job_index * r->result_bytes;
}
static inline uint8_t *shm_region_payload(const struct shm_region *r, uint32_t slot) {
    return r->base + r->slot_offset[slot];
}

#endif
