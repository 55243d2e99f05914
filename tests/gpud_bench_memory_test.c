/*
 * The measurement of gpud/bench_memory.h on a device that is a piece of memory: every kind is copied as often as
 * asked, what is registered is unregistered, the bytes are random and checked, and the picture shows what was
 * measured. RUN_TSAN
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpud/bench_memory.h"
#include "gpud/bench_plot.h"
#include "tests/check.h"

enum { RUNS = 4, BYTES = 4 << 20, ROUNDS = GPUD_BENCH_LOADS * (RUNS + 1) };

struct krn_copier {
    uint8_t *buffer;
    size_t bytes;
};

static struct {
    unsigned copies, locks, unlocks, takes, given, closed;
    unsigned skipped_from;      /* copies from here on do nothing */
    double zeros;               /* the largest share of zero bytes in anything that was copied */
    bool no_lock;
} fake;

static struct krn_copier *fake_open(int index, size_t bytes, char text[KRN_COPY_TEXT], char err[KRN_ERR_TEXT]) {
    if (index != 0) {
        snprintf(err, KRN_ERR_TEXT, "no such device");
        return NULL;
    }
    struct krn_copier *c = calloc(1, sizeof *c);
    snprintf(text, KRN_COPY_TEXT, "a device of the test");
    c->buffer = calloc(1, bytes);
    c->bytes = bytes;
    return c;
}

static void fake_close(struct krn_copier *c) {
    fake.closed++;
    free(c->buffer);
    free(c);
}

static int fake_copy(struct krn_copier *c, const void *from, char err[KRN_ERR_TEXT]) {
    (void)err;
    if (fake.copies++ >= fake.skipped_from) return 0;
    memcpy(c->buffer, from, c->bytes);
    size_t zeros = 0;
    for (size_t i = 0; i < c->bytes; i++) zeros += c->buffer[i] == 0;
    double share = (double)zeros / (double)c->bytes;
    if (share > fake.zeros) fake.zeros = share;
    return 0;
}

static int fake_read(struct krn_copier *c, void *to, size_t offset, size_t bytes, char err[KRN_ERR_TEXT]) {
    (void)err;
    memcpy(to, c->buffer + offset, bytes);
    return 0;
}

static int fake_lock(struct krn_copier *c, void *base, size_t bytes, char err[KRN_ERR_TEXT]) {
    (void)base;
    CHECK(bytes == c->bytes);
    snprintf(err, KRN_ERR_TEXT, "the test says no");
    if (fake.no_lock) return -ENOMEM;
    fake.locks++;
    return 0;
}

static int fake_unlock(struct krn_copier *c, void *base, char err[KRN_ERR_TEXT]) {
    (void)c, (void)base, (void)err;
    fake.unlocks++;
    return 0;
}

static void *fake_take(struct krn_copier *c, size_t bytes, char err[KRN_ERR_TEXT]) {
    (void)c, (void)err;
    fake.takes++;
    return malloc(bytes);
}

static void fake_give_back(struct krn_copier *c, void *base) {
    (void)c;
    fake.given++;
    free(base);
}

static const struct krn_copies copies = {
    fake_open, fake_close, fake_copy, fake_read, fake_lock, fake_unlock, fake_take, fake_give_back,
};

static struct gpud_bench_memory asked(void) {
    memset(&fake, 0, sizeof fake);
    fake.skipped_from = UINT32_MAX;
    return (struct gpud_bench_memory){.bytes = BYTES, .runs = RUNS, .seed = 20261201};
}

static void test_measure(struct gpud_bench_memory *b) {
    struct gpud_error err = {""};
    *b = asked();
    int rc = gpud_bench_memory(b, &copies, &err);
    if (rc) printf("%s\n", err.text);
    CHECK(rc == 0);
    CHECK(fake.copies == GPUD_BENCH_KINDS * ROUNDS);
    CHECK(fake.locks == ROUNDS + 1 && fake.unlocks == ROUNDS + 1);      /* each time for one kind, once for another */
    CHECK(fake.takes == 1 && fake.given == 1 && fake.closed == 1);
    CHECK(fake.zeros > 0.003 && fake.zeros < 0.005);    /* 1 / 256 of random bytes */
    CHECK(b->hammers >= 1 && b->hammer_rate > 0);
    for (int kind = 0; kind < GPUD_BENCH_KINDS; kind++) {
        for (int load = 0; load < GPUD_BENCH_LOADS; load++) {
            const struct gpud_bench_spread *t = &b->time[kind][load];
            CHECK(t->min > 0 && t->min <= t->median && t->median <= t->max);
        }
    }
}

static void test_refusals(void) {
    struct gpud_error err;
    struct gpud_bench_memory b = asked();
    b.device = 7;
    CHECK(gpud_bench_memory(&b, &copies, &err) && strstr(err.text, "no such device"));
    b = asked();
    fake.no_lock = true;
    CHECK(gpud_bench_memory(&b, &copies, &err) && strstr(err.text, "the test says no"));
    CHECK(fake.given == 1 && fake.closed == 1 && fake.unlocks == 0);
    b = asked();
    fake.skipped_from = 7;      /* a copy that did not happen is no result */
    CHECK(gpud_bench_memory(&b, &copies, &err) && strstr(err.text, "other bytes"));
    CHECK(fake.locks == fake.unlocks && fake.closed == 1);
}

static unsigned count(const char *text, const char *word) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

static void test_plot(struct gpud_bench_memory *b) {
    char path[] = "/tmp/pinwheel-plot-XXXXXX", text[32768], wanted[64];
    struct gpud_error err;
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    b->time[GPUD_BENCH_HEAP][GPUD_BENCH_LOADED] = (struct gpud_bench_spread){.median = 0.25, .min = 0.2, .max = 0.5};
    CHECK(gpud_bench_plot(b, path, &err) == 0);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f) fclose(f);
    close(fd);
    unlink(path);
    CHECK(strncmp(text, "<svg ", 5) == 0 && strcmp(text + n - 7, "</svg>\n") == 0);
    CHECK(count(text, "<rect ") == 1 + GPUD_BENCH_LOADS + GPUD_BENCH_KINDS * GPUD_BENCH_LOADS);
    CHECK(count(text, "<text") == count(text, "</text>"));
    for (int kind = 0; kind < GPUD_BENCH_KINDS; kind++) CHECK(count(text, gpud_bench_kind_names[kind]) >= 1);
    snprintf(wanted, sizeof wanted, "%.1f GB/s, 250 ms", 1e-9 * (double)b->bytes / 0.25);
    CHECK(count(text, wanted) == 1);
    CHECK(gpud_bench_plot(b, "/nowhere/plot.svg", &err) && strstr(err.text, "/nowhere/plot.svg"));
}

int main(void) {
    struct gpud_bench_memory b;
    test_measure(&b);
    test_refusals();
    test_plot(&b);
    return failures != 0;
}
