/*
 * A region that is cut short under those who have it mapped: they go on with zeros, and know. Any other SIGBUS still
 * ends the process. NO_ASAN: sanitizers have a handler of their own.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "shm/guard.h"
#include "tests/shm_world.h"

static struct shm_region r;
static char object_path[64];

static void cut_to(off_t bytes) {
    check(truncate(object_path, bytes) == 0, "cutting it: %s", strerror(errno));
}

/* Runs body in a child with a mapping of its own, guarded: it ends in order, or by SIGBUS. */
static void expect(bool bus, void (*body)(void), const char *what) {
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        world_open(&r);
        check(shm_guard_install(&r) == 0, "install");
        body();
        fflush(stdout);
        _exit(failures != 0);
    }
    waitpid(pid, &status, 0);
    check(bus ? WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS : WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "%s: status %x", what, status);
}

static void touch_payload(void) {
    uint8_t *last = shm_region_payload(&r, r.n_slots - 1);
    shm_region_payload(&r, 0)[5] = 7;
    last[5] = 7;
    check(!shm_guard_is_cut(&r), "cut before it is");
    cut_to((off_t)(r.bytes - r.slot_bytes[r.n_slots - 1]));
    check(shm_guard_is_cut(&r), "a shorter file is noticed without a touch");
    check(last[5] == 0 && last[SHM_PAGE - 1] == 0, "zeros behind the end");
    last[5] = 9;
    check(last[5] == 9 && shm_region_payload(&r, 0)[5] == 7, "what is left is as it was");
    cut_to(0);
    struct shm_slot_ref ref = {0, 0};
    struct shm_slot_desc desc;
    struct shm_job_ref job;
    shm_slot_claim(&r, 0, 0, 1, &ref);          /* on a table of zeros: whatever it says, it comes back */
    shm_slot_take(&r, NULL, NULL, &ref, &desc);
    shm_job_peek(&r, NULL, NULL, &job, NULL);
    check(shm_region_payload(&r, 0)[5] == 0 && shm_guard_is_cut(&r), "all of it is gone");
    shm_region_close(&r);
    shm_guard_remove();
}

static void touch_another_file(void) {
    char path[] = "/tmp/pinwheel-guard-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    check(fd >= 0 && ftruncate(fd, 4096) == 0, "a file");
    volatile char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    at[0] = 1;
    check(ftruncate(fd, 0) == 0, "cut");
    at[0] = 1;
}

static void be_sent_one(void) {
    raise(SIGBUS);
    raise(SIGBUS);
}

static void touch_after_removal(void) {
    shm_guard_remove();
    cut_to(0);
    *(volatile uint8_t *)shm_region_payload(&r, 0) = 1;
}

int main(void) {
    struct shm_region made;
    world_create(&made, "guard", (struct world_size){3, 4, 2, false});
    snprintf(object_path, sizeof object_path, "/dev/shm/pinwheel-%s", world_name);
    expect(true, touch_another_file, "another file");
    expect(true, be_sent_one, "a signal from a process");
    expect(false, touch_payload, "a touch behind the end");
    world_remove();
    check(shm_guard_install(&made) == 0, "install");
    shm_region_close(&made);
    shm_guard_remove();
    world_create(&made, "guard", (struct world_size){3, 4, 2, false});
    expect(true, touch_after_removal, "a touch without guard");
    world_remove();
    return finish("a region that is cut ends nobody");
}
