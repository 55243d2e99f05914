/* Any bytes as a request of the control socket: never a crash, and what is taken fits its fields. */
#include <stdlib.h>
#include <string.h>

#include "gpud/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct gpud_request req;
    struct gpud_error err;
    if (size > GPUD_REQUEST_MAX) return 0;      /* longer ones are dropped by their header */
    if (gpud_msg_parse(&req, (const char *)data, size, &err)) {
        if (!memchr(err.text, 0, sizeof err.text) || !err.text[0]) abort();
        return 0;
    }
    if (req.type > GPUD_HELLO || req.priority >= GPUD_PRIORITIES || req.peer > SHM_NOBODY) abort();
    if (!memchr(req.circuit, 0, sizeof req.circuit) || !memchr(req.witness, 0, sizeof req.witness)) abort();
    if (req.type == GPUD_SUBMIT && req.witness[0] && req.witness[0] != '/') abort();
    if (req.timeout_ms < -1 || req.id > INT64_MAX) abort();
    return 0;
}
