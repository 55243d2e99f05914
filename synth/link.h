/*
 * synth/link.h: a producer's connection to the daemon. It says who we are, exchanges the eventfds where a side sleeps
 * on one, and its end says that the daemon is gone.
 */
#ifndef SYNTH_LINK_H
#define SYNTH_LINK_H

#include <stdint.h>

/* Connects to the control socket and says hello as `peer`, with own_eventfd (-1: none) beside it. Returns the
 * connection, with the daemon's eventfd (or -1) in *daemon_eventfd; or -errno. */
int synth_link_open(const char *socket_path, uint32_t peer, int own_eventfd, int *daemon_eventfd);

#endif
