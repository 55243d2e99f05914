#include "synth/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/guard.h"

struct worker {
    struct synth_producer producer;
    const struct synth_worker_options *options;
    struct synth_circuit *circuits;     /* by catalogue index; opened at first use and kept */
};

/* 1 with the recipe that the entry's circuit was registered with; 0 where it was not, or is another circuit's by
 * now. */
static int find_recipe(struct synth_recipe *recipe, const struct shm_circuit *entry, struct fmt_error *err) {
    int rc = synth_recipe_read(recipe, entry->name, err);
    return rc < 0 ? -1 : rc == 0 && strcmp(recipe->zkey, entry->zkey) == 0;
}

/* The circuit of a catalogue entry, mapped. The key must be the very one that the daemon registered. */
static struct synth_circuit *circuit_of(struct worker *w, uint32_t index, struct fmt_error *err) {
    struct synth_circuit *c = &w->circuits[index];
    const struct shm_circuit *entry = &w->producer.region.circuits[index];
    struct synth_recipe recipe;
    if (c->open) return c;
    int found = find_recipe(&recipe, entry, err);
    if (found < 0 || synth_circuit_open(c, entry->zkey, entry->r1cs, found ? &recipe : NULL, err)) return NULL;
    if (c->zkey.digest == entry->digest) return c;
    fmt_fail(err, "%s: changed since it was registered (digest %016llx, then %016llx)", entry->zkey,
             (unsigned long long)c->zkey.digest, (unsigned long long)entry->digest);
    synth_circuit_close(c);
    return NULL;
}

static const struct synth_circuit *fill(struct worker *w, const struct synth_work *work, struct fmt_error *err) {
    struct synth_circuit *c = circuit_of(w, work->view.circuit, err);
    if (!c) return NULL;
    if (c->place.bytes > work->payload_bytes) {
        fmt_fail(err, "the slot has %llu bytes and the circuit needs %llu", (unsigned long long)work->payload_bytes,
                 (unsigned long long)c->place.bytes);
        return NULL;
    }
    return synth_circuit_fill(c, work->view.witness, work->payload, w->options->threads, err) ? NULL : c;
}

/* More than a test allows, and not so much that a limit that does not hold harms the machine. */
enum { EAT_MIB = 1024 };

static void eat_memory(void) {
    for (int i = 0; i < EAT_MIB; i++) {
        char *p = malloc(1 << 20);
        for (size_t k = 0; p && k < 1 << 20; k += 1024) ((volatile char *)p)[k] = 1;
    }
    abort();
}

static void hooks_for_test(const struct worker *w) {
    if (w->options->stop_file && unlink(w->options->stop_file) == 0) raise(SIGSTOP);
    if (w->options->eat_file && unlink(w->options->eat_file) == 0) eat_memory();
}

static void do_work(struct worker *w, struct synth_work *work) {
    struct fmt_error err;
    const struct synth_circuit *c = fill(w, work, &err);
    hooks_for_test(w);
    if (!c) {
        synth_producer_fail(&w->producer, work, err.text);
        return;
    }
    struct synth_filled filled = {.n_vars = c->zkey.n_vars, .n_rows = c->zkey.n_rows};
    synth_producer_commit(&w->producer, work, &filled);
}

/* Jobs without a witness file, or with an owner, are for foreign producers. */
static bool has_witness(void *ctx, const struct shm_job_view *job) {
    (void)ctx;
    return job->witness[0] == '/';
}

int synth_worker_run(const struct synth_worker_options *o, struct fmt_error *err) {
    struct worker w = {.options = o};
    struct synth_work work;
    if (synth_producer_join(&w.producer, &o->producer, err)) return -1;
    shm_guard_install(&w.producer.region);      /* without it a region that is cut ends us by SIGBUS, nothing else */
    uint32_t n_circuits = w.producer.region.n_circuits;
    w.circuits = calloc(n_circuits, sizeof *w.circuits);
    if (!w.circuits) {
        synth_producer_leave(&w.producer);
        return fmt_fail(err, "no memory for %u circuits", n_circuits);
    }
    while (synth_producer_next(&w.producer, has_witness, NULL, -1, &work) == SYNTH_GOT_WORK) do_work(&w, &work);
    synth_producer_leave(&w.producer);
    shm_guard_remove();
    for (uint32_t i = 0; i < n_circuits; i++) synth_circuit_close(&w.circuits[i]);
    free(w.circuits);
    return 0;
}
