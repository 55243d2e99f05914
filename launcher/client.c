#include "launcher/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "gpud/paths.h"
#include "shm/region.h"

enum { RETRY_MS = 50, REPLY_S = 10 };

void launcher_client_patience(struct launcher_client *c, int seconds) {
    struct timeval limit = {.tv_sec = seconds};
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

enum launcher_exit launcher_client_open(struct launcher_client *c, const char *instance, struct gpud_error *err) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    c->fd = -1;
    if (gpud_path_socket(instance, addr.sun_path, err)) return LAUNCHER_USAGE;
    snprintf(c->instance, sizeof c->instance, "%s", instance);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof addr)) {
        gpud_fail(err, "service %s is not reachable: %s: %s", instance, addr.sun_path, strerror(errno));
        if (fd >= 0) close(fd);
        return LAUNCHER_UNREACHABLE;
    }
    c->fd = fd;
    launcher_client_patience(c, REPLY_S);
    return LAUNCHER_OK;
}

int launcher_client_daemon(const struct launcher_client *c) {
    struct ucred who = {0};
    socklen_t len = sizeof who;
    return c->fd >= 0 && getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 ? who.pid : 0;
}

static void pause_ms(long ms) {
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

enum launcher_exit launcher_client_reach(struct launcher_client *c, const char *instance, struct gpud_error *err) {
    for (int waited_ms = 0;; waited_ms += RETRY_MS) {
        enum launcher_exit rc = launcher_client_open(c, instance, err);
        bool between = rc == LAUNCHER_UNREACHABLE && shm_region_daemon_lives(instance) != -1;
        if (!between || waited_ms >= LAUNCHER_PATIENCE_S * 1000) return rc;
        pause_ms(RETRY_MS);
    }
}

void launcher_client_close(struct launcher_client *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

/* ---- bytes ---- */

static int send_all(int fd, const uint8_t *data, size_t len) {
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int receive_all(int fd, uint8_t *data, size_t len) {
    while (len > 0) {
        ssize_t n = recv(fd, data, len, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? -errno : -EPIPE;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int receive_reply(int fd, struct fmt_json **reply, struct gpud_error *err) {
    uint8_t header[GPUD_MSG_HEADER];
    struct fmt_error why;
    int rc = receive_all(fd, header, sizeof header);
    if (rc) return rc;
    uint32_t len = gpud_msg_get_length(header);
    if (len > GPUD_REPLY_MAX) {
        gpud_fail(err, "reply of %u bytes; at most %d can be", len, GPUD_REPLY_MAX);
        return -EMSGSIZE;
    }
    char *text = malloc((size_t)len + 1);
    if (!text) return -ENOMEM;
    rc = receive_all(fd, (uint8_t *)text, len);
    *reply = rc == 0 ? fmt_json_parse("reply", text, len, &why) : NULL;
    free(text);
    if (rc || *reply) return rc;
    gpud_fail(err, "%s", why.text);
    return -EBADMSG;
}

/* ---- requests ---- */

/* An error reply becomes a status and a text. */
static enum launcher_exit judge(struct fmt_json **reply, struct gpud_error *err) {
    const char *text = NULL, *code = "";
    struct fmt_error why;
    if (fmt_json_get_string(*reply, "error", &text, &why) != 1) return LAUNCHER_OK;
    fmt_json_get_string(*reply, "code", &code, &why);
    gpud_fail(err, "%s", text);
    enum launcher_exit rc = strcmp(code, GPUD_CODE_STOPPING) == 0 ? LAUNCHER_UNREACHABLE : LAUNCHER_FAILED;
    fmt_json_free(*reply);
    *reply = NULL;
    return rc;
}

enum launcher_exit launcher_client_ask(struct launcher_client *c, struct fmt_json *request, struct fmt_json **reply,
                                       struct gpud_error *err) {
    size_t len = 0;
    *reply = NULL;
    uint8_t *frame = gpud_msg_frame(request, &len);
    if (!frame) {
        gpud_fail(err, "no memory for a request");
        return LAUNCHER_FAILED;
    }
    err->text[0] = 0;
    int rc = send_all(c->fd, frame, len);
    free(frame);
    if (rc == 0) rc = receive_reply(c->fd, reply, err);
    if (rc == 0) return judge(reply, err);
    if (!err->text[0])
        gpud_fail(err, "service %s %s", c->instance, rc == -EAGAIN ? "does not answer" : "went away");
    launcher_client_close(c);
    return LAUNCHER_UNREACHABLE;
}

enum launcher_exit launcher_client_wait(struct launcher_client *c, uint64_t id, struct fmt_json **reply,
                                        struct gpud_error *err) {
    char instance[SHM_INSTANCE_MAX];
    memcpy(instance, c->instance, sizeof instance);
    for (;;) {
        struct fmt_json *request = fmt_json_object();
        fmt_json_set_string(request, "type", "wait");
        fmt_json_set_int(request, "id", (int64_t)id);
        launcher_client_patience(c, 0);
        enum launcher_exit rc = launcher_client_ask(c, request, reply, err);
        if (rc != LAUNCHER_UNREACHABLE || c->fd >= 0) return rc;        /* c->fd: it said itself that it stops */
        rc = launcher_client_reach(c, instance, err);
        if (rc) return rc;
    }
}
