/*
 * gpud/status.h: the reply to a status request.
 */
#ifndef GPUD_STATUS_H
#define GPUD_STATUS_H

#include "gpud/daemon.h"

/* NULL where memory is short. */
struct fmt_json *gpud_status(struct gpud_daemon *d);

#endif
