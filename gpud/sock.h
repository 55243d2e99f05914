/*
 * gpud/sock.h: the control socket: connections, frames, buffers. What a request means is the handler's business.
 *
 * A connection carries one request after the other; the next one is looked at when the reply to the last has been
 * sent, so each has at most one request (GPUD_REQUEST_MAX) and one reply in memory. Dropped, with a line in the log:
 * another user, a frame too long, and a client that leaves a request half sent or a reply unread for GPUD_STALL_S.
 * Where GPUD_CONNECTIONS are open a new client takes the place of the one that has said nothing for longest; where all
 * wait, are being answered or are peers', the new one is dropped.
 */
#ifndef GPUD_SOCK_H
#define GPUD_SOCK_H

#include <stdbool.h>

#include "gpud/msg.h"
#include "gpud/paths.h"
#include "shm/bell.h"

enum { GPUD_CONNECTIONS = 256, GPUD_STALL_S = 10 };

struct gpud_conn {
    int fd;                     /* -1: free */
    int pid;                    /* SO_PEERCRED */
    uint32_t uid;
    uint32_t got;               /* bytes in `in` */
    int passed_fd;              /* a descriptor that came along; -1: none. The handler may take it and set -1. */
    bool busy;                  /* its requests are being handled now */
    bool waiting;               /* the handler answers later */
    bool ended;                 /* the client sends no more */
    bool keep;                  /* the handler's: silence is no reason to drop it */
    uint64_t heard;             /* when it was accepted or last asked something, on the clock of gpud_sock */
    uint32_t watched;           /* events asked for */
    uint64_t stalled_ns;        /* since when half a request or reply is there; 0: not */
    uint8_t *out;               /* a reply being sent; owned */
    size_t out_len, out_sent;
    uint64_t wait_id, wait_until_ns;        /* the handler's, while waiting */
    uint8_t in[GPUD_MSG_HEADER + GPUD_REQUEST_MAX];
};

/* Answers with gpud_sock_reply, or sets c->waiting and answers later. */
typedef void gpud_handler(void *ctx, struct gpud_conn *c, const struct gpud_request *req);

struct gpud_sock {
    int listener, reserve;
    char path[GPUD_SOCKET_PATH_MAX];
    struct shm_waiter *waiter;
    uint64_t tag;               /* of the listener; connection i has tag + 1 + i */
    gpud_handler *handle;
    void *ctx;
    struct gpud_conn *conns;    /* GPUD_CONNECTIONS */
    uint64_t clock;             /* accepts and requests so far */
    uint64_t dropped;
};

/* Binds path (0600, replacing what a dead daemon left; the caller holds the instance's lock) and listens. */
int gpud_sock_open(struct gpud_sock *s, const char *path, struct shm_waiter *waiter, uint64_t tag, gpud_handler *handle,
                   void *ctx, struct gpud_error *err);
/* Closes all, and removes the path if asked. */
void gpud_sock_close(struct gpud_sock *s, bool remove_path);

void gpud_sock_accept(struct gpud_sock *s);                                     /* event of the listener */
void gpud_sock_event(struct gpud_sock *s, uint32_t conn, uint32_t ready);       /* event of a connection */

/* Sends j (taken over; NULL: the connection is dropped for want of memory), with a descriptor beside it if fd >= 0. */
void gpud_sock_reply(struct gpud_sock *s, struct gpud_conn *c, struct fmt_json *j, int fd);
/* The same with {"error", "code"}. */
void gpud_sock_refuse(struct gpud_sock *s, struct gpud_conn *c, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Drops stalled clients; returns when to look again (UINT64_MAX: no need). */
uint64_t gpud_sock_expire(struct gpud_sock *s, uint64_t now_ns);

#endif
