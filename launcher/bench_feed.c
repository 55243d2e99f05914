#include "launcher/bench_feed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/wtns.h"
#include "kernels/krn.h"
#include "synth/pinwheel-synth.h"

enum { MAX_PRODUCERS = 64, MAX_CIRCUITS = 64, RING = 4096, CLAIM_MS = 200 };

/* A circuit's vectors as they lie in a slot, w then a then b; made by whoever fills its first slot. */
struct model {
    pthread_mutex_t lock;
    uint8_t *w, *a, *b;
};

struct handed {
    uint64_t id;
    unsigned circuit;
};

struct bench_feed {
    const char *instance;
    const struct bench_circuit *circuits;
    unsigned n, n_threads;
    struct model models[MAX_CIRCUITS];
    atomic_uint_fast64_t next;          /* number of the next job */
    atomic_bool stop, failed;
    pthread_t threads[MAX_PRODUCERS];
    pthread_mutex_t lock;               /* guards the ring and the text */
    struct handed ring[RING];
    uint64_t put, taken;
    struct gpud_error why;
};

/* STEP has no factor in common with a round, so it visits all its places, in a mixed order and without a state. */
unsigned bench_pick(const struct bench_circuit *circuits, unsigned n, uint64_t i) {
    enum { STEP = 2147483647 };         /* a prime */
    uint64_t round = 0;
    for (unsigned c = 0; c < n; c++) round += circuits[c].weight;
    uint64_t left = i % round * STEP % round;
    for (unsigned c = 0; c < n; c++) {
        if (left < circuits[c].weight) return c;
        left -= circuits[c].weight;
    }
    return 0;
}

/* ---- a producer ---- */

static void *fail(struct bench_feed *f, const char *what, const char *text) {
    pthread_mutex_lock(&f->lock);
    if (!atomic_load(&f->failed)) gpud_fail(&f->why, "%s: %s", what, text);
    atomic_store(&f->failed, true);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static int make_model(struct model *m, const struct bench_circuit *c, struct pinwheel_synth *s,
                      const struct pinwheel_slot *slot, struct fmt_error *err) {
    size_t rows = (size_t)KRN_FR_BYTES << slot->log_domain, vars = (size_t)KRN_FR_BYTES * slot->n_vars;
    if (fmt_wtns_read(c->witness, krn_curve((enum krn_curve_id)slot->curve), slot->n_vars, slot->w, err)) return -1;
    if (pinwheel_synth_eval(s)) return fmt_fail(err, "%s", pinwheel_synth_error(s));
    uint8_t *all = malloc(vars + 2 * rows);
    if (!all) return fmt_fail(err, "no memory for %zu bytes", vars + 2 * rows);
    memcpy(all, slot->w, vars);
    memcpy(all + vars, slot->a, rows);
    memcpy(all + vars + rows, slot->b, rows);
    *m = (struct model){.lock = m->lock, .w = all, .a = all + vars, .b = all + vars + rows};
    return 0;
}

static int fill(struct bench_feed *f, unsigned circuit, struct pinwheel_synth *s, const struct pinwheel_slot *slot,
                struct fmt_error *err) {
    struct model *m = &f->models[circuit];
    pthread_mutex_lock(&m->lock);
    int made = m->w ? 1 : make_model(m, &f->circuits[circuit], s, slot, err);
    pthread_mutex_unlock(&m->lock);
    if (made < 1) return made;
    size_t rows = (size_t)KRN_FR_BYTES << slot->log_domain;
    memcpy(slot->w, m->w, (size_t)KRN_FR_BYTES * slot->n_vars);
    memcpy(slot->a, m->a, rows);
    memcpy(slot->b, m->b, rows);
    return 0;
}

static void hand_over(struct bench_feed *f, uint64_t id, unsigned circuit) {
    pthread_mutex_lock(&f->lock);
    f->ring[f->put++ % RING] = (struct handed){id, circuit};    /* slots are far fewer than RING */
    pthread_mutex_unlock(&f->lock);
}

/* One job. 1; 0: no slot came; -1 with err. */
static int produce(struct bench_feed *f, struct pinwheel_synth *s, unsigned circuit, struct fmt_error *err) {
    struct pinwheel_slot slot;
    int rc = pinwheel_synth_claim(s, f->circuits[circuit].name, CLAIM_MS, &slot);
    if (rc == PINWHEEL_AGAIN) return 0;
    if (rc) return fmt_fail(err, "%s", pinwheel_synth_error(s));
    if (fill(f, circuit, s, &slot, err)) return -1;
    if (pinwheel_synth_commit(s, 0)) return fmt_fail(err, "%s", pinwheel_synth_error(s));
    hand_over(f, slot.job, circuit);
    return 1;
}

static void *run(void *arg) {
    struct bench_feed *f = arg;
    char why[PINWHEEL_ERROR];
    struct pinwheel_synth *s = pinwheel_synth_join(f->instance, why);
    if (!s) return fail(f, "a producer", why);
    struct fmt_error err;
    int rc = 0;
    while (rc >= 0 && !atomic_load(&f->stop)) {
        unsigned circuit = bench_pick(f->circuits, f->n, atomic_fetch_add(&f->next, 1));
        do {
            rc = produce(f, s, circuit, &err);
        } while (rc == 0 && !atomic_load(&f->stop));
        if (rc < 0) fail(f, f->circuits[circuit].name, err.text);
    }
    pinwheel_synth_leave(s);
    return NULL;
}

/* ---- all of them ---- */

struct bench_feed *bench_feed_start(const char *instance, const struct bench_circuit *circuits, unsigned n,
                                    unsigned producers, struct gpud_error *err) {
    struct bench_feed *f = n <= MAX_CIRCUITS && producers <= MAX_PRODUCERS ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        gpud_fail(err, "%u producers of %u circuits; %d and %d can be", producers, n, MAX_PRODUCERS, MAX_CIRCUITS);
        return NULL;
    }
    f->instance = instance;
    f->circuits = circuits;
    f->n = n;
    pthread_mutex_init(&f->lock, NULL);
    for (unsigned i = 0; i < n; i++) pthread_mutex_init(&f->models[i].lock, NULL);
    while (f->n_threads < producers && pthread_create(&f->threads[f->n_threads], NULL, run, f) == 0) f->n_threads++;
    if (f->n_threads == producers) return f;
    gpud_fail(err, "only %u of %u producers' threads can be started", f->n_threads, producers);
    bench_feed_end(f);
    bench_feed_free(f);
    return NULL;
}

int bench_feed_next(struct bench_feed *f, uint64_t *id, unsigned *circuit, struct gpud_error *err) {
    pthread_mutex_lock(&f->lock);
    int rc = f->taken < f->put ? 1 : atomic_load(&f->failed) ? -1 : 0;
    if (rc == 1) {
        *id = f->ring[f->taken % RING].id;
        *circuit = f->ring[f->taken++ % RING].circuit;
    }
    if (rc < 0) *err = f->why;
    pthread_mutex_unlock(&f->lock);
    return rc;
}

void bench_feed_end(struct bench_feed *f) {
    atomic_store(&f->stop, true);
    while (f->n_threads > 0) pthread_join(f->threads[--f->n_threads], NULL);
}

void bench_feed_free(struct bench_feed *f) {
    if (!f) return;
    for (unsigned i = 0; i < f->n; i++) {
        pthread_mutex_destroy(&f->models[i].lock);
        free(f->models[i].w);
    }
    pthread_mutex_destroy(&f->lock);
    free(f);
}
