/*
 * launcher/bench_run.h: many proofs through a running service, and what it says of each.
 */
#ifndef LAUNCHER_BENCH_RUN_H
#define LAUNCHER_BENCH_RUN_H

#include "launcher/bench_feed.h"
#include "launcher/bench_record.h"
#include "launcher/client.h"

enum { BENCH_MAX_CIRCUITS = 64, BENCH_IN_FLIGHT_MAX = 512 };

/* Memory of the service's processes, as the kernel and the daemon say. */
struct bench_memory {
    uint64_t daemon, workers;       /* bytes that are the process's own (RssAnon) */
    uint64_t device;                /* bytes on all devices: workspace and keys */
    uint64_t allocations, registrations, host_copies;
};

struct bench_run {
    /* in */
    const char *instance;
    struct bench_circuit circuits[BENCH_MAX_CIRCUITS];
    unsigned n_circuits;
    uint64_t proofs;                /* to measure; 0: as many as are submitted in `seconds` */
    double seconds;
    unsigned in_flight;             /* jobs under way at most, 1 .. BENCH_IN_FLIGHT_MAX */
    unsigned producers;             /* 0: workers of the service read the witnesses' files; else see bench_feed.h */
    unsigned warm_up;               /* proofs before that do not count */
    bool progress;                  /* on stderr */
    /* out */
    struct bench_record *records;   /* n_records, in the order of submission; bench_run_free */
    size_t n_records, failed;
    char failure[GPUD_ERROR_MAX];   /* of the first that failed */
    uint64_t start_ns, end_ns;      /* from the last warm-up's end to the last proof's, or so many seconds after */
    uint64_t slot_bytes[BENCH_MAX_CIRCUITS];    /* what an upload of each circuit carries */
    char backend[16], memory_kind[16];
    uint64_t workers, slots, devices;
    struct bench_memory before, after;          /* after the warm-up, and at the end */
};

/* Failed jobs are counted, not errors. LAUNCHER_OK or an exit status with err. */
enum launcher_exit bench_run(struct bench_run *b, struct gpud_error *err);
void bench_run_free(struct bench_run *b);

#endif
