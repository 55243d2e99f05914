/*
 * Kill at every instruction. A worker, a daemon, a daemon that recovers, and a creator are killed (SIGKILL) before the
 * first, the second, ... each instruction that they execute. Then the survivors carry on: every job must end with the
 * right result, every slot must come back, no generation may go back, and a synthesis that was handed over must not be
 * needed twice.
 *
 * A first run is stepped and notes every instruction's address; each later run goes freely to one of them. Of an
 * instruction in a loop (a scan, a copy by words) the first two rounds and the last are taken; KILLSTEP_ALL=1 takes
 * all. Instructions are executed in order here: this says nothing about weak memory. NO_ASAN: sanitizers multiply the
 * instructions, not the states.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/shm_trace.h"
#include "tests/shm_world.h"

/* What a scenario is. `r` is the tester's own handle: the daemon's in scenarios that kill workers. */
struct scenario {
    const char *name;
    void (*before)(struct shm_region *r);       /* brings the region to the start */
    void (*prepare)(void *r);                   /* in the child, at full speed */
    int (*body)(void *r);                       /* in the child, stepped */
    void (*after)(struct shm_region *r);        /* the survivors, and what must hold */
    bool kills_daemon;                          /* then the tester holds no lock while the child runs */
};

/* The daemon's handle over scenarios; the child opens its own. */
static struct shm_region world, child;
static int child_peer;
static struct shm_job_ref job_a, job_b;
static struct shm_slot_ref slot_a;

static uint64_t gens(struct shm_region *r) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->n_slots; i++)
        sum += shm_ctl_gen(shm_load_acq(&r->slots[i].ctl));
    return sum;
}

static void open_as_worker(void *arg) {
    (void)arg;
    world_open(&child);
}

static void join_as_worker(void *arg) {
    open_as_worker(arg);
    child_peer = shm_peer_join(&child, 0, 0);
}

/* ---- a worker ---- */

static void one_job(struct shm_region *r) {
    job_a = world_add(r);
}

static int join_work_leave(void *arg) {
    (void)arg;
    int peer = shm_peer_join(&child, 0, 0);
    if (peer < 0 || worker_once(&child, (uint32_t)peer) != WORKER_DID)
        return 1;
    shm_peer_leave(&child, (uint32_t)peer);
    return 0;
}

static void job_a_done(struct shm_region *r) {
    world_settle(r, true);
    check(shm_job_state(r, job_a) == SHM_JOB_DONE, "the job is in state %d", shm_job_state(r, job_a));
}

/* All slots but one are held by the tester; the one is UPLOADED, its job is being proved. The worker takes that one. */
static struct shm_slot_ref held;
static int tester_peer;
static struct shm_region tester;

static void one_uploaded(struct shm_region *r) {
    struct shm_slot_desc desc;
    world_open(&tester);
    tester_peer = shm_peer_join(&tester, 0, 0);
    job_a = world_add(r);
    worker_once(&tester, (uint32_t)tester_peer);
    check(shm_slot_claim(&tester, (uint32_t)tester_peer, 0, 1, &held) == 0, "hold the other slot");
    check(shm_slot_take(r, NULL, NULL, &slot_a, &desc) == 0 && shm_job_proving(r, job_a) == 0 &&
          daemon_prove(r, slot_a, job_a) && shm_slot_uploaded(r, slot_a) == 0, "upload");
    job_b = world_add(r);
}

static int work_once(void *arg) {
    (void)arg;
    return worker_once(&child, (uint32_t)child_peer) != WORKER_DID;
}

static void both_done(struct shm_region *r) {
    check(shm_job_settle(r, job_a, slot_a) == 0, "the job on the device ends whatever became of its slot");
    shm_slot_abandon(&tester, (uint32_t)tester_peer, held);
    shm_peer_leave(&tester, (uint32_t)tester_peer);
    shm_region_close(&tester);
    world_settle(r, true);
    check(shm_job_state(r, job_a) == SHM_JOB_DONE && shm_job_state(r, job_b) == SHM_JOB_DONE, "states %d, %d",
          shm_job_state(r, job_a), shm_job_state(r, job_b));
}

/* A witness that is bad: the job FAILED with the whole text, or goes to the next worker. */
static const char bad_text[] = "signal 4 of the witness is no field element";

static int fail_once(void *arg) {
    (void)arg;
    struct shm_job_ref job;
    struct shm_slot_ref slot;
    if (shm_job_peek(&child, NULL, NULL, &job, NULL) != 0 ||
        shm_slot_claim(&child, (uint32_t)child_peer, 0, 1, &slot) != 0 ||
        shm_job_take(&child, job, (uint32_t)child_peer) != 0)
        return 1;
    shm_slot_fill(&child, (uint32_t)child_peer, slot);
    return shm_job_fail_by(&child, job, (uint32_t)child_peer, bad_text) != 0 ||
           shm_slot_abandon(&child, (uint32_t)child_peer, slot) != 0;
}

static void failed_or_done(struct shm_region *r) {
    world_settle(r, true);
    enum shm_job_state state = shm_job_state(r, job_a);
    check(state == SHM_JOB_DONE || (state == SHM_JOB_FAILED && strcmp(r->jobs[job_a.index].error, bad_text) == 0),
          "the job is in state %d with text '%s'", state, r->jobs[job_a.index].error);
}

/* ---- a daemon ---- */

/* A READY slot, made by a worker that has left since; nobody can synthesise again. */
static void one_ready(struct shm_region *r) {
    int peer = shm_peer_join(r, 0, 0);
    job_a = world_add(r);
    check(worker_once(r, (uint32_t)peer) == WORKER_DID, "a READY slot");
    shm_peer_leave(r, (uint32_t)peer);
}

static void adopt_as_daemon(void *arg) {
    (void)arg;
    world_adopt(&child);
}

static int prove_once(void *arg) {
    (void)arg;
    return daemon_once(&child) != DAEMON_DID;
}

/* A proof that came out wrong: the same payload is tried again. */
static int prove_twice(void *arg) {
    struct shm_slot_ref slot;
    struct shm_slot_desc desc;
    struct shm_job_ref job;
    if (shm_slot_take(&child, NULL, NULL, &slot, &desc) != 0 || shm_job_find(&child, desc.job, &job) != 0 ||
        shm_job_proving(&child, job) != 0 || shm_slot_uploaded(&child, slot) != 0 ||
        shm_job_retry(&child, job, slot) != 0)
        return 1;
    return prove_once(arg);
}

static void done_without_worker(struct shm_region *r) {
    daemon_recover(r);
    world_settle(r, false);
    check(shm_job_state(r, job_a) == SHM_JOB_DONE, "a synthesis that was handed over is lost: state %d",
          shm_job_state(r, job_a));
}

static void no_jobs(struct shm_region *r) {
    (void)r;
}

/* Adds a job (over a record that is over), cancels another, fails a third. */
static int daemon_administers(void *arg) {
    (void)arg;
    struct shm_job_ref a = world_add(&child), b = world_add(&child), c = world_add(&child);
    (void)a;
    return shm_job_cancel(&child, b) != 0 || shm_job_fail(&child, c, bad_text) != 0;
}

static void all_over(struct shm_region *r) {
    daemon_recover(r);
    world_settle(r, true);
}

/* ---- a daemon that recovers ---- */

/* What a daemon and a worker left that were killed together: a slot on the device, one half filled, one READY job of a
 * dead worker. */
static void ruins(struct shm_region *r) {
    struct shm_slot_desc desc;
    struct shm_slot_ref slot;
    struct shm_region w;
    world_open(&w);
    int peer = shm_peer_join(&w, 0, 0);
    job_a = world_add(r);
    worker_once(&w, (uint32_t)peer);
    check(shm_slot_take(r, NULL, NULL, &slot_a, &desc) == 0 && shm_job_proving(r, job_a) == 0 &&
          shm_slot_uploaded(r, slot_a) == 0, "upload");
    job_b = world_add(r);
    check(shm_slot_claim(&w, (uint32_t)peer, 0, 1, &slot) == 0 && shm_job_take(&w, job_b, (uint32_t)peer) == 0 &&
          shm_slot_fill(&w, (uint32_t)peer, slot) == 0, "half a fill");
    shm_region_close(&w);       /* its lock goes, its entry stays: as dead as by a kill */
}

static int recover_and_reap(void *arg) {
    (void)arg;
    daemon_recover(&child);
    return 0;
}

static void recovered(struct shm_region *r) {
    daemon_recover(r);
    uint32_t attempts = shm_load_lax(&r->jobs[job_b.index].attempts);
    check(attempts <= 1, "one death counted %u times", attempts);
    world_settle(r, false);
    check(shm_job_state(r, job_a) == SHM_JOB_DONE, "a synthesis that was handed over is lost: state %d",
          shm_job_state(r, job_a));
    world_settle(r, true);
    check(shm_job_state(r, job_b) == SHM_JOB_DONE, "the half-filled job is in state %d", shm_job_state(r, job_b));
}

static const struct scenario scenarios[] = {
    {"worker: join, claim, fill, commit, leave", one_job, open_as_worker, join_work_leave, job_a_done, false},
    {"worker: takes an UPLOADED slot", one_uploaded, join_as_worker, work_once, both_done, false},
    {"worker: reports a bad witness", one_job, join_as_worker, fail_once, failed_or_done, false},
    {"daemon: take, prove, settle", one_ready, adopt_as_daemon, prove_once, done_without_worker, true},
    {"daemon: prove twice", one_ready, adopt_as_daemon, prove_twice, done_without_worker, true},
    {"daemon: add, cancel, fail", no_jobs, adopt_as_daemon, daemon_administers, all_over, true},
    {"daemon: recover and reap", ruins, adopt_as_daemon, recover_and_reap, recovered, true},
};

/* ---- points ---- */

enum { MAX_POINTS = 20000 };
static struct trace_point points[MAX_POINTS];

static void start(const struct scenario *s, struct traced *t) {
    s->before(&world);
    if (s->kills_daemon)
        shm_region_close(&world);
    if (!trace_start(t, s->prepare, s->body, NULL)) {
        printf("tracing children is not permitted here\n");
        exit(77);
    }
}

static void end(const struct scenario *s, uint64_t gens_before) {
    if (s->kills_daemon)
        world_adopt(&world);
    s->after(&world);
    world_quiet(&world, "afterwards");
    check(gens(&world) >= gens_before, "a generation went back");
}

/* The undisturbed run: how many instructions, and each one's address. */
static long record(const struct scenario *s) {
    struct traced t;
    uint64_t before = gens(&world);
    start(s, &t);
    long n = trace_record(&t, points, MAX_POINTS);
    check(t.gone && t.code == 0, "%s: undisturbed, the child exits with %d", s->name, t.code);
    trace_kill(&t);
    end(s, before);
    return n;
}

/* False where this run took another way (a clock that was being updated, another record of the table) and ended. */
static bool kill_at(const struct scenario *s, const struct trace_point *p) {
    struct traced t;
    uint64_t before = gens(&world);
    start(s, &t);
    bool there = trace_until(&t, p->pc, p->hit);
    check(there || t.code == 0, "%s: undisturbed, the child exits with %d", s->name, t.code);
    trace_kill(&t);
    end(s, before);
    return there;
}

static void run(const struct scenario *s, bool all) {
    int failed_before = failures;
    long n = record(s), kills = 0, missed = 0;
    for (long i = 0; i < n && failures < failed_before + 5; i++) {
        int failed = failures;
        if (!all && !trace_worth(&points[i]))
            continue;
        if (kill_at(s, &points[i]))
            kills++;
        else
            missed++;
        if (failures > failed)
            printf("... %s, killed before instruction %ld of %ld\n", s->name, i, n);
    }
    check(missed <= 5 + kills / 20, "%s: %ld of %ld points were not met again", s->name, missed, kills + missed);
    printf("%-42s %5ld instructions, %5ld kills\n", s->name, n, kills);
    fflush(stdout);
}

/* ---- a creator ---- */

static char object_path[96];

static int create_small(void *arg) {
    struct shm_region r;
    const struct shm_class class = {SHM_PAGE, 1};
    const struct shm_spec spec = {.instance = world_name, .n_classes = 1, .classes = &class, .n_jobs = 2, .n_peers = 1,
                                  .n_circuits = 1, .result_bytes = 64, .small_pages = true};
    (void)arg;
    return shm_region_create(&r, &spec, NULL) != 0;
}

/* The object's tables as they lie in shared memory; empty where there is no object. Jobs' generations, which come from
 * the clock, are left out. */
struct tables {
    _Alignas(shm_ctl) uint8_t bytes[8192];
    off_t size;
};

/* One of each. */
enum { JOBS_AT = sizeof(struct shm_super) + sizeof(struct shm_slot_line) + sizeof(struct shm_peer) };

static void forget_generations(struct tables *t) {
    for (size_t i = 0; i < 2; i++) {
        shm_ctl *ctl = (shm_ctl *)(t->bytes + JOBS_AT + i * sizeof(struct shm_job));
        *ctl = shm_ctl_make(shm_ctl_state(*ctl), shm_ctl_owner(*ctl), 0);
    }
}

static void look(struct tables *t) {
    struct stat st;
    memset(t, 0, sizeof *t);
    int fd = open(object_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    t->size = fstat(fd, &st) == 0 ? st.st_size : 0;
    check(pread(fd, t->bytes, sizeof t->bytes, 0) >= 0, "read the tables");
    forget_generations(t);
    close(fd);
}

/* Kills the creator where it stands. What it left is either whole or seen as unfinished, and the next one can go on. */
static void kill_creator(struct traced *t) {
    struct shm_region r;
    struct shm_error err;
    trace_kill(t);
    int rc = shm_region_adopt(&r, world_name, 0, &err);
    check(rc == 0 || err.code == ENOENT, "adopt after a killed creation: %s", err.text);
    if (rc == 0) {
        check(r.n_slots == 1 && shm_ctl_state(shm_load_acq(&r.slots[0].ctl)) == SHM_SLOT_FREE, "a whole region");
        int peer = shm_peer_join(&r, 0, 0);
        world_add(&r);
        check(worker_once(&r, (uint32_t)peer) == WORKER_DID && daemon_once(&r) == DAEMON_DID, "a region that works");
        shm_region_close(&r);
        shm_region_unlink(world_name, NULL);
        return;
    }
    check(create_small(NULL) == 0, "create after a killed creation");
    shm_region_unlink(world_name, NULL);
}

/* To the next stop at a system call's entry or exit. */
static bool next_syscall(struct traced *t) {
    int status;
    if (ptrace(PTRACE_SYSCALL, t->pid, NULL, NULL) != 0 || waitpid(t->pid, &status, 0) != t->pid)
        t->gone = true;
    else
        trace_end(t, status);
    return !t->gone;
}

static bool start_creator_at(struct traced *t, long syscalls) {
    if (!check(trace_start(t, NULL, create_small, NULL), "creator: cannot trace"))
        exit(77);
    for (long i = 0; i < syscalls; i++)
        if (!next_syscall(t))
            return false;
    return true;
}

/* Creation makes some hundred thousand instructions (it reads /proc and /sys), so it is killed at each entry and exit
 * of a system call, and, wherever the tables change between two of these, after each instruction in between. */
static void run_creator(void) {
    enum { MAX_GAP = 100000 };
    struct traced t = {0};
    long kills = 0, stepped_gaps = 0;
    snprintf(object_path, sizeof object_path, "/dev/shm/pinwheel-%s", world_instance("create"));
    for (long at = 0; failures < 5; at++) {
        struct tables before, after;
        if (!start_creator_at(&t, at))
            break;
        look(&before);
        kill_creator(&t);
        kills++;
        if (!start_creator_at(&t, at) || !next_syscall(&t))
            break;
        look(&after);
        trace_kill(&t);
        shm_region_unlink(world_name, NULL);
        if (before.size == 0 || before.size != after.size || memcmp(before.bytes, after.bytes, sizeof after.bytes) == 0)
            continue;
        stepped_gaps++;
        for (long n = 1; n < MAX_GAP && failures < 5; n++, kills++) {
            struct tables here;
            start_creator_at(&t, at);
            bool alive = trace_steps(&t, n) == n;
            look(&here);
            kill_creator(&t);
            if (!alive || memcmp(here.bytes, after.bytes, sizeof here.bytes) == 0)
                break;
        }
    }
    check(stepped_gaps >= 2, "only %ld stretches that change the tables were found", stepped_gaps);
    check(t.gone && t.code == 0, "undisturbed, the creator exits with %d", t.code);
    shm_region_unlink(world_name, NULL);
    printf("%-42s %5ld kills, %ld stretches by instruction\n", "daemon: create", kills, stepped_gaps);
}

int main(void) {
    bool all = number_from("KILLSTEP_ALL", 0) != 0;
    world_create(&world, "killstep", (struct world_size){2, 4, 3, false});
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios && !failures; i++)     /* a fault spoils the region */
        run(&scenarios[i], all);
    world_remove();
    shm_region_close(&world);
    if (!failures)
        run_creator();
    return finish("killed at every instruction: nothing lost, nothing stuck");
}
