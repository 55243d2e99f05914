#include "synth/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shm/peer.h"
#include "synth/ask.h"

enum { HEADER = 4, REPLY_MAX = 1024, PATIENCE_MS = 2000 };

static int say_hello(int fd, uint32_t peer, int own_eventfd) {
    char frame[HEADER + 64];
    int n = snprintf(frame + HEADER, sizeof frame - HEADER, "{\"type\":\"hello\",\"peer\":%u}", peer);
    for (int i = 0; i < HEADER; i++) frame[i] = (char)((uint32_t)n >> (8 * i));
    long sent = shm_fd_send(fd, frame, (size_t)(HEADER + n), &own_eventfd, own_eventfd >= 0 ? 1 : 0);
    return sent == HEADER + n ? 0 : sent < 0 ? (int)sent : -EPIPE;
}

static uint32_t length_of(const uint8_t *reply) {
    return reply[0] | (uint32_t)reply[1] << 8 | (uint32_t)reply[2] << 16 | (uint32_t)reply[3] << 24;
}

/* Reads the whole reply; a refusal is told by its "error" field. */
static int hear_reply(int fd, int *eventfd) {
    uint8_t reply[REPLY_MAX + 1];
    size_t got = 0, want = HEADER;
    while (got < want) {
        int fds[SHM_FDS_MAX], n_fds = 0;
        long n = shm_fd_recv(fd, reply + got, want - got, fds, &n_fds);
        if (n <= 0) return n < 0 ? (int)n : -EPIPE;
        for (int i = 0; i < n_fds; i++) {
            if (*eventfd >= 0) close(*eventfd);
            *eventfd = fds[i];
        }
        got += (size_t)n;
        if (got == HEADER) want = HEADER + length_of(reply);
        if (want > REPLY_MAX) return -EMSGSIZE;
    }
    reply[got] = 0;
    return strstr((char *)reply + HEADER, "\"error\"") ? -EPERM : 0;
}

int synth_link_open(const char *socket_path, uint32_t peer, int own_eventfd, int *daemon_eventfd) {
    *daemon_eventfd = -1;
    int fd = synth_connect(socket_path, PATIENCE_MS);
    if (fd < 0) return fd;
    int rc = say_hello(fd, peer, own_eventfd);
    if (rc == 0) rc = hear_reply(fd, daemon_eventfd);
    if (rc == 0) return fd;
    if (*daemon_eventfd >= 0) close(*daemon_eventfd);
    *daemon_eventfd = -1;
    close(fd);
    return rc;
}
