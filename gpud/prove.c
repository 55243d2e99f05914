#include "gpud/prove.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shm/host.h"

struct krn_job *gpud_prove_begin(const struct krn_backend *backend, struct krn_dev_key *key,
                                 const struct krn_curve *curve, const struct krn_vectors *v,
                                 const struct gpud_blinding *fixed, struct gpud_error *err) {
    struct gpud_blinding blinding;
    char why[KRN_ERR_TEXT] = "";
    if (fixed)
        blinding = *fixed;
    else if (gpud_random_blinding(curve, &blinding, err))
        return NULL;
    struct krn_job *job;
    int rc = backend->begin(key, v, blinding.r, blinding.s, &job, why);
    explicit_bzero(&blinding, sizeof blinding);
    if (rc == 0) return job;
    gpud_fail(err, "%s device: %s", backend->name, why);
    return NULL;
}

enum gpud_outcome gpud_prove_finish(const struct krn_backend *backend, struct krn_job *job, struct gpud_proof *out) {
    memset(out, 0, sizeof *out);
    int rc = backend->finish(job, &out->proof, &out->times, &out->row, out->text);
    if (rc == KRN_OK) return GPUD_COMPUTED;
    if (rc == KRN_ROW_DIFFERS) return GPUD_ROW_DIFFERS;
    if (rc == -ERANGE) return GPUD_INVALID;     /* the witness changed after it was checked: no fault of the device */
    if (!out->text[0]) snprintf(out->text, sizeof out->text, "%s", strerror(-rc));
    return GPUD_DEVICE_ERROR;
}

enum gpud_outcome gpud_prove_verify(const struct krn_vk *vk, const uint8_t *publics, struct gpud_proof *out) {
    out->verify_ns = shm_host_now_ns();
    enum krn_result verdict = krn_verify(vk, publics, vk->n_public, &out->proof);
    out->verify = 1e-9 * (double)(shm_host_now_ns() - out->verify_ns);
    return verdict == KRN_OK ? GPUD_PROVED : verdict == KRN_BAD_SCALAR ? GPUD_BAD_PUBLIC : GPUD_INVALID;
}
