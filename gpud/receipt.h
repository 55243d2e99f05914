/*
 * gpud/receipt.h: what the daemon itself knows of each job: the circuit that it was submitted for, and which result is
 * its. Results lie in the region, where every process that maps it can write; so none leaves unless it is, bit for
 * bit, the one that was verified, or, where an earlier daemon made it, verifies again.
 */
#ifndef GPUD_RECEIPT_H
#define GPUD_RECEIPT_H

#include "gpud/work.h"
#include "shm/job.h"

/* A result as it is released. */
struct gpud_result {
    uint32_t circuit;       /* catalogue index */
    struct krn_proof proof;
    uint8_t *publics;       /* plain scalars, as many as the circuit has; malloc'd, the caller's */
};

/* A job was submitted for that circuit. */
void gpud_receipt_open(struct gpud_work *w, struct shm_job_ref job, uint32_t circuit);
/* The circuit that a job is for; of a job that an earlier daemon took: what its record says. */
uint32_t gpud_receipt_circuit(struct gpud_work *w, struct shm_job_ref job);
/* Writes a verified result into the job's area and keeps its digest. The caller holds w->results. */
void gpud_receipt_write(struct gpud_work *w, struct shm_job_ref job, uint32_t circuit, const struct krn_proof *proof,
                        const uint8_t *publics);
/* Copies the result of a job that is DONE. 0 with *out, or -1 with err: it is not the job's, or memory is short. */
int gpud_receipt_read(struct gpud_work *w, struct shm_job_ref job, struct gpud_result *out, struct gpud_error *err);

#endif
