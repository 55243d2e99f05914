/*
 * The region's life: refusals first (other layout, boot, size, owner, a creator that was killed, no room), then
 * creation, adoption, and what close and unlink leave.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "shm/lock.h"
#include "tests/shm_world.h"

static const struct world_size small = {2, 2, 2, false};

static char object_path[128];

static void set_path(void) {
    snprintf(object_path, sizeof object_path, "/dev/shm/pinwheel-%s", world_name);
}

static bool exists(void) {
    return access(object_path, F_OK) == 0;
}

/* The refusal must carry this code, and text that names the object and every given word. */
static void refused(int rc, const struct shm_error *err, int code, const char *what, const char *word1,
                    const char *word2) {
    check(rc == -1 && err->code == code, "%s: %d, code %d (%s), wanted %d", what, rc, err->code, strerror(err->code),
          code);
    if (rc == -1)
        check(strstr(err->text, word1) && strstr(err->text, word2), "%s: '%s' does not say '%s' and '%s'", what,
              err->text, word1, word2);
}

static struct shm_spec spec_of(const struct shm_class *class) {
    return (struct shm_spec){.instance = world_name, .n_classes = 1, .classes = class, .n_jobs = 2, .n_peers = 2,
                             .n_circuits = 1, .result_bytes = 64, .small_pages = true};
}

static int create(struct shm_region *r, uint32_t slots, struct shm_error *err) {
    const struct shm_class class = {SHM_PAGE, slots};
    const struct shm_spec spec = spec_of(&class);
    return shm_region_create(r, &spec, err);
}

/* ---- bad names and numbers ---- */

static void check_bad_specs(void) {
    static const char *const names[] = {"", "a/b", "../x", ".hidden", "white space",
                                        "a-name-that-is-longer-than-the-limit-of-31"};
    const struct shm_class class = {SHM_PAGE, 1}, none = {SHM_PAGE, 0};
    struct shm_region r;
    struct shm_error err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct shm_spec spec = spec_of(&class);
        spec.instance = names[i];
        refused(shm_region_create(&r, &spec, &err), &err, EINVAL, "a bad name", "instance name", names[i]);
        refused(shm_region_open(&r, names[i], &err), &err, EINVAL, "a bad name", "instance name", names[i]);
    }
    struct shm_spec spec = spec_of(&none);
    refused(shm_region_create(&r, &spec, &err), &err, EINVAL, "no slots", "0 slots", world_name);
    spec = spec_of(&class);
    spec.n_peers = SHM_MAX_PEERS + 1;
    refused(shm_region_create(&r, &spec, &err), &err, EINVAL, "too many peers", "4096 peers", world_name);
    check(!exists(), "a refused spec left an object");
}

static void check_none(void) {
    struct shm_region r;
    struct shm_error err;
    refused(shm_region_open(&r, world_name, &err), &err, ENOENT, "open without a region", world_name, "pinwheel up");
    refused(shm_region_adopt(&r, world_name, 0, &err), &err, ENOENT, "adopt without a region", world_name,
            "pinwheel up");
    check(shm_region_daemon_lives(world_name) == -1, "a daemon lives without a region");
    check(shm_region_unlink(world_name, &err) == 0, "unlink without a region");
}

/* ---- a region that does not fit this build, boot or file ---- */

/* Writes one word into the object from outside. */
static void patch(off_t at, const void *bytes, size_t n) {
    int fd = open(object_path, O_RDWR);
    check(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n, "patching the object");
    close(fd);
}

static void check_stale(const char *what, const char *word) {
    struct shm_region r;
    struct shm_error err;
    refused(shm_region_open(&r, world_name, &err), &err, ESTALE, what, word, "pinwheel down");
    refused(shm_region_adopt(&r, world_name, 0, &err), &err, ESTALE, what, word, "pinwheel down");
    check(exists(), "%s: a refusal removed the object", what);
    check(shm_region_daemon_lives(world_name) == 0, "%s: the lock of a refused adoption stayed", what);
}

static void check_patched(const char *what, const char *word, size_t at, uint64_t value, size_t bytes) {
    struct shm_region r;
    world_create(&r, "region", small);
    shm_region_close(&r);
    patch((off_t)at, &value, bytes);
    check_stale(what, word);
    shm_region_unlink(world_name, NULL);
}

static void check_other_layouts(void) {
    check_patched("another magic", "magic", offsetof(struct shm_super, magic), 0x1122334455667788ull, 8);
    check_patched("another layout", "layout", offsetof(struct shm_super, layout_hash), 7, 8);
    check_patched("another boot", "boot", offsetof(struct shm_super, boot_id), 0, 8);
    check_patched("a size that lies", "bytes", offsetof(struct shm_super, bytes), 1u << 30, 8);
    check_patched("slots beyond the end", "bytes", offsetof(struct shm_super, n_slots), 3, 4);
    check_patched("a slot outside the region", "slot 1", sizeof(struct shm_super) + sizeof(struct shm_slot_line) +
                  offsetof(struct shm_slot_line, offset), 1ull << 40, 8);
    check_patched("a slot without bytes", "slot 0", sizeof(struct shm_super) + offsetof(struct shm_slot_line, bytes),
                  0, 8);
    check_patched("no jobs", "bytes", offsetof(struct shm_super, n_jobs), 0, 4);
}

static void check_truncated(void) {
    struct shm_region r;
    const off_t sizes[] = {511, 4096, SHM_PAGE + 5};
    for (int i = 0; i < 3; i++) {
        world_create(&r, "region", small);
        shm_region_close(&r);
        check(truncate(object_path, sizes[i]) == 0, "truncate");
        if (sizes[i] >= 512)
            check_stale("a file that was cut", "bytes in the file");
        struct shm_error err;
        if (sizes[i] < 512)
            refused(shm_region_open(&r, world_name, &err), &err, ENOENT, "a file without superblock", "creator",
                    world_name);
        shm_region_unlink(world_name, NULL);
    }
}

static void check_other_owner(void) {
    struct shm_region r;
    struct shm_error err;
    world_create(&r, "region", small);
    shm_region_close(&r);
    chmod(object_path, 0644);
    refused(shm_region_open(&r, world_name, &err), &err, EACCES, "readable by all", world_name, "mode 644");
    chmod(object_path, 0600);
    if (geteuid() == 0) {
        check(chown(object_path, 65534, 0) == 0, "chown");
        refused(shm_region_adopt(&r, world_name, 0, &err), &err, EACCES, "another's", world_name, "owner 65534");
    }
    shm_region_unlink(world_name, NULL);
}

/* ---- two who want it ---- */

static void check_held(void) {
    struct shm_region r, other;
    struct shm_error err;
    world_create(&r, "region", small);
    check(shm_region_daemon_lives(world_name) == 1, "the creator does not count as living");
    refused(create(&other, 2, &err), &err, EEXIST, "create over a living daemon", world_name, "pinwheel down");
    refused(shm_region_adopt(&other, world_name, 20, &err), &err, EBUSY, "adopt from a living daemon", world_name,
            "20 ms");
    shm_region_close(&r);
    refused(create(&other, 2, &err), &err, EEXIST, "create over a region that waits", world_name, "pinwheel down");
    check(shm_region_daemon_lives(world_name) == 0, "a closed daemon lives");
    shm_region_unlink(world_name, NULL);
}

/* A creator that was killed at its work: size, but no magic. */
static void check_half_created(void) {
    struct shm_region r;
    struct shm_error err;
    int fd = open(object_path, O_RDWR | O_CREAT | O_EXCL, 0600);
    struct stat old, new;
    check(fd >= 0 && ftruncate(fd, 4 * SHM_PAGE) == 0 && fstat(fd, &old) == 0, "half an object");
    check(shm_lock_try(fd, SHM_LOCK_DAEMON) == 0, "lock");
    refused(shm_region_open(&r, world_name, &err), &err, EAGAIN, "open while it is created", world_name, "still");
    refused(create(&r, 2, &err), &err, EEXIST, "create while it is created", world_name, "another daemon");
    close(fd);
    refused(shm_region_open(&r, world_name, &err), &err, ENOENT, "open after the creator died", world_name, "died");
    refused(shm_region_adopt(&r, world_name, 0, &err), &err, ENOENT, "adopt after the creator died", world_name,
            "died");
    check(create(&r, 2, &err) == 0, "create after the creator died: %s", err.text);
    check(stat(object_path, &new) == 0 && new.st_ino != old.st_ino, "the old object's pages were kept");
    shm_region_close(&r);
    shm_region_unlink(world_name, NULL);
}

/* ---- no room ---- */

static void in_small_dev_shm(void) {
    struct shm_region r;
    struct shm_error err;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=8m") != 0)
        _exit(77);
    refused(create(&r, 16, &err), &err, ENOSPC, "16 slots in 8 MiB", "remount,size=1G", "--shm-size");
    check(!exists(), "a creation that failed left its object");
    check(create(&r, 2, &err) == 0, "2 slots in 8 MiB: %s", err.text);
    _exit(failures != 0);
}

static void in_file_limit(void) {
    struct shm_region r;
    struct shm_error err;
    const struct rlimit limit = {SHM_PAGE, SHM_PAGE};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    refused(create(&r, 2, &err), &err, EFBIG, "over the file size limit", "sizing", world_name);
    check(!exists(), "a creation that failed left its object");
    _exit(failures != 0);
}

static void in_vm_limit(void) {
    struct shm_region r;
    struct shm_error err;
    const struct rlimit limit = {200 << 20, 200 << 20};
    setrlimit(RLIMIT_AS, &limit);
    refused(create(&r, 128, &err), &err, ENOMEM, "over the address space limit", "mapping", world_name);
    check(!exists(), "a creation that failed left its object");
    _exit(failures != 0);
}

static void in_child(void (*body)(void), const char *what) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        body();
    int status;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        printf("%s: not permitted here, left out\n", what);
    else
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", what, status);
}

/* ---- a good life ---- */

static void check_geometry(struct shm_region *r, uint32_t n_slots, bool bound) {
    uint64_t at = r->payload_at;
    check(r->n_slots == n_slots && (uintptr_t)r->base % SHM_PAGE == 0, "slots %u, base %p", r->n_slots,
          (void *)r->base);
    for (uint32_t i = 0; i < r->n_slots; i++) {
        check(r->slot_offset[i] == at && at % SHM_PAGE == 0, "slot %u at %llu", i,
              (unsigned long long)r->slot_offset[i]);
        check(bound ? r->slot_node[i] == 0 : r->slot_node[i] == SHM_ANY_NODE, "slot %u on node %u", i, r->slot_node[i]);
        at += r->slot_bytes[i];
    }
    check(at == r->bytes, "slots end at %llu of %llu", (unsigned long long)at, (unsigned long long)r->bytes);
}

/* The line of /proc/self/smaps that tells the flags of the mapping that holds addr. */
static void mapping_flags(const void *addr, char flags[256]) {
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[256];
    bool here = false;
    flags[0] = 0;
    while (f && fgets(line, sizeof line, f)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = (unsigned long)addr >= from && (unsigned long)addr < to;
        if (here && strncmp(line, "VmFlags:", 8) == 0)
            memcpy(flags, line, sizeof line);
    }
    if (f)
        fclose(f);
}

static void check_life(void) {
    const struct shm_class classes[] = {{SHM_PAGE / 2, 2}, {3 * SHM_PAGE - 1, 1}};
    struct shm_spec spec = spec_of(classes);
    struct shm_region r, w;
    struct shm_error err;
    struct stat st;
    spec.n_classes = 2;
    check(shm_region_size(&spec) == SHM_PAGE * 6ull, "size %llu", (unsigned long long)shm_region_size(&spec));
    if (!check(shm_region_create(&r, &spec, &err) == 0, "create: %s", err.text))
        return;
    check(stat(object_path, &st) == 0 && (st.st_mode & 0777) == 0600, "mode %o", st.st_mode);
    check_geometry(&r, 3, false);
    check(r.slot_bytes[0] == SHM_PAGE && r.slot_bytes[2] == 3 * SHM_PAGE && r.slot_class[2] == 1, "classes");
    check(st.st_blocks * 512 >= (long)(r.bytes - r.payload_at), "only %ld KiB are there", (long)st.st_blocks / 2);
    check(shm_load_lax(&r.super->starts) == 1, "starts");

    world_open(&w);
    check_geometry(&w, 3, false);
    shm_region_payload(&w, 1)[77] = 42;
    check(shm_region_payload(&r, 1)[77] == 42, "two mappings of one object");
    char flags[256];
    mapping_flags(shm_region_payload(&w, 0), flags);
    check(strstr(flags, " dc") && strstr(flags, " dd"), 
          "payload mapping: %s, wanted dc (not forked) and dd (not dumped)", flags);
    mapping_flags(w.super, flags);
    check(!strstr(flags, " dc"), "the tables are forked: %s", flags);

    shm_region_close(&r);
    check(w.super->bytes == w.bytes, "a worker's mapping outlives the daemon");
    world_adopt(&r);
    check(shm_load_lax(&r.super->starts) == 2, "starts after adoption");
    check(shm_load_lax(&r.super->daemon_pid) == (uint32_t)getpid(), "daemon's pid");
    check(shm_region_payload(&r, 1)[77] == 42, "the payload outlives the daemon");
    shm_region_close(&w);
    check(shm_region_unlink(world_name, &err) == 0 && !exists(), "unlink");
    shm_region_close(&r);
    shm_region_close(&r);       /* harmless */
}

/* Two entries for node 0 take the way of a machine with two nodes: bind, populate there, verify. */
static void check_bound(void) {
    const struct shm_class class = {SHM_PAGE, 1};
    struct shm_spec spec = spec_of(&class);
    struct shm_region r;
    struct shm_error err;
    spec.nodes = (const int[]){0, 0};
    spec.n_nodes = 2;
    if (shm_region_create(&r, &spec, &err) != 0) {
        check(err.code == EPERM || err.code == ENOSYS, "bound to node 0: %s", err.text);
        printf("bound to node 0: not permitted here, left out\n");
        return;
    }
    check_geometry(&r, 2, true);
    shm_region_close(&r);
    shm_region_unlink(world_name, NULL);
    spec.nodes = (const int[]){0, 63};
    refused(shm_region_create(&r, &spec, &err), &err, EINVAL, "a node that is not there", "node 63", world_name);
    check(!exists(), "a creation that failed left its object");
}

static void check_huge(void) {
    const struct shm_class class = {4 * SHM_PAGE, 2};
    struct shm_spec spec = spec_of(&class);
    struct shm_region r;
    struct shm_error err;
    spec.small_pages = false;
    if (!check(shm_region_create(&r, &spec, &err) == 0, "create: %s", err.text))
        return;
    check(r.huge_bytes <= r.bytes - r.payload_at && r.huge_bytes % SHM_PAGE == 0, "huge bytes");
    printf("%llu of %llu MiB in 2 MiB pages\n", (unsigned long long)r.huge_bytes >> 20,
           (unsigned long long)(r.bytes - r.payload_at) >> 20);
    shm_region_close(&r);
    shm_region_unlink(world_name, NULL);
}

/* The lock passes on when its holder is killed, and a waiting adopter gets it. */
static void check_adopt_waits(void) {
    struct shm_region r;
    struct shm_error err;
    int ready[2];
    world_create(&r, "region", small);
    shm_region_close(&r);
    check(pipe(ready) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        world_adopt(&r);
        _exit(write(ready[1], "x", 1) == 1 && pause());
    }
    char x;
    check(read(ready[0], &x, 1) == 1, "the other daemon");
    refused(shm_region_adopt(&r, world_name, 10, &err), &err, EBUSY, "adopt from another process", world_name, "10 ms");
    kill(pid, SIGKILL);
    check(shm_region_adopt(&r, world_name, 5000, &err) == 0, "adopt after the kill: %s", err.text);
    waitpid(pid, NULL, 0);
    shm_region_close(&r);
    shm_region_unlink(world_name, NULL);
    close(ready[0]);
    close(ready[1]);
}

int main(void) {
    world_instance("region");
    set_path();
    check_bad_specs();
    check_none();
    check_other_layouts();
    check_truncated();
    check_other_owner();
    check_held();
    check_half_created();
    in_child(in_small_dev_shm, "a small /dev/shm");
    in_child(in_file_limit, "a file size limit");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    in_child(in_vm_limit, "an address space limit");
#endif
    check_life();
    check_bound();
    check_huge();
    check_adopt_waits();
    check(!exists(), "something was left");
    return finish("region: refusals and life");
}
