#include "shm/host.h"

#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---- small files of /proc and /sys ---- */

/* The whole file as a string; at most size - 1 bytes. 0 or -errno. */
static int read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t n = 0;
    ssize_t got;
    while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = 0;
    return 0;
}

/* The number that follows `key` in the text; 0 where there is none. */
static uint64_t number_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* ---- NUMA ---- */

static bool has_numa(void) {
    return numa_available() >= 0;
}

/* CPUs that are both the node's and allowed to this thread. libnuma keeps what it has read in a table without a lock. */
static uint32_t node_cpus(int node, cpu_set_t *set) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cpu_set_t mine;
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        return 0;
    struct bitmask *cpus = numa_allocate_cpumask();
    pthread_mutex_lock(&lock);
    int rc = numa_node_to_cpus(node, cpus);
    pthread_mutex_unlock(&lock);
    if (rc == 0)
        for (unsigned c = 0; c < cpus->size && c < CPU_SETSIZE; c++)
            if (numa_bitmask_isbitset(cpus, c) && CPU_ISSET(c, &mine))
                CPU_SET(c, set);
    numa_free_cpumask(cpus);
    return (uint32_t)CPU_COUNT(set);
}

static uint32_t usable_cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

static void node_memory(struct shm_node *node) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node->number);
    if (read_text(path, text, sizeof text) != 0)
        return;
    node->total_bytes = number_after(text, "MemTotal:") << 10;
    node->free_bytes = (number_after(text, "MemFree:") + number_after(text, "Inactive(file):") +
                        number_after(text, "Active(file):")) << 10;
}

static void system_memory(struct shm_node *node) {
    char text[4096];
    if (read_text("/proc/meminfo", text, sizeof text) != 0)
        return;
    node->total_bytes = number_after(text, "MemTotal:") << 10;
    node->free_bytes = number_after(text, "MemAvailable:") << 10;
}

uint32_t shm_host_nodes(struct shm_node nodes[SHM_MAX_NODES]) {
    uint32_t n = 0;
    if (has_numa()) {
        struct bitmask *allowed = numa_get_mems_allowed();
        for (int i = 0; i <= numa_max_node() && n < SHM_MAX_NODES; i++) {
            cpu_set_t cpus;
            struct shm_node node = {.number = i, .cpus = node_cpus(i, &cpus)};
            if (!numa_bitmask_isbitset(allowed, (unsigned)i) || !node.cpus)
                continue;
            node_memory(&node);
            if (node.total_bytes)
                nodes[n++] = node;
        }
        numa_bitmask_free(allowed);
    }
    if (n)
        return n;
    nodes[0] = (struct shm_node){.number = 0, .cpus = usable_cpus()};
    system_memory(&nodes[0]);
    return 1;
}

int shm_host_pin(int node) {
    cpu_set_t cpus;
    if (!has_numa())
        return 0;
    if (node_cpus(node, &cpus) == 0)
        return -ENODEV;
    return sched_setaffinity(0, sizeof cpus, &cpus) == 0 ? 0 : -errno;
}

int shm_host_bind(void *addr, uint64_t bytes, int node) {
    if (!has_numa())
        return 0;
    struct bitmask *mask = numa_allocate_nodemask();
    numa_bitmask_setbit(mask, (unsigned)node);
    long rc = mbind(addr, bytes, MPOL_BIND, mask->maskp, mask->size + 1, 0);
    int code = rc == 0 ? 0 : -errno;
    numa_bitmask_free(mask);
    return code;
}

int shm_host_where(void **pages, int *nodes, uint32_t n) {
    return move_pages(0, n, pages, NULL, nodes, 0) == 0 ? 0 : -errno;
}

/* ---- memory budget ---- */

/* Limit less use of one cgroup folder; use counts without file cache, which would make room. */
static uint64_t cgroup_left(const char *dir, const char *limit_name, const char *use_name) {
    char path[1200], text[8192];
    snprintf(path, sizeof path, "%s/%s", dir, limit_name);
    if (read_text(path, text, sizeof text) != 0 || strncmp(text, "max", 3) == 0)
        return UINT64_MAX;
    uint64_t limit = strtoull(text, NULL, 10);
    snprintf(path, sizeof path, "%s/%s", dir, use_name);
    uint64_t use = read_text(path, text, sizeof text) == 0 ? strtoull(text, NULL, 10) : 0;
    snprintf(path, sizeof path, "%s/memory.stat", dir);
    uint64_t cache = read_text(path, text, sizeof text) == 0 ? number_after(text, "inactive_file ") : 0;
    use -= cache < use ? cache : use;
    return limit > use ? limit - use : 0;
}

/* The least over this process's cgroup and all above it (version 2; version 1 where its folder is there). */
static uint64_t cgroup_budget(void) {
    char text[4096], dir[1024];
    uint64_t least = cgroup_left("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes");
    if (read_text("/proc/self/cgroup", text, sizeof text) != 0)
        return least;
    char *own = strstr(text, "0::");
    if (!own)
        return least;
    own += 3;
    own[strcspn(own, "\n")] = 0;
    for (;;) {
        snprintf(dir, sizeof dir, "/sys/fs/cgroup%.960s", strcmp(own, "/") ? own : "");
        uint64_t left = cgroup_left(dir, "memory.max", "memory.current");
        least = left < least ? left : least;
        char *slash = strrchr(own, '/');
        if (!slash || !own[0])
            return least;
        *slash = 0;
    }
}

static uint64_t dev_shm_budget(void) {
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) != 0 || fs.f_blocks == 0)      /* f_blocks 0: no limit */
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

uint64_t shm_host_budget(const char **why) {
    struct shm_node system = {0};
    system_memory(&system);
    const struct {
        const char *name;
        uint64_t bytes;
    } bounds[] = {{"system", system.free_bytes}, {"cgroup", cgroup_budget()}, {"/dev/shm", dev_shm_budget()}};
    uint32_t least = 0;
    for (uint32_t i = 1; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].bytes < bounds[least].bytes)
            least = i;
    *why = bounds[least].name;
    return bounds[least].bytes;
}

/* ---- identity and time ---- */

int shm_host_boot_id(uint8_t id[16]) {
    char text[64];
    int rc = read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
    if (rc != 0)
        return rc;
    const char *at = text;
    for (int i = 0; i < 16; i++, at += 2) {
        at += *at == '-';
        unsigned byte;
        if (sscanf(at, "%2x", &byte) != 1)
            return -EINVAL;
        id[i] = (uint8_t)byte;
    }
    return 0;
}

uint64_t shm_host_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
