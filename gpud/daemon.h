/*
 * gpud/daemon.h: the daemon as a whole: region, circuits, devices, workers, socket, and the loop that ties them.
 */
#ifndef GPUD_DAEMON_H
#define GPUD_DAEMON_H

#include "gpud/device.h"
#include "gpud/options.h"
#include "gpud/sock.h"
#include "gpud/workers.h"

enum {
    GPUD_EXIT_REFUSED = 1,      /* it did not start; the last line says why; starting it again changes nothing */
    GPUD_EXIT_USAGE = 2,
    GPUD_EXIT_RESTART = 75,     /* its last device failed: start it again */
    GPUD_EXIT_BARREN = 76,      /* the same, and it had proved nothing: start it again, but not for ever */
};

struct gpud_daemon {
    const struct gpud_options *options;
    const struct krn_backend *backend;
    char program_folder[SHM_PATH_MAX];
    int n_devices;
    int nodes[SHM_MAX_NODES];
    uint32_t n_nodes;
    bool adopted;               /* the region was there already */

    struct shm_region region;
    struct gpud_circuit circuits[GPUD_MAX_CIRCUITS];
    struct gpud_plan plan;      /* of a region made by this daemon */
    struct gpud_blinding fixed;
    struct gpud_work work;
    struct gpud_device devices[GPUD_MAX_DEVICES];

    struct shm_waiter *waiter;
    char waiter_why[160];
    int signals;                /* signalfd */
    struct gpud_workers workers;
    struct gpud_sock sock;
    char socket_path[GPUD_SOCKET_PATH_MAX];

    uint64_t started_ns;
    bool ready, stopping;
    /* Since the last look at everything: the region told workers to leave, and we did not. */
    uint32_t flags_lowered;
    uint64_t belt_ns;           /* when to look at everything, whatever the signals said */
};

/*
 * Serves until it is told to stop. cpu is never NULL; cuda is NULL where it was not built in. Returns the exit
 * status: 0 after an ordered stop (region, socket and workers are gone then), or a GPUD_EXIT_ value. err is set for
 * every status but 0.
 */
int gpud_daemon_run(struct gpud_daemon *d, const struct gpud_options *options, const struct krn_backend *cpu,
                    const struct krn_backend *cuda, struct gpud_error *err);

#endif
