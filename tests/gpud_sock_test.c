/* RUN_VALGRIND. The control socket under good, slow, half and hostile clients: each gets what it deserves, no
 * descriptor and no memory is lost, and the next client is served. Server and clients run in this one thread, step by
 * step. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpud/sock.h"
#include "shm/host.h"
#include "shm/peer.h"
#include "tests/check.h"

enum { TAG = 100, BIG = 4 << 20 };

static struct gpud_sock server;
static struct shm_waiter *waiter;
static char path[GPUD_SOCKET_PATH_MAX];
static int handled;
static bool saw_fd;

/* status: a small reply; stop: a reply of BIG bytes; wait: none until someone gives one; hello: takes the
 * descriptor. */
static void handle(void *ctx, struct gpud_conn *c, const struct gpud_request *req) {
    (void)ctx;
    handled++;
    struct fmt_json *j = fmt_json_object();
    if (req->type == GPUD_WAIT) {
        c->waiting = true;
        fmt_json_free(j);
        return;
    }
    if (req->type == GPUD_STOP) {
        char *big = malloc(BIG + 1);
        memset(big, 'x', BIG);
        big[BIG] = 0;
        fmt_json_set_string(j, "big", big);
        free(big);
    }
    if (req->type == GPUD_HELLO) {
        saw_fd = c->passed_fd >= 0;
        gpud_sock_reply(&server, c, j, c->passed_fd);
        return;
    }
    fmt_json_set_int(j, "handled", handled);
    gpud_sock_reply(&server, c, j, -1);
}

/* Lets the server do all that it can do now. */
static void serve(void) {
    struct shm_event ev[16];
    for (int n; (n = shm_waiter_wait(waiter, 0, 1, ev, 16)) > 0;) {
        for (int i = 0; i < n; i++) {
            if (ev[i].tag == TAG)
                gpud_sock_accept(&server);
            else
                gpud_sock_event(&server, (uint32_t)(ev[i].tag - TAG - 1), ev[i].ready);
        }
    }
}

static int client(void) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    memcpy(addr.sun_path, path, sizeof addr.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    serve();
    return fd;
}

static size_t frame(uint8_t *out, const char *text) {
    size_t n = strlen(text);
    gpud_msg_put_length(out, (uint32_t)n);
    memcpy(out + GPUD_MSG_HEADER, text, n);
    return GPUD_MSG_HEADER + n;
}

static void say(int fd, const char *text) {
    uint8_t bytes[256];
    size_t n = frame(bytes, text);
    CHECK(send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
    serve();
}

/* Reads one reply of less than 4 KiB; false where there is none. */
static bool hear(int fd, char text[4096]) {
    uint8_t header[GPUD_MSG_HEADER];
    if (recv(fd, header, sizeof header, 0) != sizeof header) return false;
    uint32_t n = gpud_msg_get_length(header);
    if (n >= 4096 || recv(fd, text, n, 0) != (ssize_t)n) return false;
    text[n] = 0;
    return true;
}

static bool is_closed(int fd) {
    char byte;
    serve();
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

static int open_conns(void) {
    int n = 0;
    for (int i = 0; i < GPUD_CONNECTIONS; i++) n += server.conns[i].fd >= 0;
    return n;
}

static int open_fds(void) {
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void test_good(void) {
    char text[4096];
    int fd = client();
    for (int i = 0; i < 3; i++) {
        say(fd, "{\"type\":\"status\"}");
        CHECK(hear(fd, text) && strstr(text, "handled"));
    }
    close(fd);
    serve();
    CHECK(open_conns() == 0);
}

static void test_byte_by_byte(void) {
    uint8_t bytes[256];
    char text[4096];
    size_t n = frame(bytes, "{\"type\":\"status\"}");
    int fd = client();
    for (size_t i = 0; i < n; i++) {
        CHECK(!hear(fd, text));
        CHECK(send(fd, bytes + i, 1, MSG_NOSIGNAL) == 1);
        serve();
    }
    CHECK(hear(fd, text));
    close(fd);
    serve();
}

/* Many requests in one write; each is answered, in order; the last one after the client closed its sending side. */
static void test_pipelined(void) {
    uint8_t bytes[4096];
    char text[4096], want[64];
    size_t n = 0;
    int fd = client(), first = handled;
    for (int i = 0; i < 100; i++) n += frame(bytes + n, "{\"type\":\"status\"}");
    CHECK(send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
    shutdown(fd, SHUT_WR);
    serve();
    for (int i = 1; i <= 100; i++) {
        snprintf(want, sizeof want, "%d", first + i);
        CHECK(hear(fd, text) && strstr(text, want));
    }
    CHECK(is_closed(fd));
    close(fd);
}

static void test_bad_requests(void) {
    static const char *const bad[] = {
        "", "{}", "nonsense", "[1,2", "{\"type\":\"fly\"}", "{\"type\":\"wait\",\"id\":-1}",
    };
    char text[4096];
    int fd = client(), before = handled;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        say(fd, bad[i]);
        CHECK(hear(fd, text) && strstr(text, "bad-request"));
    }
    CHECK(handled == before);
    say(fd, "{\"type\":\"status\"}");       /* an error is no end */
    CHECK(hear(fd, text));
    close(fd);
    serve();
}

static void test_too_long(void) {
    static const uint32_t lengths[] = {GPUD_REQUEST_MAX + 1, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t header[GPUD_MSG_HEADER];
        uint64_t dropped = server.dropped;
        int fd = client();
        gpud_msg_put_length(header, lengths[i]);
        CHECK(send(fd, header, sizeof header, MSG_NOSIGNAL) == sizeof header);
        CHECK(is_closed(fd) && server.dropped == dropped + 1);
        close(fd);
    }
}

static void test_longest(void) {
    uint8_t *bytes = malloc(GPUD_MSG_HEADER + GPUD_REQUEST_MAX);
    char text[4096];
    memset(bytes, ' ', GPUD_MSG_HEADER + GPUD_REQUEST_MAX);
    frame(bytes, "{\"type\":\"status\"}");
    gpud_msg_put_length(bytes, GPUD_REQUEST_MAX);
    int fd = client();
    for (int i = 0; i < 3; i++) {
        CHECK(send(fd, bytes, GPUD_MSG_HEADER + GPUD_REQUEST_MAX, MSG_NOSIGNAL) == GPUD_MSG_HEADER + GPUD_REQUEST_MAX);
        serve();
        CHECK(hear(fd, text) && strstr(text, "handled"));
    }
    free(bytes);
    close(fd);
    serve();
}

/* Time is the argument: nothing here waits for it. */
static void test_stalled(void) {
    uint64_t later = (GPUD_STALL_S + 1) * 1000000000ull, now;
    int half = client(), idle = client(), waits = client(), deaf = client();
    CHECK(send(half, "\x10", 1, MSG_NOSIGNAL) == 1);
    say(waits, "{\"type\":\"wait\",\"id\":1}");
    say(deaf, "{\"type\":\"stop\"}");       /* more than a socket's buffer holds, and it does not read */
    now = shm_host_now_ns();
    CHECK(gpud_sock_expire(&server, now) <= now + later);
    CHECK(!is_closed(half) && open_conns() == 4);
    CHECK(gpud_sock_expire(&server, now + later) == UINT64_MAX);
    CHECK(open_conns() == 2 && is_closed(half) && !is_closed(idle) && !is_closed(waits));
    close(half);
    close(idle);
    close(deaf);
    close(waits);       /* hangs up while the daemon works for it */
    serve();
    CHECK(open_conns() == 0);
}

/* A reply larger than any buffer reaches a client that reads it slowly. */
static void test_large_reply(void) {
    static char piece[100000];
    size_t got = 0;
    int fd = client();
    say(fd, "{\"type\":\"stop\"}");
    for (int quiet = 0; quiet < 100; quiet++) {
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n > 0) {
            got += (size_t)n;
            quiet = 0;
        }
        serve();
    }
    CHECK(got > BIG && got < BIG + 64);
    char text[4096];
    say(fd, "{\"type\":\"status\"}");
    CHECK(hear(fd, text));
    close(fd);
    serve();
}

/* The one more takes the place of the client that has been silent for longest, where one may be dropped. */
static void test_limit(void) {
    static int fds[GPUD_CONNECTIONS];
    char text[4096];
    for (int i = 0; i < GPUD_CONNECTIONS; i++) fds[i] = client();
    CHECK(open_conns() == GPUD_CONNECTIONS);
    say(fds[0], "{\"type\":\"status\"}");
    CHECK(hear(fds[0], text));
    int extra = client();
    CHECK(!is_closed(extra) && !is_closed(fds[0]) && is_closed(fds[1]) && !is_closed(fds[2]));
    say(extra, "{\"type\":\"status\"}");
    CHECK(hear(extra, text));
    for (int i = 0; i < GPUD_CONNECTIONS; i++) server.conns[i].keep = true;
    int more = client();
    CHECK(is_closed(more) && open_conns() == GPUD_CONNECTIONS);
    close(more);
    close(fds[7]);
    serve();
    fds[7] = client();
    say(fds[7], "{\"type\":\"status\"}");
    CHECK(hear(fds[7], text));
    close(extra);
    for (int i = 0; i < GPUD_CONNECTIONS; i++) close(fds[i]);
    serve();
    CHECK(open_conns() == 0);
}

/* Descriptors that come along with requests: one is the handler's to see, and none stays open. */
static void test_descriptors(void) {
    int before = open_fds(), fd = client(), pair[2], got[SHM_FDS_MAX], n_got = 0;
    uint8_t bytes[256];
    char text[4096];
    CHECK(pipe2(pair, O_CLOEXEC) == 0);
    const char *const requests[] = {"{\"type\":\"status\"}", "nonsense", "{\"type\":\"hello\",\"peer\":0}"};
    for (int i = 0; i < 3; i++) {
        size_t n = frame(bytes, requests[i]);
        CHECK(shm_fd_send(fd, bytes, n, pair, 2) == (long)n);
        serve();
        if (i < 2) CHECK(hear(fd, text));
    }
    CHECK(saw_fd);
    CHECK(shm_fd_recv(fd, text, sizeof text, got, &n_got) > 0 && n_got == 1);      /* the handler sent it back */
    for (int i = 0; i < n_got; i++) close(got[i]);
    close(pair[0]);
    close(pair[1]);
    close(fd);
    serve();
    CHECK(open_fds() == before);
}

/* Random bytes and random cuts of good requests, from a seed; the server must be alive after each. */
static void test_random(void) {
    unsigned seed = 20261201;
    char text[4096];
    printf("seed %u\n", seed);
    for (int round = 0; round < 100; round++) {
        uint8_t bytes[512];
        size_t n = (size_t)(rand_r(&seed) % (int)sizeof bytes);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)rand_r(&seed);
        if (round % 2) {
            n = frame(bytes, "{\"type\":\"status\"}");
            bytes[(size_t)rand_r(&seed) % n] ^= (uint8_t)(1 << rand_r(&seed) % 8);
            if (round % 4 == 1) n = (size_t)rand_r(&seed) % n;
        }
        int fd = client();
        if (send(fd, bytes, n, MSG_NOSIGNAL) < 0) CHECK(errno == EPIPE);
        serve();
        close(fd);
        serve();
    }
    CHECK(open_conns() == 0);
    int fd = client();
    say(fd, "{\"type\":\"status\"}");
    CHECK(hear(fd, text));
    close(fd);
    serve();
}

int main(void) {
    char why[160], folder[] = "/tmp/sock_test.XXXXXX";
    struct gpud_error err;
    struct stat st;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/socket", folder);
    for (enum shm_backend how = SHM_BACKEND_AUTO; how <= SHM_BACKEND_EPOLL; how++) {
        if (shm_waiter_open(&waiter, NULL, how, why)) continue;
        CHECK(gpud_sock_open(&server, path, waiter, TAG, handle, NULL, &err) == 0);
        CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
        test_good();
        test_byte_by_byte();
        test_pipelined();
        test_bad_requests();
        test_too_long();
        test_longest();
        test_stalled();
        test_large_reply();
        test_limit();
        test_descriptors();
        test_random();
        gpud_sock_close(&server, true);
        CHECK(stat(path, &st) != 0);
        shm_waiter_close(waiter);
    }
    rmdir(folder);
    return failures != 0;
}
