#include "launcher/jobs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/number.h"
#include "formats/snarkjs.h"
#include "launcher/commands.h"
#include "launcher/output.h"

static enum launcher_exit fail(struct gpud_error *err, const struct fmt_error *why) {
    gpud_fail(err, "%s", why->text);
    return LAUNCHER_FAILED;
}

struct fmt_json *launcher_jobs_request(const char *type) {
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_string(j, "type", type);
    return j;
}

static struct fmt_json *request_of_id(const char *type, uint64_t id) {
    struct fmt_json *j = launcher_jobs_request(type);
    fmt_json_set_int(j, "id", (int64_t)id);
    return j;
}

/* ---- submit ---- */

enum launcher_exit launcher_jobs_submit(struct launcher_client *c, const char *circuit, const char *witness,
                                        const char *priority, uint64_t *id, struct gpud_error *err) {
    struct fmt_json *request = launcher_jobs_request("submit"), *reply;
    struct fmt_error why;
    char path[PATH_MAX];
    int64_t number = 0;
    if (witness && !realpath(witness, path)) {
        gpud_fail(err, "%s: %s", witness, strerror(errno));
        fmt_json_free(request);
        return LAUNCHER_FAILED;
    }
    fmt_json_set_string(request, "circuit", circuit);
    fmt_json_set_string(request, "priority", priority);
    if (witness && fmt_json_set_string(request, "witness", path)) {
        gpud_fail(err, "%s: a path that is no UTF-8 cannot be sent", witness);
        fmt_json_free(request);
        return LAUNCHER_FAILED;
    }
    enum launcher_exit rc = launcher_client_ask(c, request, &reply, err);
    if (rc) return rc;
    if (fmt_json_get_int(reply, "id", 0, INT64_MAX, &number, &why) != 1) {
        gpud_fail(err, "the service's reply has no id");
        rc = LAUNCHER_FAILED;
    }
    fmt_json_free(reply);
    *id = (uint64_t)number;
    return rc;
}

enum launcher_exit launcher_submit(const struct launcher_options *o, struct gpud_error *err) {
    struct launcher_client c;
    uint64_t id;
    if (o->each) return launcher_each(o, err);
    if (o->n_args > 2 || o->out) {
        gpud_fail(err, "one file at a time, or --each FILE... --out FOLDER");
        return LAUNCHER_USAGE;
    }
    enum launcher_exit rc = launcher_client_reach(&c, o->instance, err);
    if (rc) return rc;
    rc = launcher_jobs_submit(&c, o->args[0], o->args[1], o->priority, &id, err);
    if (rc == LAUNCHER_OK) printf("%llu\n", (unsigned long long)id);
    launcher_client_close(&c);
    return rc;
}

/* ---- wait ---- */

static void print_times(const struct fmt_json *reply) {
    static const char *const phases[] = {
        "queue", "synthesis", "hand_off", "upload", "ntt", "msm_a", "msm_b1", "msm_b2", "msm_l", "msm_h", "finish",
        "verify", "total",
    };
    const struct fmt_json *times = NULL;
    struct fmt_error why;
    fmt_json_get_object(reply, "times_us", &times, &why);
    for (size_t i = 0; times && i < sizeof phases / sizeof phases[0]; i++) {
        int64_t us = 0;
        fmt_json_get_int(times, phases[i], 0, INT64_MAX, &us, &why);
        printf("%-10s %10.3f ms\n", phases[i], 1e-3 * (double)us);
    }
}

static const struct krn_curve *curve_named(const char *name) {
    for (int i = 0; i < KRN_CURVES; i++)
        if (strcmp(krn_curve((enum krn_curve_id)i)->snarkjs_name, name) == 0) return krn_curve((enum krn_curve_id)i);
    return NULL;
}

static int write_files(const struct fmt_json *reply, struct launcher_output *out, struct fmt_error *why) {
    const char *name = "";
    struct krn_proof proof;
    uint8_t *publics = NULL;
    size_t n = 0;
    fmt_json_get_string(reply, "curve", &name, why);
    const struct krn_curve *curve = curve_named(name);
    if (!curve) return fmt_fail(why, "reply: curve '%.32s' is not known", name);
    if (fmt_json_to_proof(fmt_json_field(reply, "proof"), "reply", curve, &proof, why) ||
        fmt_json_to_public(fmt_json_field(reply, "public"), "reply", curve, &publics, &n, why))
        return -1;
    int rc = launcher_output_write(out, curve, &proof, publics, n, why);
    free(publics);
    return rc;
}

enum launcher_exit launcher_jobs_fetch(struct launcher_client *c, uint64_t id, const char *proof_path,
                                       const char *public_path, bool times, struct gpud_error *err) {
    struct launcher_output out;
    struct fmt_json *reply;
    struct fmt_error why;
    if (proof_path && launcher_output_open(&out, proof_path, public_path, &why)) return fail(err, &why);
    enum launcher_exit rc = launcher_client_wait(c, id, &reply, err);
    if (rc == LAUNCHER_OK) {
        if (proof_path && write_files(reply, &out, &why)) rc = fail(err, &why);
        if (rc == LAUNCHER_OK && times) print_times(reply);
        fmt_json_free(reply);
    }
    if (proof_path) launcher_output_discard(&out);
    return rc;
}

static int parse_id(const char *text, uint64_t *id, struct gpud_error *err) {
    return fmt_number_read(text, 0, INT64_MAX, id) ? gpud_fail(err, "'%s' is no job's id", text) : 0;
}

enum launcher_exit launcher_wait(const struct launcher_options *o, struct gpud_error *err) {
    struct launcher_client c;
    uint64_t id;
    if (parse_id(o->args[0], &id, err)) return LAUNCHER_USAGE;
    if (o->n_args == 2) {
        gpud_fail(err, "wait ID, or wait ID proof.json public.json");
        return LAUNCHER_USAGE;
    }
    enum launcher_exit rc = launcher_client_reach(&c, o->instance, err);
    if (rc) return rc;
    rc = launcher_jobs_fetch(&c, id, o->args[1], o->args[2], o->times, err);
    launcher_client_close(&c);
    return rc;
}

/* ---- cancel ---- */

enum launcher_exit launcher_cancel(const struct launcher_options *o, struct gpud_error *err) {
    struct launcher_client c;
    struct fmt_json *reply;
    uint64_t id;
    if (parse_id(o->args[0], &id, err)) return LAUNCHER_USAGE;
    enum launcher_exit rc = launcher_client_reach(&c, o->instance, err);
    if (rc) return rc;
    rc = launcher_client_ask(&c, request_of_id("cancel", id), &reply, err);
    if (rc == LAUNCHER_OK) fmt_json_free(reply);
    launcher_client_close(&c);
    return rc;
}
