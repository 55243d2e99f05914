/*
 * gpud/result.h: a job's result area in the region: the proof as struct krn_proof, then the public signals as plain
 * scalars. It belongs to the job's record: written before the job is DONE, read as long as the record is that job's.
 */
#ifndef GPUD_RESULT_H
#define GPUD_RESULT_H

#include <string.h>

#include "kernels/krn.h"
#include "shm/region.h"

/* Bytes of a result area that holds up to n_public signals. */
static inline uint64_t gpud_result_bytes(uint32_t n_public) {
    uint64_t bytes = sizeof(struct krn_proof) + (uint64_t)n_public * KRN_FR_BYTES;
    return (bytes + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
}

static inline void gpud_result_write(const struct shm_region *r, uint32_t job, const struct krn_proof *proof,
                                     const uint8_t *publics, uint32_t n_public) {
    uint8_t *area = shm_region_result(r, job);
    memcpy(area, proof, sizeof *proof);
    if (n_public) memcpy(area + sizeof *proof, publics, (size_t)n_public * KRN_FR_BYTES);
}

static inline const uint8_t *gpud_result_publics(const struct shm_region *r, uint32_t job) {
    return shm_region_result(r, job) + sizeof(struct krn_proof);
}

#endif
