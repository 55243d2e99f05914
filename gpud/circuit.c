#include "gpud/circuit.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/r1cs.h"

static int spec_field(char *out, size_t room, const char *text, size_t len, const char *what, struct gpud_error *err) {
    if (len == 0) return gpud_fail(err, "--circuit: the %s is empty", what);
    if (len >= room) return gpud_fail(err, "--circuit: the %s has %zu bytes; %zu are allowed", what, len, room - 1);
    memcpy(out, text, len);
    out[len] = 0;
    return 0;
}

bool gpud_circuit_name_valid(const char *name) {
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_-.", *p)) return false;
    return name[0] != 0;
}

int gpud_circuit_spec_parse(struct gpud_circuit_spec *spec, const char *text, struct gpud_error *err) {
    memset(spec, 0, sizeof *spec);
    const char *equals = strchr(text, '=');
    if (!equals) return gpud_fail(err, "--circuit %s: NAME=circuit.zkey[,circuit.r1cs] is wanted", text);
    const char *files = equals + 1, *comma = strchr(files, ',');
    if (spec_field(spec->name, sizeof spec->name, text, (size_t)(equals - text), "name", err)) return -1;
    if (!gpud_circuit_name_valid(spec->name))
        return gpud_fail(err, "--circuit: name '%s': only letters, digits, '_', '-' and '.' are allowed", spec->name);
    size_t zkey_len = comma ? (size_t)(comma - files) : strlen(files);
    if (spec_field(spec->zkey, sizeof spec->zkey, files, zkey_len, "key's path", err)) return -1;
    return comma ? spec_field(spec->r1cs, sizeof spec->r1cs, comma + 1, strlen(comma + 1), "r1cs's path", err) : 0;
}

/* Replaces a path by its absolute form without links: workers run elsewhere, and one file gets one name. */
static int make_absolute(char path[SHM_PATH_MAX], struct gpud_error *err) {
    char *real = realpath(path, NULL);
    if (!real) return gpud_fail(err, "%s: %s", path, strerror(errno));
    size_t n = strlen(real);
    int rc = n < SHM_PATH_MAX ? 0 : gpud_fail(err, "%s: path of %zu bytes; %d are allowed", real, n, SHM_PATH_MAX - 1);
    if (rc == 0) memcpy(path, real, n + 1);
    free(real);
    return rc;
}

static int check_r1cs(const struct gpud_circuit *c, struct fmt_error *why) {
    struct fmt_r1cs r1cs;
    if (fmt_r1cs_open(&r1cs, c->spec.r1cs, why)) return -1;
    int rc = fmt_r1cs_match(&r1cs, &c->zkey, why);
    fmt_r1cs_close(&r1cs);
    return rc;
}

/* What is read for every proof is copied: on a GPU the mapping is not touched again once the key is loaded. */
static void copy_points(struct gpud_circuit *c) {
    struct krn_key *k = &c->zkey.key;
    const uint8_t **const single[] = {&k->alpha1, &k->beta1, &k->delta1, &k->beta2, &k->delta2};
    uint8_t *to = c->points;
    for (int i = 0; i < 5; i++) {
        size_t bytes = (i < 3 ? 2 : 4) * c->zkey.curve->fq_bytes;
        memcpy(to, *single[i], bytes);
        *single[i] = to;
        to += bytes;
    }
}

int gpud_circuit_open(struct gpud_circuit *c, const struct gpud_circuit_spec *spec, unsigned threads,
                      struct gpud_error *err) {
    struct fmt_error why;
    memset(c, 0, sizeof *c);
    c->spec = *spec;
    if (make_absolute(c->spec.zkey, err) || (c->spec.r1cs[0] && make_absolute(c->spec.r1cs, err))) return -1;
    if (fmt_zkey_open(&c->zkey, c->spec.zkey, &why)) return gpud_fail(err, "%s", why.text);
    c->open = true;

    const struct fmt_zkey *z = &c->zkey;
    if (fmt_zkey_check_coefficients(z, threads, &why) || fmt_zkey_check_points(z, threads, &why) ||
        fmt_file_check_unchanged(&z->file, &why) || (c->spec.r1cs[0] && check_r1cs(c, &why))) {
        gpud_circuit_close(c);
        return gpud_fail(err, "%s", why.text);
    }
    c->zkey.key.n_b = krn_finite_b(&z->key, threads);
    copy_points(c);
    c->ic = malloc(((size_t)z->n_public + 1) * 2 * z->curve->fq_bytes);
    if (!c->ic) {
        gpud_circuit_close(c);
        return gpud_fail(err, "%s: no memory for %u public points", spec->zkey, z->n_public + 1);
    }
    fmt_zkey_vk(z, &c->vk, c->ic);
    if (krn_vk_check(&c->vk) != KRN_OK) {
        gpud_circuit_close(c);
        return gpud_fail(err, "%s: a point of its verification key is not in the group", spec->zkey);
    }
    c->place = fmt_payload_of(z->n_vars, z->log_domain);
    return 0;
}

void gpud_circuit_close(struct gpud_circuit *c) {
    if (!c->open) return;
    free(c->ic);
    fmt_zkey_close(&c->zkey);
    memset(c, 0, sizeof *c);
}
