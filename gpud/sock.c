#include "gpud/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpud/log.h"
#include "shm/host.h"
#include "shm/peer.h"

enum { ACCEPTS = 32 };      /* in one go: those who are in are heard before too many others come */

#define STALL_NS (GPUD_STALL_S * 1000000000ull)

static uint32_t index_of(const struct gpud_sock *s, const struct gpud_conn *c) {
    return (uint32_t)(c - s->conns);
}

/* ---- open and close ---- */

static int listen_on(struct gpud_sock *s, struct gpud_error *err) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    memcpy(addr.sun_path, s->path, sizeof addr.sun_path);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->listener < 0) return gpud_fail(err, "socket: %s", strerror(errno));
    unlink(s->path);
    /* Nobody can connect between bind and listen, so the mode is right before it matters. */
    if (bind(s->listener, (struct sockaddr *)&addr, sizeof addr) || chmod(s->path, 0600) || listen(s->listener, 64))
        return gpud_fail(err, "cannot listen on %s: %s", s->path, strerror(errno));
    int rc = shm_waiter_watch(s->waiter, s->listener, POLLIN, s->tag);
    return rc ? gpud_fail(err, "cannot watch %s: %s", s->path, strerror(-rc)) : 0;
}

int gpud_sock_open(struct gpud_sock *s, const char *path, struct shm_waiter *waiter, uint64_t tag, gpud_handler *handle,
                   void *ctx, struct gpud_error *err) {
    memset(s, 0, sizeof *s);
    snprintf(s->path, sizeof s->path, "%s", path);
    s->listener = s->reserve = -1;
    s->waiter = waiter;
    s->tag = tag;
    s->handle = handle;
    s->ctx = ctx;
    s->conns = calloc(GPUD_CONNECTIONS, sizeof *s->conns);
    if (!s->conns) return gpud_fail(err, "no memory for %d connections", GPUD_CONNECTIONS);
    for (int i = 0; i < GPUD_CONNECTIONS; i++) s->conns[i].fd = -1;
    s->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (listen_on(s, err) == 0) return 0;
    gpud_sock_close(s, false);
    return -1;
}

static void drop(struct gpud_sock *s, struct gpud_conn *c, const char *why) {
    if (why) {
        s->dropped++;
        gpud_log("client (pid %d) dropped: %s", c->pid, why);
    }
    shm_waiter_unwatch(s->waiter, c->fd);
    close(c->fd);
    if (c->passed_fd >= 0) close(c->passed_fd);
    free(c->out);
    memset(c, 0, offsetof(struct gpud_conn, in));
    c->fd = -1;
}

void gpud_sock_close(struct gpud_sock *s, bool remove_path) {
    for (int i = 0; s->conns && i < GPUD_CONNECTIONS; i++)
        if (s->conns[i].fd >= 0) drop(s, &s->conns[i], NULL);
    free(s->conns);
    s->conns = NULL;
    if (s->reserve >= 0) close(s->reserve);
    s->reserve = -1;
    if (s->listener >= 0) {
        shm_waiter_unwatch(s->waiter, s->listener);
        close(s->listener);
        s->listener = -1;
        if (remove_path) unlink(s->path);
    }
}

/* ---- accept ---- */

/* A free entry, or that of the client which has said nothing for longest. */
static struct gpud_conn *make_room(struct gpud_sock *s) {
    struct gpud_conn *oldest = NULL;
    for (int i = 0; i < GPUD_CONNECTIONS; i++) {
        struct gpud_conn *c = &s->conns[i];
        if (c->fd < 0) return c;
        if (!c->waiting && !c->out && !c->keep && (!oldest || c->heard < oldest->heard)) oldest = c;
    }
    if (oldest) drop(s, oldest, "it is silent, and another client wants its place");
    return oldest;
}

static void welcome(struct gpud_sock *s, int fd) {
    struct ucred who = {0};
    socklen_t len = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) || (who.uid != geteuid() && who.uid != 0)) {
        gpud_log("client (pid %d) dropped: user %u is not allowed here", who.pid, who.uid);
        s->dropped++;
        close(fd);
        return;
    }
    struct gpud_conn *c = make_room(s);
    if (!c) {
        gpud_log("client (pid %d) dropped: %d connections are open", who.pid, GPUD_CONNECTIONS);
        s->dropped++;
        close(fd);
        return;
    }
    *c = (struct gpud_conn){.fd = fd, .pid = who.pid, .uid = who.uid, .passed_fd = -1, .watched = POLLIN,
                            .heard = ++s->clock};
    if (shm_waiter_watch(s->waiter, fd, POLLIN, s->tag + 1 + index_of(s, c))) drop(s, c, "cannot be watched");
}

/* Out of descriptors: the one in reserve serves to take the client and send it away, else it would be offered for
 * ever. */
static bool send_away(struct gpud_sock *s) {
    close(s->reserve);
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) close(fd);
    s->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    s->dropped++;
    gpud_log("client dropped: no more descriptors");
    return fd >= 0;
}

void gpud_sock_accept(struct gpud_sock *s) {
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            welcome(s, fd);
        else if (errno == EMFILE || errno == ENFILE) {
            if (!send_away(s)) return;
        } else if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

/* ---- replies ---- */

/* Sends what the socket takes now. False: the connection was dropped. */
static bool flush(struct gpud_sock *s, struct gpud_conn *c) {
    while (c->out) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) {
            drop(s, c, NULL);       /* it left without its reply */
            return false;
        }
        c->out_sent += (size_t)n;
        c->stalled_ns = shm_host_now_ns();
        if (c->out_sent < c->out_len) continue;
        free(c->out);
        c->out = NULL;
        c->stalled_ns = 0;
    }
    return true;
}

void gpud_sock_reply(struct gpud_sock *s, struct gpud_conn *c, struct fmt_json *j, int fd) {
    c->waiting = false;
    c->out_sent = 0;
    c->out = gpud_msg_frame(j, &c->out_len);
    if (!c->out) {
        drop(s, c, "no memory for its reply");
        return;
    }
    if (fd >= 0) {
        long n = shm_fd_send(c->fd, c->out, c->out_len, &fd, 1);
        if (n > 0) c->out_sent = (size_t)n;
        if (c->out_sent == c->out_len) {
            free(c->out);
            c->out = NULL;
        }
    }
    c->stalled_ns = c->out ? shm_host_now_ns() : 0;
    gpud_sock_event(s, index_of(s, c), 0);
}

static void make_printable(char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

void gpud_sock_refuse(struct gpud_sock *s, struct gpud_conn *c, const char *code, const char *format, ...) {
    char text[GPUD_ERROR_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct fmt_json *j = gpud_msg_error(code, text);
    if (!j) {       /* not UTF-8: a text that was cut, or that is not ours */
        make_printable(text);
        j = gpud_msg_error(code, text);
    }
    gpud_sock_reply(s, c, j, -1);
}

/* ---- requests ---- */

/* Reads what is there and fits. False: dropped. */
static bool fill(struct gpud_sock *s, struct gpud_conn *c) {
    while (c->got < sizeof c->in && !c->ended) {
        int fds[SHM_FDS_MAX], n_fds = 0;
        long n = shm_fd_recv(c->fd, c->in + c->got, sizeof c->in - c->got, fds, &n_fds);
        for (int i = 0; n >= 0 && i < n_fds; i++) {
            if (c->passed_fd >= 0) close(c->passed_fd);
            c->passed_fd = fds[i];
        }
        if (n == -EAGAIN) break;
        if (n < 0) {
            drop(s, c, strerror((int)-n));
            return false;
        }
        if (n == 0) c->ended = true;
        c->got += (uint32_t)n;
    }
    return true;
}

/* Handles one whole request if there is one. False: there is none, or the connection was dropped. */
static bool take_request(struct gpud_sock *s, struct gpud_conn *c) {
    struct gpud_request req;
    struct gpud_error err;
    if (c->got < GPUD_MSG_HEADER) return false;
    uint32_t len = gpud_msg_get_length(c->in);
    if (len > GPUD_REQUEST_MAX) {
        drop(s, c, "its request is longer than a request can be");
        return false;
    }
    if (c->got < GPUD_MSG_HEADER + len) return false;
    int rc = gpud_msg_parse(&req, (const char *)c->in + GPUD_MSG_HEADER, len, &err);
    c->got -= GPUD_MSG_HEADER + len;
    memmove(c->in, c->in + GPUD_MSG_HEADER + len, c->got);
    c->stalled_ns = 0;
    c->heard = ++s->clock;
    if (rc)
        gpud_sock_refuse(s, c, GPUD_CODE_BAD_REQUEST, "%s", err.text);
    else
        s->handle(s->ctx, c, &req);
    if (c->fd < 0) return false;
    if (c->passed_fd >= 0) close(c->passed_fd);
    c->passed_fd = -1;
    return true;
}

static void watch(struct gpud_sock *s, struct gpud_conn *c) {
    /* A client that waits or is being answered is not read from; that it hangs up is reported all the same. */
    uint32_t events = c->out ? POLLOUT : c->waiting ? 0 : POLLIN;
    if (events == c->watched) return;
    c->watched = events;
    shm_waiter_watch(s->waiter, c->fd, events, s->tag + 1 + index_of(s, c));
}

void gpud_sock_event(struct gpud_sock *s, uint32_t conn, uint32_t ready) {
    struct gpud_conn *c = &s->conns[conn];
    if (c->fd < 0 || c->busy) return;
    if ((ready & (POLLHUP | POLLERR)) && (c->waiting || c->out)) {
        drop(s, c, NULL);
        return;
    }
    if ((ready & (POLLIN | POLLHUP | POLLERR)) && !fill(s, c)) return;
    c->busy = true;     /* a reply from within the handler comes back here */
    while (flush(s, c) && !c->out && !c->waiting && take_request(s, c)) {}
    if (c->fd < 0) return;
    c->busy = false;

    bool idle = !c->out && !c->waiting;
    if (idle && c->ended) {
        drop(s, c, c->got ? "it left in the middle of a request" : NULL);
        return;
    }
    if (idle && c->got == 0) c->stalled_ns = 0;
    if (idle && c->got > 0 && c->stalled_ns == 0) c->stalled_ns = shm_host_now_ns();
    if (c->waiting) c->stalled_ns = 0;
    watch(s, c);
}

uint64_t gpud_sock_expire(struct gpud_sock *s, uint64_t now_ns) {
    uint64_t again = UINT64_MAX;
    for (int i = 0; i < GPUD_CONNECTIONS; i++) {
        struct gpud_conn *c = &s->conns[i];
        if (c->fd < 0 || c->stalled_ns == 0) continue;
        if (c->stalled_ns + STALL_NS <= now_ns)
            drop(s, c, c->out ? "it does not read its reply" : "its request does not go on");
        else if (c->stalled_ns + STALL_NS < again)
            again = c->stalled_ns + STALL_NS;
    }
    return again;
}
