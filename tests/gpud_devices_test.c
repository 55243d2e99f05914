/* Several devices, and keys that do not all fit, against a back end that only counts: work is spread over idle devices,
 * slots of the own node come first and those of others are counted, a device that fails leaves its jobs to the others,
 * runs of one key are made but nobody is overtaken for ever, and two devices do not exchange the same two keys.
 * RUN_TSAN */
#include <errno.h>
#include <time.h>

#include "tests/gpud_world.h"

enum { SLOTS = 24, DEVICES_MAX = 8, MAX_BEGUN = 512 };

/* ---- the back end ---- */

struct krn_job {
    struct krn_dev_key *key;
    int number;         /* of its begin on the device */
    bool used;
};

struct krn_dev_key {
    struct krn_device *dev;     /* NULL: not there */
    struct krn_job jobs[4];
};

struct krn_device {
    int index, fail_at;                     /* -1: never */
    bool broken;                            /* does not open */
    _Atomic bool open;
    _Atomic int begun, loads;
    const uint8_t *w[MAX_BEGUN];            /* of each begin: which slot */
    struct krn_dev_key keys[CIRCUITS];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;                            /* no proof ends */
    uint64_t room;                          /* keys that fit */
    uint32_t load_ms;
    struct krn_proof good;
    struct krn_device devices[DEVICES_MAX];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct krn_device *fake_open(int index, unsigned threads, char err[KRN_ERR_TEXT]) {
    (void)threads;
    snprintf(err, KRN_ERR_TEXT, "the fake does not open");
    fake.devices[index].open = !fake.devices[index].broken;
    return fake.devices[index].open ? &fake.devices[index] : NULL;
}
/* By the last of the devices. */
static void fake_unregister_last(struct krn_device *dev, void *base, size_t bytes) {
    for (int i = 0; i < DEVICES_MAX; i++) CHECK(&fake.devices[i] == dev || !fake.devices[i].open);
    fake_unregister(dev, base, bytes);
}
static void fake_close(struct krn_device *dev) {
    dev->open = false;
}
static int fake_plan(struct krn_device *dev, const struct krn_key *const keys[], unsigned n, uint64_t budget,
                     char err[KRN_ERR_TEXT]) {
    (void)dev, (void)keys, (void)n, (void)budget, (void)err;
    return 0;
}
static uint64_t fake_key_bytes(struct krn_device *dev, const struct krn_key *key) {
    (void)dev, (void)key;
    return 1;
}
static int fake_key_load(struct krn_device *dev, const struct krn_key *key, const struct krn_source *source,
                         struct krn_dev_key **loaded, char err[KRN_ERR_TEXT]) {
    const struct timespec long_as = {.tv_nsec = (long)fake.load_ms * 1000000};
    (void)key, (void)source, (void)err;
    nanosleep(&long_as, NULL);         /* what a load takes is what the devices' patience goes by */
    *loaded = dev->keys[0].dev ? &dev->keys[1] : &dev->keys[0];
    CHECK(!(*loaded)->dev);
    (*loaded)->dev = dev;
    atomic_fetch_add(&dev->loads, 1);
    return 0;
}
static void fake_key_free(struct krn_dev_key *key) {
    for (int i = 0; i < 4; i++) CHECK(!key->jobs[i].used);
    key->dev = NULL;
}
static void fake_memory(struct krn_device *dev, struct krn_memory *m) {
    (void)dev;
    *m = (struct krn_memory){.key_room = fake.room};
}
static unsigned fake_depth(struct krn_device *dev) {
    (void)dev;
    return 2;
}
static int fake_begin(struct krn_dev_key *key, const struct krn_vectors *v, const uint8_t r[KRN_FR_BYTES],
                      const uint8_t s[KRN_FR_BYTES], struct krn_job **job, char err[KRN_ERR_TEXT]) {
    (void)r, (void)s, (void)err;
    struct krn_device *dev = key->dev;
    for (int i = 0; i < 4; i++) {
        if (key->jobs[i].used) continue;
        key->jobs[i] = (struct krn_job){.key = key, .number = atomic_load(&dev->begun), .used = true};
        dev->w[atomic_load(&dev->begun)] = v->w;
        *job = &key->jobs[i];
        atomic_fetch_add(&dev->begun, 1);
        return 0;
    }
    return -EBUSY;
}
static int fake_uploaded(struct krn_job *job) {
    (void)job;
    return 1;
}
static int fake_finish(struct krn_job *job, struct krn_proof *proof, struct krn_times *times, uint64_t *row,
                       char err[KRN_ERR_TEXT]) {
    (void)row;
    pthread_mutex_lock(&fake.lock);
    while (fake.closed) pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    *proof = fake.good;
    memset(times, 0, sizeof *times);
    job->used = false;
    if (job->number != job->key->dev->fail_at) return KRN_OK;
    job->key->dev->open = false;        /* nobody will close it */
    snprintf(err, KRN_ERR_TEXT, "the fake is lost");
    return -ENODEV;
}
static int fake_node(int index) {
    return index % 2;
}

static const struct krn_backend backend = {
    .name = "fake", .open = fake_open, .close = fake_close, .plan = fake_plan, .key_bytes = fake_key_bytes,
    .key_form = fake_key_form, .key_load = fake_key_load, .key_free = fake_key_free, .memory = fake_memory,
    .host_register = fake_register, .host_unregister = fake_unregister_last, .depth = fake_depth, .begin = fake_begin,
    .uploaded = fake_uploaded, .finish = fake_finish, .node = fake_node,
};

/* ---- the world around it ---- */

static struct gpud_device devices[DEVICES_MAX];
static int n_devices;

/* room: keys that fit on a device. Slots lie on nodes 0 and 1 by turns. */
static void make_world(int n, uint64_t room) {
    n_devices = n;
    open_world(&backend, (uint32_t)n, SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) region.slot_node[i] = i % 2;
    memset(fake.devices, 0, sizeof fake.devices);
    for (int i = 0; i < n; i++) fake.devices[i].fail_at = -1, fake.devices[i].index = i;
    fake.room = room;
    fake.closed = false;
    fake.load_ms = 0;
}

static int count(enum gpud_device_state state) {
    int n = 0;
    for (int i = 0; i < n_devices; i++) n += atomic_load(&work.shown[i].state) == (int)state;
    return n;
}

/* Polls what device threads set; the deadline only ends a test that fails. */
#define UNTIL(condition)                                                                            \
    do {                                                                                            \
        uint64_t end_ = shm_host_now_ns() + DEADLINE_S * 1000000000ull;                             \
        while (!(condition) && shm_host_now_ns() < end_) sched_yield();                             \
        CHECK(condition);                                                                           \
    } while (0)

static void start(void) {
    struct gpud_error err;
    for (int i = 0; i < n_devices; i++) CHECK(gpud_device_start(&devices[i], &work, i, 1, true, &err) == 0);
    UNTIL(count(GPUD_DEVICE_LOADING) == 0);
}

static void set_closed(bool closed) {
    pthread_mutex_lock(&fake.lock);
    fake.closed = closed;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

static void end_world(void) {
    set_closed(false);
    gpud_work_stop(&work);
    for (int i = 0; i < n_devices; i++) CHECK(gpud_device_join(&devices[i], DEADLINE_S * 1000));
    close_world();
}

static bool each_has_begun(int n) {
    for (int i = 0; i < n_devices; i++)
        if (atomic_load(&fake.devices[i].begun) != n) return false;
    return true;
}

static uint64_t far_slots(void) {
    uint64_t sum = 0;
    for (int i = 0; i < n_devices; i++) sum += atomic_load(&work.shown[i].far_slots);
    return sum;
}

static int loads(void) {
    int sum = 0;
    for (int i = 0; i < n_devices; i++) sum += atomic_load(&fake.devices[i].loads);
    return sum;
}

static uint32_t slot_of(const uint8_t *w) {
    uint32_t i = 0;
    while (i < SLOTS && shm_region_payload(&region, i) + circuits[0].place.w != w) i++;
    return i;
}

/* ---- devices ---- */

/* As many jobs as devices: each has begun one and cannot end it yet. */
static void begin_one_each(struct shm_job_ref jobs[]) {
    set_closed(true);
    start();
    for (int i = 0; i < n_devices; i++) jobs[i] = add_job(1);
    gpud_work_kick(&work);
    UNTIL(each_has_begun(1));
}

/* Each takes a job of its own node. */
static void test_spread(int n) {
    struct shm_job_ref jobs[DEVICES_MAX];
    make_world(n, CIRCUITS);
    begin_one_each(jobs);
    for (int i = 0; i < n; i++) CHECK(region.slot_node[slot_of(fake.devices[i].w[0])] == (uint32_t)(i % 2));
    CHECK(far_slots() == 0);
    set_closed(false);
    for (int i = 0; i < n; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    end_world();
}

/* Only where there is nothing near, and counted. */
static void test_far(void) {
    make_world(1, CIRCUITS);
    for (uint32_t i = 0; i < SLOTS; i++) region.slot_node[i] = i != 2;
    start();
    struct shm_job_ref jobs[] = {add_job(1), add_job(1), add_job(1), add_job(1)};
    for (int i = 0; i < 4; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    CHECK(slot_of(fake.devices[0].w[0]) == 2);
    CHECK(far_slots() == 3);
    end_world();
}

/* Some fail at their first proof: the others make it, and what comes after. */
static void test_some_fail(int n, int n_failing) {
    struct shm_job_ref jobs[DEVICES_MAX];
    uint32_t attempts = 0;
    make_world(n, CIRCUITS);
    for (int i = 1; i <= n_failing; i++) fake.devices[i].fail_at = 0;
    begin_one_each(jobs);
    set_closed(false);
    for (int i = 0; i < n; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    for (int i = 0; i < n; i++) attempts += atomic_load(&region.jobs[jobs[i].index].attempts);
    CHECK(attempts == (uint32_t)n_failing);
    for (int i = 0; i < n; i++)
        CHECK(atomic_load(&work.shown[i].state) ==
              (i >= 1 && i <= n_failing ? GPUD_DEVICE_LOST : GPUD_DEVICE_READY));
    CHECK(!gpud_work_failed(&work, NULL));
    for (int i = 0; i < 5; i++) CHECK(reaches(add_job(1), SHM_JOB_DONE));
    end_world();
}

/* The first does not even open: another page-locks the region, once, and gives it up when the others have ended. */
static void test_first_is_broken(void) {
    make_world(3, CIRCUITS);
    fake.devices[0].broken = true;
    start();
    CHECK(count(GPUD_DEVICE_LOST) == 1 && count(GPUD_DEVICE_READY) == 2 && !gpud_work_failed(&work, NULL));
    CHECK(registered == 1 && unregistered == 0);
    for (int i = 0; i < 5; i++) CHECK(reaches(add_job(1), SHM_JOB_DONE));
    end_world();
    CHECK(registered == 1 && unregistered == 1);
}

static void test_all_fail(int n) {
    struct gpud_error err;
    struct shm_job_ref jobs[DEVICES_MAX];
    make_world(n, CIRCUITS);
    for (int i = 0; i < n; i++) fake.devices[i].fail_at = 0;
    begin_one_each(jobs);
    set_closed(false);
    UNTIL(gpud_work_failed(&work, &err));
    CHECK(strstr(err.text, "the fake is lost") && count(GPUD_DEVICE_LOST) == n);
    for (int i = 0; i < n; i++) CHECK(reaches(jobs[i], SHM_JOB_SYNTHESIS));
    CHECK(slots_in(SHM_SLOT_READY) == (uint32_t)n);
    end_world();
}

/* ---- keys that do not all fit ---- */

/* The order in which one device, with room for one key, begins jobs that are all READY before it looks. */
static void check_order(const uint32_t *circuit, const uint32_t *priority, const int *order, int n, int want_loads) {
    struct shm_job_ref jobs[SLOTS];
    struct shm_slot_ref slots[SLOTS];
    make_world(1, 1);
    start();
    for (int i = 0; i < n; i++) {
        jobs[i] = add_job_of(circuit[i], priority[i]);
        CHECK(shm_slot_holds(&region, shm_job_id(&region, jobs[i]), &slots[i]));
        region.slot_node[slots[i].index] = 0;
    }
    for (int i = 0; i < n; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    for (int i = 0; i < n; i++)
        CHECK(fake.devices[0].w[i] == shm_region_payload(&region, slots[order[i]].index) + circuits[0].place.w);
    CHECK(loads() == want_loads);
    end_world();
}

static void test_runs(void) {
    const uint32_t by_turns[6] = {0, 1, 0, 1, 0, 1}, same[6] = {1, 1, 1, 1, 1, 1};
    check_order(by_turns, same, (const int[]){0, 2, 4, 1, 3, 5}, 6, 2);
    const uint32_t urgent[6] = {1, 1, 1, 1, 0, 1};      /* a higher priority waits for no run */
    check_order((const uint32_t[]){0, 0, 0, 0, 1, 0}, urgent, (const int[]){4, 0, 1, 2, 3, 5}, 6, 3);
}

/* One job of the other key, and then more of the key that is there than the window lets by. */
static void test_window(void) {
    uint32_t circuit[SLOTS] = {1}, priority[SLOTS];
    int order[SLOTS];
    for (int i = 0; i < SLOTS; i++) priority[i] = 1;
    for (int i = 1; i < GPUD_WINDOW; i++) order[i - 1] = i;
    order[GPUD_WINDOW - 1] = 0;
    for (int i = GPUD_WINDOW; i < SLOTS; i++) order[i] = i;
    check_order(circuit, priority, order, SLOTS, 3);
}

/* Two keys, two devices, room for one each: after the first exchange each keeps its own. */
static void test_two_keys(void) {
    enum { JOBS = 200 };
    struct shm_job_ref jobs[JOBS];
    make_world(2, 1);
    fake.load_ms = 300;             /* so patient are they, also on a busy machine */
    start();
    CHECK(loads() == 2);
    fake.load_ms = 0;
    for (int i = 0; i < JOBS; i++) {
        UNTIL(slots_in(SHM_SLOT_FREE) > 0);
        jobs[i] = add_job_of((uint32_t)rand() % CIRCUITS, 1);
        gpud_work_kick(&work);
    }
    for (int i = 0; i < JOBS; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    printf("two keys on two devices, %d jobs: %d loads\n", JOBS, loads());
    CHECK(loads() <= JOBS / 10);
    end_world();
}

/* Both have been idle for long: a job still goes to the one that has its key. */
static void test_light_load(void) {
    make_world(2, 1);
    fake.load_ms = 300;
    start();
    CHECK(reaches(add_job_of(1, 1), SHM_JOB_DONE));
    uint64_t rested = shm_host_now_ns() + 350 * 1000000ull;
    UNTIL(shm_host_now_ns() > rested);
    for (uint32_t i = 0; i < 20; i++) CHECK(reaches(add_job_of(i % 2, 1), SHM_JOB_DONE));
    CHECK(loads() <= 6);        /* 3 where nobody is held up for longer than that */
    end_world();
}

/* All jobs are of the key that the other device has: this one waits for as long as a load takes, then helps. */
static void test_patience(void) {
    struct shm_job_ref jobs[4];
    make_world(2, 1);
    fake.load_ms = 20;
    start();
    CHECK(reaches(add_job_of(1, 1), SHM_JOB_DONE));     /* one of them has key 1 now */
    int has = atomic_load(&work.shown[0].loaded) == 2 ? 0 : 1;
    CHECK(atomic_load(&work.shown[has].loaded) == 2 && atomic_load(&work.shown[!has].loaded) == 1);
    set_closed(true);
    for (int i = 0; i < 4; i++) jobs[i] = add_job_of(1, 1);
    gpud_work_kick(&work);
    UNTIL(atomic_load(&work.shown[!has].loaded) == 2);
    set_closed(false);
    for (int i = 0; i < 4; i++) CHECK(reaches(jobs[i], SHM_JOB_DONE));
    CHECK(atomic_load(&fake.devices[!has].begun) > 0);
    end_world();
}

int main(void) {
    unsigned seed = (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    load_case(&fake.good);
    test_spread(2);
    test_spread(8);
    test_far();
    test_some_fail(2, 1);
    test_some_fail(8, 2);
    test_first_is_broken();
    test_all_fail(2);
    test_all_fail(8);
    test_runs();
    test_window();
    test_two_keys();
    test_light_load();
    test_patience();
    unload_case();
    return failures != 0;
}
