#include "synth/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEADER = 4 };

int synth_connect(const char *path, int patience_ms)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = patience_ms / 1000, .tv_usec = patience_ms % 1000 * 1000};
    size_t n = strlen(path);

    if (n >= sizeof addr.sun_path)
        return -ENAMETOOLONG;
    memcpy(addr.sun_path, path, n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
        return fd;
    int rc = -errno;
    close(fd);
    return rc;
}

static int send_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EPIPE;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int receive_all(int fd, void *data, size_t len)
{
    char *p = data;
    while (len > 0) {
        ssize_t n = recv(fd, p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EPIPE;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int send_request(int fd, const struct fmt_json *request)
{
    size_t len = 0;
    char *text = fmt_json_dump(request, &len);
    uint8_t header[HEADER];

    if (!text)
        return -ENOMEM;
    for (int i = 0; i < HEADER; i++)
        header[i] = (uint8_t)(len >> (8 * i));
    int rc = send_all(fd, header, sizeof header);
    if (rc == 0)
        rc = send_all(fd, text, len);
    free(text);
    return rc;
}

static int receive_reply(int fd, struct fmt_json **reply, struct fmt_error *err)
{
    uint8_t h[HEADER];
    int rc = receive_all(fd, h, sizeof h);
    if (rc != 0)
        return rc;
    size_t len = h[0] | (size_t)h[1] << 8 | (size_t)h[2] << 16 | (size_t)h[3] << 24;
    char *text = len <= SYNTH_ASK_MOST ? malloc(len + 1) : NULL;
    if (!text)
        return -EMSGSIZE;
    rc = receive_all(fd, text, len);
    *reply = rc == 0 ? fmt_json_parse("reply", text, len, err) : NULL;
    free(text);
    return rc == 0 && !*reply ? -EBADMSG : rc;
}

/* An error reply becomes its text and code. */
static enum synth_asked judge(struct fmt_json **reply, char code[SYNTH_ASK_CODE], struct fmt_error *err)
{
    const char *text = NULL, *what = "";
    struct fmt_error ignored;
    if (fmt_json_get_string(*reply, "error", &text, &ignored) != 1)
        return SYNTH_ANSWERED;
    fmt_json_get_string(*reply, "code", &what, &ignored);
    snprintf(code, SYNTH_ASK_CODE, "%s", what);
    fmt_fail(err, "%s", text);
    fmt_json_free(*reply);
    *reply = NULL;
    return SYNTH_REFUSED;
}

enum synth_asked synth_ask(const char *socket, struct fmt_json *request, int patience_ms, struct fmt_json **reply,
                           char code[SYNTH_ASK_CODE], struct fmt_error *err)
{
    int fd = synth_connect(socket, patience_ms), rc = fd < 0 ? fd : 0;

    *reply = NULL;
    code[0] = '\0';
    if (rc == 0)
        rc = send_request(fd, request);
    if (rc == 0)
        rc = receive_reply(fd, reply, err);
    if (fd >= 0)
        close(fd);
    fmt_json_free(request);
    if (rc == 0)
        return judge(reply, code, err);
    fmt_fail(err, "%s: no answer: %s", socket, strerror(-rc));
    return SYNTH_UNREACHABLE;
}
