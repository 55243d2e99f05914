/*
 * kernels/backend.h: the table behind which the CPU and the GPU prove. The CPU is the definition: for the same
 * key, vectors, r and s every back end gives the same bytes.
 *
 * Life of a proof: begin -> (uploaded: the vectors may be overwritten) -> finish. A device carries one key set
 * and `depth` proofs in flight. All workspace is allocated in key_load, none in begin or finish.
 * One thread drives a device.
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

struct krn_backend {
    const char *name;   /* "cpu", "cuda" */
    /* How many devices this back end has here; 0 with the reason in err where it cannot run. */
    int (*count)(char err[KRN_ERR_TEXT]);
    /* threads: host threads the device may use (0: all that the process may run on). NULL with err on failure. */
    struct krn_device *(*open)(int index, unsigned threads, char err[KRN_ERR_TEXT]);
    void (*close)(struct krn_device *dev);
    /* Makes a key ready. The bytes that `key` points to must stay until key_free (the CPU reads them in place). */
    struct krn_dev_key *(*key_load)(struct krn_device *dev, const struct krn_key *key, char err[KRN_ERR_TEXT]);
    void (*key_free)(struct krn_dev_key *key);
    /* Page-locks host memory once, so that uploads from it run at bus speed: 0 or -errno. Both are NULL where
     * nothing is uploaded (CPU). */
    int (*host_register)(struct krn_device *dev, void *base, size_t bytes);
    void (*host_unregister)(struct krn_device *dev, void *base, size_t bytes);
    /* Starts a proof; r and s are plain scalars below the group order. NULL with err on failure. */
    struct krn_job *(*begin)(struct krn_dev_key *key, const struct krn_vectors *v, const uint8_t r[KRN_FR_BYTES],
                             const uint8_t s[KRN_FR_BYTES], char err[KRN_ERR_TEXT]);
    /* Waits until the device holds its own copy of the vectors; returns false where it never does (CPU): then
     * the vectors must stay until finish. */
    int (*uploaded)(struct krn_job *job);
    /* Waits for the proof and frees the job. KRN_OK, or KRN_ROW_DIFFERS with *row, or -errno with err; -ERANGE where
     * the device found a value of the witness that is not below the group order, and is well. */
    int (*finish)(struct krn_job *job, struct krn_proof *proof, struct krn_times *times, uint64_t *row,
                  char err[KRN_ERR_TEXT]);
};

extern const struct krn_backend krn_cpu_backend;
/* Linked only where CUDA was there at build time; count() says why it cannot run where there is no driver. */
extern const struct krn_backend krn_cuda_backend;

#ifdef __cplusplus
}
#endif
#endif
