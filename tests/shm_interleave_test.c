/*
 * Forced interleavings: two workers and a daemon, each stopped before instructions chosen at random while the others
 * go on, and in most runs one of them killed (SIGKILL) where it stands; a killed daemon is followed by one that
 * recovers. All from a seed. Afterwards nothing may be lost, stuck or done with another job's payload, and nobody
 * that lives may have lost a slot.
 *
 * Longer by hand: INTERLEAVE_RUNS=100000 SEED=7. Instructions are executed in order here: this says nothing about weak
 * memory. NO_ASAN: sanitizers multiply the instructions, not the states.
 */
#include "tests/shm_trace.h"
#include "tests/shm_world.h"

enum { SLOTS = 2, JOBS = 3, PEERS = 4, ROUNDS = 4, MAX_PLACES = 8192, MAX_BURSTS = 400 };

/* ---- the actors, in children ---- */

static struct shm_region child;
static int child_peer;

static void as_worker(void *arg) {
    (void)arg;
    world_open(&child);
    child_peer = shm_peer_join(&child, 0, 0);
}

static int work(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++)
        if (worker_once(&child, (uint32_t)child_peer) == WORKER_BROKEN)
            return 1;
    shm_peer_leave(&child, (uint32_t)child_peer);
    return 0;
}

static void as_daemon(void *arg) {
    (void)arg;
    world_adopt(&child);
}

static int serve(void *arg) {
    (void)arg;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        if (daemon_once(&child) == DAEMON_BROKEN)
            return 1;
        daemon_reap(&child);
    }
    return 0;
}

static int recover_and_serve(void *arg) {
    daemon_recover(&child);
    return serve(arg);
}

enum kind { WORKER, DAEMON, SUCCESSOR, KINDS };

static const struct {
    const char *name;
    void (*prepare)(void *);
    int (*body)(void *);
} kinds[KINDS] = {
    {"worker", as_worker, work},
    {"daemon", as_daemon, serve},
    {"succeeding daemon", as_daemon, recover_and_serve},
};

/* ---- where each can be stopped ---- */

struct places {
    unsigned long pc[MAX_PLACES];
    int n;
};
static struct places places[KINDS];

static void add_place(struct places *p, unsigned long pc) {
    for (int i = 0; i < p->n; i++)
        if (p->pc[i] == pc)
            return;
    if (p->n < MAX_PLACES)
        p->pc[p->n++] = pc;
}

static void start(struct traced *t, enum kind kind) {
    if (trace_start(t, kinds[kind].prepare, kinds[kind].body, NULL))
        return;
    printf("tracing children is not permitted here\n");
    exit(77);
}

static void set_up(void) {
    struct shm_region r;
    world_adopt(&r);
    for (int i = 0; i < JOBS; i++)
        world_add(&r);
    shm_region_close(&r);
}

static void wind_up(void) {
    struct shm_region r;
    world_adopt(&r);
    daemon_recover(&r);
    world_settle(&r, true);
    world_quiet(&r, "afterwards");
    shm_region_close(&r);
}

/* One undisturbed run of each kind, one after the other, notes the addresses of its instructions. */
static void find_places(void) {
    set_up();
    for (int kind = 0; kind < KINDS; kind++) {
        struct traced t;
        start(&t, (enum kind)kind);
        do
            add_place(&places[kind], trace_pc(&t));
        while (trace_step(&t));
        check(t.code == 0, "undisturbed, the %s exits with %d", kinds[kind].name, t.code);
    }
    wind_up();
}

/* ---- one run ---- */

struct actor {
    struct traced t;
    enum kind kind;
};

enum { ACTORS = 3 };

/* On to the first of a few random instructions (the more, the shorter the way), and at times some single steps
 * further. */
static void burst(struct actor *a, uint64_t *rng) {
    const struct places *p = &places[a->kind];
    unsigned long stops[TRACE_MAX_STOPS];
    int n = 1 << random_below(rng, 7);
    for (int i = 0; i < n; i++)
        stops[i] = p->pc[random_below(rng, (uint64_t)p->n)];
    trace_until_any(&a->t, stops, n);
    if (random_below(rng, 2) != 0)
        trace_steps(&a->t, 1 + (long)random_below(rng, 16));
    check(!a->t.gone || a->t.code == 0, "a %s exits with %d", kinds[a->kind].name, a->t.code);
}

static void kill_one(struct actor *a) {
    trace_kill(&a->t);
    if (a->kind == WORKER)
        return;
    a->kind = SUCCESSOR;
    start(&a->t, SUCCESSOR);
}

static bool any_left(const struct actor *actors) {
    for (int i = 0; i < ACTORS; i++)
        if (!actors[i].t.gone)
            return true;
    return false;
}

static void one_run(uint64_t *rng) {
    struct actor actors[ACTORS] = {{.kind = WORKER}, {.kind = WORKER}, {.kind = DAEMON}};
    set_up();
    for (int i = 0; i < ACTORS; i++)
        start(&actors[i].t, actors[i].kind);
    uint64_t victim = random_below(rng, ACTORS + 1), when = random_below(rng, 60);
    for (uint64_t n = 0; n < MAX_BURSTS && any_left(actors); n++) {
        struct actor *a = &actors[random_below(rng, ACTORS)];
        if (n == when && victim < ACTORS && !actors[victim].t.gone)
            kill_one(&actors[victim]);
        else if (!a->t.gone)
            burst(a, rng);
    }
    for (int i = 0; i < ACTORS; i++) {
        if (actors[i].t.gone)
            continue;
        trace_finish(&actors[i].t);
        check(actors[i].t.code == 0, "a %s exits with %d", kinds[actors[i].kind].name, actors[i].t.code);
    }
    wind_up();
}

int main(void) {
    struct shm_region r;
    uint64_t rng = seed_and_print(), runs = number_from("INTERLEAVE_RUNS", is_short() ? 200 : 3000), n = 0;
    world_create(&r, "interleave", (struct world_size){SLOTS, 2 * JOBS, PEERS, false});
    shm_region_close(&r);
    find_places();
    for (; n < runs && !failures; n++)
        one_run(&rng);
    if (failures)
        printf("in run %llu\n", (unsigned long long)n);
    printf("%llu runs; places to stop: worker %d, daemon %d, succeeding daemon %d\n", (unsigned long long)n,
           places[WORKER].n, places[DAEMON].n, places[SUCCESSOR].n);
    return finish("no interleaving lost or doubled anything");
}
