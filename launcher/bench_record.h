/*
 * launcher/bench_record.h: what a service says of one proof, and how its time divides: phases that follow each other
 * and together are the whole, from submit to done.
 */
#ifndef LAUNCHER_BENCH_RECORD_H
#define LAUNCHER_BENCH_RECORD_H

#include "formats/json.h"
#include "shm/layout.h"

enum bench_phase {
    BENCH_QUEUE,            /* submitted, and no worker has taken it */
    BENCH_SLOT,             /* of that: workers were idle and had no slot for it */
    BENCH_SYNTHESIS,
    BENCH_HAND_OFF,         /* READY, and no device has taken it */
    BENCH_UPLOAD,           /* from taken to uploaded, as far as nothing was computed yet */
    BENCH_GPU,              /* uploaded, and the device computes another */
    BENCH_A, BENCH_L, BENCH_B1, BENCH_B2,
    BENCH_REST,             /* the sums over w are there, and a and b are not */
    BENCH_NTT, BENCH_H,
    BENCH_FINISH,           /* on the host, and the wait for the one who verifies */
    BENCH_VERIFY,
    BENCH_SETTLE,           /* result written, job DONE */
    BENCH_TOTAL,
    BENCH_PHASES
};

extern const char *const bench_phase_names[BENCH_PHASES];      /* for people */
extern const char *const bench_phase_keys[BENCH_PHASES];       /* for machines: the protocol's where it has one */

struct bench_record {
    uint64_t id;
    unsigned circuit;       /* the caller's number */
    struct shm_job_times t;
};

/* From the reply to `wait`. 0, or -1 with err. */
int bench_record_read(struct bench_record *r, const struct fmt_json *reply, struct fmt_error *err);

/* When the upload ended (without one: when it was taken), the computing began and ended; ns. A GPU sums over w while
 * a and b still travel. */
uint64_t bench_record_uploaded(const struct bench_record *r);
uint64_t bench_record_start(const struct bench_record *r);
uint64_t bench_record_end(const struct bench_record *r);
/* Of the computing: nanoseconds that it waited for a and b, and seconds in which kernels ran. */
uint64_t bench_record_rest(const struct bench_record *r);
double bench_record_busy(const struct bench_record *r);

/* Nanoseconds of each phase. The sum of all before BENCH_TOTAL is BENCH_TOTAL. */
void bench_record_phases(const struct bench_record *r, uint64_t ns[BENCH_PHASES]);

#endif
