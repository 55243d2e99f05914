#include "gpud/msg.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const char *const priorities[GPUD_PRIORITIES] = {"high", "normal", "low"};

const char *gpud_msg_priority_name(uint32_t priority) {
    return priority < GPUD_PRIORITIES ? priorities[priority] : NULL;
}

int gpud_msg_priority(const char *name) {
    for (int i = 0; i < GPUD_PRIORITIES; i++)
        if (strcmp(name, priorities[i]) == 0) return i;
    return -1;
}

/* Copies a string field into a buffer. 1 copied, 0 not there, -1 with why. */
static int take_string(const struct fmt_json *j, const char *key, char *out, size_t room, struct fmt_error *why) {
    const char *text = NULL;
    int rc = fmt_json_get_string(j, key, &text, why);
    if (rc != 1) return rc;
    size_t n = strlen(text);
    if (n >= room) return fmt_fail(why, "\"%s\" has %zu bytes; %zu are allowed", key, n, room - 1);
    memcpy(out, text, n + 1);
    return 1;
}

static int need_int(const struct fmt_json *j, const char *key, int64_t max, int64_t *value, struct fmt_error *why) {
    int rc = fmt_json_get_int(j, key, 0, max, value, why);
    return rc == 1 ? 0 : rc == 0 ? fmt_fail(why, "\"%s\" is missing", key) : -1;
}

static int parse_submit(struct gpud_request *req, const struct fmt_json *j, struct fmt_error *why) {
    static const char *const keys[] = {"type", "circuit", "witness", "priority", "peer"};
    const char *priority = "normal";
    int64_t peer = SHM_NOBODY;
    if (fmt_json_only(j, keys, COUNT(keys), why)) return -1;
    int rc = take_string(j, "circuit", req->circuit, sizeof req->circuit, why);
    if (rc != 1) return rc == 0 ? fmt_fail(why, "\"circuit\" is missing") : -1;
    rc = take_string(j, "witness", req->witness, sizeof req->witness, why);
    if (rc < 0) return -1;
    if (rc == 1 && req->witness[0] != '/') return fmt_fail(why, "\"witness\": an absolute path is wanted");
    if (fmt_json_get_int(j, "peer", 0, SHM_MAX_PEERS - 1, &peer, why) < 0) return -1;
    if (peer != SHM_NOBODY && req->witness[0])
        return fmt_fail(why, "\"peer\": a job with a witness file is for the workers");
    req->peer = (uint32_t)peer;
    if (fmt_json_get_string(j, "priority", &priority, why) < 0) return -1;
    rc = gpud_msg_priority(priority);
    if (rc < 0) return fmt_fail(why, "\"priority\": high, normal or low is wanted");
    req->priority = (uint32_t)rc;
    return 0;
}

static int parse_id(struct gpud_request *req, const struct fmt_json *j, struct fmt_error *why) {
    int64_t id = 0;
    if (need_int(j, "id", INT64_MAX, &id, why)) return -1;
    req->id = (uint64_t)id;
    return 0;
}

static int parse_wait(struct gpud_request *req, const struct fmt_json *j, struct fmt_error *why) {
    static const char *const keys[] = {"type", "id", "timeout_ms"};
    if (fmt_json_only(j, keys, COUNT(keys), why) || parse_id(req, j, why)) return -1;
    req->timeout_ms = -1;
    return fmt_json_get_int(j, "timeout_ms", 0, INT32_MAX, &req->timeout_ms, why) < 0 ? -1 : 0;
}

static int parse_cancel(struct gpud_request *req, const struct fmt_json *j, struct fmt_error *why) {
    static const char *const keys[] = {"type", "id"};
    return fmt_json_only(j, keys, COUNT(keys), why) || parse_id(req, j, why) ? -1 : 0;
}

static int parse_nothing(struct gpud_request *req, const struct fmt_json *j, struct fmt_error *why) {
    static const char *const keys[] = {"type"};
    (void)req;
    return fmt_json_only(j, keys, COUNT(keys), why);
}

static int parse_hello(struct gpud_request *req, const struct fmt_json *j, struct fmt_error *why) {
    static const char *const keys[] = {"type", "peer"};
    int64_t peer = 0;
    if (fmt_json_only(j, keys, COUNT(keys), why) || need_int(j, "peer", SHM_MAX_PEERS - 1, &peer, why)) return -1;
    req->peer = (uint32_t)peer;
    return 0;
}

static const struct {
    const char *name;
    enum gpud_request_type type;
    int (*parse)(struct gpud_request *, const struct fmt_json *, struct fmt_error *);
} types[] = {
    {"submit", GPUD_SUBMIT, parse_submit}, {"wait", GPUD_WAIT, parse_wait},       {"cancel", GPUD_CANCEL, parse_cancel},
    {"status", GPUD_STATUS, parse_nothing}, {"stop", GPUD_STOP, parse_nothing}, {"hello", GPUD_HELLO, parse_hello},
};

static int parse_object(struct gpud_request *req, const struct fmt_json *j, struct fmt_error *why) {
    const char *type = NULL;
    if (!fmt_json_is_object(j)) return fmt_fail(why, "request: an object is wanted");
    int rc = fmt_json_get_string(j, "type", &type, why);
    if (rc != 1) return rc == 0 ? fmt_fail(why, "\"type\" is missing") : -1;
    for (size_t i = 0; i < COUNT(types); i++) {
        if (strcmp(type, types[i].name) != 0) continue;
        req->type = types[i].type;
        return types[i].parse(req, j, why);
    }
    return fmt_fail(why, "\"type\": '%.32s' is not known", type);
}

int gpud_msg_parse(struct gpud_request *req, const char *text, size_t len, struct gpud_error *err) {
    struct fmt_error why;
    memset(req, 0, sizeof *req);
    struct fmt_json *j = fmt_json_parse("request", text, len, &why);
    int rc = j ? parse_object(req, j, &why) : -1;
    fmt_json_free(j);
    return rc ? gpud_fail(err, "%s", why.text) : 0;
}

struct fmt_json *gpud_msg_error(const char *code, const char *text) {
    struct fmt_json *j = fmt_json_object();
    if (fmt_json_set_string(j, "error", text) | fmt_json_set_string(j, "code", code)) {
        fmt_json_free(j);
        return NULL;
    }
    return j;
}

uint8_t *gpud_msg_frame(struct fmt_json *j, size_t *len) {
    size_t n = 0;
    char *text = j ? fmt_json_dump(j, &n) : NULL;
    uint8_t *frame = text && n <= GPUD_REPLY_MAX ? malloc(GPUD_MSG_HEADER + n) : NULL;
    if (frame) {
        gpud_msg_put_length(frame, (uint32_t)n);
        memcpy(frame + GPUD_MSG_HEADER, text, n);
        *len = GPUD_MSG_HEADER + n;
    }
    free(text);
    fmt_json_free(j);
    return frame;
}
