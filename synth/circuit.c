#include "synth/circuit.h"

#include <string.h>

#include "formats/wtns.h"
#include "synth/broken.h"
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

int synth_circuit_open(struct synth_circuit *c, const char *zkey, const char *r1cs, const struct synth_recipe *recipe,
                       struct fmt_error *err) {
    memset(c, 0, sizeof *c);
    if (fmt_zkey_open(&c->zkey, zkey, err)) return -1;
    c->open = true;
    if ((r1cs && r1cs[0] && open_r1cs(c, r1cs, err)) ||
        (recipe && synth_source_open(&c->source, recipe, &c->zkey, err))) {
        synth_circuit_close(c);
        return -1;
    }
    c->place = fmt_payload_of(c->zkey.n_vars, c->zkey.log_domain);
    return 0;
}

void synth_circuit_close(struct synth_circuit *c) {
    synth_source_close(&c->source);
    if (c->has_r1cs) fmt_r1cs_close(&c->r1cs);
    if (c->open) fmt_zkey_close(&c->zkey);
    memset(c, 0, sizeof *c);
}

/* Whether a file begins as every .wtns does; one that cannot be read is left to the reader of witnesses to explain. */
static bool is_witness(const char *file) {
    char magic[4] = "wtns";
    struct fmt_file f;
    struct fmt_error ignored;
    if (fmt_file_open(&f, file, &ignored) == 0 && f.size >= sizeof magic)
        fmt_file_read(&f, 0, magic, sizeof magic, &ignored);
    fmt_file_close(&f);
    return memcmp(magic, "wtns", sizeof magic) == 0;
}

static int check_constraints(const struct synth_circuit *c, const uint8_t *w, unsigned threads, struct fmt_error *err) {
    struct fmt_r1cs_broken broken;
    if (!c->has_r1cs || fmt_r1cs_check(&c->r1cs, w, threads, &broken, err) == 0) return 0;
    return synth_broken_fail(&c->r1cs, &broken, c->source.has_sym ? &c->source.sym : NULL, err);
}

int synth_circuit_fill(struct synth_circuit *c, const char *file, uint8_t *payload, unsigned threads,
                       struct fmt_error *err) {
    const struct fmt_zkey *z = &c->zkey;
    uint8_t *w = payload + c->place.w;
    bool input = synth_source_computes(&c->source) && !is_witness(file);
    int rc = input ? synth_source_witness(&c->source, file, z, w, err)
                   : fmt_wtns_read(file, z->curve, z->n_vars, w, err);
    if (rc || check_constraints(c, w, threads, err)) return -1;
    return synth_eval(z, w, payload + c->place.a, payload + c->place.b, threads, err);
}
