#include "launcher/oneshot.h"

#include <stdlib.h>
#include <string.h>

#include "gpud/prove.h"
#include "launcher/output.h"
#include "synth/circuit.h"

/* What one proof needs, from open to close. */
struct oneshot {
    const struct launcher_oneshot *o;
    struct synth_circuit circuit;
    uint8_t *payload, *ic;
    struct krn_device *device;
    struct krn_dev_key *key;
};

/* The vectors: what is wrong with a file is said before anything expensive is begun. */
static int fill(struct oneshot *s, struct gpud_error *err) {
    struct fmt_error why;
    if (synth_circuit_open(&s->circuit, s->o->zkey, s->o->r1cs, s->o->recipe, &why))
        return gpud_fail(err, "%s", why.text);
    s->payload = aligned_alloc(FMT_PAYLOAD_ALIGN, s->circuit.place.bytes);
    if (!s->payload)
        return gpud_fail(err, "%s: no memory for %llu bytes of vectors", s->o->zkey,
                         (unsigned long long)s->circuit.place.bytes);
    if (synth_circuit_fill(&s->circuit, s->o->witness, s->payload, s->o->threads, &why))
        return gpud_fail(err, "%s", why.text);
    return 0;
}

static int load_key(struct oneshot *s, struct gpud_error *err) {
    const struct fmt_zkey *z = &s->circuit.zkey;
    struct fmt_error why;
    char text[KRN_ERR_TEXT] = "";
    if (fmt_zkey_check_points(z, s->o->threads, &why)) return gpud_fail(err, "%s", why.text);
    s->ic = malloc(((size_t)z->n_public + 1) * 2 * z->curve->fq_bytes);
    if (!s->ic) return gpud_fail(err, "%s: no memory for %u public points", s->o->zkey, z->n_public + 1);
    s->device = krn_cpu_backend.open(0, s->o->threads, text);
    if (s->device && krn_cpu_backend.key_load(s->device, &z->key, NULL, &s->key, text) == 0) return 0;
    return gpud_fail(err, "%s: %s", s->o->zkey, text);
}

static void close_all(struct oneshot *s) {
    if (s->key) krn_cpu_backend.key_free(s->key);
    if (s->device) krn_cpu_backend.close(s->device);
    if (s->payload) explicit_bzero(s->payload, s->circuit.place.bytes);
    free(s->payload);
    free(s->ic);
    synth_circuit_close(&s->circuit);
}

static int prove(struct oneshot *s, struct gpud_proof *p, struct gpud_error *err) {
    const struct synth_circuit *c = &s->circuit;
    struct krn_vectors v = {.w = s->payload + c->place.w, .a = s->payload + c->place.a, .b = s->payload + c->place.b};
    struct krn_vk vk;
    fmt_zkey_vk(&c->zkey, &vk, s->ic);
    struct krn_job *job = gpud_prove_begin(&krn_cpu_backend, s->key, c->zkey.curve, &v, s->o->fixed, err);
    if (!job) return -1;
    enum gpud_outcome outcome = gpud_prove_finish(&krn_cpu_backend, job, p);
    if (outcome == GPUD_COMPUTED) outcome = gpud_prove_verify(&vk, v.w + KRN_FR_BYTES, p);
    switch (outcome) {
    case GPUD_PROVED: return 0;
    case GPUD_DEVICE_ERROR: return gpud_fail(err, "%s", p->text);
    default:
        return gpud_fail(err, "%s: the proof does not verify: the witness does not satisfy the circuit of %s%s",
                         s->o->witness, s->o->zkey, s->o->r1cs ? "" : "; give --r1cs FILE to be told the constraint");
    }
}

/* Everything but the files. */
static int work(struct oneshot *s, struct launcher_output *out, struct gpud_error *err) {
    struct fmt_error why;
    struct gpud_proof p;
    if (fill(s, err) || load_key(s, err) || prove(s, &p, err)) return -1;
    const uint8_t *publics = s->payload + s->circuit.place.w + KRN_FR_BYTES;
    if (launcher_output_write(out, s->circuit.zkey.curve, &p.proof, publics, s->circuit.zkey.n_public, &why))
        return gpud_fail(err, "%s", why.text);
    return 0;
}

int launcher_oneshot_prove(const struct launcher_oneshot *o, struct gpud_error *err) {
    struct oneshot s = {.o = o};
    struct launcher_output out;
    struct fmt_error why;
    if (launcher_output_open(&out, o->proof, o->publics, &why)) return gpud_fail(err, "%s", why.text);
    int rc = work(&s, &out, err);
    launcher_output_discard(&out);
    close_all(&s);
    return rc;
}
