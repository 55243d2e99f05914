/*
 * shm/host.h: what the machine offers: NUMA nodes (libnuma is used in shm/host.c only), memory budget, boot id.
 */
#ifndef SHM_HOST_H
#define SHM_HOST_H

#include "shm/region.h"

struct shm_node {
    int number;
    uint64_t free_bytes, total_bytes;
    uint32_t cpus;          /* that this process may use */
};

/* Nodes with memory and usable CPUs; a machine without NUMA has one. Returns the count (>= 1). */
uint32_t shm_host_nodes(struct shm_node nodes[SHM_MAX_NODES]);
/* Pins the calling thread and its future children to the node's CPUs. 0 or -errno. */
int shm_host_pin(int node);
/* Memory that may still be taken: the least of MemAvailable, the cgroup's limit less use, and /dev/shm's free space;
 * *why names the binding one ("system", "cgroup", "/dev/shm"). */
uint64_t shm_host_budget(const char **why);
int shm_host_boot_id(uint8_t id[16]);
uint64_t shm_host_now_ns(void);     /* CLOCK_MONOTONIC */

#endif
