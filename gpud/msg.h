/*
 * gpud/msg.h: what travels over the control socket: a length (u32, little-endian), then that many bytes of one JSON
 * object. docs/PROTOCOL.md has the table of messages. Both ends, daemon and command, use this file.
 *
 *   request  {"type": "submit" | "wait" | "cancel" | "status" | "stop" | "hello", ...}
 *   reply    {...} or {"error": "one line", "code": "..."}
 */
#ifndef GPUD_MSG_H
#define GPUD_MSG_H

#include "formats/json.h"
#include "gpud/error.h"
#include "shm/layout.h"

enum {
    GPUD_MSG_HEADER = 4,
    GPUD_REQUEST_MAX = 8192,        /* bytes of JSON in a request */
    GPUD_REPLY_MAX = 64 << 20,      /* of a reply: 300,000 publics in decimal fit */
};

enum gpud_request_type { GPUD_SUBMIT, GPUD_WAIT, GPUD_CANCEL, GPUD_STATUS, GPUD_STOP, GPUD_HELLO };

enum { GPUD_HIGH = 0, GPUD_NORMAL = 1, GPUD_LOW = 2, GPUD_PRIORITIES = 3 };

struct gpud_request {
    enum gpud_request_type type;
    char circuit[SHM_NAME_MAX];     /* submit */
    char witness[SHM_PATH_MAX];     /* submit: absolute path; empty: the job waits for a foreign producer */
    uint32_t priority;              /* submit */
    uint64_t id;                    /* wait, cancel */
    int64_t timeout_ms;             /* wait; -1: as long as it takes */
    uint32_t peer;                  /* hello; submit: the producer that alone may take the job, or SHM_NOBODY */
};

/* Codes of error replies. */
#define GPUD_CODE_BAD_REQUEST "bad-request"     /* the message itself */
#define GPUD_CODE_UNKNOWN "unknown"             /* no such circuit or job */
#define GPUD_CODE_FAILED "failed"               /* the job failed; error says why */
#define GPUD_CODE_CANCELLED "cancelled"
#define GPUD_CODE_BUSY "busy"                   /* a limit is reached; later it may work */
#define GPUD_CODE_STOPPING "stopping"           /* the service goes down */

/* One request's JSON. 0, or -1 with err; never reads beyond len. Unknown fields are errors. */
int gpud_msg_parse(struct gpud_request *req, const char *text, size_t len, struct gpud_error *err);

/* "high", "normal", "low"; NULL, -1 where out of range. */
const char *gpud_msg_priority_name(uint32_t priority);
int gpud_msg_priority(const char *name);

/* {"error": text, "code": code}; NULL where memory is short. */
struct fmt_json *gpud_msg_error(const char *code, const char *text);

/* Header and JSON as malloc'd bytes, the caller's; takes j over. NULL where memory is short or the reply too long. */
uint8_t *gpud_msg_frame(struct fmt_json *j, size_t *len);

static inline void gpud_msg_put_length(uint8_t header[GPUD_MSG_HEADER], uint32_t n) {
    for (int i = 0; i < GPUD_MSG_HEADER; i++) header[i] = (uint8_t)(n >> (8 * i));
}
static inline uint32_t gpud_msg_get_length(const uint8_t header[GPUD_MSG_HEADER]) {
    return header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 | (uint32_t)header[3] << 24;
}

#endif
