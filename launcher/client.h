/*
 * launcher/client.h: talking to a service over its control socket, one request after the other.
 */
#ifndef LAUNCHER_CLIENT_H
#define LAUNCHER_CLIENT_H

#include "formats/json.h"
#include "gpud/msg.h"

/* Exit statuses of the command. */
enum launcher_exit { LAUNCHER_OK = 0, LAUNCHER_FAILED = 1, LAUNCHER_USAGE = 2, LAUNCHER_UNREACHABLE = 3 };

struct launcher_client {
    int fd;                 /* -1: not connected */
    char instance[SHM_INSTANCE_MAX];
};

/* Connects. LAUNCHER_OK, LAUNCHER_UNREACHABLE or LAUNCHER_USAGE (the name) with err. */
enum launcher_exit launcher_client_open(struct launcher_client *c, const char *instance, struct gpud_error *err);
/* The pid of the daemon at the other end, as the kernel knows it; 0: not connected. */
int launcher_client_daemon(const struct launcher_client *c);
void launcher_client_close(struct launcher_client *c);

/* The same for a service that may be between two daemons: as long as its region is there, for LAUNCHER_PATIENCE_S. */
enum { LAUNCHER_PATIENCE_S = 30 };
enum launcher_exit launcher_client_reach(struct launcher_client *c, const char *instance, struct gpud_error *err);

/* How long a reply may take, 10 s at first; 0: as long as it takes. A daemon that hangs is unreachable then. */
void launcher_client_patience(struct launcher_client *c, int seconds);

/* Sends a request (taken over) and waits for its reply, the caller's. An error reply ends in LAUNCHER_FAILED (in
 * LAUNCHER_UNREACHABLE where the service stops) with its text in err. */
enum launcher_exit launcher_client_ask(struct launcher_client *c, struct fmt_json *request, struct fmt_json **reply,
                                       struct gpud_error *err);

/* Waits for a job. A daemon that dies meanwhile is waited for, and the next one is asked again. */
enum launcher_exit launcher_client_wait(struct launcher_client *c, uint64_t id, struct fmt_json **reply,
                                        struct gpud_error *err);

#endif
