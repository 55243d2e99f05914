/*
 * kernels/backend.h: the table behind which the CPU and the GPU prove. The CPU is the definition: for the same
 * key, vectors, r and s every back end gives the same bytes.
 *
 * Life of a device: open -> plan -> (key_load ... key_free) -> close. All that proofs need is taken in plan, for the
 * largest of the keys that may come, and a key's own bytes in key_load; begin, uploaded and finish allocate nothing.
 * Life of a proof: begin -> (uploaded: the vectors may be overwritten) -> finish. Up to `depth` proofs are in flight,
 * of whatever keys; they compute in the order in which they began.
 *
 * Threads: begin, uploaded, finish and memory are for one thread, the one that drives the device. key_load and key_free
 * may be called by another at the same time, one call at a time.
 *
 * Errors are negative errno values with one line of text in err:
 *   -ENOMEM   memory is short: proofs of loaded keys go on; another key_load may do when room was made
 *   -ENODEV   the device is lost (the text has CUDA's name for it): every later call says the same, and only a new
 *             process gets it back
 *   -EBUSY    `depth` proofs are in flight
 *   -EINVAL   a key or scalar that cannot be: the text says which number
 *   -ERANGE   from finish: a value of the witness is not below the group order; the device is well
 * and what a source's `fill` or `make` returned.
 */
#ifndef KERNELS_BACKEND_H
#define KERNELS_BACKEND_H

#include "kernels/krn.h"

#ifdef __cplusplus
extern "C" {
#endif

struct krn_device;      /* a CPU thread pool or one GPU */
struct krn_dev_key;     /* a key made ready on a device */
struct krn_job;         /* a proof in flight */

enum { KRN_ERR_TEXT = 256 };

/* What a device holds. Counters grow from open on; after the last key_load none of them does. */
struct krn_memory {
    uint64_t total, workspace;          /* device bytes: of the device; taken in plan */
    uint64_t key_room, key_used;        /* device bytes: what loaded keys may take in all; what they take */
    uint64_t allocations;               /* of device memory, by plan and key_load */
    uint64_t registrations, registered_bytes;   /* page-locked host memory now: ranges, host_register's and our own */
    uint64_t host_copies, host_copied_bytes;    /* vectors that were copied on the host on their way to the device,
                                                 * as those are that lie in memory which is not page-locked */
};

/* Vectors of a key. */
enum krn_set { KRN_SET_A, KRN_SET_B1, KRN_SET_L, KRN_SET_B2, KRN_SET_H, KRN_SET_B_INDEX };

/*
 * Where a key's points come from while it is loaded. The default, a NULL source, copies them from where struct krn_key
 * points to. Exactly one of fill and make is set; both return 0 or -errno, which ends the loading.
 */
struct krn_source {
    void *ctx;
    /* Brings `bytes` of a vector of the key to `to`, page-locked memory of the device's; from: their address in the
     * key. Calls are in order of address for each vector; the piece before may still travel to the device. */
    int (*fill)(void *ctx, const void *from, size_t bytes, void *to);
    /* On a GPU alone: queues work on `stream` (a cudaStream_t) that writes elements first .. first+count-1 of a set
     * to device memory at `to`; the vectors of struct krn_key may be NULL. Elements are points as in struct krn_key; L
     * counts from signal n_public + 1. Where the key is kept with finite points of B alone (krn_key.n_b), B1 and B2 are
     * those n_b points, and KRN_SET_B_INDEX their variables in ascending order, uint32_t each. */
    int (*make)(void *ctx, enum krn_set set, uint64_t first, uint64_t count, void *to, void *stream);
};

struct krn_backend {
    const char *name;   /* "cpu", "cuda" */
    /* How many devices this back end has here; 0 with the reason in err where it cannot run. */
    int (*count)(char err[KRN_ERR_TEXT]);
    /* threads: host threads the device may use (0: all that the process may run on). NULL with err on failure. */
    struct krn_device *(*open)(int index, unsigned threads, char err[KRN_ERR_TEXT]);
    void (*close)(struct krn_device *dev);
    /* Takes the workspace that proofs of any of the n keys need, the largest, and decides in which form keys are
     * loaded: expanded where all fit so, else in one copy, else streamed from the host for every proof, where a key
     * alone exceeds the room. Only numbers of the keys are read, no points. budget: device bytes for workspace and
     * keys; 0: what is free, less a margin. Once after open, and again only while no key is loaded.
     * NULL on the CPU. */
    int (*plan)(struct krn_device *dev, const struct krn_key *const keys[], unsigned n, uint64_t budget,
                char err[KRN_ERR_TEXT]);
    /* Device bytes that key_load will take. 0 on the CPU. */
    uint64_t (*key_bytes)(struct krn_device *dev, const struct krn_key *key);
    /* Makes a key ready; source NULL: from the memory that `key` points to. Waits. The bytes that `key` points to must
     * stay until key_free (the CPU reads them in place and asks no source). -EINVAL where plan did not know of a key
     * that takes so much workspace. */
    int (*key_load)(struct krn_device *dev, const struct krn_key *key, const struct krn_source *source,
                    struct krn_dev_key **loaded, char err[KRN_ERR_TEXT]);
    /* None of its own proofs may be in flight; others' may. */
    void (*key_free)(struct krn_dev_key *key);
    void (*memory)(struct krn_device *dev, struct krn_memory *m);
    /* Proofs that may be in flight at once, after plan. */
    unsigned (*depth)(struct krn_device *dev);
    /* Page-locks host memory once, so that uploads from it run at bus speed: 0 or -errno. Both are NULL where
     * nothing is uploaded (CPU). */
    int (*host_register)(struct krn_device *dev, void *base, size_t bytes);
    void (*host_unregister)(struct krn_device *dev, void *base, size_t bytes);
    /* Starts a proof; r and s are plain scalars below the group order. *job is set on success. */
    int (*begin)(struct krn_dev_key *key, const struct krn_vectors *v, const uint8_t r[KRN_FR_BYTES],
                 const uint8_t s[KRN_FR_BYTES], struct krn_job **job, char err[KRN_ERR_TEXT]);
    /* Waits until the device holds its own copy of the vectors; returns false where it never does (CPU): then
     * the vectors must stay until finish. Errors show in finish. */
    int (*uploaded)(struct krn_job *job);
    /* Waits for the proof and frees the job. KRN_OK, or KRN_ROW_DIFFERS with *row, or -errno. */
    int (*finish)(struct krn_job *job, struct krn_proof *proof, struct krn_times *times, uint64_t *row,
                  char err[KRN_ERR_TEXT]);
    /* In which form plan decided that key_load will keep the key: a constant word for people. */
    const char *(*key_form)(struct krn_device *dev, const struct krn_key *key);
    /* The NUMA node that device `index` is nearest to; -1 where it is not known, or there is none such. */
    int (*node)(int index);
};

extern const struct krn_backend krn_cpu_backend;
/* Linked only where CUDA was there at build time; count() says why it cannot run where there is no driver. */
extern const struct krn_backend krn_cuda_backend;

#ifdef __cplusplus
}
#endif
#endif
