/*
 * Several NUMA nodes: each slot lies on its own node, workers claim from their own first and are pinned to its CPUs, a
 * node that is too small is refused before the kernel kills anybody, and so is one that a cpuset does not allow. Skips
 * where there is one node; tests/numa_test.sh runs it in guests, with PINWHEEL_TEST_NODES saying what the map must be.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "tests/shm_world.h"

enum { PER_NODE = 3 };

static struct shm_node nodes[SHM_MAX_NODES];
static int numbers[SHM_MAX_NODES];
static uint32_t n_nodes;

static struct shm_spec spec_of(const struct shm_class *class) {
    return (struct shm_spec){.instance = world_instance("numa"), .n_classes = 1, .classes = class, .n_nodes = n_nodes,
                             .nodes = numbers, .n_jobs = 2, .n_peers = 2, .n_circuits = 1, .result_bytes = 64};
}

static void check_map(void) {
    const char *want = getenv("PINWHEEL_TEST_NODES");
    char text[512] = "", cpus[SHM_CPUS_TEXT];
    for (uint32_t i = 0; i < n_nodes; i++) {
        shm_nodes_cpus_text(&nodes[i].set, cpus);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d:%s", i ? "/" : "", nodes[i].number, cpus);
    }
    printf("nodes %s\n", text);
    check(!want || strcmp(want, text) == 0, "wanted %s", want);
}

/* Every page, asked of the kernel here, whatever the region says of itself. */
static void check_pages(struct shm_region *r) {
    for (uint32_t i = 0; i < r->n_slots; i++) {
        uint32_t wrong = 0;
        check(r->slot_node[i] == (uint32_t)numbers[i / PER_NODE], "slot %u is said to be on node %u", i,
              r->slot_node[i]);
        for (uint64_t at = 0; at < r->slot_bytes[i]; at += 4096) {
            void *page = shm_region_payload(r, i) + at;
            int node = -1;
            check(shm_host_where(&page, &node, 1) == 0, "asking for a page's node");
            wrong += node != (int)r->slot_node[i];
        }
        check(wrong == 0, "slot %u: %u of %llu pages are not on node %u", i, wrong,
              (unsigned long long)r->slot_bytes[i] / 4096, r->slot_node[i]);
    }
}

/* A worker of each node: all slots of its own first, and only then, counted, those of others. */
static void check_claims(struct shm_region *r) {
    for (uint32_t k = 0; k < n_nodes; k++) {
        struct shm_slot_ref ref[SHM_MAX_NODES * PER_NODE];
        int peer = shm_peer_join(r, (uint32_t)numbers[k], 0);
        for (uint32_t i = 0; i < r->n_slots; i++) {
            int rc = shm_slot_claim(r, (uint32_t)peer, (uint32_t)numbers[k], 1, &ref[i]);
            bool own = rc == 0 && r->slot_node[ref[i].index] == (uint32_t)numbers[k];
            check(rc == 0 && own == (i < PER_NODE), "claim %u of node %d: %d", i, numbers[k], rc);
        }
        check(shm_load_lax(&r->peers[peer].slots_other_node) == r->n_slots - PER_NODE,
              "slots of other nodes are counted");
        for (uint32_t i = 0; i < r->n_slots; i++)
            shm_slot_abandon(r, (uint32_t)peer, ref[i]);
        shm_peer_leave(r, (uint32_t)peer);
    }
}

static void refused(const struct shm_spec *spec, int code, const char *what) {
    struct shm_region r;
    struct shm_error err;
    check(shm_region_create(&r, spec, &err) == -1 && err.code == code, "%s: %s", what, err.text);
    printf("%s\n", err.text);
}

/* More than the smallest node has, but less than all: without the look beforehand this ends in an OOM kill. */
static void check_too_small(void) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < n_nodes; i++)
        least = nodes[i].free_bytes < least ? nodes[i].free_bytes : least;
    const struct shm_class class = {least + SHM_PAGE, 1};
    const struct shm_spec spec = spec_of(&class);
    refused(&spec, ENOSPC, "a node that is too small");
}

static void in_child(int (*body)(uint32_t), uint32_t k, const char *what) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(k));
    int status;
    waitpid(pid, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", what, status);
}

static int pinned(uint32_t k) {
    cpu_set_t set;
    return shm_host_pin(numbers[k]) != 0 || sched_getaffinity(0, sizeof set, &set) != 0 ||
           !CPU_EQUAL(&set, &nodes[k].set);
}

static bool write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

/* What a container with --cpuset-mems sees: one node, at which all CPUs are at home; another cannot be bound. */
static int in_cpuset(uint32_t k) {
    struct shm_node seen[SHM_MAX_NODES];
    const struct shm_class class = {SHM_PAGE, 1};
    const struct shm_spec spec = spec_of(&class);
    char number[16], own[16];
    snprintf(number, sizeof number, "%d", numbers[k]);
    snprintf(own, sizeof own, "%d", (int)getpid());
    if (mkdir("/sys/fs/cgroup/numa", 0755) != 0 || !write_file("/sys/fs/cgroup/numa/cpuset.mems", number) ||
        !write_file("/sys/fs/cgroup/numa/cgroup.procs", own))
        return 1;
    uint32_t n = shm_host_nodes(seen), cpus = 0;
    for (uint32_t i = 0; i < n_nodes; i++)
        cpus += nodes[i].cpus;
    check(n == 1 && seen[0].number == numbers[k] && seen[0].cpus == cpus,
          "in a cpuset: %u nodes, the first %d with %u CPUs", n,
          seen[0].number, seen[0].cpus);
    void *page = aligned_alloc(SHM_PAGE, SHM_PAGE);
    check(shm_host_bind(page, SHM_PAGE, numbers[k ? 0 : 1]) == -EINVAL, "a node outside the cpuset is bound");
    check(shm_host_bind(page, SHM_PAGE, numbers[k]) == 0, "the cpuset's node cannot be bound");
    refused(&spec, EINVAL, "nodes outside the cpuset");
    return failures != 0;
}

int main(void) {
    n_nodes = shm_host_nodes(nodes);
    if (n_nodes < 2 && !getenv("PINWHEEL_TEST_NODES")) {
        printf("one NUMA node here\n");
        return 77;
    }
    check_map();
    for (uint32_t i = 0; i < n_nodes; i++)
        numbers[i] = nodes[i].number;
    const struct shm_class class = {4 * SHM_PAGE, PER_NODE};
    const struct shm_spec spec = spec_of(&class);
    struct shm_region r;
    struct shm_error err;
    if (!check(shm_region_create(&r, &spec, &err) == 0, "create: %s", err.text))
        return 1;
    printf("%llu of %llu MiB in 2 MiB pages\n", (unsigned long long)r.huge_bytes >> 20,
           (unsigned long long)(r.bytes - r.payload_at) >> 20);
    check_pages(&r);
    check_claims(&r);
    world_remove();
    shm_region_close(&r);
    check_too_small();
    for (uint32_t k = 0; k < n_nodes; k++)
        in_child(pinned, k, "pinned to a node");
    if (access("/sys/fs/cgroup/cpuset.mems.effective", R_OK) == 0)
        in_child(in_cpuset, n_nodes - 1, "in a cpuset");
    else
        printf("no cpuset controller here: not tried\n");
    return finish("every page where it belongs");
}
