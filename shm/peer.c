#include "shm/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm/atomic.h"
#include "shm/lock.h"

static uint64_t word_make(enum shm_peer_state state, int pid) {
    return (uint64_t)(uint32_t)pid << 32 | state;
}

static off_t lock_byte(uint32_t peer) {
    return SHM_LOCK_PEER0 + (off_t)peer;
}

/* ---- the peer itself ---- */

/* Lock first, then the word: an entry that is not FREE and whose lock nobody holds is a dead peer, at every instant.
 * The word is looked at before the lock is tried, so that a joiner does not make a dead entry look alive. */
static int try_join(struct shm_region *r, uint32_t i) {
    struct shm_peer *p = &r->peers[i];
    uint64_t free_word = SHM_PEER_FREE;
    if (shm_load_acq(&p->word) != SHM_PEER_FREE)        /* pairs with shm_peer_reaped and shm_peer_leave */
        return -EAGAIN;
    int rc = shm_lock_try(r->fd, lock_byte(i));
    if (rc != 0)
        return rc;
    if (shm_cas(&p->word, &free_word, word_make(SHM_PEER_JOINING, (int)getpid())))
        return 0;
    shm_lock_drop(r->fd, lock_byte(i));
    return -EAGAIN;
}

int shm_peer_join(struct shm_region *r, uint32_t node, uint32_t kind) {
    for (uint32_t i = 0; i < r->n_peers; i++) {
        int rc = try_join(r, i);
        if (rc == -EAGAIN)
            continue;
        if (rc != 0)
            return rc;
        struct shm_peer *p = &r->peers[i];
        p->node = node;
        p->kind = kind;
        shm_store_lax(&p->jobs_done, 0);
        shm_store_lax(&p->slots_other_node, 0);
        shm_store_lax(&p->job, 0);
        shm_store_lax(&p->bell.asleep, 0);
        shm_store_rel(&p->word, word_make(SHM_PEER_LIVE, (int)getpid()));   /* pairs with shm_peer_look */
        return (int)i;
    }
    return -EAGAIN;
}

void shm_peer_leave(struct shm_region *r, uint32_t peer) {
    shm_store_rel(&r->peers[peer].word, SHM_PEER_FREE);         /* pairs with the next join */
    shm_lock_drop(r->fd, lock_byte(peer));
}

/* ---- the daemon's view ---- */

enum shm_peer_state shm_peer_look(struct shm_region *r, uint32_t peer, int *pid) {
    uint64_t word = shm_load_acq(&r->peers[peer].word);         /* pairs with the move to LIVE */
    if (pid)
        *pid = (int)(word >> 32);
    return (enum shm_peer_state)(uint32_t)word;
}

int shm_peer_lives(struct shm_region *r, uint32_t peer) {
    return shm_lock_held(r->fd, lock_byte(peer));
}

int shm_peer_pidfd(struct shm_region *r, uint32_t peer) {
    int pid;
    if (shm_peer_look(r, peer, &pid) == SHM_PEER_FREE)
        return -ESRCH;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    int code = fd >= 0 ? 0 : -errno;
    /* Alive at this later moment means that it was alive when the pid was looked up: it is the right process. */
    int lives = shm_peer_lives(r, peer);
    if (lives == 1 && fd >= 0 && pid != (int)getpid())
        return fd;
    if (fd >= 0)
        close(fd);
    if (lives == 1 && pid == (int)getpid())     /* a worker that says so is another one, or lies */
        return -EREMOTE;
    if (lives < 0)
        return lives;
    return lives == 0 ? -ESRCH : code == -ESRCH ? -EREMOTE : code;
}

void shm_peer_reaped(struct shm_region *r, uint32_t peer) {
    struct shm_peer *p = &r->peers[peer];
    uint64_t word = shm_load_acq(&p->word);
    shm_store_rel(&p->word, word_make(SHM_PEER_REAPING, (int)(word >> 32)));
    p->epoch++;
    shm_store_rel(&p->word, SHM_PEER_FREE);                     /* pairs with the next join */
}

/* ---- descriptors over a socket ---- */

union fd_message {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(SHM_FDS_MAX * sizeof(int))];
};

long shm_fd_send(int sock, const void *data, size_t len, const int *fds, int n) {
    if (n < 0 || n > SHM_FDS_MAX || len == 0)
        return -EINVAL;
    union fd_message m;
    memset(&m, 0, sizeof m);
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (n > 0) {
        msg.msg_control = m.bytes;
        msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
        memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

static int take_fds(struct msghdr *msg, int *fds) {
    int n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        int came = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int i = 0; i < came; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + (size_t)i * sizeof fd, sizeof fd);
            if (n < SHM_FDS_MAX)
                fds[n++] = fd;
            else
                close(fd);
        }
    }
    return n;
}

long shm_fd_recv(int sock, void *data, size_t len, int *fds, int *n_fds) {
    union fd_message m;
    struct iovec part = {.iov_base = data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = m.bytes, .msg_controllen = sizeof m.bytes};
    *n_fds = 0;
    ssize_t got;
    do {
        got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    *n_fds = take_fds(&msg, fds);
    if (!(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return got;
    while (*n_fds > 0)
        close(fds[--*n_fds]);
    return -EMSGSIZE;
}
