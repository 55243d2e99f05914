#include "shm/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/atomic.h"

enum { PAGE = 4096 };

static struct {
    _Atomic uintptr_t from, to;     /* the guarded mapping; to 0: none */
    atomic_bool hit;
    struct sigaction before;
} guard;

/* Only system calls: this runs wherever the touch was. */
static void on_bus(int sig, siginfo_t *info, void *context) {
    (void)context;
    int code = errno;
    uintptr_t at = (uintptr_t)info->si_addr, from = shm_load_acq(&guard.from), to = shm_load_acq(&guard.to);
    bool ours = info->si_code > 0 && at >= from && at < to;     /* above 0: the kernel's, not a process's */
    uintptr_t page = at / PAGE * PAGE;
    if (ours && mmap((void *)page, to - page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
                     -1, 0) != MAP_FAILED)
        shm_store_rel(&guard.hit, true);
    else
        sigaction(sig, &guard.before, NULL);    /* the touch is repeated, and is whatever it was before */
    errno = code;
}

int shm_guard_install(const struct shm_region *r) {
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    shm_store_rel(&guard.hit, false);
    shm_store_rel(&guard.from, (uintptr_t)r->base);
    shm_store_rel(&guard.to, (uintptr_t)r->base + r->bytes);
    return sigaction(SIGBUS, &action, &guard.before) == 0 ? 0 : -errno;
}

void shm_guard_remove(void) {
    if (!shm_load_acq(&guard.to))
        return;
    shm_store_rel(&guard.to, 0);
    sigaction(SIGBUS, &guard.before, NULL);
}

bool shm_guard_is_cut(const struct shm_region *r) {
    struct stat st;
    return shm_load_acq(&guard.hit) || fstat(r->fd, &st) != 0 || (uint64_t)st.st_size < r->bytes;
}
