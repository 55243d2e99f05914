/*
 * shm/peer.h: who takes part. A peer is known by an entry of the peer table and by an OFD write lock on byte
 * SHM_LOCK_PEER0 + index of the region file, which the kernel drops when the process dies, whatever its pid does.
 */
#ifndef SHM_PEER_H
#define SHM_PEER_H

#include "shm/region.h"

/* Joins as a worker: takes a free entry and its lock. Returns the index, -EAGAIN where the table is full, or -errno. */
int shm_peer_join(struct shm_region *r, uint32_t node, uint32_t kind);
/* Leaves in good order, holding neither slot nor job; the entry becomes FREE. */
void shm_peer_leave(struct shm_region *r, uint32_t peer);

/* Daemon: state and pid of an entry. */
enum shm_peer_state shm_peer_look(struct shm_region *r, uint32_t peer, int *pid);
/* Daemon: 1 the peer's lock is held, 0 it is not (it is dead), or -errno. */
int shm_peer_lives(struct shm_region *r, uint32_t peer);
/* Daemon: a pidfd for a live entry (opened first, lock tested after), -ESRCH where it is dead. -EREMOTE: it lives in
 * another PID namespace, where its pid means nothing to us: ask shm_peer_lives now and then instead. The daemon does
 * that for all entries that are not FREE on a slow timer anyway: a death that a pidfd missed is then noticed. */
int shm_peer_pidfd(struct shm_region *r, uint32_t peer);
/* Daemon: after slots and jobs were reaped, the entry becomes FREE. */
void shm_peer_reaped(struct shm_region *r, uint32_t peer);

enum { SHM_FDS_MAX = 4 };

/* Descriptors over a Unix socket beside data of at least one byte: n <= SHM_FDS_MAX. Bytes sent / received (0: the
 * other end is closed) or -errno; fds has room for SHM_FDS_MAX, *n_fds says how many came, close-on-exec and the
 * caller's. -EMSGSIZE: more came than there was room for; nothing is kept. */
long shm_fd_send(int sock, const void *data, size_t len, const int *fds, int n);
long shm_fd_recv(int sock, void *data, size_t len, int *fds, int *n_fds);

#endif
