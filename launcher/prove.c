#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/snarkjs.h"
#include "formats/zkey.h"
#include "launcher/commands.h"
#include "launcher/jobs.h"
#include "launcher/oneshot.h"

/* Whether a registered circuit is this key file (and, where one is asked for, is checked against this r1cs). */
static bool is_same(const struct fmt_json *circuit, const char *zkey, const char *r1cs) {
    const char *registered_zkey = "", *registered_r1cs = "", *registered_digest = "";
    struct fmt_error why;
    fmt_json_get_string(circuit, "zkey", &registered_zkey, &why);
    fmt_json_get_string(circuit, "r1cs", &registered_r1cs, &why);
    fmt_json_get_string(circuit, "digest", &registered_digest, &why);
    if (strcmp(registered_zkey, zkey) != 0 || (r1cs && strcmp(registered_r1cs, r1cs) != 0)) return false;
    struct fmt_zkey z;
    if (fmt_zkey_open(&z, zkey, &why)) return false;
    bool same = strtoull(registered_digest, NULL, 16) == z.digest;
    fmt_zkey_close(&z);
    return same;
}

/* The name under which a running service knows the key; false where it does not. */
static bool find_registered(struct launcher_client *c, const char *zkey, const char *r1cs, char name[SHM_NAME_MAX]) {
    const struct fmt_json *circuits = NULL;
    struct fmt_json *status;
    struct gpud_error ignored;
    struct fmt_error why;
    bool found = false;
    if (launcher_client_ask(c, launcher_jobs_request("status"), &status, &ignored)) return false;
    fmt_json_get_array(status, "circuits", &circuits, &why);
    for (size_t i = 0; !found && i < fmt_json_length(circuits); i++) {
        const char *text = "";
        fmt_json_get_string(fmt_json_at(circuits, i), "name", &text, &why);
        found = is_same(fmt_json_at(circuits, i), zkey, r1cs) && strlen(text) < SHM_NAME_MAX;
        if (found) strcpy(name, text);
    }
    fmt_json_free(status);
    return found;
}

/* What is to be proved: a key file, or a registered circuit by name. */
struct target {
    const char *zkey, *r1cs;            /* r1cs: NULL: none */
    const struct synth_recipe *recipe;  /* NULL: a key file */
};

static enum launcher_exit by_service(struct launcher_client *c, const char *name, const struct launcher_options *o,
                                     struct gpud_error *err) {
    uint64_t id;
    enum launcher_exit rc = launcher_jobs_submit(c, name, o->args[1], o->priority, &id, err);
    return rc ? rc : launcher_jobs_fetch(c, id, o->args[2], o->args[3], o->times, err);
}

/* A service is used where one runs that has this very key; LAUNCHER_UNREACHABLE where not. */
static enum launcher_exit try_service(const struct launcher_options *o, const struct target *t,
                                      struct gpud_error *err) {
    char zkey[PATH_MAX], r1cs[PATH_MAX], name[SHM_NAME_MAX];
    struct launcher_client c;
    if (!realpath(t->zkey, zkey) || (t->r1cs && !realpath(t->r1cs, r1cs))) return LAUNCHER_UNREACHABLE;
    if (launcher_client_open(&c, o->instance, err)) return LAUNCHER_UNREACHABLE;
    enum launcher_exit rc = LAUNCHER_UNREACHABLE;
    if (find_registered(&c, zkey, t->r1cs ? r1cs : NULL, name) && (!t->recipe || strcmp(name, t->recipe->name) == 0))
        rc = by_service(&c, name, o, err);
    launcher_client_close(&c);
    return rc;
}

/* A file by this name is a key; else it is to be a registered name. */
static int find_target(const struct launcher_options *o, struct synth_recipe *recipe, struct target *t,
                       struct gpud_error *err) {
    struct fmt_error why;
    *t = (struct target){.zkey = o->args[0], .r1cs = o->r1cs};
    if (access(o->args[0], F_OK) == 0 || strchr(o->args[0], '/') || synth_recipe_check_name(o->args[0], &why)) return 0;
    int rc = synth_recipe_read(recipe, o->args[0], &why);
    if (rc < 0) return gpud_fail(err, "%s", why.text);
    if (rc == 1) return 0;
    *t = (struct target){.zkey = recipe->zkey, .r1cs = o->r1cs ? o->r1cs : recipe->r1cs[0] ? recipe->r1cs : NULL,
                         .recipe = recipe};
    return 0;
}

enum launcher_exit launcher_prove(const struct launcher_options *o, struct gpud_error *err) {
    struct gpud_blinding fixed;
    struct synth_recipe recipe;
    struct target target;
    int hook = o->test_hooks ? gpud_random_fixed(&fixed, err) : 0;
    if (hook < 0) return LAUNCHER_USAGE;
    if (find_target(o, &recipe, &target, err)) return LAUNCHER_FAILED;
    if (!o->local) {
        enum launcher_exit rc = try_service(o, &target, err);
        if (rc != LAUNCHER_UNREACHABLE) return rc;
    }
    struct launcher_oneshot shot = {
        .zkey = target.zkey, .witness = o->args[1], .proof = o->args[2], .publics = o->args[3],
        .r1cs = target.r1cs, .recipe = target.recipe, .threads = o->threads, .fixed = hook ? &fixed : NULL,
    };
    return launcher_oneshot_prove(&shot, err) ? LAUNCHER_FAILED : LAUNCHER_OK;
}
