/*
 * gpud/hammer.h: a load for measurements: every processor copies memory that no cache holds, as synthesis does on a
 * busy host.
 */
#ifndef GPUD_HAMMER_H
#define GPUD_HAMMER_H

#include "gpud/error.h"

struct gpud_hammer;

/* One thread a processor that this process may use; all of them copy when it returns. NULL with err. */
struct gpud_hammer *gpud_hammer_start(struct gpud_error *err);
unsigned gpud_hammer_threads(const struct gpud_hammer *h);
/* Ends it; returns how many bytes a second all threads together have copied. NULL is harmless. */
double gpud_hammer_stop(struct gpud_hammer *h);

#endif
