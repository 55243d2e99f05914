#include "tests/gpu/partition_feed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/payload.h"
#include "shm/bell.h"
#include "shm/host.h"
#include "shm/peer.h"
#include "synth/producer.h"

enum { JOBS = 64, PEERS = 2, RESULT_BYTES = 4096, LOOK_MS = 100, ARGUMENTS = 5, NUMBER = 24 };

struct partition_feed {
    const struct partition *p;
    struct fmt_payload place;
    char instance[SHM_INSTANCE_MAX];
    struct shm_region region;
    struct shm_waiter *waiter;
    pid_t producer;             /* 0: none */
    struct shm_job_ref job;
    struct shm_slot_ref slot;
};

/* ---- the producer ---- */

int partition_feed_produce(int argc, char **argv)
{
    struct synth_producer_options o = {.kind = SYNTH_FOREIGN};
    struct synth_producer producer;
    struct synth_work work;
    struct partition p;
    struct fmt_error err;
    enum synth_next next;

    if (argc != ARGUMENTS)
        return 2;
    const unsigned long curve = strtoul(argv[1], NULL, 10), log = strtoul(argv[2], NULL, 10);
    const unsigned threads = (unsigned)strtoul(argv[4], NULL, 10);
    o.instance = argv[0];
    if (partition_scaled(&p, (enum krn_curve_id)curve, (uint32_t)log, strtoull(argv[3], NULL, 10)) != 0)
        return 2;
    if (synth_producer_join(&producer, &o, &err) != 0) {
        fprintf(stderr, "producer: %s\n", err.text);
        return 1;
    }
    while ((next = synth_producer_next(&producer, NULL, NULL, LOOK_MS, &work)) != SYNTH_LEAVE) {
        if (next != SYNTH_GOT_WORK)
            continue;
        partition_fill(&p, work.payload, threads);
        synth_producer_commit(&producer, &work,
                              &(struct synth_filled){.n_vars = p.n_wires, .n_rows = p.n_constraints + p.n_public + 1});
    }
    synth_producer_leave(&producer);
    return 0;
}

static void start_producer(struct partition_feed *f, unsigned threads)
{
    char curve[NUMBER], log[NUMBER], seed[NUMBER], count[NUMBER];
    char *const argv[] = {"producer", "--produce", f->instance, curve, log, seed, count, NULL};

    snprintf(curve, sizeof curve, "%d", f->p->curve);
    snprintf(log, sizeof log, "%u", f->p->log_domain);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)f->p->seed);
    snprintf(count, sizeof count, "%u", threads);
    f->producer = fork();
    if (f->producer == 0) {
        execv("/proc/self/exe", argv);
        _exit(127);
    }
}

/* ---- the daemon's side ---- */

static int make_region(struct partition_feed *f, struct fmt_error *err)
{
    const struct shm_class class = {.bytes = f->place.bytes, .per_node = 1};
    const struct shm_spec spec = {.instance = f->instance, .n_classes = 1, .classes = &class, .n_nodes = 1,
                                  .n_jobs = JOBS, .n_peers = PEERS, .n_circuits = 1, .result_bytes = RESULT_BYTES};
    struct shm_error why;
    char how[160];

    if (shm_region_create(&f->region, &spec, &why) != 0)
        return fmt_fail(err, "%s", why.text);
    f->region.circuits[0].slot_bytes = f->place.bytes;
    atomic_store(&f->region.circuits[0].state, 1);
    int rc = shm_waiter_open(&f->waiter, &f->region.super->bell, SHM_BACKEND_AUTO, how);
    return rc ? fmt_fail(err, "no way to wait: %s (%s)", how, strerror(-rc)) : 0;
}

struct partition_feed *partition_feed_open(const struct partition *p, unsigned threads, struct fmt_error *err)
{
    struct partition_feed *f = calloc(1, sizeof *f);

    if (!f) {
        fmt_fail(err, "out of memory");
        return NULL;
    }
    f->p = p;
    f->place = fmt_payload_of(p->n_wires, p->log_domain);
    snprintf(f->instance, sizeof f->instance, "partition.%d", (int)getpid());
    if (make_region(f, err) == 0) {
        start_producer(f, threads);
        if (f->producer > 0)
            return f;
        fmt_fail(err, "fork: %s", strerror(errno));
    }
    partition_feed_close(f);
    return NULL;
}

void *partition_feed_memory(const struct partition_feed *f, size_t *bytes)
{
    *bytes = f->region.slot_bytes[0];
    return shm_region_payload(&f->region, 0);
}

static int submit(struct partition_feed *f, struct fmt_error *err)
{
    const struct shm_job_new job = {.circuit = 0, .priority = 1, .uid = getuid(), .witness = ""};
    int rc = shm_job_add(&f->region, &job, shm_host_now_ns(), 0, &f->job);

    if (rc)
        return fmt_fail(err, "no job can be added: %s", strerror(-rc));
    for (uint32_t i = 0; i < f->region.n_peers; i++)
        shm_bell_ring(&f->region.peers[i].bell, -1);
    return 0;
}

/* Waits for a READY slot. -1 where the producer ended. */
static int wait_ready(struct partition_feed *f, struct shm_slot_desc *desc, struct fmt_error *err)
{
    struct shm_event events[2];
    int status;

    for (;;) {
        uint32_t seen = shm_bell_read(&f->region.super->bell);
        int rc = shm_slot_take(&f->region, NULL, NULL, &f->slot, desc);
        if (rc == 0)
            return 0;
        if (rc != -EAGAIN)
            return fmt_fail(err, "no slot can be taken: %s", strerror(-rc));
        if (waitpid(f->producer, &status, WNOHANG) == f->producer) {
            f->producer = 0;
            return fmt_fail(err, "the producer ended with status %#x", status);
        }
        shm_waiter_wait(f->waiter, seen, LOOK_MS, events, 2);
    }
}

int partition_feed_next(struct partition_feed *f, struct partition_filled *filled, struct fmt_error *err)
{
    struct shm_slot_desc desc;

    if (submit(f, err) != 0 || wait_ready(f, &desc, err) != 0)
        return -1;
    if (desc.job != shm_job_id(&f->region, f->job) || desc.n_vars != f->p->n_wires ||
        shm_job_proving(&f->region, f->job) != 0)
        return fmt_fail(err, "the slot holds job %llu of %u variables", (unsigned long long)desc.job, desc.n_vars);
    const uint8_t *payload = shm_region_payload(&f->region, f->slot.index);
    filled->vectors = (struct krn_vectors){.w = payload + f->place.w, .a = payload + f->place.a,
                                           .b = payload + f->place.b};
    filled->seconds = 1e-9 * (double)(desc.committed_ns - desc.started_ns);
    return 0;
}

int partition_feed_done(struct partition_feed *f)
{
    return shm_slot_uploaded(&f->region, f->slot) || shm_job_settle(&f->region, f->job, f->slot) ? -1 : 0;
}

void partition_feed_close(struct partition_feed *f)
{
    if (f->producer > 0) {
        atomic_store(&f->region.super->stopping, 1);
        for (uint32_t i = 0; i < f->region.n_peers; i++)
            shm_bell_ring(&f->region.peers[i].bell, -1);
        waitpid(f->producer, NULL, 0);
    }
    if (f->waiter)
        shm_waiter_close(f->waiter);
    if (f->region.base) {
        shm_region_close(&f->region);
        shm_region_unlink(f->instance, NULL);
    }
    free(f);
}
