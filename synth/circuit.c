#include "synth/circuit.h"

#include <string.h>

#include "formats/wtns.h"
#include "synth/eval.h"

static int open_r1cs(struct synth_circuit *c, const char *path, struct fmt_error *err) {
    if (fmt_r1cs_open(&c->r1cs, path, err)) return -1;
    if (fmt_r1cs_match(&c->r1cs, &c->zkey, err)) {
        fmt_r1cs_close(&c->r1cs);
        return -1;
    }
    c->has_r1cs = true;
    return 0;
}

int synth_circuit_open(struct synth_circuit *c, const char *zkey, const char *r1cs, struct fmt_error *err) {
    memset(c, 0, sizeof *c);
    if (fmt_zkey_open(&c->zkey, zkey, err)) return -1;
    c->open = true;
    if (r1cs && r1cs[0] && open_r1cs(c, r1cs, err)) {
        synth_circuit_close(c);
        return -1;
    }
    c->place = fmt_payload_of(c->zkey.n_vars, c->zkey.log_domain);
    return 0;
}

void synth_circuit_close(struct synth_circuit *c) {
    if (c->has_r1cs) fmt_r1cs_close(&c->r1cs);
    if (c->open) fmt_zkey_close(&c->zkey);
    memset(c, 0, sizeof *c);
}

int synth_circuit_fill(const struct synth_circuit *c, const char *witness, uint8_t *payload, unsigned threads,
                       struct fmt_error *err) {
    const struct fmt_zkey *z = &c->zkey;
    uint8_t *w = payload + c->place.w;
    struct fmt_r1cs_broken broken;
    if (fmt_wtns_read(witness, z->curve, z->n_vars, w, err)) return -1;
    if (c->has_r1cs && fmt_r1cs_check(&c->r1cs, w, threads, &broken, err)) return -1;
    return synth_eval(z, w, payload + c->place.a, payload + c->place.b, threads, err);
}
