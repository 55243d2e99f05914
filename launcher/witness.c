/* witness: the witness of an input by a registered circuit's program, as a .wtns file, without a proof. */
#include <stdlib.h>
#include <string.h>

#include "formats/container_write.h"
#include "launcher/commands.h"
#include "synth/circuit.h"

/* The very bytes that snarkjs writes. */
static int write_witness(const char *path, const struct fmt_zkey *z, const uint8_t *w, struct fmt_error *why) {
    struct fmt_writer out;
    if (fmt_writer_open(&out, path, "wtns", 2, 2, why)) return -1;
    fmt_writer_begin(&out, 1);
    fmt_writer_u32(&out, KRN_FR_BYTES);
    fmt_writer_put(&out, z->curve->r, KRN_FR_BYTES);
    fmt_writer_u32(&out, z->n_vars);
    fmt_writer_end(&out);
    fmt_writer_begin(&out, 2);
    fmt_writer_put(&out, w, (size_t)z->n_vars * KRN_FR_BYTES);
    fmt_writer_end(&out);
    return fmt_writer_commit(&out, why);
}

static int compute(struct synth_circuit *c, const struct launcher_options *o, struct fmt_error *why) {
    size_t bytes = (size_t)c->zkey.n_vars * KRN_FR_BYTES;
    uint8_t *w;
    if (!synth_source_computes(&c->source))
        return fmt_fail(why, "circuit %s is registered without a witness program", o->args[0]);
    if (!(w = malloc(bytes))) return fmt_fail(why, "no memory for a witness of %zu bytes", bytes);
    int rc = synth_source_witness(&c->source, o->args[1], &c->zkey, w, why);
    if (rc == 0) rc = write_witness(o->args[2], &c->zkey, w, why);
    explicit_bzero(w, bytes);
    free(w);
    return rc;
}

enum launcher_exit launcher_witness(const struct launcher_options *o, struct gpud_error *err) {
    struct synth_recipe recipe;
    struct synth_circuit c;
    struct fmt_error why;
    int rc = synth_recipe_read(&recipe, o->args[0], &why);
    if (rc == 1) fmt_fail(&why, "circuit '%.80s' is not registered", o->args[0]);
    if (rc == 0) rc = synth_circuit_open(&c, recipe.zkey, NULL, &recipe, &why);
    if (rc == 0) {
        rc = compute(&c, o, &why);
        synth_circuit_close(&c);
    }
    if (rc == 0) return LAUNCHER_OK;
    gpud_fail(err, "%s", why.text);
    return LAUNCHER_FAILED;
}
