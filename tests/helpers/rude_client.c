/*
 * Clients of the control socket without manners, on one service's own socket:
 *   rude_client SOCKET churn N           N connections one after the other, some with half a message, some with none
 *   rude_client SOCKET crowd N MS        N at once (a process may hold fewer than it asks for), held for so long
 *   rude_client SOCKET fuzz SEED N       N messages: lies about lengths, cut ones, garbage, JSON that almost is one
 *   rude_client SOCKET slow MS           one request byte by byte, over so long; exits 0 if it was answered
 *   rude_client SOCKET deaf N            N requests ahead, and no reply is ever read, until the other end hangs up
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/random.h"

static const char *path;
static uint64_t state;

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* -1 where the service does not take us (any more). */
static int enter(void) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static int need(void) {
    int fd = enter();
    if (fd >= 0) return fd;
    fprintf(stderr, "rude_client: %s: %s\n", path, strerror(errno));
    exit(1);
}

static void say(int fd, const void *bytes, size_t n) {
    if (send(fd, bytes, n, MSG_NOSIGNAL) < 0) return;      /* thrown out already: that is its right */
}

static size_t frame(uint8_t *out, uint32_t claimed, const char *text) {
    size_t n = strlen(text);
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(claimed >> (8 * i));
    memcpy(out + 4, text, n);
    return n + 4;
}

static int churn(long n) {
    static const uint8_t half[] = {20, 0, 0, 0, '{', '"'};
    for (long i = 0; i < n; i++) {
        int fd = need();
        if (i % 3) say(fd, half, i % 3 == 1 ? 2 : sizeof half);
        close(fd);
    }
    return 0;
}

static int crowd(long n, long ms) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (long i = 0; i < n; i++) need();
    printf("%ld are in\n", n);
    fflush(stdout);
    pause_ms(ms);
    return 0;
}

/* A message that is wrong in one of many ways, or by chance right. */
static size_t invent(uint8_t out[16384]) {
    static const char *const bases[] = {
        "{\"type\":\"status\"}", "{\"type\":\"wait\",\"id\":1,\"timeout_ms\":0}", "{\"type\":\"cancel\",\"id\":77}",
        "{\"type\":\"submit\",\"circuit\":\"none\",\"witness\":\"/nowhere\"}", "{\"type\":\"hello\",\"peer\":0}",
        "{\"type\":\"submit\",\"circuit\":\"none\",\"peer\":4294967295}", "[[[[[[[[[[[[[[[[", "{\"type\":\"\\u0000\"}",
        "",
    };
    char text[9000] = "";
    snprintf(text, sizeof text, "%s", bases[rnd(&state) % (sizeof bases / sizeof bases[0])]);
    size_t n = strlen(text);
    for (uint64_t k = rnd(&state) % 4; n && k > 0; k--) text[rnd(&state) % n] = (char)(1 + rnd(&state) % 255);
    if (rnd(&state) % 16 == 0) {
        memset(text, '[', 8192);
        text[n = 8192] = 0;
    }
    static const uint32_t lies[] = {0, 1, 8191, 8192, 8193, 0x7fffffff, 0xffffffff};
    uint32_t claimed = rnd(&state) % 4 ? (uint32_t)strlen(text) : lies[rnd(&state) % 7];
    size_t bytes = frame(out, claimed, text);
    return rnd(&state) % 8 ? bytes : rnd(&state) % (bytes + 1);
}

static int fuzz(uint64_t seed, long n) {
    state = seed;
    printf("rude_client: fuzz, seed %llu\n", (unsigned long long)seed);
    for (long i = 0; i < n;) {
        int fd = need();
        for (uint64_t k = 1 + rnd(&state) % 8; k > 0; k--, i++) {
            uint8_t bytes[16384];
            say(fd, bytes, invent(bytes));
        }
        if (rnd(&state) % 4 == 0) shutdown(fd, SHUT_WR);
        char reply[4096];
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (rnd(&state) % 2 && poll(&p, 1, 5) == 1 && recv(fd, reply, sizeof reply, 0) < 0) {}
        close(fd);
    }
    return 0;
}

static int slow(long ms) {
    uint8_t bytes[64], reply[8];
    size_t n = frame(bytes, 17, "{\"type\":\"status\"}");
    int fd = need();
    for (size_t i = 0; i < n; i++) {
        say(fd, bytes + i, 1);
        pause_ms(ms / (long)n);
    }
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 5000) == 1 && recv(fd, reply, sizeof reply, 0) > 0 ? 0 : 1;
}

static int deaf(long n) {
    uint8_t bytes[64];
    size_t len = frame(bytes, 17, "{\"type\":\"status\"}");
    int fd = need();
    for (long i = 0; i < n; i++)
        if (send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    struct pollfd p = {.fd = fd, .events = POLLHUP};
    return poll(&p, 1, 30000) == 1 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    path = argv[1];
    long n = strtol(argv[3], NULL, 10), m = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
    if (!strcmp(argv[2], "churn")) return churn(n);
    if (!strcmp(argv[2], "crowd")) return crowd(n, m);
    if (!strcmp(argv[2], "fuzz")) return fuzz((uint64_t)n, m);
    if (!strcmp(argv[2], "slow")) return slow(n);
    if (!strcmp(argv[2], "deaf")) return deaf(n);
    return 2;
}
