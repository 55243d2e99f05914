#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gpud/paths.h"
#include "launcher/commands.h"
#include "launcher/jobs.h"
#include "shm/bell.h"
#include "shm/host.h"
#include "shm/peer.h"

enum { STOP_WAIT_MS = 10000, LEAVE_MS = 2000, KILL_WAIT_MS = 10000, LOOK_MS = 10 };

static void pause_ms(long ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Waits until no daemon holds the instance; false where one still does after the time. */
static bool daemon_gone(const char *instance, int wait_ms) {
    for (int waited = 0; shm_region_daemon_lives(instance) == 1; waited += LOOK_MS) {
        if (waited >= wait_ms) return false;
        pause_ms(LOOK_MS);
    }
    return true;
}

/* What the region says of the daemon's pid. */
static int noted_pid(const char *instance) {
    struct shm_region r;
    struct shm_error why;
    if (shm_region_open(&r, instance, &why)) return 0;
    int pid = (int)atomic_load(&r.super->daemon_pid);
    shm_region_close(&r);
    return pid;
}

/* A daemon that does not answer, or does not go. Its lock says that it lives; its pid is the kernel's word where it
 * listened, else the region's. */
static void kill_daemon(const char *instance, int pid) {
    if (pid <= 1) pid = noted_pid(instance);
    if (pid > 1 && shm_region_daemon_lives(instance) == 1) kill(pid, SIGKILL);
}

static enum launcher_exit stop_daemon(const char *instance, struct gpud_error *err) {
    struct launcher_client c;
    struct fmt_json *reply;
    bool asked = false;
    int pid = 0;
    if (launcher_client_open(&c, instance, err) == LAUNCHER_OK) {
        pid = launcher_client_daemon(&c);
        launcher_client_patience(&c, LEAVE_MS / 1000);
        asked = launcher_client_ask(&c, launcher_jobs_request("stop"), &reply, err) == LAUNCHER_OK;
        if (asked) fmt_json_free(reply);
        launcher_client_close(&c);
    }
    if (daemon_gone(instance, asked ? STOP_WAIT_MS : LEAVE_MS)) return LAUNCHER_OK;
    kill_daemon(instance, pid);
    if (daemon_gone(instance, KILL_WAIT_MS)) return LAUNCHER_OK;
    gpud_fail(err, "the daemon of service %s does not end, not even killed", instance);
    return LAUNCHER_FAILED;
}

/* Tells the workers to leave, and kills our own that do not. They are known by their locks, not by their pids alone. */
static void end_workers(struct shm_region *r) {
    atomic_store(&r->super->stopping, 1);
    for (uint32_t i = 0; i < r->n_peers; i++) shm_bell_ring(&r->peers[i].bell, -1);
    uint64_t kill_at = shm_host_now_ns() + LEAVE_MS * 1000000ull;
    for (uint32_t i = 0; i < r->n_peers; i++) {
        int pidfd = shm_peer_pidfd(r, i);
        if (pidfd < 0) continue;
        uint64_t now = shm_host_now_ns();
        struct pollfd p = {.fd = pidfd, .events = POLLIN};
        int left_ms = now < kill_at ? (int)((kill_at - now) / 1000000) : 0;
        if (r->peers[i].kind == 0 && poll(&p, 1, left_ms) == 0) {
            syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
            poll(&p, 1, KILL_WAIT_MS);
        }
        close(pidfd);
    }
}

static void remove_socket(const char *instance) {
    char path[GPUD_SOCKET_PATH_MAX], folder[GPUD_SOCKET_PATH_MAX];
    struct gpud_error ignored;
    if (gpud_path_socket(instance, path, &ignored) || gpud_path_folder(folder, &ignored)) return;
    unlink(path);
    rmdir(folder);      /* stays where another instance uses it */
}

enum launcher_exit launcher_remove(const struct launcher_options *o, struct gpud_error *err) {
    struct shm_region r;
    struct shm_error why;
    if (gpud_path_check_instance(o->instance, err)) return LAUNCHER_USAGE;
    enum launcher_exit rc = stop_daemon(o->instance, err);
    if (rc) return rc;
    if (shm_region_adopt(&r, o->instance, 0, &why) == 0) {
        end_workers(&r);
        if (shm_region_unlink(o->instance, &why)) rc = LAUNCHER_FAILED;
        shm_region_close(&r);
    } else if (why.code == ESTALE || why.code == ENOENT) {
        if (shm_region_unlink(o->instance, &why)) rc = LAUNCHER_FAILED;     /* another build's, or never finished */
    } else {
        rc = LAUNCHER_FAILED;
    }
    if (rc) gpud_fail(err, "%s", why.text);
    remove_socket(o->instance);
    return rc;
}

enum launcher_exit launcher_paths(const struct launcher_options *o, struct gpud_error *err) {
    char path[GPUD_SOCKET_PATH_MAX];
    if (gpud_path_socket(o->instance, path, err)) return LAUNCHER_USAGE;
    if (gpud_path_make_folder(err)) return LAUNCHER_FAILED;
    puts(path);
    return LAUNCHER_OK;
}
