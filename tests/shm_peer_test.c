/*
 * Who takes part: entries and their locks through death, leaving and pid games; descriptors over a socket.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "tests/shm_world.h"

static struct shm_region r;

/* ---- joining ---- */

/* A child that joins, says which entry it got, and stays until it is killed or told to leave. */
struct child {
    pid_t pid;
    int peer, to_it, from_it;
};

static struct child start_child(void) {
    struct child c;
    int in[2], out[2];
    if (!check(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "pipe"))
        exit(1);
    c.pid = fork();
    if (c.pid == 0) {
        struct shm_region w;
        char x;
        close(in[1]);
        close(out[0]);
        world_open(&w);
        int peer = shm_peer_join(&w, 7, 1);
        if (write(out[1], &peer, sizeof peer) != sizeof peer || read(in[0], &x, 1) != 1)
            _exit(1);
        shm_peer_leave(&w, (uint32_t)peer);
        _exit(0);
    }
    close(in[0]);
    close(out[1]);
    c.to_it = in[1];
    c.from_it = out[0];
    check(read(c.from_it, &c.peer, sizeof c.peer) == sizeof c.peer, "the child's entry");
    return c;
}

static void end_child(struct child *c, bool by_kill) {
    if (by_kill)
        kill(c->pid, SIGKILL);
    else
        check(write(c->to_it, "x", 1) == 1, "tell the child");
    waitpid(c->pid, NULL, 0);
    close(c->to_it);
    close(c->from_it);
}

static void check_full(void) {
    int peers[3];
    for (int i = 0; i < 3; i++)
        peers[i] = -1;
    struct shm_region w[3];
    for (int i = 0; i < 3; i++) {
        world_open(&w[i]);
        peers[i] = shm_peer_join(&w[i], 0, 0);
    }
    check(peers[0] == 0 && peers[1] == 1 && peers[2] == -EAGAIN, "joined as %d, %d, %d of 2", peers[0], peers[1],
          peers[2]);
    shm_peer_leave(&w[1], 1);
    check(shm_peer_join(&w[2], 0, 0) == 1, "an entry that was left");
    shm_peer_leave(&w[0], 0);
    shm_peer_leave(&w[2], 1);
    for (int i = 0; i < 3; i++)
        shm_region_close(&w[i]);
}

static void check_life_and_death(void) {
    int pid;
    struct child c = start_child();
    uint32_t p = (uint32_t)c.peer;
    check(shm_peer_look(&r, p, &pid) == SHM_PEER_LIVE && pid == c.pid, "a living peer");
    check(r.peers[p].node == 7 && r.peers[p].kind == 1, "what it says of itself");
    check(shm_peer_lives(&r, p) == 1, "its lock");
    int fd = shm_peer_pidfd(&r, p);
    check(fd >= 0, "its pidfd: %d", fd);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    check(poll(&poll_fd, 1, 0) == 0, "a pidfd of the living");
    kill(c.pid, SIGSTOP);
    check(shm_peer_lives(&r, p) == 1, "a stopped process lives");
    end_child(&c, true);
    check(poll(&poll_fd, 1, 1000) == 1, "a pidfd of the dead");
    close(fd);
    check(shm_peer_lives(&r, p) == 0 && shm_peer_pidfd(&r, p) == -ESRCH, "the dead");
    check(shm_peer_look(&r, p, NULL) == SHM_PEER_LIVE, "an entry stays until it is reaped");
    struct child next = start_child();
    check(next.peer == 1 - c.peer, "a dead entry was given away before it was reaped");
    end_child(&next, false);
    check(shm_peer_look(&r, (uint32_t)next.peer, NULL) == SHM_PEER_FREE, "who leaves frees its entry");
    uint64_t epoch = r.peers[p].epoch;
    shm_peer_reaped(&r, p);
    check(shm_peer_look(&r, p, NULL) == SHM_PEER_FREE && r.peers[p].epoch == epoch + 1, "reaped");
    check(shm_peer_pidfd(&r, p) == -ESRCH, "a pidfd of nobody");
}

/* The word's pid is another process's by now (or never was in this namespace): the lock decides. */
static void check_wrong_pid(void) {
    struct child c = start_child();
    uint32_t p = (uint32_t)c.peer;
    uint64_t word = shm_load_acq(&r.peers[p].word);
    shm_store_rel(&r.peers[p].word, (uint64_t)0x3fffffff << 32 | SHM_PEER_LIVE);
    check(shm_peer_pidfd(&r, p) == -EREMOTE, "a living peer whose pid is not to be seen: %d", shm_peer_pidfd(&r, p));
    shm_store_rel(&r.peers[p].word, (uint64_t)(uint32_t)getpid() << 32 | SHM_PEER_LIVE);
    check(shm_peer_pidfd(&r, p) == -EREMOTE, "a living peer that has our own pid: %d", shm_peer_pidfd(&r, p));
    const uint32_t none[] = {0, UINT32_MAX};
    for (int i = 0; i < 2; i++) {
        shm_store_rel(&r.peers[p].word, (uint64_t)none[i] << 32 | SHM_PEER_LIVE);
        int rc = shm_peer_pidfd(&r, p);
        check(rc < 0 && rc != -ESRCH, "a living peer with pid %d: %d", (int)none[i], rc);
    }
    end_child(&c, true);
    check(shm_peer_pidfd(&r, p) == -ESRCH, "the same when it is dead");
    shm_store_rel(&r.peers[p].word, (uint64_t)(uint32_t)getpid() << 32 | SHM_PEER_LIVE);
    check(shm_peer_pidfd(&r, p) == -ESRCH, "a dead peer whose pid lives again: %d", shm_peer_pidfd(&r, p));
    shm_store_rel(&r.peers[p].word, word);
    shm_peer_reaped(&r, p);
}

/* ---- descriptors ---- */

static int open_fds(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void check_fds(void) {
    int s[2], got[SHM_FDS_MAX], n, p[2];
    char text[16];
    int before = open_fds();
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) == 0 && pipe(p) == 0, "socketpair");
    const int five[] = {0, 0, 0, 0, 0}, bad[] = {-1};
    check(shm_fd_send(s[0], "x", 1, five, 5) == -EINVAL, "five descriptors");
    check(shm_fd_send(s[0], "", 0, NULL, 0) == -EINVAL, "no data");
    check(shm_fd_send(s[0], "x", 1, bad, 1) == -EBADF, "a descriptor that is none");
    check(shm_fd_send(s[0], "plain", 5, NULL, 0) == 5, "without descriptors");
    check(shm_fd_recv(s[1], text, sizeof text, got, &n) == 5 && n == 0 && memcmp(text, "plain", 5) == 0, "plain data");
    check(shm_fd_send(s[0], "longer than there is room", 25, p, 2) == 25, "send");
    int held = open_fds();
    check(shm_fd_recv(s[1], text, sizeof text, got, &n) == -EMSGSIZE && n == 0, "a message that was cut");
    check(open_fds() == held, "a refused message left descriptors");
    const int four[] = {p[0], p[1], p[1], p[1]};
    check(shm_fd_send(s[0], "four", 4, four, 4) == 4, "send four");
    check(shm_fd_recv(s[1], text, sizeof text, got, &n) == 4 && n == 4, "four descriptors");
    check(write(got[1], "z", 1) == 1 && read(p[0], text, 1) == 1 && text[0] == 'z', "they are the same pipe");
    for (int i = 0; i < n; i++) {
        check(fcntl(got[i], F_GETFD) == FD_CLOEXEC, "close-on-exec");
        close(got[i]);
    }
    close(s[0]);
    check(shm_fd_recv(s[1], text, sizeof text, got, &n) == 0 && n == 0, "the other end is closed");
    check(shm_fd_send(s[1], "x", 1, NULL, 0) == -EPIPE, "send to nobody");
    close(s[1]);
    close(p[0]);
    close(p[1]);
    check(open_fds() == before, "descriptors leaked");
}

int main(void) {
    world_create(&r, "peer", (struct world_size){1, 1, 2, false});
    check_full();
    check_life_and_death();
    check_wrong_pid();
    check_fds();
    world_remove();
    shm_region_close(&r);
    return finish("peers: locks, pidfds, descriptors");
}
