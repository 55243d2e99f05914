#include "gpud/receipt.h"

#include <stdlib.h>
#include <string.h>

#include "gpud/result.h"

static void digest_of(char digest[FMT_SHA256_TEXT], const struct krn_proof *proof, const uint8_t *publics,
                      uint32_t n_public) {
    struct fmt_sha256 h;
    fmt_sha256_begin(&h);
    fmt_sha256_add(&h, proof, sizeof *proof);
    fmt_sha256_add(&h, publics, (size_t)n_public * KRN_FR_BYTES);
    fmt_sha256_end(&h, digest);
}

/* The job's receipt, where this daemon has one. Under w->results. */
static struct gpud_receipt *find(struct gpud_work *w, struct shm_job_ref job) {
    struct gpud_receipt *receipt = &w->receipts[job.index];
    return receipt->job == shm_job_id(w->region, job) ? receipt : NULL;
}

void gpud_receipt_open(struct gpud_work *w, struct shm_job_ref job, uint32_t circuit) {
    pthread_mutex_lock(&w->results);
    w->receipts[job.index] = (struct gpud_receipt){.job = shm_job_id(w->region, job), .circuit = circuit};
    pthread_mutex_unlock(&w->results);
}

static uint32_t circuit_of(struct gpud_work *w, struct shm_job_ref job) {
    const struct gpud_receipt *receipt = find(w, job);
    return receipt ? receipt->circuit : w->region->jobs[job.index].circuit;
}

uint32_t gpud_receipt_circuit(struct gpud_work *w, struct shm_job_ref job) {
    pthread_mutex_lock(&w->results);
    uint32_t circuit = circuit_of(w, job);
    pthread_mutex_unlock(&w->results);
    return circuit;
}

void gpud_receipt_write(struct gpud_work *w, struct shm_job_ref job, uint32_t circuit, const struct krn_proof *proof,
                        const uint8_t *publics) {
    struct gpud_receipt *receipt = &w->receipts[job.index];
    uint32_t n_public = w->circuits[circuit].zkey.n_public;
    *receipt = (struct gpud_receipt){.job = shm_job_id(w->region, job), .circuit = circuit};
    digest_of(receipt->digest, proof, publics, n_public);
    gpud_result_write(w->region, job.index, proof, publics, n_public);
}

static bool is_the_one(const struct gpud_receipt *receipt, const struct gpud_circuit *c,
                       const struct gpud_result *result) {
    char digest[FMT_SHA256_TEXT];
    if (!receipt || !receipt->digest[0])
        return krn_verify(&c->vk, result->publics, c->zkey.n_public, &result->proof) == KRN_OK;
    digest_of(digest, &result->proof, result->publics, c->zkey.n_public);
    return strcmp(digest, receipt->digest) == 0;
}

int gpud_receipt_read(struct gpud_work *w, struct shm_job_ref job, struct gpud_result *out, struct gpud_error *err) {
    pthread_mutex_lock(&w->results);
    const struct gpud_receipt *found = find(w, job);
    struct gpud_receipt receipt = found ? *found : (struct gpud_receipt){0};
    out->circuit = circuit_of(w, job);
    pthread_mutex_unlock(&w->results);
    if (out->circuit >= GPUD_MAX_CIRCUITS || !w->circuits[out->circuit].open)
        return gpud_fail(err, "its record names circuit %u, which is not registered", out->circuit);

    const struct gpud_circuit *c = &w->circuits[out->circuit];
    size_t bytes = (size_t)c->zkey.n_public * KRN_FR_BYTES;
    out->publics = malloc(bytes + 1);
    if (!out->publics) return gpud_fail(err, "no memory for %u public signals", c->zkey.n_public);
    memcpy(&out->proof, shm_region_result(w->region, job.index), sizeof out->proof);
    memcpy(out->publics, gpud_result_publics(w->region, job.index), bytes);
    if (is_the_one(found ? &receipt : NULL, c, out)) return 0;
    free(out->publics);
    return gpud_fail(err, "its result in the region is not the one that was verified: something wrote there; submit it "
                     "again");
}
