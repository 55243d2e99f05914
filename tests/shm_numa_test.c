/*
 * Two NUMA nodes: each slot lies on its own node, workers claim from their own first, and a node that is too small is
 * refused before the kernel kills anybody. Skips where there is one node; tests/numa_test.sh runs it in a guest with two.
 */
#include <sched.h>

#include "tests/shm_world.h"

enum { PER_NODE = 3 };

static struct shm_node nodes[SHM_MAX_NODES];
static int numbers[2];

static struct shm_spec spec_of(const struct shm_class *class) {
    return (struct shm_spec){.instance = world_instance("numa"), .n_classes = 1, .classes = class, .n_nodes = 2,
                             .nodes = numbers, .n_jobs = 2, .n_peers = 2, .n_circuits = 1, .result_bytes = 64};
}

/* Every page, asked of the kernel here, whatever the region says of itself. */
static void check_pages(struct shm_region *r) {
    for (uint32_t i = 0; i < r->n_slots; i++) {
        uint32_t wrong = 0;
        check(r->slot_node[i] == (uint32_t)numbers[i / PER_NODE], "slot %u is said to be on node %u", i, r->slot_node[i]);
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

static void check_claims(struct shm_region *r) {
    struct shm_slot_ref ref = {0, 0};
    int peer = shm_peer_join(r, (uint32_t)numbers[1], 0);
    for (uint32_t i = 0; i < 2 * PER_NODE; i++) {
        uint32_t want = (uint32_t)numbers[i < PER_NODE ? 1 : 0];
        int rc = shm_slot_claim(r, (uint32_t)peer, (uint32_t)numbers[1], 1, &ref);
        check(rc == 0 && r->slot_node[ref.index] == want, "claim %u is on node %u, wanted %u", i, r->slot_node[ref.index], want);
    }
    check(shm_load_lax(&r->peers[peer].slots_other_node) == PER_NODE, "slots of the other node are counted");
}

/* More than the smaller node has, but less than both: without the look beforehand this ends in an OOM kill. */
static void check_too_small(void) {
    uint64_t free_bytes = nodes[0].free_bytes < nodes[1].free_bytes ? nodes[0].free_bytes : nodes[1].free_bytes;
    const struct shm_class class = {free_bytes + SHM_PAGE, 1};
    const struct shm_spec spec = spec_of(&class);
    struct shm_region r;
    struct shm_error err;
    check(shm_region_create(&r, &spec, &err) == -1 && err.code == ENOSPC, "a node that is too small: %s", err.text);
    printf("%s\n", err.text);
}

static void check_pin(void) {
    cpu_set_t set;
    for (int k = 0; k < 2; k++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(shm_host_pin(numbers[k]) != 0 || sched_getaffinity(0, sizeof set, &set) != 0 ||
                  CPU_COUNT(&set) != (int)nodes[k].cpus);
        int status;
        waitpid(pid, &status, 0);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "pinned to node %d", numbers[k]);
    }
}

int main(void) {
    uint32_t n = shm_host_nodes(nodes);
    if (n < 2) {
        printf("one NUMA node here\n");
        return 77;
    }
    numbers[0] = nodes[0].number;
    numbers[1] = nodes[1].number;
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
    check_pin();
    return finish("two nodes: every page where it belongs");
}
