#include "shm/nodes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/text.h"

enum { PATH_BYTES = 1200, TEXT_BYTES = 8192 };

/* ---- lists: 0-3,8 ---- */

typedef void take_range(void *ctx, unsigned long from, unsigned long to);

static void read_list(const char *text, take_range *take, void *ctx) {
    for (const char *at = text; *at >= '0' && *at <= '9';) {
        char *end;
        unsigned long from = strtoul(at, &end, 10), to = from;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        take(ctx, from, to);
        at = *end == ',' ? end + 1 : "";
    }
}

static void take_nodes(void *ctx, unsigned long from, unsigned long to) {
    uint64_t *nodes = ctx;
    static_assert(SHM_MAX_NODES == 64, "a set of nodes is one word");
    for (; from <= to && from < SHM_MAX_NODES; from++)
        *nodes |= 1ull << from;
}

static void take_cpus(void *ctx, unsigned long from, unsigned long to) {
    for (; from <= to && from < CPU_SETSIZE; from++)
        CPU_SET(from, (cpu_set_t *)ctx);
}

void shm_nodes_cpus_text(const cpu_set_t *set, char text[SHM_CPUS_TEXT]) {
    int n = 0;
    text[0] = 0;
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (!CPU_ISSET(c, set))
            continue;
        int last = c;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        if (n > SHM_CPUS_TEXT - 16) {
            snprintf(text + n, (size_t)(SHM_CPUS_TEXT - n), ",...");
            return;
        }
        n += snprintf(text + n, (size_t)(SHM_CPUS_TEXT - n), last > c ? "%s%d-%d" : "%s%d", n ? "," : "", c, last);
        c = last;
    }
}

/* ---- one node's files ---- */

struct machine {
    const char *folder;
    uint64_t online, with_memory;       /* sets of node numbers */
    struct shm_node all[SHM_MAX_NODES]; /* by number */
};

static bool read_file(const struct machine *m, unsigned node, const char *name, char text[TEXT_BYTES]) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.1000s/node%u/%s", m->folder, node, name);
    return shm_text_read(path, text, TEXT_BYTES) == 0;
}

static void read_node(struct machine *m, unsigned i, uint64_t allowed, const cpu_set_t *mine) {
    char text[TEXT_BYTES];
    struct shm_node *node = &m->all[i];
    node->number = (int)i;
    if (read_file(m, i, "cpulist", text))
        read_list(text, take_cpus, &node->set);
    CPU_AND(&node->set, &node->set, mine);
    if (!(allowed >> i & 1) || !read_file(m, i, "meminfo", text))
        return;
    node->total_bytes = shm_text_number(text, "MemTotal:") << 10;
    node->free_bytes = (shm_text_number(text, "MemFree:") + shm_text_number(text, "Inactive(file):") +
                        shm_text_number(text, "Active(file):")) << 10;
    if (node->total_bytes)
        m->with_memory |= 1ull << i;
}

/* The node with memory that lies nearest; its `distance` file has one number for each online node. */
static int nearest(const struct machine *m, unsigned node) {
    char text[TEXT_BYTES];
    int best = -1;
    unsigned long least = 0;
    if (!read_file(m, node, "distance", text))
        text[0] = 0;
    char *at = text;
    for (unsigned i = 0; i < SHM_MAX_NODES; i++) {
        if (!(m->online >> i & 1))
            continue;
        unsigned long far = strtoul(at, &at, 10);
        if (!(m->with_memory >> i & 1) || (best >= 0 && far >= least))
            continue;
        best = (int)i;
        least = far;
    }
    return best;
}

/* Gives the CPUs of nodes without memory to those that have some. */
static void lend_cpus(struct machine *m) {
    for (unsigned i = 0; i < SHM_MAX_NODES; i++) {
        struct shm_node *node = &m->all[i];
        if (!(m->online >> i & 1) || m->with_memory >> i & 1 || CPU_COUNT(&node->set) == 0)
            continue;
        int home = nearest(m, i);
        if (home >= 0)
            CPU_OR(&m->all[home].set, &m->all[home].set, &node->set);
    }
}

uint32_t shm_nodes_read(const char *folder, const char *status, const cpu_set_t *mine,
                        struct shm_node nodes[SHM_MAX_NODES]) {
    struct machine m = {.folder = folder};
    char path[PATH_BYTES], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%.1000s/online", folder);
    if (shm_text_read(path, text, sizeof text) != 0)
        return 0;
    read_list(text, take_nodes, &m.online);

    static const char key[] = "Mems_allowed_list:\t";
    const char *list = shm_text_read(status, text, sizeof text) == 0 ? strstr(text, key) : NULL;
    uint64_t allowed = list ? 0 : UINT64_MAX;
    if (list)
        read_list(list + sizeof key - 1, take_nodes, &allowed);

    for (unsigned i = 0; i < SHM_MAX_NODES; i++)
        if (m.online >> i & 1)
            read_node(&m, i, allowed, mine);
    lend_cpus(&m);
    uint32_t n = 0;
    for (unsigned i = 0; i < SHM_MAX_NODES; i++) {
        m.all[i].cpus = m.with_memory >> i & 1 ? (uint32_t)CPU_COUNT(&m.all[i].set) : 0;
        if (m.all[i].cpus)
            nodes[n++] = m.all[i];
    }
    return n;
}
