#include "shm/host.h"

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "shm/text.h"

/* ---- NUMA ---- */

static cpu_set_t usable_cpus(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
}

static void system_memory(struct shm_node *node) {
    char text[4096];
    if (shm_text_read("/proc/meminfo", text, sizeof text) != 0)
        return;
    node->total_bytes = shm_text_number(text, "MemTotal:") << 10;
    node->free_bytes = shm_text_number(text, "MemAvailable:") << 10;
}

uint32_t shm_host_nodes(struct shm_node nodes[SHM_MAX_NODES]) {
    const cpu_set_t mine = usable_cpus();
    uint32_t n = shm_nodes_read("/sys/devices/system/node", "/proc/self/status", &mine, nodes);
    if (n)
        return n;
    nodes[0] = (struct shm_node){.number = 0, .set = mine, .cpus = (uint32_t)CPU_COUNT(&mine)};
    system_memory(&nodes[0]);
    return 1;
}

static bool find_node(int number, struct shm_node *node) {
    struct shm_node nodes[SHM_MAX_NODES];
    uint32_t n = shm_host_nodes(nodes);
    for (uint32_t i = 0; i < n; i++) {
        if (nodes[i].number != number)
            continue;
        *node = nodes[i];
        return true;
    }
    return false;
}

uint32_t shm_host_cpus(int node) {
    struct shm_node found;
    const cpu_set_t mine = usable_cpus();
    if (node < 0)
        return (uint32_t)CPU_COUNT(&mine);
    return find_node(node, &found) ? found.cpus : 0;
}

int shm_host_pin(int node) {
    struct shm_node found;
    if (!find_node(node, &found))
        return -ENODEV;
    return sched_setaffinity(0, sizeof found.set, &found.set) == 0 ? 0 : -errno;
}

int shm_host_bind(void *addr, uint64_t bytes, int node) {
    enum { WORD_BITS = 8 * sizeof(unsigned long) };
    unsigned long mask[SHM_MAX_NODES / WORD_BITS] = {0};
    if (node < 0 || node >= SHM_MAX_NODES)
        return -EINVAL;
    mask[node / WORD_BITS] = 1ul << (node % WORD_BITS);
    return mbind(addr, bytes, MPOL_BIND, mask, SHM_MAX_NODES + 1, 0) == 0 ? 0 : -errno;
}

int shm_host_where(void **pages, int *nodes, uint32_t n) {
    return move_pages(0, n, pages, NULL, nodes, 0) == 0 ? 0 : -errno;
}

/* ---- memory budget ---- */

/* How a version of the cgroup file system is laid out. */
struct cgroup {
    const char *root, *line;            /* where it is mounted; what precedes a process's folder in /proc/self/cgroup */
    const char *limit, *use, *cache;    /* files, and the key in memory.stat */
};

/* Limit less use of one cgroup folder; use counts without file cache, which would make room. */
static uint64_t cgroup_left(const struct cgroup *g, const char *own) {
    char path[1200], text[8192];
    snprintf(path, sizeof path, "%s%.960s/%s", g->root, own, g->limit);
    if (shm_text_read(path, text, sizeof text) != 0 || strncmp(text, "max", 3) == 0)
        return UINT64_MAX;
    uint64_t limit = strtoull(text, NULL, 10);
    snprintf(path, sizeof path, "%s%.960s/%s", g->root, own, g->use);
    uint64_t use = shm_text_read(path, text, sizeof text) == 0 ? strtoull(text, NULL, 10) : 0;
    snprintf(path, sizeof path, "%s%.960s/memory.stat", g->root, own);
    uint64_t cache = shm_text_read(path, text, sizeof text) == 0 ? shm_text_number(text, g->cache) : 0;
    use -= cache < use ? cache : use;
    return limit > use ? limit - use : 0;
}

/* The least over this process's cgroup and all above it, up to what a container sees as the root. */
static uint64_t cgroup_least(const struct cgroup *g) {
    char text[4096];
    uint64_t least = cgroup_left(g, "");
    char *own = shm_text_read("/proc/self/cgroup", text, sizeof text) == 0 ? strstr(text, g->line) : NULL;
    if (!own)
        return least;
    own += strlen(g->line);
    own[strcspn(own, "\n")] = 0;
    for (char *slash; (slash = strrchr(own, '/')); *slash = 0) {
        uint64_t left = cgroup_left(g, own);
        least = left < least ? left : least;
    }
    return least;
}

static uint64_t cgroup_budget(void) {
    static const struct cgroup versions[] = {
        {"/sys/fs/cgroup", "0::", "memory.max", "memory.current", "inactive_file "},
        {"/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
    };
    uint64_t a = cgroup_least(&versions[0]), b = cgroup_least(&versions[1]);
    return a < b ? a : b;
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

void shm_host_first_to_go(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = write(fd, "1000", 4);
    (void)n;            /* without it the largest goes first, nothing else */
    close(fd);
}

/* ---- identity and time ---- */

int shm_host_boot_id(uint8_t id[16]) {
    char text[64];
    int rc = shm_text_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
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
