/* add, forget, circuits: the registry of circuits (synth/recipe.h). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/snarkjs.h"
#include "launcher/commands.h"
#include "synth/build.h"
#include "synth/circuit.h"
#include "synth/external.h"

/* The file's absolute path without links; "" where none is given. */
static int take_path(char out[SHM_PATH_MAX], const char *given, struct fmt_error *why) {
    char real[PATH_MAX];
    out[0] = 0;
    if (!given) return 0;
    if (!realpath(given, real)) return fmt_fail(why, "%s: %s", given, strerror(errno));
    if (strlen(real) >= SHM_PATH_MAX) return fmt_fail(why, "%s: a path of more than %d bytes", real, SHM_PATH_MAX - 1);
    memcpy(out, real, strlen(real) + 1);
    return 0;
}

/* `up` hands key and r1cs to the daemon as one word with a comma. */
static int check_comma(const char *path, struct fmt_error *why) {
    return strchr(path, ',') ? fmt_fail(why, "%s: a comma in the path of a key or r1cs cannot be expressed", path) : 0;
}

static int take_options(struct synth_recipe *r, const struct launcher_options *o, struct fmt_error *why) {
    memset(r, 0, sizeof *r);
    if (synth_recipe_check_name(o->args[0], why)) return -1;
    snprintf(r->name, sizeof r->name, "%s", o->args[0]);
    r->reduce = o->reduce;
    r->seconds = o->seconds;
    r->memory_mib = o->memory_mib;
    if (take_path(r->zkey, o->zkey, why) || take_path(r->r1cs, o->r1cs, why) || take_path(r->sym, o->sym, why) ||
        take_path(r->wasm, o->wasm, why) || check_comma(r->zkey, why) || check_comma(r->r1cs, why))
        return -1;
    if (!o->command) return 0;
    snprintf(r->command, sizeof r->command, "%s", o->command);
    return synth_external_check(o->command, why) || take_path(r->folder, ".", why) ? -1 : 0;
}

/* Whether the verification key belongs to the proving key. */
static int check_vk(const char *path, const struct fmt_zkey *z, struct fmt_error *why) {
    size_t g1 = 2 * (size_t)z->curve->fq_bytes, g2 = 2 * g1, ic_bytes = ((size_t)z->n_public + 1) * g1;
    struct fmt_vk given;
    struct krn_vk own;
    uint8_t *ic = malloc(ic_bytes);
    if (!ic) return fmt_fail(why, "%s: no memory for %u public points", path, z->n_public + 1);
    fmt_zkey_vk(z, &own, ic);
    if (fmt_vk_read(path, &given, why)) {
        free(ic);
        return -1;
    }
    const struct krn_vk *vk = &given.vk;
    bool same = vk->curve == own.curve && vk->n_public == own.n_public && memcmp(vk->alpha1, own.alpha1, g1) == 0 &&
                memcmp(vk->beta2, own.beta2, g2) == 0 && memcmp(vk->gamma2, own.gamma2, g2) == 0 &&
                memcmp(vk->delta2, own.delta2, g2) == 0 && memcmp(vk->ic, ic, ic_bytes) == 0;
    fmt_vk_free(&given);
    free(ic);
    return same ? 0 : fmt_fail(why, "%s is not the verification key of %s", path, z->file.name);
}

static int build(struct synth_recipe *r, const struct launcher_options *o, struct fmt_error *why) {
    struct synth_build b;
    if (!r->wasm[0]) return 0;
    if (synth_build_program(r->wasm, o->cache, &b, why)) return -1;
    if (strlen(b.path) >= sizeof r->program)
        return fmt_fail(why, "%s: a path of more than %zu bytes", b.path, sizeof r->program - 1);
    snprintf(r->program, sizeof r->program, "%s", b.path);
    if (b.cached)
        printf("witness program: translated before, %s\n", b.path);
    else
        printf("witness program: translated in %.2f s, compiled in %.2f s with %llu MiB, %llu KiB in %s\n",
               b.translate_seconds, b.compile_seconds, (unsigned long long)b.compile_rss >> 20,
               (unsigned long long)b.object_bytes >> 10, b.path);
    return 0;
}

static void print_circuit(const struct synth_circuit *c) {
    const struct fmt_zkey *z = &c->zkey;
    printf("circuit %s: %s, %u constraints, %u signals, %u public", c->source.recipe.name, z->curve->name,
           z->n_constraints, z->n_vars, z->n_public);
    if (c->source.program) {
        const struct synth_program_info *info = synth_program_info(c->source.program);
        printf(", %u input values, circom %u.%u.%u", info->n_inputs, info->circom[0], info->circom[1], info->circom[2]);
    }
    printf("%s\n", c->has_r1cs ? ", constraints checked" : "");
}

/* Everything is opened once as a worker will do it: what does not fit together is said now. */
static int check_and_write(const struct synth_recipe *r, const struct launcher_options *o, struct fmt_error *why) {
    struct synth_circuit c;
    if (synth_circuit_open(&c, r->zkey, r->r1cs, r, why)) return -1;
    int rc = (o->vk && check_vk(o->vk, &c.zkey, why)) || synth_recipe_write(r, why) ? -1 : 0;
    if (rc == 0) print_circuit(&c);
    synth_circuit_close(&c);
    return rc;
}

static void tell_service(const char *instance) {
    struct launcher_client c;
    struct gpud_error ignored;
    if (launcher_client_open(&c, instance, &ignored)) return;
    launcher_client_close(&c);
    printf("service %s is running: it serves the circuit after `pinwheel down` and `pinwheel up`\n", instance);
}

enum launcher_exit launcher_add(const struct launcher_options *o, struct gpud_error *err) {
    struct synth_recipe r;
    struct fmt_error why;
    if (!o->zkey || (o->wasm && o->command)) {
        gpud_fail(err, o->zkey ? "--wasm or --witness-program, not both" : "--zkey FILE is wanted");
        return LAUNCHER_USAGE;
    }
    if (take_options(&r, o, &why) || build(&r, o, &why) || check_and_write(&r, o, &why)) {
        gpud_fail(err, "%s", why.text);
        return LAUNCHER_FAILED;
    }
    tell_service(o->instance);
    return LAUNCHER_OK;
}

enum launcher_exit launcher_forget(const struct launcher_options *o, struct gpud_error *err) {
    struct fmt_error why;
    int rc = synth_recipe_remove(o->args[0], &why);
    if (rc == 0) return LAUNCHER_OK;
    if (rc == 1)
        gpud_fail(err, "circuit '%s' is not registered", o->args[0]);
    else
        gpud_fail(err, "%s", why.text);
    return LAUNCHER_FAILED;
}

static int print_option(void *ctx, const char *name) {
    struct synth_recipe r;
    if (synth_recipe_read(&r, name, ctx)) return -1;
    printf("%s=%s%s%s\n", r.name, r.zkey, r.r1cs[0] ? "," : "", r.r1cs);
    return 0;
}

enum launcher_exit launcher_circuits(const struct launcher_options *o, struct gpud_error *err) {
    struct fmt_error why;
    (void)o;
    if (synth_recipe_each(print_option, &why, &why) == 0) return LAUNCHER_OK;
    gpud_fail(err, "%s", why.text);
    return LAUNCHER_FAILED;
}
