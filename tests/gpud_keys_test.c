/* The cache of keys on a device, against a back end that counts: what fits is loaded at the start and the rest when it
 * is needed, the key used longest ago goes first and never one with a proof on the device, what can never fit is
 * refused with the numbers, a load that fails leaves the others well, and six keys in turn, fifty times, leave memory
 * as it was. RUN_VALGRIND */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpud/keys.h"
#include "tests/check.h"

enum { KEYS = 6, FILE_BYTES = 100000, HEAD = 1000 };

#define MIB(n) ((uint64_t)(n) << 20)

/* ---- the back end: a key of n variables takes n MiB ---- */

struct krn_dev_key {
    uint64_t bytes;
    int loaded_as;
};

static struct {
    uint64_t room, used, least;     /* least: memory that is really free falls short of the room by this */
    int fail_with;                  /* the next load */
    bool touch_file;                /* loads ask the source */
    unsigned loads, frees, allocations;
} fake;

static int fake_plan(struct krn_device *dev, const struct krn_key *const keys[], unsigned n, uint64_t budget,
                     char err[KRN_ERR_TEXT]) {
    (void)dev, (void)keys, (void)err;
    CHECK(n == KEYS);
    fake.room = budget;
    return 0;
}
static uint64_t fake_key_bytes(struct krn_device *dev, const struct krn_key *key) {
    (void)dev;
    return MIB(key->n_vars);
}
static const char *fake_key_form(struct krn_device *dev, const struct krn_key *key) {
    (void)dev, (void)key;
    return "made up";
}
static int fake_key_load(struct krn_device *dev, const struct krn_key *key, const struct krn_source *source,
                         struct krn_dev_key **loaded, char err[KRN_ERR_TEXT]) {
    uint8_t piece[HEAD] = {0};      /* valgrind does not see what io_uring writes */
    snprintf(err, KRN_ERR_TEXT, "the fake cannot");
    CHECK(fake.used + MIB(key->n_vars) <= fake.room);       /* the cache has made room before it asks */
    if (fake.used + MIB(key->n_vars) > fake.room - fake.least) return -ENOMEM;
    int rc = fake.fail_with;
    fake.fail_with = 0;
    if (rc == 0 && fake.touch_file) {
        rc = source->fill(source->ctx, key->a, sizeof piece, piece);
        if (rc == 0) CHECK(memcmp(piece, key->a, sizeof piece) == 0);
    }
    if (rc) return rc;
    (void)dev;
    *loaded = malloc(sizeof **loaded);
    (*loaded)->bytes = MIB(key->n_vars);
    fake.used += MIB(key->n_vars);
    fake.loads++;
    fake.allocations++;
    return 0;
}
static void fake_key_free(struct krn_dev_key *key) {
    fake.used -= key->bytes;
    fake.frees++;
    free(key);
}
static void fake_memory(struct krn_device *dev, struct krn_memory *m) {
    (void)dev;
    *m = (struct krn_memory){.key_room = fake.room, .key_used = fake.used, .allocations = fake.allocations};
}

static const struct krn_backend backend = {
    .name = "fake", .plan = fake_plan, .key_bytes = fake_key_bytes, .key_form = fake_key_form,
    .key_load = fake_key_load, .key_free = fake_key_free, .memory = fake_memory,
};

/* ---- the world ---- */

static struct gpud_circuit circuits[GPUD_MAX_CIRCUITS];
static struct shm_region region = {.n_jobs = 1};
static struct gpud_work work;
static struct gpud_keys keys;
static char path[64];

static int open_keys(uint64_t budget, const uint32_t sizes[KEYS], struct gpud_error *err) {
    memset(&fake, 0, sizeof fake);
    for (int i = 0; i < KEYS; i++) circuits[i].zkey.key.n_vars = sizes[i];
    return gpud_keys_open(&keys, &work, (struct krn_device *)&fake, 0, budget, err);
}

/* Which keys are there, as a word of digits. */
static const char *loaded(void) {
    static char text[KEYS + 1];
    size_t n = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        if (gpud_keys_has(&keys, i)) text[n++] = (char)('0' + i);
    text[n] = 0;
    return text;
}

static bool is(const char *want) {
    if (strcmp(loaded(), want) == 0) return true;
    printf("keys '%s', wanted '%s'\n", loaded(), want);
    return false;
}

static int take(uint32_t i, struct gpud_error *err) {
    struct krn_dev_key *key = NULL;
    int rc = gpud_keys_take(&keys, i, &key, err);
    if (rc == 0) CHECK(key && key->bytes == MIB(circuits[i].zkey.key.n_vars));
    return rc;
}

/* One proof, there and back. */
static void use(uint32_t i) {
    struct gpud_error err;
    CHECK(take(i, &err) == 0);
    gpud_keys_put(&keys, i);
}

static void close_keys(void) {
    gpud_keys_close(&keys);
    CHECK(fake.used == 0 && fake.loads == fake.frees);
    gpud_keys_close(&keys);
}

/* ---- tests ---- */

static void test_all_fit(void) {
    struct gpud_error err;
    const uint32_t sizes[KEYS] = {1, 2, 3, 4, 5, 6};
    CHECK(open_keys(MIB(21), sizes, &err) == 0 && gpud_keys_load_all(&keys, &err) == 0);
    CHECK(is("012345"));
    for (int round = 0; round < 3; round++)
        for (uint32_t i = 0; i < KEYS; i++) use(i);
    struct gpud_keys_view v;
    gpud_keys_look(&work, 0, &v);
    CHECK(v.room == MIB(21) && v.used == MIB(21) && v.loads == KEYS && v.evictions == 0 && v.loaded == 0x3f);
    CHECK(v.bytes[3] == MIB(4) && strcmp(v.form[3], "made up") == 0 && v.memory.allocations == KEYS);
    CHECK(atomic_load(&work.shown[0].loaded) == 0x3f);
    close_keys();
}

/* The catalogue's order, as far as it fits; a later smaller one still may. */
static void test_budget(void) {
    struct gpud_error err;
    const uint32_t sizes[KEYS] = {4, 4, 8, 1, 1, 3};
    CHECK(open_keys(MIB(10), sizes, &err) == 0 && gpud_keys_load_all(&keys, &err) == 0);
    CHECK(is("0134"));
    CHECK(!gpud_keys_has_room(&keys, 2) && !gpud_keys_has_room(&keys, 5) && gpud_keys_has_room(&keys, 0));
    CHECK(fake.used == MIB(10));
    close_keys();
}

static void test_order(void) {
    struct gpud_error err;
    const uint32_t sizes[KEYS] = {2, 2, 2, 2, 2, 4};
    CHECK(open_keys(MIB(6), sizes, &err) == 0 && gpud_keys_load_all(&keys, &err) == 0);
    CHECK(is("012"));
    use(2), use(0), use(1);
    use(3);                     /* 2 was used longest ago */
    CHECK(is("013"));
    use(0);
    use(4);
    CHECK(is("034"));
    use(5);                     /* as large as two: the two oldest */
    CHECK(is("45"));
    CHECK(keys.view.evictions == 4 && fake.used == MIB(6));
    close_keys();
}

/* A key with a proof on the device stays, however long ago it was taken. */
static void test_in_flight(void) {
    struct gpud_error err;
    const uint32_t sizes[KEYS] = {2, 2, 2, 2, 2, 6};
    CHECK(open_keys(MIB(6), sizes, &err) == 0 && gpud_keys_load_all(&keys, &err) == 0);
    CHECK(take(0, &err) == 0 && take(0, &err) == 0);
    use(1), use(2);
    use(3);
    CHECK(is("023"));
    use(4);
    CHECK(is("034"));
    CHECK(take(5, &err) == -EBUSY);
    gpud_keys_put(&keys, 0);
    CHECK(take(5, &err) == -EBUSY);     /* one proof of the two is still there */
    CHECK(gpud_keys_has(&keys, 0));
    gpud_keys_put(&keys, 0);
    CHECK(take(5, &err) == 0);
    CHECK(is("5"));
    CHECK(take(1, &err) == -EBUSY);
    gpud_keys_put(&keys, 5);
    use(1);
    CHECK(is("1"));
    close_keys();
}

static void test_too_big(void) {
    struct gpud_error err;
    const uint32_t sizes[KEYS] = {1, 1, 9, 1, 1, 1};
    CHECK(open_keys(MIB(8), sizes, &err) == -1);
    CHECK(strstr(err.text, "key2") && strstr(err.text, "9437184") && strstr(err.text, "8388608"));
    close_keys();
}

static void test_load_fails(void) {
    struct gpud_error err;
    const uint32_t sizes[KEYS] = {2, 2, 2, 2, 2, 2};
    CHECK(open_keys(MIB(4), sizes, &err) == 0 && gpud_keys_load_all(&keys, &err) == 0);
    fake.fail_with = -EIO;
    CHECK(take(2, &err) == -EIO && strstr(err.text, "key2") && strstr(err.text, "the fake cannot"));
    CHECK(is("1") && fake.used == MIB(2));
    use(2);
    CHECK(is("12"));
    fake.fail_with = -ENODEV;
    CHECK(take(3, &err) == -ENODEV);
    use(2);
    /* The sum fits, the memory is in pieces: another goes, and then there is none. */
    use(1);
    fake.least = MIB(1);
    CHECK(is("12"));
    CHECK(take(4, &err) == 0);
    CHECK(is("4"));
    CHECK(take(5, &err) == -EBUSY);
    gpud_keys_put(&keys, 4);
    fake.least = MIB(3);
    CHECK(take(5, &err) == -ENOMEM && is(""));
    close_keys();
}

/* A key's bytes come from its file, and a file that was cut since it was opened is a refusal, not a SIGBUS. */
static void test_file(void) {
    struct gpud_error err;
    const uint32_t sizes[KEYS] = {1, 1, 1, 1, 1, 1};
    CHECK(open_keys(MIB(6), sizes, &err) == 0);
    fake.touch_file = true;
    CHECK(gpud_keys_load_all(&keys, &err) == 0);
    CHECK(is("012345"));
    close_keys();
    CHECK(open_keys(MIB(6), sizes, &err) == 0);
    fake.touch_file = true;
    CHECK(truncate(path, HEAD) == 0);
    CHECK(take(0, &err) == -ESTALE && strstr(err.text, path) && strstr(err.text, "was changed"));
    close_keys();
}

static void test_cycle(void) {
    struct gpud_error err;
    struct gpud_keys_view before, after;
    const uint32_t sizes[KEYS] = {5, 3, 4, 2, 6, 1};
    CHECK(open_keys(MIB(12), sizes, &err) == 0 && gpud_keys_load_all(&keys, &err) == 0);
    for (uint32_t i = 0; i < KEYS; i++) use(i);
    gpud_keys_look(&work, 0, &before);
    for (int round = 0; round < 50; round++)
        for (uint32_t i = 0; i < KEYS; i++) {
            use(i);
            CHECK(fake.used == keys.view.used && fake.used <= MIB(12));
        }
    gpud_keys_look(&work, 0, &after);
    CHECK(after.used == before.used && after.loaded == before.loaded);
    CHECK(fake.loads - fake.frees == (unsigned)__builtin_popcountll(after.loaded));
    CHECK(after.loads == fake.loads && after.evictions == fake.frees);
    printf("six keys in turn, fifty times: %llu loads\n", (unsigned long long)after.loads);
    close_keys();
}

static void make_circuits(void) {
    struct fmt_error why;
    static uint8_t content[FILE_BYTES];
    for (int i = 0; i < FILE_BYTES; i++) content[i] = (uint8_t)(i * 7);
    snprintf(path, sizeof path, "/tmp/gpud_keys_test.%d", (int)getpid());
    if (fmt_file_write_whole(path, content, sizeof content, &why)) exit(1);
    for (int i = 0; i < KEYS; i++) {
        struct gpud_circuit *c = &circuits[i];
        c->open = true;
        snprintf(c->spec.name, sizeof c->spec.name, "key%d", i);
        if (fmt_file_map(&c->zkey.file, path, &why)) exit(1);
        c->zkey.key.a = c->zkey.file.bytes + 100 * i;
    }
}

int main(void) {
    struct gpud_error err;
    make_circuits();
    CHECK(gpud_work_open(&work, &region, &backend, circuits, 1, NULL, &err) == 0);
    test_all_fit();
    test_budget();
    test_order();
    test_in_flight();
    test_too_big();
    test_load_fails();
    test_cycle();
    test_file();
    for (int i = 0; i < KEYS; i++) fmt_file_close(&circuits[i].zkey.file);
    unlink(path);
    gpud_work_close(&work);
    return failures != 0;
}
