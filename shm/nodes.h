/*
 * shm/nodes.h: the machine's NUMA nodes, read from the kernel's files and from nothing else, so that a test can show
 * any machine. shm/host.h reads this machine's.
 */
#ifndef SHM_NODES_H
#define SHM_NODES_H

#include <sched.h>
#include <stdint.h>

#include "shm/layout.h"

/* A node whose memory this process may use, and the CPUs that are nearest to it. */
struct shm_node {
    int number;
    uint64_t free_bytes, total_bytes;   /* free: unused, or file cache that would make room */
    uint32_t cpus;          /* in set */
    cpu_set_t set;          /* its own and those of nodes without memory that lie nearest to it; only what is allowed */
};

/*
 * Nodes with memory and CPUs, in the order of their numbers, which may have holes. Offline nodes are not there; one
 * whose memory the cpuset does not allow counts as one without memory. CPUs of a node without memory go to the nearest
 * one with memory, as the kernel's own allocations from there do (the least number of several). Memory without CPUs
 * anywhere near, such as that of an expander, is left out: no worker would be at home there.
 *
 * folder: as /sys/devices/system/node; status: as /proc/self/status; mine: CPUs that may be used. Returns how many; 0
 * where the files do not say (a kernel without NUMA).
 */
uint32_t shm_nodes_read(const char *folder, const char *status, const cpu_set_t *mine,
                        struct shm_node nodes[SHM_MAX_NODES]);

/* CPUs as the kernel writes them, 0-3,8; "..." at the end where there is no room. */
enum { SHM_CPUS_TEXT = 64 };
void shm_nodes_cpus_text(const cpu_set_t *set, char text[SHM_CPUS_TEXT]);

#endif
