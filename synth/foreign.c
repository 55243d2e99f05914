#include "synth/pinwheel-synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/scalar.h"
#include "shm/paths.h"
#include "synth/ask.h"
#include "synth/circuit.h"
#include "synth/eval.h"
#include "synth/producer.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    ASK_MS = 5000,              /* patience for an answer that needs no waiting */
    WAIT_MS = 1000,             /* the daemon is asked for a result for so long at a time */
    RETRY_MS = 50,
    RESTART_MS = 60000,         /* a daemon that is away has so long to come back */
};

struct pinwheel_synth {
    struct synth_producer producer;
    char socket[SHM_SOCKET_PATH_MAX];
    struct synth_circuit *circuits;     /* by catalogue index; opened at first use */
    bool busy;                          /* a slot is claimed */
    struct synth_work work;
    const struct synth_circuit *circuit;        /* of the claimed slot */
    struct fmt_error error;
};

_Static_assert(PINWHEEL_ERROR == FMT_ERROR_MAX, "an error text of the library is one of ours");
_Static_assert((int)PINWHEEL_BN254 == KRN_BN254 && (int)PINWHEEL_BLS12_381 == KRN_BLS12_381,
               "curves by the same numbers");

/* ---- time ---- */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t deadline(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
}

static int left(int64_t until, int most)
{
    int64_t ms = until == INT64_MAX ? most : until - now_ms();
    return ms < 0 ? 0 : ms < most ? (int)ms : most;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- life ---- */

EXPORT int pinwheel_synth_abi(void)
{
    return PINWHEEL_SYNTH_ABI;
}

static int join(struct pinwheel_synth *s, const char *instance)
{
    struct shm_error why;
    if (shm_path_socket(instance, s->socket, &why) != 0)
        return fmt_fail(&s->error, "%.500s", why.text);
    struct synth_producer_options o = {.instance = instance, .socket = s->socket, .kind = SYNTH_FOREIGN};
    if (synth_producer_join(&s->producer, &o, &s->error) != 0)
        return -1;
    s->circuits = calloc(s->producer.region.n_circuits, sizeof *s->circuits);
    if (s->circuits)
        return 0;
    synth_producer_leave(&s->producer);
    return fmt_fail(&s->error, "no memory for %u circuits", s->producer.region.n_circuits);
}

EXPORT struct pinwheel_synth *pinwheel_synth_join(const char *instance, char *why)
{
    struct pinwheel_synth *s = calloc(1, sizeof *s);
    if (s && join(s, instance) == 0)
        return s;
    snprintf(why, PINWHEEL_ERROR, "%s", s ? s->error.text : "no memory");
    free(s);
    return NULL;
}

EXPORT void pinwheel_synth_leave(struct pinwheel_synth *s)
{
    if (!s)
        return;
    if (s->busy)
        pinwheel_synth_abandon(s, NULL);
    uint32_t n = s->producer.region.n_circuits;
    synth_producer_leave(&s->producer);
    for (uint32_t i = 0; i < n; i++)
        synth_circuit_close(&s->circuits[i]);
    free(s->circuits);
    free(s);
}

EXPORT const char *pinwheel_synth_error(const struct pinwheel_synth *s)
{
    return s->error.text;
}

/* ---- circuits ---- */

static int find_circuit(struct pinwheel_synth *s, const char *name)
{
    const struct shm_region *r = &s->producer.region;
    for (uint32_t i = 0; i < r->n_circuits; i++) {
        if (atomic_load(&r->circuits[i].state) && strncmp(r->circuits[i].name, name, SHM_NAME_MAX) == 0)
            return (int)i;
    }
    fmt_fail(&s->error, "circuit '%.64s' is not registered", name);
    return -1;
}

/* The circuit, mapped; NULL with the text where its key is not what the daemon registered. */
static const struct synth_circuit *open_circuit(struct pinwheel_synth *s, uint32_t index)
{
    struct synth_circuit *c = &s->circuits[index];
    const struct shm_circuit *entry = &s->producer.region.circuits[index];
    if (c->open)
        return c;
    if (synth_circuit_open(c, entry->zkey, NULL, NULL, &s->error) != 0)
        return NULL;
    if (c->zkey.digest == entry->digest)
        return c;
    synth_circuit_close(c);
    fmt_fail(&s->error, "%.300s: changed since it was registered", entry->zkey);
    return NULL;
}

/* ---- jobs ---- */

static struct fmt_json *request(const char *type)
{
    struct fmt_json *j = fmt_json_object();
    fmt_json_set_string(j, "type", type);
    return j;
}

static int refused(const char *code)
{
    if (strcmp(code, "stopping") == 0)
        return PINWHEEL_GONE;
    if (strcmp(code, "busy") == 0)
        return PINWHEEL_AGAIN;
    return strcmp(code, "cancelled") == 0 ? PINWHEEL_LOST : PINWHEEL_FAILED;
}

static int ask(struct pinwheel_synth *s, struct fmt_json *j, int patience_ms, struct fmt_json **reply)
{
    char code[SYNTH_ASK_CODE];
    switch (synth_ask(s->socket, j, patience_ms, reply, code, &s->error)) {
    case SYNTH_ANSWERED: return PINWHEEL_OK;
    case SYNTH_REFUSED: return refused(code);
    default: return PINWHEEL_GONE;
    }
}

/* A job that only we may take. */
static int submit(struct pinwheel_synth *s, const char *circuit, uint64_t *id)
{
    struct fmt_json *j = request("submit"), *reply;
    struct fmt_error why;
    int64_t number = 0;
    fmt_json_set_string(j, "circuit", circuit);
    fmt_json_set_int(j, "peer", s->producer.peer);
    int rc = ask(s, j, ASK_MS, &reply);
    if (rc != PINWHEEL_OK)
        return rc;
    if (fmt_json_get_int(reply, "id", 0, INT64_MAX, &number, &why) != 1)
        rc = fmt_fail(&s->error, "the daemon's reply has no id");
    fmt_json_free(reply);
    *id = (uint64_t)number;
    return rc;
}

static void cancel(struct pinwheel_synth *s, uint64_t id)
{
    struct fmt_error kept = s->error;
    struct fmt_json *j = request("cancel"), *reply;
    fmt_json_set_int(j, "id", (int64_t)id);
    if (ask(s, j, ASK_MS, &reply) == PINWHEEL_OK)
        fmt_json_free(reply);
    s->error = kept;
}

static bool is_job(void *ctx, const struct shm_job_view *job)
{
    return job->id == *(const uint64_t *)ctx;
}

/* Jobs that were submitted without a file, of one circuit or of any. */
static bool is_open(void *ctx, const struct shm_job_view *job)
{
    const int *circuit = ctx;
    return job->witness[0] == '\0' && (*circuit < 0 || job->circuit == (uint32_t)*circuit);
}

static void describe(struct pinwheel_synth *s, struct pinwheel_slot *slot)
{
    const struct fmt_zkey *z = &s->circuit->zkey;
    const struct fmt_payload *place = &s->circuit->place;
    uint8_t *payload = s->work.payload;
    *slot = (struct pinwheel_slot){
        .job = s->work.view.id, .curve = z->curve->id, .n_vars = z->n_vars, .n_public = z->n_public,
        .n_rows = z->n_rows, .log_domain = z->log_domain, .attempt = s->work.view.attempts + 1,
        .w = payload + place->w, .a = payload + place->a, .b = payload + place->b,
        .c = s->work.payload_bytes >= place->bytes_with_c ? payload + place->c : NULL,
    };
}

/* Waits for a job that want accepts, and a slot for it. */
static int take(struct pinwheel_synth *s, synth_want *want, void *ctx, int timeout_ms, struct pinwheel_slot *slot)
{
    switch (synth_producer_next(&s->producer, want, ctx, timeout_ms, &s->work)) {
    case SYNTH_NOTHING:
        fmt_fail(&s->error, "no job and free slot within %d ms", timeout_ms);
        return PINWHEEL_AGAIN;
    case SYNTH_LEAVE:
        fmt_fail(&s->error, "the service stops");
        return PINWHEEL_GONE;
    case SYNTH_GOT_WORK:
        break;
    }
    s->circuit = open_circuit(s, s->work.view.circuit);
    if (!s->circuit || s->circuit->place.bytes > s->work.payload_bytes) {
        if (s->circuit)
            fmt_fail(&s->error, "the slot is smaller than the circuit's vectors");
        synth_producer_fail(&s->producer, &s->work, s->error.text);
        return PINWHEEL_FAILED;
    }
    s->busy = true;
    describe(s, slot);
    return PINWHEEL_OK;
}

static int misuse(struct pinwheel_synth *s, const char *text)
{
    fmt_fail(&s->error, "%s", text);
    return PINWHEEL_MISUSE;
}

EXPORT int pinwheel_synth_claim(struct pinwheel_synth *s, const char *circuit, int timeout_ms,
                                struct pinwheel_slot *slot)
{
    uint64_t id;
    if (s->busy)
        return misuse(s, "a slot is claimed already; commit or abandon it first");
    int index = find_circuit(s, circuit);
    if (index < 0)
        return PINWHEEL_MISUSE;
    if (!open_circuit(s, (uint32_t)index))
        return PINWHEEL_FAILED;
    int rc = submit(s, circuit, &id);
    if (rc != PINWHEEL_OK)
        return rc;
    rc = take(s, is_job, &id, timeout_ms, slot);
    if (rc == PINWHEEL_AGAIN)
        cancel(s, id);
    return rc;
}

EXPORT int pinwheel_synth_next(struct pinwheel_synth *s, const char *circuit, int timeout_ms,
                               struct pinwheel_slot *slot)
{
    int index = -1;
    if (s->busy)
        return misuse(s, "a slot is claimed already; commit or abandon it first");
    if (circuit && (index = find_circuit(s, circuit)) < 0)
        return PINWHEEL_MISUSE;
    return take(s, is_open, &index, timeout_ms, slot);
}

/* ---- filling ---- */

EXPORT int pinwheel_synth_eval(struct pinwheel_synth *s)
{
    if (!s->busy)
        return misuse(s, "no slot is claimed");
    const struct synth_circuit *c = s->circuit;
    uint8_t *payload = s->work.payload, *w = payload + c->place.w;
    size_t above = krn_fr_first_above(c->zkey.curve, w, c->zkey.n_vars);
    if (above < c->zkey.n_vars) {
        fmt_fail(&s->error, "value %zu of w is not below the group order", above);
        return PINWHEEL_FAILED;
    }
    int rc = synth_eval(&c->zkey, w, payload + c->place.a, payload + c->place.b, 1, &s->error);
    return rc == 0 ? PINWHEEL_OK : PINWHEEL_FAILED;
}

EXPORT int pinwheel_synth_to_montgomery(uint32_t curve, uint8_t *values, uint64_t n)
{
    if (curve >= KRN_CURVES)
        return PINWHEEL_MISUSE;
    struct krn_scalar_field field = krn_scalar_field((enum krn_curve_id)curve);
    for (uint64_t i = 0; i < n; i++) {
        struct krn_scalar v;
        memcpy(&v, values + i * KRN_FR_BYTES, sizeof v);
        krn_scalar_to_mont(&field, &v, &v);
        memcpy(values + i * KRN_FR_BYTES, &v, sizeof v);
    }
    return PINWHEEL_OK;
}

EXPORT int pinwheel_synth_commit(struct pinwheel_synth *s, uint32_t flags)
{
    if (!s->busy)
        return misuse(s, "no slot is claimed");
    const struct fmt_zkey *z = &s->circuit->zkey;
    struct synth_filled filled = {.n_vars = z->n_vars, .n_rows = z->n_rows, .has_c = flags & PINWHEEL_HAS_C};
    if (filled.has_c && s->work.payload_bytes < s->circuit->place.bytes_with_c)
        return misuse(s, "the slot has no room for c");
    s->busy = false;
    if (synth_producer_commit(&s->producer, &s->work, &filled) == 0)
        return PINWHEEL_OK;
    fmt_fail(&s->error, "job %llu was cancelled or taken back", (unsigned long long)s->work.view.id);
    return PINWHEEL_LOST;
}

EXPORT int pinwheel_synth_abandon(struct pinwheel_synth *s, const char *why)
{
    if (!s->busy)
        return misuse(s, "no slot is claimed");
    s->busy = false;
    if (synth_producer_fail(&s->producer, &s->work, why ? why : "its producer gave it up") == 0)
        return PINWHEEL_OK;
    fmt_fail(&s->error, "job %llu was cancelled or taken back", (unsigned long long)s->work.view.id);
    return PINWHEEL_LOST;
}

/* ---- results ---- */

static char *field_text(const struct fmt_json *j, const char *key)
{
    const struct fmt_json *value = fmt_json_field(j, key);
    size_t len;
    return value ? fmt_json_dump(value, &len) : NULL;
}

/* Hands a text over, or frees it where it is not wanted. */
static void give(char **out, char *text)
{
    if (out)
        *out = text;
    else
        free(text);
}

static int take_result(struct pinwheel_synth *s, const struct fmt_json *reply, char **proof, char **publics)
{
    char *p = field_text(reply, "proof"), *q = field_text(reply, "public");
    if (p && q) {
        give(proof, p);
        give(publics, q);
        return PINWHEEL_OK;
    }
    free(p);
    free(q);
    fmt_fail(&s->error, "the daemon's reply has no proof");
    return PINWHEEL_FAILED;
}

/* What a reply says of the job: OK with the result; AGAIN: not yet; LOST: its vectors are lost (the daemon was killed
 * and the slot was claimed by another meanwhile), and nobody but us could make them again. */
static int look_at(struct pinwheel_synth *s, const struct fmt_json *reply, uint64_t job, char **proof, char **publics)
{
    const char *state = "";
    struct fmt_error why;
    fmt_json_get_string(reply, "state", &state, &why);
    if (strcmp(state, "done") == 0)
        return take_result(s, reply, proof, publics);
    if (strcmp(state, "queued") != 0)
        return PINWHEEL_AGAIN;
    cancel(s, job);
    fmt_fail(&s->error, "job %llu lost its slot; claim a new one", (unsigned long long)job);
    return PINWHEEL_LOST;
}

EXPORT int pinwheel_synth_wait(struct pinwheel_synth *s, uint64_t job, int timeout_ms, char **proof, char **publics)
{
    int64_t until = deadline(timeout_ms), back = 0;
    for (;;) {
        struct fmt_json *j = request("wait"), *reply;
        fmt_json_set_int(j, "id", (int64_t)job);
        fmt_json_set_int(j, "timeout_ms", left(until, WAIT_MS));
        int rc = ask(s, j, ASK_MS + WAIT_MS, &reply);
        if (rc == PINWHEEL_OK) {
            rc = look_at(s, reply, job, proof, publics);
            fmt_json_free(reply);
            back = 0;
            if (rc != PINWHEEL_AGAIN)
                return rc;
        } else if (rc != PINWHEEL_GONE || synth_producer_stopping(&s->producer)) {
            return rc;
        } else {
            back = back ? back : deadline(RESTART_MS);
            if (now_ms() >= back)
                return rc;
            pause_ms(RETRY_MS);
        }
        if (now_ms() >= until) {
            fmt_fail(&s->error, "job %llu is not proved yet", (unsigned long long)job);
            return PINWHEEL_AGAIN;
        }
    }
}

EXPORT void pinwheel_synth_free(char *text)
{
    free(text);
}
