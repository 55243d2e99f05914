/*
 * shm/host.h: what the machine offers: NUMA nodes (libnuma's wrappers of system calls are used in shm/host.c only),
 * memory budget, boot id.
 * What cannot be found out counts as absent: no NUMA, no limit.
 */
#ifndef SHM_HOST_H
#define SHM_HOST_H

#include "shm/nodes.h"
#include "shm/region.h"

/* This machine's nodes: see shm/nodes.h. A machine that does not say has one, number 0. Returns the count (>= 1). */
uint32_t shm_host_nodes(struct shm_node nodes[SHM_MAX_NODES]);
/* CPUs of a node, or with -1 all that this process may use. */
uint32_t shm_host_cpus(int node);
/* Pins the calling thread and its future children to the node's CPUs. 0, -ENODEV where there is no such node, or
 * -errno. */
int shm_host_pin(int node);
/* Memory that may still be taken: the least of MemAvailable, the cgroup's limit less use, and /dev/shm's free space;
 * *why names the binding one ("system", "cgroup", "/dev/shm"). */
uint64_t shm_host_budget(const char **why);
/* Where memory runs out the kernel shall kill this process before any other, and its children too: a worker's death
 * costs an attempt, the daemon's, which has the whole region in its account, all proofs in flight. Call it while
 * /proc/self can be written: before shm_secret_process. */
void shm_host_first_to_go(void);
int shm_host_boot_id(uint8_t id[16]);      /* of this boot of the kernel. 0 or -errno */
/* Binds pages not yet there to the node (MPOL_BIND); addr page-aligned. The policy belongs to the object, not to the
 * process. 0 or -errno (EPERM: a container's seccomp profile; EINVAL: no such node, or the cpuset does not allow
 * it). */
int shm_host_bind(void *addr, uint64_t bytes, int node);
/* The nodes on which n present pages lie; -errno for a page in nodes[]. 0 or -errno. */
int shm_host_where(void **pages, int *nodes, uint32_t n);
uint64_t shm_host_now_ns(void);     /* CLOCK_MONOTONIC */

#endif
