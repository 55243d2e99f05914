/*
 * tests/gpu/partition_feed.h: slots filled with synth/partition.h's vectors by a process of its own, as the service
 * has them: a region of one slot, a producer that takes jobs, fills and commits, and a daemon's steps to take what is
 * READY.
 */
#ifndef TESTS_GPU_PARTITION_FEED_H
#define TESTS_GPU_PARTITION_FEED_H

#include "formats/error.h"
#include "synth/partition.h"

struct partition_feed;

/* What a filled slot holds, and how long the producer took for it. */
struct partition_filled {
    struct krn_vectors vectors;
    double seconds;
};

/* Makes the region and starts the producer: this program again, with --produce. NULL with err. */
struct partition_feed *partition_feed_open(const struct partition *p, unsigned threads, struct fmt_error *err);
/* The slot's memory, to be page-locked. */
void *partition_feed_memory(const struct partition_feed *f, size_t *bytes);
/* Submits a job, waits until its slot is READY, and takes it. 0, or -1 with err. */
int partition_feed_next(struct partition_feed *f, struct partition_filled *filled, struct fmt_error *err);
/* The vectors may be overwritten; the job is done. 0, or -1 where the job is not what it should be. */
int partition_feed_done(struct partition_feed *f);
/* Ends the producer, and waits for it; removes the region. */
void partition_feed_close(struct partition_feed *f);

/* The producer's process: its arguments behind --produce. Returns its exit code. */
int partition_feed_produce(int argc, char **argv);

#endif
