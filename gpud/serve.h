/*
 * gpud/serve.h: what the requests of the control socket do.
 */
#ifndef GPUD_SERVE_H
#define GPUD_SERVE_H

#include "gpud/daemon.h"

#define GPUD_KEEP_NS (600ull * 1000000000)      /* a result that nobody fetched is kept for so long at least */

/* The handler of the socket; ctx is the daemon. */
void gpud_serve_request(void *ctx, struct gpud_conn *c, const struct gpud_request *req);

/* Answers the clients whose job has ended or whose patience is over; returns when to look again (UINT64_MAX: no
 * need). */
uint64_t gpud_serve_waiting(struct gpud_daemon *d, uint64_t now_ns);

/* Answers every waiting client that the service stops. */
void gpud_serve_farewell(struct gpud_daemon *d);

#endif
