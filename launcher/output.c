#include "launcher/output.h"

#include <stdlib.h>

#include "formats/snarkjs.h"

int launcher_output_open(struct launcher_output *o, const char *proof_path, const char *public_path,
                         struct fmt_error *err) {
    if (fmt_output_open(&o->proof, proof_path, err)) return -1;
    if (fmt_output_open(&o->publics, public_path, err) == 0) return 0;
    fmt_output_discard(&o->proof);
    return -1;
}

static int put(struct fmt_output *o, char *text, size_t len, struct fmt_error *err) {
    int rc = text ? fmt_output_write(o, text, len, err) : fmt_fail(err, "%s: no memory for its text", o->path);
    free(text);
    return rc;
}

int launcher_output_write(struct launcher_output *o, const struct krn_curve *curve, const struct krn_proof *proof,
                          const uint8_t *publics, size_t n_public, struct fmt_error *err) {
    size_t proof_len = 0, public_len = 0;
    char *proof_text = fmt_proof_text(curve, proof, &proof_len);
    char *public_text = fmt_public_text(publics, n_public, &public_len);
    int rc = put(&o->proof, proof_text, proof_len, err);
    if (put(&o->publics, public_text, public_len, err)) rc = -1;
    if (rc == 0) rc = fmt_output_commit(&o->publics, err) || fmt_output_commit(&o->proof, err) ? -1 : 0;
    launcher_output_discard(o);
    return rc;
}

void launcher_output_discard(struct launcher_output *o) {
    fmt_output_discard(&o->proof);
    fmt_output_discard(&o->publics);
}
