/*
 * gpud/prove.h: one proof: blinding, begin and finish on a device, and the check without which no proof leaves. The
 * daemon's device threads and the one-shot command both prove through here.
 */
#ifndef GPUD_PROVE_H
#define GPUD_PROVE_H

#include "gpud/random.h"
#include "kernels/backend.h"

enum gpud_outcome {
    GPUD_PROVED = 0,        /* the proof is valid */
    GPUD_COMPUTED,          /* the device has made it; gpud_prove_verify will say what it is worth */
    GPUD_INVALID,           /* computed, but the pairing check refuses it: as a rule the witness breaks a constraint */
    GPUD_ROW_DIFFERS,       /* the sent c differs from a * b; row is set */
    GPUD_BAD_PUBLIC,        /* a public signal is not below the group order */
    GPUD_DEVICE_ERROR,      /* the device is not to be trusted any more; text says why */
};

struct gpud_proof {
    struct krn_proof proof;
    struct krn_times times;
    uint64_t verify_ns;     /* when the check began, CLOCK_MONOTONIC */
    double verify;          /* seconds */
    uint64_t row;
    char text[KRN_ERR_TEXT];
};

/* Starts a proof with fresh scalars, or with *fixed where it is not NULL. NULL with err: the device failed. */
struct krn_job *gpud_prove_begin(const struct krn_backend *backend, struct krn_dev_key *key,
                                 const struct krn_curve *curve, const struct krn_vectors *v,
                                 const struct gpud_blinding *fixed, struct gpud_error *err);

/* Waits for the device and frees the job. GPUD_COMPUTED, GPUD_ROW_DIFFERS, GPUD_INVALID or GPUD_DEVICE_ERROR. */
enum gpud_outcome gpud_prove_finish(const struct krn_backend *backend, struct krn_job *job, struct gpud_proof *out);

/* Checks a computed proof against publics (vk->n_public plain scalars), by any thread; sets out->verify and verify_ns.
 * GPUD_PROVED, GPUD_INVALID or GPUD_BAD_PUBLIC. */
enum gpud_outcome gpud_prove_verify(const struct krn_vk *vk, const uint8_t *publics, struct gpud_proof *out);

#endif
