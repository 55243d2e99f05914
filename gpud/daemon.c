#include "gpud/daemon.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "gpud/log.h"
#include "gpud/repair.h"
#include "gpud/serve.h"
#include "gpud/setup.h"
#include "shm/guard.h"
#include "shm/job.h"

enum {
    BELT_S = 5,                 /* a look at everything at least so often, whatever the signals say */
    LEAVE_S = 2,                /* workers that were told to stop have so long; so have proofs in flight */
    EVENTS = 64,
    START_FAILURES = 3,         /* deaths in a row of a worker before the service was ever ready */
};

/* Tags of events: one number space for everything that is watched. */
enum { TAG_SIGNAL = 0, TAG_SOCK = 1, TAG_MEMBERS = TAG_SOCK + 1 + GPUD_CONNECTIONS };

#define SECOND_NS 1000000000ull

/* ---- start ---- */

static int open_signals(struct gpud_daemon *d, struct gpud_error *err) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);     /* before any thread is there */
    d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return d->signals < 0 ? gpud_fail(err, "signalfd: %s", strerror(errno)) : 0;
}

static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int find_program_folder(struct gpud_daemon *d, struct gpud_error *err) {
    ssize_t n = readlink("/proc/self/exe", d->program_folder, sizeof d->program_folder - 1);
    if (n < 0) return gpud_fail(err, "/proc/self/exe: %s", strerror(errno));
    d->program_folder[n] = 0;
    char *slash = strrchr(d->program_folder, '/');
    if (slash) *slash = 0;
    return 0;
}

static int start_devices(struct gpud_daemon *d, struct gpud_error *err) {
    bool registers = !d->options->pageable;
    if (d->options->pageable)
        gpud_log("WARNING: --memory pageable: the region is not registered, uploads are slow; for measurements only");
    for (int i = 0; i < d->n_devices; i++)
        if (gpud_device_start(&d->devices[i], &d->work, i, d->options->threads, registers, err)) return -1;
    return 0;
}

static int open_waiter(struct gpud_daemon *d, struct gpud_error *err) {
    int rc = shm_waiter_open(&d->waiter, &d->region.super->bell, d->options->bell, d->waiter_why);
    if (rc) return gpud_fail(err, "no way to wait: %s (%s)", d->waiter_why, strerror(-rc));
    gpud_log("waiting by %s: %s", shm_waiter_name(d->waiter), d->waiter_why);
    d->work.own_eventfd = shm_waiter_eventfd(d->waiter);
    rc = shm_waiter_watch(d->waiter, d->signals, POLLIN, TAG_SIGNAL);
    return rc ? gpud_fail(err, "cannot watch signals: %s", strerror(-rc)) : 0;
}

static int open_workers(struct gpud_daemon *d, struct gpud_error *err) {
    char program[SHM_PATH_MAX];
    int n = snprintf(program, sizeof program, "%s/pinwheel-synth", d->program_folder);
    if (n >= (int)sizeof program) return gpud_fail(err, "path of pinwheel-synth is too long: %d bytes", n);
    return gpud_workers_open(&d->workers, &d->region, d->waiter, TAG_MEMBERS, d->options, d->nodes, d->n_nodes, program,
                             d->socket_path, err);
}

static int open_socket(struct gpud_daemon *d, struct gpud_error *err) {
    if (gpud_sock_open(&d->sock, d->socket_path, d->waiter, TAG_SOCK, gpud_serve_request, d, err)) return -1;
    gpud_log("listening on %s", d->socket_path);
    return 0;
}

static int start(struct gpud_daemon *d, struct gpud_error *err) {
    struct gpud_blinding *fixed = NULL;
    if (d->options->test_hooks) {
        int rc = gpud_random_fixed(&d->fixed, err);
        if (rc < 0) return -1;
        if (rc == 1) fixed = &d->fixed;
    }
    if (gpud_work_open(&d->work, &d->region, d->backend, d->circuits, (uint32_t)d->n_devices, fixed, err)) return -1;
    d->work.gpu_memory = d->options->gpu_memory;
    if (d->options->test_hooks && gpud_fault_open(&d->work.fault, err)) return -1;
    return open_waiter(d, err) || start_devices(d, err) || open_socket(d, err) || open_workers(d, err) ? -1 : 0;
}

/* ---- becoming ready ---- */

static void tell_ready(const struct gpud_options *o, const char *format, const char *text) {
    if (o->ready_fd < 0) return;
    dprintf(o->ready_fd, format, text);
    close(o->ready_fd);
}

static int devices_in(const struct gpud_daemon *d, enum gpud_device_state state) {
    int n = 0;
    for (int i = 0; i < d->n_devices; i++) n += atomic_load(&d->work.shown[i].state) == (int)state;
    return n;
}

/* All devices have their keys, but those that are lost, and all workers have joined: ready. -1 with err: it will never
 * be. */
static int check_ready(struct gpud_daemon *d, struct gpud_error *err) {
    if (gpud_work_failed(&d->work, err)) return -1;
    if (devices_in(d, GPUD_DEVICE_LOADING)) return 0;
    if (gpud_workers_failures(&d->workers) >= START_FAILURES)
        return gpud_fail(err, "workers do not stay: %s", d->workers.last_death);
    if (gpud_workers_joined(&d->workers) < d->workers.n_seats) return 0;
    d->ready = true;
    gpud_log("ready: %d of %d %s devices, %u workers, %u slots, after %.3f s", devices_in(d, GPUD_DEVICE_READY),
             d->n_devices, d->backend->name, d->workers.n_seats, d->region.n_slots,
             1e-9 * (double)(shm_host_now_ns() - d->started_ns));
    tell_ready(d->options, "ready\n", "");
    return 0;
}

/* ---- the loop ---- */

/* READY slots wake the devices; queued jobs and a slot to put them into wake the workers. */
static void pass_on(struct gpud_daemon *d) {
    uint32_t slots[SHM_SLOT_STATES], jobs[SHM_JOB_STATES];
    shm_slot_count(&d->region, slots);
    shm_job_count(&d->region, jobs);
    if (slots[SHM_SLOT_READY]) gpud_work_kick(&d->work);
    if (jobs[SHM_JOB_QUEUED] && (slots[SHM_SLOT_FREE] || slots[SHM_SLOT_UPLOADED])) gpud_workers_ring(&d->workers);
}

static void dispatch(struct gpud_daemon *d, const struct shm_event *ev) {
    if (ev->tag == SHM_TAG_BELL) return;
    if (ev->tag == TAG_SIGNAL) {
        struct signalfd_siginfo info;
        while (read(d->signals, &info, sizeof info) == sizeof info) {
            gpud_log("signal %u from process %u: stopping", info.ssi_signo, info.ssi_pid);
            d->stopping = true;
        }
    } else if (ev->tag == TAG_SOCK) {
        gpud_sock_accept(&d->sock);
    } else if (ev->tag < TAG_MEMBERS) {
        gpud_sock_event(&d->sock, (uint32_t)(ev->tag - TAG_SOCK - 1), ev->ready);
    } else {
        gpud_workers_died(&d->workers, (uint32_t)(ev->tag - TAG_MEMBERS));
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Sleeps until something happens or until_ns, and handles what happened. */
static int sleep_and_dispatch(struct gpud_daemon *d, uint32_t seen, uint64_t until_ns, struct gpud_error *err) {
    struct shm_event ev[EVENTS];
    uint64_t now = shm_host_now_ns();
    int timeout_ms = until_ns <= now ? 0 : (int)((until_ns - now + 999999) / 1000000);
    int n = shm_waiter_wait(d->waiter, seen, timeout_ms, ev, EVENTS);
    if (n < 0 && n != -EINTR) return gpud_fail(err, "waiting by %s: %s", shm_waiter_name(d->waiter), strerror(-n));
    for (int i = 0; i < n; i++) dispatch(d, &ev[i]);
    return 0;
}

/* What others may have written into the region, now and then. */
static void look_for_harm(struct gpud_daemon *d) {
    if (d->flags_lowered)
        gpud_log("somebody raised the flag that tells workers to leave, %u times; this daemon does not stop, and "
                 "lowered it", d->flags_lowered);
    d->flags_lowered = 0;
    gpud_repair_states(&d->region);
    shm_job_sweep(&d->region, GPUD_MAX_ATTEMPTS, "no slot held it after any of its syntheses");
}

/* One turn: look at everything, then sleep. */
static int turn(struct gpud_daemon *d, struct gpud_error *err) {
    uint32_t seen = shm_bell_read(&d->region.super->bell);      /* before the look: what comes after wakes us */
    uint64_t now = shm_host_now_ns();
    bool belt = now >= d->belt_ns;
    if (belt) {
        d->belt_ns = now + BELT_S * SECOND_NS;
        look_for_harm(d);
    }
    if (gpud_repair_is_lost(&d->region, d->options->instance, err)) {
        gpud_serve_farewell(d);
        return -1;
    }
    d->flags_lowered += gpud_repair_flag(&d->region);
    uint64_t workers_ns = gpud_workers_scan(&d->workers, belt);
    uint64_t waiting_ns = gpud_serve_waiting(d, now), stalled_ns = gpud_sock_expire(&d->sock, now);
    pass_on(d);
    if (!d->ready && check_ready(d, err)) return -1;
    if (gpud_work_failed(&d->work, err)) return -1;
    return sleep_and_dispatch(d, seen, least(least(workers_ns, waiting_ns), least(stalled_ns, d->belt_ns)), err);
}

/* ---- the end ---- */

/* Tells everyone, and gives workers and devices LEAVE_S to end what they do. */
static void stop(struct gpud_daemon *d) {
    struct gpud_error err;
    uint64_t kill_at = shm_host_now_ns() + LEAVE_S * SECOND_NS;
    bool killed = false;
    atomic_store(&d->region.super->stopping, 1);
    d->workers.stopping = true;
    gpud_work_stop(&d->work);
    gpud_serve_farewell(d);
    gpud_workers_ring(&d->workers);
    while (gpud_workers_own(&d->workers) > 0) {
        uint32_t seen = shm_bell_read(&d->region.super->bell);
        uint64_t now = shm_host_now_ns();
        if (now >= kill_at) {
            if (killed) break;      /* not even that helped: one in the kernel's hands */
            gpud_workers_kill(&d->workers);
            killed = true;
            kill_at = now + LEAVE_S * SECOND_NS;
        }
        if (sleep_and_dispatch(d, seen, kill_at, &err)) break;
        gpud_workers_scan(&d->workers, false);
    }
}

static bool join_devices(struct gpud_daemon *d) {
    bool all = true;
    for (int i = 0; i < d->n_devices; i++) all &= gpud_device_join(&d->devices[i], LEAVE_S * 1000 / d->n_devices);
    return all;
}

/* Frees what is there. A device thread that still works needs the region and the circuits until the process exits. */
static void tear_down(struct gpud_daemon *d) {
    gpud_sock_close(&d->sock, true);
    if (!join_devices(d)) return;
    gpud_workers_close(&d->workers);
    if (d->waiter) shm_waiter_close(d->waiter);
    gpud_work_close(&d->work);
    if (d->region.base) shm_region_close(&d->region);
    shm_guard_remove();
    for (int i = 0; i < GPUD_MAX_CIRCUITS; i++) gpud_circuit_close(&d->circuits[i]);
    if (d->signals >= 0) close(d->signals);
}

static int unlink_region(struct gpud_daemon *d, struct gpud_error *err) {
    struct shm_error why;
    return shm_region_unlink(d->options->instance, &why) ? gpud_fail(err, "%s", why.text) : 0;
}

/* It never served. A region that was there before stays, with its workers. */
static int refuse(struct gpud_daemon *d, const struct gpud_error *err) {
    struct gpud_error ignored;
    bool mine = d->region.base && !d->adopted;
    if (mine && d->workers.members) stop(d);
    gpud_work_stop(&d->work);
    if (mine) unlink_region(d, &ignored);
    tear_down(d);
    tell_ready(d->options, "failed: %s\n", err->text);
    return GPUD_EXIT_REFUSED;
}

static bool has_proved(const struct gpud_daemon *d) {
    for (int i = 0; i < d->n_devices; i++)
        if (atomic_load(&d->work.shown[i].proofs)) return true;
    return false;
}

/* A restarted daemon whose devices do not come, with nobody who waits for its first word: they may come back. */
static bool may_come_back(struct gpud_daemon *d) {
    return d->adopted && d->options->ready_fd < 0 && gpud_work_failed(&d->work, NULL);
}

static int serve(struct gpud_daemon *d, struct gpud_error *err) {
    while (!d->stopping) {
        if (turn(d, err) == 0) continue;
        if (!d->ready && !may_come_back(d)) return refuse(d, err);
        return has_proved(d) ? GPUD_EXIT_RESTART : GPUD_EXIT_BARREN;    /* as after a crash: region and workers stay */
    }
    stop(d);
    int rc = unlink_region(d, err) ? GPUD_EXIT_REFUSED : 0;
    tear_down(d);
    if (!d->ready) tell_ready(d->options, "failed: %s\n", "it was told to stop");
    gpud_log("stopped");
    return rc;
}

int gpud_daemon_run(struct gpud_daemon *d, const struct gpud_options *options, const struct krn_backend *cpu,
                    const struct krn_backend *cuda, struct gpud_error *err) {
    memset(d, 0, sizeof *d);
    d->options = options;
    d->started_ns = shm_host_now_ns();
    d->signals = d->sock.listener = d->sock.reserve = -1;
    raise_descriptor_limit();
    if (open_signals(d, err) || find_program_folder(d, err) || gpud_path_make_folder(err) ||
        gpud_path_socket(options->instance, d->socket_path, err) || gpud_setup_backend(d, cpu, cuda, err) ||
        gpud_setup_region(d, err) || start(d, err))
        return refuse(d, err);
    return serve(d, err);
}
