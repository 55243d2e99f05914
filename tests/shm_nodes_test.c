/*
 * The map of NUMA nodes from trees of files such as the kernel shows: holes in the numbers, nodes that are offline,
 * without memory or without CPUs, cpusets that allow some, and nonsense. Then this machine's, beside what libnuma (and
 * so numactl --hardware) says of it. RUN_VALGRIND
 */
#include <ftw.h>
#include <numa.h>
#include <sys/stat.h>

#include "tests/shm_world.h"

static char tree[40], status_path[48];

static void put(const char *file, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", tree, file);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
        printf("%s: %s\n", path, strerror(errno));
        exit(1);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void remove_tree(void) {
    nftw(tree, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void clear_tree(void) {
    remove_tree();
    if (mkdir(tree, 0700) != 0)
        exit(1);
}

/* distance NULL: no such file. */
static void put_node(int node, const char *cpus, int total_kib, const char *distance) {
    char file[64], text[512];
    snprintf(file, sizeof file, "%s/node%d", tree, node);
    mkdir(file, 0755);
    snprintf(file, sizeof file, "node%d/cpulist", node);
    snprintf(text, sizeof text, "%s\n", cpus);
    put(file, text);
    snprintf(file, sizeof file, "node%d/meminfo", node);
    snprintf(text, sizeof text, "Node %d MemTotal:       %d kB\nNode %d MemFree:        %d kB\nNode %d MemUsed:  1 kB\n"
             "Node %d Active(file):  4 kB\nNode %d Inactive(file):    8 kB\n", node, total_kib, node,
             total_kib / 2, node, node, node);
    put(file, text);
    snprintf(file, sizeof file, "node%d/distance", node);
    if (distance)
        put(file, distance);
}

static void put_status(const char *mems) {
    FILE *f = fopen(status_path, "w");
    static const char format[] = "Name:\tx\nMems_allowed:\t0,3\nMems_allowed_list:\t%s\nvoluntary_ctxt_switches:\t1\n";
    if (!f || fprintf(f, format, mems) < 0 || fclose(f) != 0)
        exit(1);
}

static cpu_set_t cpus_from(int first, int last) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = first; i <= last; i++)
        CPU_SET(i, &set);
    return set;
}

static cpu_set_t cpus_to(int last) {
    return cpus_from(0, last);
}

/* The map as text: number:cpus, one node after the other. */
static void map_text(const struct shm_node *nodes, uint32_t n, char text[512]) {
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        char cpus[SHM_CPUS_TEXT];
        shm_nodes_cpus_text(&nodes[i].set, cpus);
        check(nodes[i].cpus == (uint32_t)CPU_COUNT(&nodes[i].set), "cpus of node %d", nodes[i].number);
        at += (size_t)snprintf(text + at, 512 - at, "%s%d:%s", i ? " " : "", nodes[i].number, cpus);
    }
}

static void expect(const char *what, cpu_set_t mine, const char *want) {
    struct shm_node nodes[SHM_MAX_NODES];
    char text[512];
    map_text(nodes, shm_nodes_read(tree, status_path, &mine, nodes), text);
    check(strcmp(text, want) == 0, "%s: '%s', wanted '%s'", what, text, want);
}

static void two_nodes(void) {
    struct shm_node nodes[SHM_MAX_NODES];
    cpu_set_t mine = cpus_to(7);
    clear_tree();
    put("online", "0-1\n");
    put_status("0-1");
    put_node(0, "0-1,4-5", 1000, "10 21\n");
    put_node(1, "2-3,6-7", 3000, "21 10\n");
    expect("two nodes", mine, "0:0-1,4-5 1:2-3,6-7");
    check(shm_nodes_read(tree, status_path, &mine, nodes) == 2 && nodes[1].total_bytes == 3000 << 10 &&
          nodes[1].free_bytes == (1500 + 12) << 10, "memory of node 1: %llu of %llu",
          (unsigned long long)nodes[1].free_bytes, (unsigned long long)nodes[1].total_bytes);
    expect("only CPUs of node 1 are allowed", cpus_from(6, 6), "1:6");
    expect("no CPU at all", cpus_from(1, 0), "");
    put_status("1");
    expect("a cpuset with the memory of node 1: all CPUs are at home there", mine, "1:0-7");
    put_status("0-63");
    put("online", "0\n");
    expect("node 1 is offline, its folder is there", mine, "0:0-1,4-5");
    CPU_CLR(0, &mine);
    put("online", "0-1\n");
    put_node(0, "1,4-5", 1000, "10 21\n");
    expect("CPU 0 is offline", mine, "0:1,4-5 1:2-3,6-7");
}

static void odd_nodes(void) {
    clear_tree();
    put("online", "0,2,5\n");
    put_status("0,2,5");
    put_node(0, "0-1", 1000, "10 20 30\n");
    put_node(2, "2-3", 1000, "20 10 12\n");
    put_node(5, "4-5", 1000, "30 12 10\n");
    expect("holes", cpus_to(5), "0:0-1 2:2-3 5:4-5");
    put_node(5, "4-5", 0, "30 12 10\n");
    expect("node 5 has no memory: its CPUs go to node 2, the nearest", cpus_to(5), "0:0-1 2:2-5");
    put_node(5, "4-5", 0, "20 20 10\n");
    expect("two are as near: the first", cpus_to(5), "0:0-1,4-5 2:2-3");
    put_node(5, "", 1000, "30 12 10\n");
    expect("memory without CPUs", cpus_to(5), "0:0-1 2:2-3");
    put_node(0, "0-1", 0, "10 20 15\n");
    expect("CPUs whose nearest memory has none of its own", cpus_to(5), "2:2-3 5:0-1");
    put_node(2, "2-3", 0, "20 10 12\n");
    put_node(5, "4-5", 0, "30 12 10\n");
    expect("no memory anywhere", cpus_to(5), "");

    clear_tree();
    put("online", "0-3\n");
    put_status("0-3");
    put_node(0, "0-1", 1000, NULL);
    put_node(1, "2-3", 1000, NULL);
    put_node(2, "", 1000, NULL);
    put_node(3, "4-5", 0, NULL);
    expect("no distances", cpus_to(7), "0:0-1,4-5 1:2-3");
    put_status("1-2");
    expect("a cpuset without node 0", cpus_to(7), "1:0-5");
}

static void nonsense(void) {
    static const char *const online[] = {"", "\n", "x", "-1", "0-", "0-99999999999999999999", "63-70", "5-2", "0,,1",
                                         "\xff\xff"};
    struct shm_node nodes[SHM_MAX_NODES];
    const cpu_set_t mine = cpus_to(7);
    clear_tree();
    check(shm_nodes_read(tree, status_path, &mine, nodes) == 0, "no file `online`");
    for (size_t i = 0; i < sizeof online / sizeof *online; i++) {
        put("online", online[i]);
        put_status(online[i]);
        put_node(0, online[i], 1000, "x y z");
        put_node(63, "0-2000", 0, online[i]);
        uint32_t n = shm_nodes_read(tree, status_path, &mine, nodes);
        check(n <= 1 && (n == 0 || nodes[0].number == 0), "online '%s': %u nodes", online[i], n);
    }
    put("online", "60-70\n");
    put_status("0-200");
    put_node(63, "7", 1000, NULL);
    put_node(64, "6", 1000, NULL);
    expect("numbers from 64 on are not used", mine, "63:7");
    remove(status_path);
    expect("no status", mine, "63:7");
}

static void texts(void) {
    char text[SHM_CPUS_TEXT];
    cpu_set_t set;
    CPU_ZERO(&set);
    shm_nodes_cpus_text(&set, text);
    check(text[0] == 0, "no CPUs: '%s'", text);
    for (int c = 0; c < CPU_SETSIZE; c += 2)
        CPU_SET(c, &set);
    shm_nodes_cpus_text(&set, text);
    check(strlen(text) < sizeof text && strcmp(text + strlen(text) - 4, ",...") == 0, "many CPUs: '%s'", text);
    CPU_ZERO(&set);
    CPU_SET(CPU_SETSIZE - 1, &set);
    shm_nodes_cpus_text(&set, text);
    check(strcmp(text, "1023") == 0, "the last CPU: '%s'", text);
}

/* Every CPU that libnuma counts to a node with memory is at home there, and sizes are the same. */
static void this_machine(void) {
    struct shm_node nodes[SHM_MAX_NODES];
    char text[512];
    uint32_t n = shm_host_nodes(nodes), all = 0;
    cpu_set_t mine;
    map_text(nodes, n, text);
    printf("this machine: %s\n", text);
    sched_getaffinity(0, sizeof mine, &mine);
    for (uint32_t i = 0; i < n; i++)
        all += nodes[i].cpus;
    check(all == (uint32_t)CPU_COUNT(&mine), "%u CPUs at home, %d allowed", all, CPU_COUNT(&mine));
    if (numa_available() < 0)
        return;
    struct bitmask *cpus = numa_allocate_cpumask();
    for (uint32_t i = 0; i < n; i++) {
        check(numa_node_size64(nodes[i].number, NULL) == (long long)nodes[i].total_bytes, "size of node %d",
              nodes[i].number);
        if (numa_node_to_cpus(nodes[i].number, cpus) == 0)
            for (int c = 0; c < CPU_SETSIZE && c < (int)cpus->size; c++)
                check(!numa_bitmask_isbitset(cpus, (unsigned)c) || !CPU_ISSET(c, &mine) || CPU_ISSET(c, &nodes[i].set),
                      "CPU %d is not at home on node %d", c, nodes[i].number);
    }
    numa_bitmask_free(cpus);
}

int main(void) {
    snprintf(tree, sizeof tree, "/tmp/pinwheel-nodes-%d", (int)getpid());
    snprintf(status_path, sizeof status_path, "%s.status", tree);
    two_nodes();
    odd_nodes();
    nonsense();
    texts();
    this_machine();
    remove_tree();
    return finish("nodes: every odd machine");
}
