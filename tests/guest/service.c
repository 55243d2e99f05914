/*
 * The whole service on a machine with several NUMA nodes and version 2 of cgroups, which tests/numa_test.sh boots:
 * workers sit on their node's CPUs, `status` shows the map, slots of the own node are taken first and those of others
 * only when it has none, and a worker that the kernel kills for memory costs an attempt. Programs are in /bin, the
 * circuit in /data.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/jobs.h"
#include "shm/host.h"
#include "shm/job.h"
#include "shm/slot.h"

enum { PER_NODE = 2, PATIENCE_S = 120 };

static struct shm_node nodes[SHM_MAX_NODES];
static uint32_t n_nodes;
static struct launcher_client client;
static struct shm_region region;
static pid_t daemon_pid;

static void check(bool ok, const char *what, const char *detail) {
    if (ok)
        return;
    printf("FAIL: %s: %s\n", what, detail);
    if (daemon_pid)
        kill(daemon_pid, SIGKILL);
    exit(1);
}

static void pause_ms(void) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* ---- the service ---- */

static void start_daemon(void) {
    char per_node[16], slots[16], line[300] = "";
    int ready[2];
    check(pipe(ready) == 0, "pipe", "");
    snprintf(per_node, sizeof per_node, "%d/node", PER_NODE);
    snprintf(slots, sizeof slots, "%u", PER_NODE * n_nodes);
    daemon_pid = fork();
    if (daemon_pid == 0) {
        char fd[16];
        snprintf(fd, sizeof fd, "%d", ready[1]);
        execl("/bin/pinwheel-gpud", "pinwheel-gpud", "--instance", "guest", "--workers", per_node, "--slots", slots,
              "--circuit", "mul2=/data/mul2_final.zkey,/data/mul2.r1cs", "--ready-fd", fd, "--test-hooks", (char *)0);
        _exit(126);
    }
    close(ready[1]);
    ssize_t n = read(ready[0], line, sizeof line - 1);
    check(n > 0 && strcmp(line, "ready\n") == 0, "the service does not start", line);
    close(ready[0]);
    struct gpud_error err;
    struct shm_error why;
    check(launcher_client_open(&client, "guest", &err) == LAUNCHER_OK, "connecting", err.text);
    check(shm_region_open(&region, "guest", &why) == 0, "mapping the region", why.text);
}

static struct fmt_json *status(void) {
    struct fmt_json *reply = NULL;
    struct gpud_error err;
    check(launcher_client_ask(&client, launcher_jobs_request("status"), &reply, &err) == LAUNCHER_OK, "status",
          err.text);
    return reply;
}

static int64_t number(const struct fmt_json *j, const char *key) {
    struct fmt_error why;
    int64_t v = -1;
    fmt_json_get_int(j, key, 0, INT64_MAX, &v, &why);
    return v;
}

static uint64_t submit(void) {
    struct gpud_error err;
    uint64_t id = 0;
    check(launcher_jobs_submit(&client, "mul2", "/data/mul2.wtns", "normal", &id, &err) == LAUNCHER_OK, "submit",
          err.text);
    return id;
}

static void fetch(uint64_t id) {
    struct gpud_error err;
    check(launcher_jobs_fetch(&client, id, NULL, NULL, false, &err) == LAUNCHER_OK, "a job", err.text);
}

/* Workers of a node by pid, as status tells; how many. */
static uint32_t workers_of(int node, pid_t pids[PER_NODE + 1]) {
    struct fmt_json *s = status();
    const struct fmt_json *all = fmt_json_field(s, "workers");
    uint32_t n = 0;
    for (size_t i = 0; i < fmt_json_length(all); i++) {
        const struct fmt_json *w = fmt_json_at(all, i);
        if (number(w, "node") == node && n <= PER_NODE)
            pids[n++] = (pid_t)number(w, "pid");
    }
    fmt_json_free(s);
    return n;
}

static void signal_workers(int sig) {
    for (uint32_t k = 0; k < n_nodes; k++) {
        pid_t pids[PER_NODE + 1];
        uint32_t n = workers_of(nodes[k].number, pids);
        for (uint32_t i = 0; i < n; i++)
            kill(pids[i], sig);
    }
}

/* ---- what is tested ---- */

static void check_map(int64_t elsewhere_of_last) {
    struct fmt_json *s = status();
    const struct fmt_json *all = fmt_json_field(s, "nodes");
    check(fmt_json_length(all) == n_nodes, "nodes in status", "too many or too few");
    for (uint32_t k = 0; k < n_nodes; k++) {
        const struct fmt_json *j = fmt_json_at(all, k);
        char cpus[SHM_CPUS_TEXT];
        const char *said = "";
        struct fmt_error why;
        shm_nodes_cpus_text(&nodes[k].set, cpus);
        fmt_json_get_string(j, "cpus", &said, &why);
        check(number(j, "node") == nodes[k].number && strcmp(said, cpus) == 0, "CPUs of a node in status", said);
        check(number(j, "slots") == PER_NODE && number(j, "workers") == PER_NODE, "slots and workers of a node", said);
        check(number(j, "memory_bytes") == (int64_t)nodes[k].total_bytes, "memory of a node", said);
        check(number(j, "slots_other_node") == (k + 1 == n_nodes ? elsewhere_of_last : 0), "slots of other nodes",
              cpus);
    }
    fmt_json_free(s);
}

static void check_pins(void) {
    for (uint32_t k = 0; k < n_nodes; k++) {
        pid_t pids[PER_NODE + 1];
        check(workers_of(nodes[k].number, pids) == PER_NODE, "workers of a node", "too many or too few");
        for (uint32_t i = 0; i < PER_NODE; i++) {
            cpu_set_t set;
            check(sched_getaffinity(pids[i], sizeof set, &set) == 0 && CPU_EQUAL(&set, &nodes[k].set),
                  "a worker's CPUs",
                  "not its node's");
        }
    }
}

static uint32_t ready_slots(void) {
    uint32_t counts[SHM_SLOT_STATES];
    shm_slot_count(&region, counts);
    return counts[SHM_SLOT_READY];
}

/* One worker of the last node alone, and a daemon that takes nothing: it fills its own node's slots, then all
 * others. */
static void check_claims(void) {
    uint64_t ids[SHM_MAX_NODES * PER_NODE];
    uint32_t n = n_nodes * PER_NODE;
    pid_t pids[PER_NODE + 1];
    workers_of(nodes[n_nodes - 1].number, pids);
    signal_workers(SIGSTOP);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = submit();
    kill(daemon_pid, SIGSTOP);
    kill(pids[0], SIGCONT);
    for (uint32_t i = 1; i <= n; i++) {
        while (ready_slots() < i)
            pause_ms();
        bool own_left = false;
        for (uint32_t slot = 0; slot < n; slot++)
            own_left |= region.slot_node[slot] == (uint32_t)nodes[n_nodes - 1].number &&
                        shm_ctl_state(atomic_load(&region.slots[slot].ctl)) == SHM_SLOT_FREE;
        check(i < PER_NODE || !own_left, "a slot of another node was taken", "before the own ones");
    }
    kill(daemon_pid, SIGCONT);
    for (uint32_t i = 0; i < n; i++)
        fetch(ids[i]);
    check_map((n_nodes - 1) * PER_NODE);
    signal_workers(SIGCONT);
}

static void write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path, text);
    close(fd);
}

static int64_t oom_kills(void) {
    char text[512] = "";
    int fd = open("/sys/fs/cgroup/workers/memory.events", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    const char *at = n > 0 ? strstr(text, "oom_kill ") : NULL;
    return at ? atoll(at + strlen("oom_kill ")) : -1;
}

/* All workers in a group with a limit; one takes all of it. */
static void check_memory(void) {
    mkdir("/sys/fs/cgroup/workers", 0755);
    write_file("/sys/fs/cgroup/workers/memory.max", "67108864");
    for (uint32_t k = 0; k < n_nodes; k++) {
        pid_t pids[PER_NODE + 1];
        uint32_t n = workers_of(nodes[k].number, pids);
        for (uint32_t i = 0; i < n; i++) {
            char pid[16];
            snprintf(pid, sizeof pid, "%d", (int)pids[i]);
            write_file("/sys/fs/cgroup/workers/cgroup.procs", pid);
        }
    }
    write_file(getenv("PINWHEEL_TEST_EAT"), "");
    uint64_t id = submit();
    fetch(id);
    struct shm_job_ref ref;
    check(oom_kills() == 1, "kills for memory", "not one");
    check(shm_job_find(&region, id, &ref) == 0 && atomic_load(&region.jobs[ref.index].attempts) == 1, "the attempt",
          "is not counted");
    fetch(submit());
}

static void stop_daemon(void) {
    struct fmt_json *reply;
    struct gpud_error err;
    int code = -1;
    check(launcher_client_ask(&client, launcher_jobs_request("stop"), &reply, &err) == LAUNCHER_OK, "stop", err.text);
    waitpid(daemon_pid, &code, 0);
    daemon_pid = 0;
    check(code == 0 && access("/dev/shm/pinwheel-guest", F_OK) != 0, "the end", "not in order");
}

int main(void) {
    setenv("XDG_RUNTIME_DIR", "/tmp/run", 1);
    setenv("PINWHEEL_TEST_EAT", "/tmp/eat", 1);
    mkdir("/tmp/run", 0700);
    alarm(PATIENCE_S);
    n_nodes = shm_host_nodes(nodes);
    start_daemon();
    check_map(0);
    check_pins();
    check_claims();
    check_memory();
    stop_daemon();
    printf("the service on %u nodes\n", n_nodes);
    return 0;
}
