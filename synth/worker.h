/*
 * synth/worker.h: the worker process: from jobs with a witness file to READY slots, until the service stops.
 */
#ifndef SYNTH_WORKER_H
#define SYNTH_WORKER_H

#include "synth/circuit.h"
#include "synth/producer.h"

struct synth_worker_options {
    struct synth_producer_options producer;
    unsigned threads;
    /* Test hook, NULL in normal use. A worker that finds this file when it has filled a slot takes the file away and
     * stops itself (SIGSTOP) before it commits. */
    const char *stop_file;
    const char *eat_file;       /* the same, but it takes memory until it is killed (after 1 GiB it aborts) */
};

/* Joins and works until the service stops or its region is gone. 0, or -1 with err where it could not join. */
int synth_worker_run(const struct synth_worker_options *o, struct fmt_error *err);

#endif
