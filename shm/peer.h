/*
 * shm/peer.h: who takes part. A peer is known by an entry of the peer table and by an OFD write lock on byte
 * SHM_LOCK_PEER0 + index of the region file, which the kernel drops when the process dies, whatever its pid does.
 */
#ifndef SHM_PEER_H
#define SHM_PEER_H

#include "shm/region.h"

/* Joins as a worker: takes a free entry and its lock. Returns the index, -EAGAIN where the table is full, or -errno. */
int shm_peer_join(struct shm_region *r, uint32_t node, uint32_t kind);
/* Leaves in good order; the entry becomes FREE. */
void shm_peer_leave(struct shm_region *r, uint32_t peer);

/* Daemon: state and pid of an entry. */
enum shm_peer_state shm_peer_look(struct shm_region *r, uint32_t peer, int *pid);
/* Daemon: 1 the peer's lock is held, 0 it is not (it is dead), or -errno. */
int shm_peer_lives(struct shm_region *r, uint32_t peer);
/* Daemon: a pidfd for a live entry (opened first, lock tested after), -ESRCH where it is dead. */
int shm_peer_pidfd(struct shm_region *r, uint32_t peer);
/* Daemon: after slots and jobs were reaped, the entry becomes FREE. */
void shm_peer_reaped(struct shm_region *r, uint32_t peer);

/* Descriptors over a Unix socket beside data: n <= 4. Bytes sent / received or -errno; *n_fds set to how many came. */
long shm_fd_send(int sock, const void *data, size_t len, const int *fds, int n);
long shm_fd_recv(int sock, void *data, size_t len, int *fds, int *n_fds);

#endif
