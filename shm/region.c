#include "shm/region.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm/atomic.h"
#include "shm/host.h"
#include "shm/lock.h"
#include "shm/mix.h"
#include "shm/slot.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    FILL_THREADS = 8,           /* per node, while populating */
    FILL_STEP = 64 << 20,       /* bytes per madvise call */
    WHERE_BATCH = 512,          /* pages per move_pages call */
    LOCK_POLL_MS = 5,
    EXIT_WAIT_MS = 2000,        /* for the former daemon's process, after its lock */
};

#define GIB(bytes) ((double)(bytes) / (1u << 30))

/* ---- geometry ---- */

static uint64_t round_up(uint64_t n, uint64_t to) {
    return (n + to - 1) / to * to;
}

/* What all offsets follow from. */
struct counts {
    uint32_t n_slots, n_peers, n_jobs, n_circuits;
    uint64_t result_bytes;
};

struct plan {
    uint64_t slots_at, peers_at, jobs_at, circuits_at, results_at, payload_at;
};

static struct plan plan_of(const struct counts *c) {
    struct plan p;
    p.slots_at = sizeof(struct shm_super);
    p.peers_at = p.slots_at + c->n_slots * sizeof(struct shm_slot_line);
    p.jobs_at = p.peers_at + c->n_peers * sizeof(struct shm_peer);
    p.circuits_at = p.jobs_at + c->n_jobs * sizeof(struct shm_job);
    p.results_at = p.circuits_at + c->n_circuits * sizeof(struct shm_circuit);
    p.payload_at = round_up(p.results_at + c->n_jobs * c->result_bytes, SHM_PAGE);
    return p;
}

static uint32_t spec_nodes(const struct shm_spec *spec) {
    return spec->nodes && spec->n_nodes ? spec->n_nodes : 1;
}

/* Whether pages are bound: with one node there is nothing to choose, and no right (a container's seccomp) is needed. */
static bool spec_binds(const struct shm_spec *spec) {
    return spec_nodes(spec) > 1;
}

static struct counts spec_counts(const struct shm_spec *spec) {
    struct counts c = {.n_peers = spec->n_peers, .n_jobs = spec->n_jobs, .n_circuits = spec->n_circuits};
    c.result_bytes = round_up(spec->result_bytes, SHM_LINE);
    for (uint32_t k = 0; k < spec->n_classes; k++)
        c.n_slots += spec->classes[k].per_node * spec_nodes(spec);
    return c;
}

static uint64_t node_bytes(const struct shm_spec *spec) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < spec->n_classes; k++)
        bytes += round_up(spec->classes[k].bytes, SHM_PAGE) * spec->classes[k].per_node;
    return bytes;
}

uint64_t shm_region_size(const struct shm_spec *spec) {
    struct counts c = spec_counts(spec);
    return plan_of(&c).payload_at + node_bytes(spec) * spec_nodes(spec);
}

static bool counts_valid(const struct counts *c) {
    return c->n_slots >= 1 && c->n_slots <= SHM_MAX_SLOTS && c->n_peers >= 1 && c->n_peers <= SHM_MAX_PEERS &&
           c->n_jobs >= 1 && c->n_jobs <= SHM_MAX_JOBS && c->n_circuits <= SHM_MAX_CIRCUITS &&
           c->result_bytes <= SHM_PAGE && c->result_bytes % SHM_LINE == 0;
}

/* A hash of everything that two builds must agree on to share a region. */
static uint64_t layout_hash(void) {
    const uint64_t words[] = {
        SHM_LAYOUT_VERSION, SHM_LINE, SHM_PAGE, SHM_LOCK_DAEMON, SHM_LOCK_PEER0, SHM_SLOT_STATES, SHM_JOB_STATES,
        sizeof(struct shm_super), sizeof(struct shm_slot_line), sizeof(struct shm_slot_desc), sizeof(struct shm_peer),
        sizeof(struct shm_job), sizeof(struct shm_job_times), sizeof(struct shm_circuit), sizeof(struct shm_bell),
        offsetof(struct shm_super, bytes), offsetof(struct shm_super, instance), offsetof(struct shm_super, n_slots),
        offsetof(struct shm_super, slots_at), offsetof(struct shm_super, result_bytes),
        offsetof(struct shm_super, next_ticket), offsetof(struct shm_super, stopping), offsetof(struct shm_super, bell),
        offsetof(struct shm_slot_line, seal), offsetof(struct shm_slot_line, offset),
        offsetof(struct shm_slot_desc, circuit), offsetof(struct shm_slot_desc, flags),
        offsetof(struct shm_slot_desc, committed_ns),
        offsetof(struct shm_peer, epoch), offsetof(struct shm_peer, job), offsetof(struct shm_peer, bell),
        offsetof(struct shm_job, circuit), offsetof(struct shm_job, times), offsetof(struct shm_job, witness),
        offsetof(struct shm_job, error), offsetof(struct shm_circuit, digest), offsetof(struct shm_circuit, name),
        offsetof(struct shm_circuit, zkey), offsetof(struct shm_circuit, r1cs),
    };
    return shm_mix_words(SHM_MAGIC, words, sizeof words / sizeof *words);
}

/* ---- names ---- */

enum { NAME_BYTES = SHM_INSTANCE_MAX + 16 };

static int object_name(char name[NAME_BYTES], const char *instance, struct shm_error *err) {
    size_t n = instance ? strlen(instance) : 0;
    bool good = n > 0 && n < SHM_INSTANCE_MAX && instance[0] != '.';
    for (size_t i = 0; good && i < n; i++)
        good = isalnum((unsigned char)instance[i]) || strchr("._-", instance[i]);
    if (!good)
        return shm_error_set(err, EINVAL, "instance name '%s': 1 to %d letters, digits, '-', '_' or '.' are allowed",
                             instance ? instance : "", SHM_INSTANCE_MAX - 1);
    snprintf(name, NAME_BYTES, "/pinwheel-%s", instance);
    return 0;
}

static int open_object(const char *name, int flags, struct stat *st, struct shm_error *err) {
    int fd = shm_open(name, O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd < 0) {
        if (errno == ENOENT)
            return shm_error_set(err, ENOENT, "/dev/shm%s: there is no such region; start the service: pinwheel up",
                                 name);
        return shm_error_set(err, errno, "/dev/shm%s: %s", name, strerror(errno));
    }
    if (fstat(fd, st) == 0 && st->st_uid == geteuid() && (st->st_mode & 077) == 0)
        return fd;
    shm_error_set(err, EACCES, "/dev/shm%s: owner %u, mode %o; wanted owner %u, mode 600. Remove it or choose another "
                  "instance name", name, st->st_uid, st->st_mode & 0777, geteuid());
    close(fd);
    return -1;
}

/* Opens the object and takes the daemon's lock, waiting up to wait_ms for it. The file that is locked is the one that
 * bears the name: its last holder may have removed it meanwhile, then the next one is tried. */
static int open_locked(const char *name, int flags, int wait_ms, struct stat *st, struct shm_error *err) {
    for (int waited = 0;; waited += LOCK_POLL_MS) {
        int fd = open_object(name, flags, st, err);
        if (fd < 0)
            return -1;
        int rc = shm_lock_try(fd, SHM_LOCK_DAEMON);
        if (rc == 0 && fstat(fd, st) == 0 && st->st_nlink > 0)
            return fd;
        close(fd);
        if (rc == 0)
            continue;
        if (rc != -EAGAIN)
            return shm_error_set(err, -rc, "/dev/shm%s: lock: %s", name, strerror(-rc));
        if (waited >= wait_ms)
            return shm_error_set(err, EBUSY, "/dev/shm%s: another daemon holds it (waited %d ms); stop it first: "
                                 "pinwheel down", name, wait_ms);
        nanosleep(&(struct timespec){.tv_nsec = LOCK_POLL_MS * 1000000L}, NULL);
    }
}

/* ---- checking a superblock before anything is mapped ---- */

/* A copy of the file's superblock; all zero where the file is shorter. */
static void read_super(int fd, struct shm_super *s) {
    memset(s, 0, sizeof *s);
    if (pread(fd, s, sizeof *s, 0) != (ssize_t)sizeof *s)
        memset(s, 0, sizeof *s);
}

static bool geometry_valid(const struct shm_super *s) {
    const struct counts c = {s->n_slots, s->n_peers, s->n_jobs, s->n_circuits, s->result_bytes};
    if (!counts_valid(&c))
        return false;
    const struct plan p = plan_of(&c);
    return s->slots_at == p.slots_at && s->peers_at == p.peers_at && s->jobs_at == p.jobs_at &&
           s->circuits_at == p.circuits_at && s->results_at == p.results_at && s->payload_at == p.payload_at &&
           s->bytes > p.payload_at && s->bytes % SHM_PAGE == 0;
}

/* No magic: someone creates it, or, where nobody holds the daemon's lock, its creator was killed. */
static bool is_unfinished(int fd) {
    struct shm_super s;
    read_super(fd, &s);
    return shm_load_lax(&s.magic) == 0;
}

static int unfinished(const char *name, struct shm_error *err) {
    return shm_error_set(err, ENOENT, "/dev/shm%s: its creator died before it was whole; the next pinwheel up makes a "
                         "new one", name);
}

#define REMEDY "stop what runs on it and remove it: pinwheel down"

static int check_super(const char *name, const struct shm_super *s, const struct stat *st, struct shm_error *err) {
    uint8_t boot[16];
    if (shm_load_lax(&s->magic) != SHM_MAGIC)
        return shm_error_set(err, ESTALE, "/dev/shm%s: magic %016llx, not %016llx: not a region of pinwheel, or of a "
                             "build with another layout; " REMEDY, name, (unsigned long long)shm_load_lax(&s->magic),
                             (unsigned long long)SHM_MAGIC);
    if (s->layout_hash != layout_hash())
        return shm_error_set(err, ESTALE,
                             "/dev/shm%s: layout %016llx, this build has %016llx: another version made it; "
                             REMEDY " (with that version), then pinwheel up", name, (unsigned long long)s->layout_hash,
                             (unsigned long long)layout_hash());
    int rc = shm_host_boot_id(boot);
    if (rc != 0)
        return shm_error_set(err, -rc, "/proc/sys/kernel/random/boot_id: %s", strerror(-rc));
    if (memcmp(boot, s->boot_id, sizeof boot) != 0)
        return shm_error_set(err, ESTALE, "/dev/shm%s: made before the last boot of this machine; " REMEDY, name);
    if (s->bytes != (uint64_t)st->st_size || !geometry_valid(s))
        return shm_error_set(err, ESTALE, "/dev/shm%s: %llu bytes in the file, %llu in its superblock: it was cut or "
                             "damaged; " REMEDY, name, (unsigned long long)st->st_size, (unsigned long long)s->bytes);
    return 0;
}

/* ---- mapping ---- */

/* The whole object at an address aligned to 2 MiB, as a collapse needs it; NULL with errno. */
static uint8_t *map_aligned(int fd, uint64_t bytes) {
    uint8_t *room = mmap(NULL, bytes + SHM_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    uint8_t *at = (uint8_t *)round_up((uintptr_t)room, SHM_PAGE);
    uint8_t *end = room + bytes + SHM_PAGE;
    if (at > room)
        munmap(room, (size_t)(at - room));
    if (end > at + bytes)
        munmap(at + bytes, (size_t)(end - (at + bytes)));
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        int code = errno;
        munmap(at, bytes);
        errno = code;
        return NULL;
    }
    return at;
}

static int alloc_private(struct shm_region *r) {
    r->slot_offset = calloc(r->n_slots, 2 * sizeof *r->slot_offset + 2 * sizeof *r->slot_node);
    if (!r->slot_offset)
        return -1;
    r->slot_bytes = r->slot_offset + r->n_slots;
    r->slot_node = (uint32_t *)(r->slot_bytes + r->n_slots);
    r->slot_class = r->slot_node + r->n_slots;
    return 0;
}

/* Maps fd with a geometry that was checked; r->fd is the caller's until success. */
static int map_region(struct shm_region *r, int fd, const struct shm_super *s, const char *name,
                      struct shm_error *err) {
    *r = (struct shm_region){.fd = -1, .bytes = s->bytes, .n_slots = s->n_slots, .n_peers = s->n_peers,
                             .n_jobs = s->n_jobs, .n_circuits = s->n_circuits, .result_bytes = s->result_bytes,
                             .payload_at = s->payload_at, .wipe = s->wipe != 0};
    r->base = map_aligned(fd, r->bytes);
    if (!r->base)
        return shm_error_set(err, errno, "/dev/shm%s: mapping %.2f GiB: %s", name, GIB(r->bytes), strerror(errno));
    if (alloc_private(r) != 0) {
        shm_region_close(r);
        return shm_error_set(err, ENOMEM, "/dev/shm%s: no memory for %u slots' geometry", name, s->n_slots);
    }
    r->super = (struct shm_super *)r->base;
    r->slots = (struct shm_slot_line *)(r->base + s->slots_at);
    r->peers = (struct shm_peer *)(r->base + s->peers_at);
    r->jobs = (struct shm_job *)(r->base + s->jobs_at);
    r->circuits = (struct shm_circuit *)(r->base + s->circuits_at);
    r->results = r->base + s->results_at;
    /* Witnesses are secrets (no core dumps), and a forked child would hold the pages of a process that died. Both
     * advices cannot fail on a mapping that is there. */
    madvise(r->base + r->payload_at, r->bytes - r->payload_at, MADV_DONTFORK);
    madvise(r->base + r->payload_at, r->bytes - r->payload_at, MADV_DONTDUMP);
    return 0;
}

/* The slots' geometry into private memory; payloads lie one after the other and fill the region. */
static int copy_geometry(struct shm_region *r, const char *name, struct shm_error *err) {
    uint64_t at = r->payload_at;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        struct shm_slot_line line;
        memcpy(&line.offset, &r->slots[i].offset, sizeof line - offsetof(struct shm_slot_line, offset));
        if (line.offset != at || line.bytes == 0 || line.bytes % SHM_PAGE != 0 || line.bytes > r->bytes - at)
            return shm_error_set(err, ESTALE, "/dev/shm%s: slot %u at %llu of %llu bytes does not lie in the region; "
                                 REMEDY, name, i, (unsigned long long)line.offset, (unsigned long long)line.bytes);
        r->slot_offset[i] = line.offset;
        r->slot_bytes[i] = line.bytes;
        r->slot_node[i] = line.node;
        r->slot_class[i] = line.klass;
        at += line.bytes;
    }
    if (at != r->bytes)
        return shm_error_set(err, ESTALE, "/dev/shm%s: slots end at %llu of %llu bytes; " REMEDY, name,
                             (unsigned long long)at, (unsigned long long)r->bytes);
    return 0;
}

/* Checks and maps an existing object; takes over fd on success only. */
static int attach(struct shm_region *r, int fd, const struct stat *st, const char *name, struct shm_error *err) {
    struct shm_super s;
    read_super(fd, &s);
    if (check_super(name, &s, st, err) != 0 || map_region(r, fd, &s, name, err) != 0)
        return -1;
    if (copy_geometry(r, name, err) != 0) {
        shm_region_close(r);
        return -1;
    }
    r->fd = fd;
    return 0;
}

void shm_region_close(struct shm_region *r) {
    if (r->is_daemon)
        shm_store_lax(&r->super->daemon_pid, 0);        /* nobody need wait for this process's end */
    if (r->base)
        munmap(r->base, r->bytes);
    if (r->fd >= 0)
        close(r->fd);
    free(r->slot_offset);
    *r = (struct shm_region){.fd = -1};
}

/* ---- creation: placing pages ---- */

struct fill {
    pthread_t thread;
    uint8_t *from, *to;
    int node;               /* -1: anywhere */
    bool collapse;
    uint64_t huge_bytes;
    int code;               /* errno of the populate, or 0 */
};

static void fill_range(struct fill *f) {
    for (uint8_t *at = f->from; at < f->to && !f->code; at += FILL_STEP) {
        size_t n = f->to - at < FILL_STEP ? (size_t)(f->to - at) : FILL_STEP;
        /* Fails with EFAULT where a touch would be SIGBUS: no room on the file system. */
        if (madvise(at, n, MADV_POPULATE_WRITE) != 0)
            f->code = errno;
    }
    for (uint8_t *at = f->from; f->collapse && at < f->to && !f->code; at += SHM_PAGE)
        if (madvise(at, SHM_PAGE, MADV_COLLAPSE) == 0)
            f->huge_bytes += SHM_PAGE;
}

static void *fill_thread(void *arg) {
    struct fill *f = arg;
    if (f->node >= 0)
        shm_host_pin(f->node);
    fill_range(f);
    return NULL;
}

static uint32_t threads_on(int node) {
    uint32_t cpus = shm_host_cpus(node);
    return cpus < 1 ? 1 : cpus > FILL_THREADS ? FILL_THREADS : cpus;
}

/* Cuts [from, to) into one part per thread, at 2 MiB borders. Returns how many parts. */
static uint32_t cut(struct fill *parts, uint8_t *from, uint8_t *to, int node, bool collapse) {
    uint64_t pages = (uint64_t)(to - from) / SHM_PAGE;
    uint32_t n = threads_on(node);
    n = pages < n ? (uint32_t)pages : n;
    for (uint32_t i = 0; i < n; i++)
        parts[i] = (struct fill){.from = from + pages * i / n * SHM_PAGE, .to = from + pages * (i + 1) / n * SHM_PAGE,
                                 .node = node, .collapse = collapse};
    return n;
}

/* Populates all nodes' payloads at once, each by threads of its own node. */
static int fill_payload(struct shm_region *r, const struct shm_spec *spec, const char *name, struct shm_error *err) {
    uint32_t n_nodes = spec_nodes(spec), n = 0;
    uint64_t each = node_bytes(spec);
    struct fill *parts = calloc((size_t)n_nodes * FILL_THREADS, sizeof *parts);
    if (!parts)
        return shm_error_set(err, ENOMEM, "/dev/shm%s: no memory to populate it", name);
    for (uint32_t k = 0; k < n_nodes; k++) {
        uint8_t *from = r->base + r->payload_at + k * each;
        n += cut(parts + n, from, from + each, spec_binds(spec) ? spec->nodes[k] : -1, !spec->small_pages);
    }
    for (uint32_t i = 0; i < n; i++)
        if (pthread_create(&parts[i].thread, NULL, fill_thread, &parts[i]) != 0) {
            parts[i].thread = pthread_self();   /* no thread to be had: here, one after the other */
            fill_range(&parts[i]);
        }
    int code = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!pthread_equal(parts[i].thread, pthread_self()))
            pthread_join(parts[i].thread, NULL);
        r->huge_bytes += parts[i].huge_bytes;
        code = code ? code : parts[i].code;
    }
    free(parts);
    if (code == EINVAL)
        return shm_error_set(err, ENOSYS, "/dev/shm%s: this kernel has no MADV_POPULATE_WRITE (Linux 5.14)", name);
    if (code)
        return shm_error_set(err, code == EFAULT ? ENOSPC : code, "/dev/shm%s: populating %.2f GiB: %s: memory or "
                             "/dev/shm ran out meanwhile; use fewer slots", name, GIB(r->bytes - r->payload_at),
                             strerror(code));
    return 0;
}

static int bind_slots(struct shm_region *r, const char *name, struct shm_error *err) {
    for (uint32_t i = 0; i < r->n_slots; i++) {
        int rc = shm_host_bind(shm_region_payload(r, i), r->slot_bytes[i], (int)r->slot_node[i]);
        if (rc != 0)
            return shm_error_set(err, -rc, "/dev/shm%s: binding slot %u to node %u: %s%s", name, i, r->slot_node[i],
                                 strerror(-rc), rc == -EPERM ? "; in a container allow it: --cap-add SYS_NICE" : "");
    }
    return 0;
}

/* Looks where a slot's pages really lie, one in each 2 MiB: a policy set too late or ignored is silent otherwise. */
static int verify_slot(struct shm_region *r, uint32_t slot, const char *name, struct shm_error *err) {
    void *pages[WHERE_BATCH];
    int nodes[WHERE_BATCH];
    for (uint64_t at = 0; at < r->slot_bytes[slot];) {
        uint32_t n = 0;
        for (; n < WHERE_BATCH && at < r->slot_bytes[slot]; at += SHM_PAGE)
            pages[n++] = shm_region_payload(r, slot) + at;
        int rc = shm_host_where(pages, nodes, n);
        if (rc != 0)
            return shm_error_set(err, -rc, "/dev/shm%s: asking where slot %u lies: %s", name, slot, strerror(-rc));
        for (uint32_t i = 0; i < n; i++)
            if (nodes[i] != (int)r->slot_node[slot])
                return shm_error_set(err, ENOSPC, "/dev/shm%s: slot %u has pages on node %d, not on its node %u; use "
                                     "fewer slots", name, slot, nodes[i], r->slot_node[slot]);
    }
    return 0;
}

static int verify_placement(struct shm_region *r, const char *name, struct shm_error *err) {
    for (uint32_t i = 0; i < r->n_slots; i++)
        if (verify_slot(r, i, name, err) != 0)
            return -1;
    return 0;
}

/* ---- creation: room ---- */

static int check_dev_shm(int fd, uint64_t bytes, const char *name, struct shm_error *err) {
    struct statvfs fs;
    if (fstatvfs(fd, &fs) != 0)
        return shm_error_set(err, errno, "/dev/shm%s: %s", name, strerror(errno));
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (fs.f_blocks == 0 || bytes <= room)              /* f_blocks 0: no limit */
        return 0;
    uint64_t size = (uint64_t)fs.f_blocks * fs.f_frsize + (bytes - room);
    unsigned long long gib = (unsigned long long)(round_up(size, 1u << 30) >> 30);
    return shm_error_set(err, ENOSPC,
                         "/dev/shm%s: the region needs %.2f GiB and /dev/shm has %.2f GiB left; enlarge it: "
                         "mount -o remount,size=%lluG /dev/shm (Docker: --shm-size=%llug; Kubernetes: an emptyDir of "
                         "medium Memory), or use fewer slots", name, GIB(bytes), GIB(room), gib, gib);
}

/* A bound allocation on a node that is too small does not fail: the kernel kills the process. So ask before. */
static int check_nodes(const struct shm_spec *spec, const char *name, struct shm_error *err) {
    struct shm_node nodes[SHM_MAX_NODES];
    uint32_t n = spec_binds(spec) ? shm_host_nodes(nodes) : 0;
    uint64_t need = node_bytes(spec);
    for (uint32_t k = 0; spec_binds(spec) && k < spec->n_nodes; k++) {
        uint32_t i = 0;
        while (i < n && nodes[i].number != spec->nodes[k])
            i++;
        if (i == n)
            return shm_error_set(err, EINVAL,
                                 "/dev/shm%s: node %d cannot be used: it is not there, has no memory or no "
                                 "CPU near it, or the cpuset does not allow it", name, spec->nodes[k]);
        if (nodes[i].free_bytes < need)
            return shm_error_set(err, ENOSPC,
                                 "/dev/shm%s: slots need %.2f GiB on node %d, %.2f GiB are free there; use "
                                 "fewer slots", name, GIB(need), spec->nodes[k], GIB(nodes[i].free_bytes));
    }
    return 0;
}

static int check_system(uint64_t bytes, const char *name, struct shm_error *err) {
    const char *why;
    uint64_t left = shm_host_budget(&why);
    if (bytes <= left)
        return 0;
    return shm_error_set(err, ENOSPC,
                         "/dev/shm%s: the region needs %.2f GiB, %.2f GiB are left (%s); use fewer slots or "
                         "raise that limit", name, GIB(bytes), GIB(left), why);
}

/* ---- creation: tables ---- */

static void write_super(struct shm_super *s, const struct shm_spec *spec) {
    const struct counts c = spec_counts(spec);
    const struct plan p = plan_of(&c);
    s->layout_hash = layout_hash();
    s->bytes = shm_region_size(spec);
    snprintf(s->instance, sizeof s->instance, "%s", spec->instance);
    s->n_slots = c.n_slots;
    s->n_peers = c.n_peers;
    s->n_jobs = c.n_jobs;
    s->n_circuits = c.n_circuits;
    s->n_nodes = spec_nodes(spec);
    s->wipe = spec->wipe;
    s->slots_at = p.slots_at;
    s->peers_at = p.peers_at;
    s->jobs_at = p.jobs_at;
    s->circuits_at = p.circuits_at;
    s->results_at = p.results_at;
    s->payload_at = p.payload_at;
    s->result_bytes = c.result_bytes;
}

static void write_slots(struct shm_region *r, const struct shm_spec *spec) {
    uint64_t at = r->payload_at;
    uint32_t slot = 0;
    for (uint32_t k = 0; k < spec_nodes(spec); k++)
        for (uint32_t class = 0; class < spec->n_classes; class++)
            for (uint32_t i = 0; i < spec->classes[class].per_node; i++, slot++) {
                struct shm_slot_line *s = &r->slots[slot];
                s->offset = at;
                s->bytes = round_up(spec->classes[class].bytes, SHM_PAGE);
                s->node = spec_binds(spec) ? (uint32_t)spec->nodes[k] : SHM_ANY_NODE;
                s->klass = class;
                shm_store_lax(&s->ctl, shm_ctl_make(SHM_SLOT_FREE, SHM_NOBODY, 0));
                at += s->bytes;
            }
}

/* Jobs' generations count from the clock, in milliseconds, so that no id of an earlier region is one of this one's: no
 * record is used as often as once in a millisecond. Ids stay below 2^53, which every reader of JSON keeps whole, with
 * up to 4,096 jobs. */
static void write_jobs(struct shm_region *r) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t gen = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
    for (uint32_t i = 0; i < r->n_jobs; i++)
        shm_store_lax(&r->jobs[i].ctl, shm_ctl_make(SHM_JOB_FREE, SHM_NOBODY, gen));
}

/* All that the file needs before its magic. */
static int build(struct shm_region *r, int fd, const struct shm_spec *spec, const char *name, struct shm_error *err) {
    struct shm_super s = {0};
    write_super(&s, spec);
    int rc = shm_host_boot_id(s.boot_id);
    if (rc != 0)
        return shm_error_set(err, -rc, "/proc/sys/kernel/random/boot_id: %s", strerror(-rc));
    if (check_dev_shm(fd, s.bytes, name, err) != 0 || check_system(s.bytes, name, err) != 0 ||
        check_nodes(spec, name, err) != 0)
        return -1;
    if (ftruncate(fd, (off_t)s.bytes) != 0)
        return shm_error_set(err, errno, "/dev/shm%s: sizing it to %.2f GiB: %s", name, GIB(s.bytes), strerror(errno));
    if (map_region(r, fd, &s, name, err) != 0)
        return -1;
    if (madvise(r->base, r->payload_at, MADV_POPULATE_WRITE) != 0)
        return shm_error_set(err, ENOSPC, "/dev/shm%s: populating its tables: %s", name, strerror(errno));
    memcpy(r->super, &s, sizeof s);                     /* its magic is still 0 */
    write_slots(r, spec);
    write_jobs(r);
    if (copy_geometry(r, name, err) != 0)
        return -1;
    if (!spec->small_pages)                             /* heard only by a tmpfs mounted with huge=advise */
        madvise(r->base + r->payload_at, r->bytes - r->payload_at, MADV_HUGEPAGE);
    if (spec_binds(spec) && bind_slots(r, name, err) != 0)
        return -1;
    if (fill_payload(r, spec, name, err) != 0)
        return -1;
    return spec_binds(spec) ? verify_placement(r, name, err) : 0;
}

static void enter(struct shm_region *r) {
    r->is_daemon = true;
    shm_add_lax(&r->super->starts, 1);
    shm_store_lax(&r->super->stopping, 0);
    shm_store_lax(&r->super->daemon_pid, (uint32_t)getpid());
    shm_store_lax(&r->super->bell.asleep, 0);
}

/* An empty object of our own, locked; what a killed creator left is removed, so that no page and no NUMA policy of it
 * stays. */
static int open_new(const char *name, struct shm_error *err) {
    for (;;) {
        struct stat st;
        int fd = open_locked(name, O_CREAT, 0, &st, err);
        if (fd < 0 || st.st_size == 0)
            return fd;
        if (!is_unfinished(fd)) {
            close(fd);
            return shm_error_set(err, EEXIST, "/dev/shm%s: a region is there already; remove it first: pinwheel down",
                                 name);
        }
        shm_unlink(name);
        close(fd);
    }
}

int shm_region_create(struct shm_region *r, const struct shm_spec *spec, struct shm_error *err) {
    char name[NAME_BYTES];
    const struct counts c = spec_counts(spec);
    *r = (struct shm_region){.fd = -1};
    if (object_name(name, spec->instance, err) != 0)
        return -1;
    if (!counts_valid(&c) || spec_nodes(spec) > SHM_MAX_NODES)
        return shm_error_set(err, EINVAL,
                             "/dev/shm%s: %u slots, %u peers, %u jobs, %u circuits: at most %d, %d, %d, %d",
                             name, c.n_slots, c.n_peers, c.n_jobs, c.n_circuits, SHM_MAX_SLOTS, SHM_MAX_PEERS,
                             SHM_MAX_JOBS, SHM_MAX_CIRCUITS);
    int fd = open_new(name, err);
    if (fd < 0) {
        if (err && err->code == EBUSY)
            err->code = EEXIST;
        return -1;
    }
    if (build(r, fd, spec, name, err) != 0) {
        shm_unlink(name);
        shm_region_close(r);
        close(fd);
        return -1;
    }
    r->fd = fd;
    enter(r);
    shm_store_rel(&r->super->magic, SHM_MAGIC);         /* pairs with the check of everyone else */
    return 0;
}

/* ---- using one that is there ---- */

/* The former daemon's lock can drop before the rest of it is gone; its device's memory, say. So wait for its end too,
 * but not for ever: the pid may be another process's by now. */
static void await_exit(uint32_t pid) {
    if (pid == 0 || pid == (uint32_t)getpid())
        return;
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0)
        return;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    poll(&p, 1, EXIT_WAIT_MS);
    close(fd);
}

int shm_region_adopt(struct shm_region *r, const char *instance, int wait_ms, struct shm_error *err) {
    char name[NAME_BYTES];
    struct stat st;
    *r = (struct shm_region){.fd = -1};
    if (object_name(name, instance, err) != 0)
        return -1;
    int fd = open_locked(name, 0, wait_ms, &st, err);
    if (fd < 0)
        return -1;
    if (is_unfinished(fd)) {
        close(fd);
        return unfinished(name, err);
    }
    if (attach(r, fd, &st, name, err) != 0) {
        close(fd);
        return -1;
    }
    await_exit(shm_load_lax(&r->super->daemon_pid));
    enter(r);
    return 0;
}

int shm_region_open(struct shm_region *r, const char *instance, struct shm_error *err) {
    char name[NAME_BYTES];
    struct stat st;
    *r = (struct shm_region){.fd = -1};
    if (object_name(name, instance, err) != 0)
        return -1;
    int fd = open_object(name, 0, &st, err);
    if (fd < 0)
        return -1;
    int rc;
    if (!is_unfinished(fd))
        rc = fstat(fd, &st) == 0 ? attach(r, fd, &st, name, err) : shm_error_set(err, errno, "%s", name);
    else if (shm_lock_held(fd, SHM_LOCK_DAEMON) == 1)
        rc = shm_error_set(err, EAGAIN, "/dev/shm%s: it is still being created; try again", name);
    else
        rc = unfinished(name, err);
    if (rc != 0)
        close(fd);
    return rc;
}

int shm_region_unlink(const char *instance, struct shm_error *err) {
    char name[NAME_BYTES];
    if (object_name(name, instance, err) != 0)
        return -1;
    if (shm_unlink(name) != 0 && errno != ENOENT)
        return shm_error_set(err, errno, "/dev/shm%s: removing it: %s", name, strerror(errno));
    return 0;
}

int shm_region_daemon_lives(const char *instance) {
    char name[NAME_BYTES];
    struct stat st;
    if (object_name(name, instance, NULL) != 0)
        return -1;
    int fd = open_object(name, 0, &st, NULL);
    if (fd < 0)
        return -1;
    int held = shm_lock_held(fd, SHM_LOCK_DAEMON);
    close(fd);
    return held;
}
