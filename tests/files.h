/*
 * tests/files.h: what the tests of formats/ share: files as bytes in memory that can be bent, and refusals that are
 * checked for what they say.
 */
#ifndef TESTS_FILES_H
#define TESTS_FILES_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/container.h"
#include "tests/random.h"

#define CASES "tests/data/cases/"

static int failures;

/* Counts a failure and prints it, unless ok. */
static inline __attribute__((format(printf, 2, 3))) int check(int ok, const char *format, ...)
{
    if (ok)
        return 1;
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    failures++;
    return 0;
}

/* ---- bytes ---- */

struct bytes {
    uint8_t *at;
    size_t len;
};

static inline struct bytes bytes_copy(const void *from, size_t len)
{
    struct bytes b = {malloc(len > 0 ? len : 1), len};   /* of the very size, so that sanitizers see the end */
    if (!b.at) {
        puts("out of memory");
        exit(1);
    }
    memcpy(b.at, from, len);
    return b;
}

/* A file of the test data; one that is not there ends the test. */
static inline struct bytes bytes_load(const char *path)
{
    struct bytes b;
    struct fmt_error err;
    char *text;
    if (fmt_file_read_whole(path, 64 << 20, &text, &b.len, &err) != 0) {
        puts(err.text);
        exit(1);
    }
    b = bytes_copy(text, b.len);
    free(text);
    return b;
}

static inline void bytes_free(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){0};
}

static inline void put_u32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, sizeof v);
}

static inline void put_u64(uint8_t *at, uint64_t v)
{
    memcpy(at, &v, sizeof v);
}

/* A path into the test data: CASES NAME / FILE. */
static inline const char *case_path(const char *name, const char *file)
{
    static char path[256];
    snprintf(path, sizeof path, CASES "%s/%s", name, file);
    return path;
}

/* NAME_CURVE's own file: circuit_path("mul2_bn128", "_final.zkey") is .../mul2_bn128/mul2_final.zkey. */
static inline const char *circuit_path(const char *name, const char *ending)
{
    char file[128];
    snprintf(file, sizeof file, "%.*s%s", (int)(strrchr(name, '_') - name), name, ending);
    return case_path(name, file);
}

static const char *const all_cases[] = {
    "allpub_bls12381", "allpub_bn128", "empty_bls12381", "empty_bn128",    "mul2_bls12381",    "mul2_bn128",
    "nopub2_bls12381", "nopub2_bn128", "range_bls12381", "range_bn128",    "sorted16_bls12381", "sorted16_bn128",
    "merkle20o2_bn128",
};
enum { ALL_CASES = sizeof all_cases / sizeof *all_cases };

/* ---- containers ---- */

static inline struct fmt_container sections_of(const struct bytes *b, const char magic[4], uint32_t version)
{
    struct fmt_container c;
    struct fmt_file f;
    struct fmt_error err;
    fmt_file_lend(&f, "test data", b->at, b->len);
    if (fmt_container_read(&c, &f, magic, version, &err) != 0) {
        puts(err.text);
        exit(1);
    }
    return c;
}

/* Payload of a section that is there. */
static inline uint8_t *section_at(const struct bytes *b, const struct fmt_container *c, uint32_t id)
{
    const struct fmt_section *s = fmt_container_find(c, id);
    if (!s) {
        printf("the test data has no section %u\n", id);
        exit(1);
    }
    return b->at + s->offset;
}

/* The container with its sections in the order order[0..n), which may leave some out or name one twice. */
static inline struct bytes reordered(const struct bytes *b, const struct fmt_container *c, const size_t *order,
                                     size_t n)
{
    size_t len = 12;
    for (size_t i = 0; i < n; i++)
        len += 12 + c->sections[order[i]].size;
    struct bytes out = {malloc(len), 12};
    memcpy(out.at, b->at, 12);
    put_u32(out.at + 8, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        const struct fmt_section *s = &c->sections[order[i]];
        memcpy(out.at + out.len, b->at + s->offset - 12, 12 + s->size);
        out.len += 12 + s->size;
    }
    return out;
}

/* The container without one section. */
static inline struct bytes without_section(const struct bytes *b, const struct fmt_container *c, uint32_t id)
{
    size_t order[FMT_MAX_SECTIONS], n = 0;
    for (size_t i = 0; i < c->n_sections; i++) {
        if (c->sections[i].id != id)
            order[n++] = i;
    }
    return reordered(b, c, order, n);
}

/* ---- randomness ---- */

/* The seed: TEST_SEED, or a fixed one; printed either way. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 20250101;
    printf("seed %llu (TEST_SEED)\n", (unsigned long long)seed);
    return seed;
}

static inline void shuffle(size_t *order, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t j = rnd(state) % i, t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

/* ---- refusals ---- */

/* A parser of bytes: 0 taken (and closed again), -1 refused with err. */
typedef int (*parser)(const char *name, const void *bytes, size_t len, struct fmt_error *err);

/* The bytes are refused, within a second, by one line that names the file and holds every further word. End: NULL. */
static inline void refused(const char *what, parser parse, const void *bytes, size_t len, ...)
{
    struct fmt_error err = {.text = ""};
    struct timespec from, to;
    struct bytes exact = bytes_copy(bytes, len);
    clock_gettime(CLOCK_MONOTONIC, &from);
    int rc = parse("bent.file", exact.at, len, &err);
    clock_gettime(CLOCK_MONOTONIC, &to);
    bytes_free(&exact);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);

    if (!check(rc == -1, "%s: taken, where it is to be refused (%d)", what, rc))
        return;
    check(seconds < 1 || getenv("PINWHEEL_TEST_SHORT"), "%s: refused only after %.1f s", what, seconds);
    check(strstr(err.text, "bent.file") != NULL, "%s: the file is not named: %s", what, err.text);
    check(strchr(err.text, '\n') == NULL && strlen(err.text) > 20, "%s: not one line: %s", what, err.text);
    va_list words;
    va_start(words, len);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;)
        check(strstr(err.text, word) != NULL, "%s: \"%s\" is not in: %s", what, word, err.text);
    va_end(words);
}

/* Every kind of cut is refused: at each edge of a section and its header, one byte to either side, and at random. */
static inline void cuts_refused(const char *what, parser parse, const struct bytes *b, const struct fmt_container *c,
                                uint64_t *state)
{
    char name[160];
    size_t at[8 * FMT_MAX_SECTIONS + 64], n = 0;

    for (size_t i = 0; i <= 12; i++)
        at[n++] = i;
    for (size_t i = 0; i < c->n_sections; i++) {
        const struct fmt_section *s = &c->sections[i];
        const size_t edges[] = {s->offset - 12, s->offset - 8, s->offset - 1, s->offset, s->offset + 1,
                                s->offset + s->size / 2};
        for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)
            at[n++] = edges[k];
    }
    at[n++] = b->len - 1;
    while (n < sizeof at / sizeof *at)
        at[n++] = rnd(state) % b->len;
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s cut to %zu of %zu bytes", what, at[i], b->len);
        if (at[i] < b->len)
            refused(name, parse, b->at, at[i], NULL);
    }
    struct bytes longer = bytes_copy(b->at, b->len);
    longer.at = realloc(longer.at, b->len + 1);
    longer.at[b->len] = 0;
    snprintf(name, sizeof name, "%s with a byte after its end", what);
    refused(name, parse, longer.at, b->len + 1, "ends at byte", NULL);
    bytes_free(&longer);
}

/* Sections missing or there twice, sizes and counts of the container bent. */
static inline void container_refused(const char *what, parser parse, const struct bytes *b,
                                     const struct fmt_container *c)
{
    static const uint64_t sizes[] = {~0ull, 1ull << 63, 1ull << 32, 0x7fffffffffffffffull, ~0ull - 11};
    char name[160];

    for (size_t i = 0; i < c->n_sections; i++) {
        const struct fmt_section *s = &c->sections[i];
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            struct bytes bent = bytes_copy(b->at, b->len);
            put_u64(bent.at + s->offset - 8, sizes[k]);
            snprintf(name, sizeof name, "%s, section %u of %llu bytes", what, s->id, (unsigned long long)sizes[k]);
            refused(name, parse, bent.at, bent.len, "section", "the file ends at byte", NULL);
            bytes_free(&bent);
        }
        size_t twice[FMT_MAX_SECTIONS + 1], n = 0;
        for (size_t k = 0; k < c->n_sections; k++)
            twice[n++] = k;
        twice[n++] = i;
        struct bytes bent = reordered(b, c, twice, n);
        snprintf(name, sizeof name, "%s, section %u twice", what, s->id);
        refused(name, parse, bent.at, bent.len, "is there twice", NULL);
        bytes_free(&bent);
    }
    struct bytes bent = bytes_copy(b->at, b->len);
    bent.at[3] ^= 0x20;
    refused("wrong magic", parse, bent.at, bent.len, "not a .", NULL);
    bent.at[3] ^= 0x20;
    put_u32(bent.at + 4, 77);
    refused("wrong version", parse, bent.at, bent.len, "version 77", NULL);
    memcpy(bent.at, b->at, 8);
    put_u32(bent.at + 8, 0);
    refused("no section", parse, bent.at, bent.len, "12", NULL);
    put_u32(bent.at + 8, c->n_sections + 1);
    refused("a section too many", parse, bent.at, bent.len, "section header", NULL);
    put_u32(bent.at + 8, ~0u);
    refused("4294967295 sections", parse, bent.at, bent.len, "4294967295 sections", NULL);
    bytes_free(&bent);
}

/* A file without one of its sections 1 to last says which it is. */
static inline void missing_refused(parser parse, const struct bytes *b, const struct fmt_container *c, uint32_t last)
{
    char what[40];
    for (uint32_t id = 1; id <= last; id++) {
        struct bytes less = without_section(b, c, id);
        snprintf(what, sizeof what, "section %u is missing", id);
        refused(what, parse, less.at, less.len, what, NULL);
        bytes_free(&less);
    }
}

/* ---- paths ---- */

/* Opens a path and closes it again: 0, or -1 with err. */
typedef int (*opener)(const char *path, struct fmt_error *err);

static inline void path_refused(const char *what, opener open_path, const char *path, const char *word)
{
    struct fmt_error err = {.text = ""};
    alarm(5);       /* a FIFO that blocks ends the test */
    int rc = open_path(path, &err);
    alarm(0);
    check(rc == -1, "%s: taken", what);
    check(strstr(err.text, path) != NULL && strstr(err.text, word) != NULL, "%s: \"%s\" is not in: %s", what, word,
          err.text);
}

/* A folder of the test's own; the test removes what it puts there, and main the folder by rmdir(scratch()). */
static inline const char *scratch(void)
{
    static char folder[64];
    if (folder[0] == '\0') {
        strcpy(folder, "/tmp/pinwheel-test-XXXXXX");
        if (!mkdtemp(folder)) {
            perror(folder);
            exit(1);
        }
    }
    return folder;
}

static inline const char *scratch_path(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", scratch(), name);
    return path;
}

static inline void scratch_write(const char *name, const void *bytes, size_t len)
{
    FILE *f = fopen(scratch_path(name), "wb");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0) {
        perror(name);
        exit(1);
    }
}

/* What is no regular file, is empty or is not there. */
static inline void paths_refused(opener open_path)
{
    path_refused("a missing file", open_path, scratch_path("missing"), "No such file");
    path_refused("a path through a file", open_path, "Makefile/x", "Not a directory");
    path_refused("a folder", open_path, scratch(), "folder");
    path_refused("a device", open_path, "/dev/zero", "device");
    mkfifo(scratch_path("fifo"), 0600);
    path_refused("a FIFO", open_path, scratch_path("fifo"), "pipe");
    unlink(scratch_path("fifo"));
    scratch_write("empty", "", 0);
    path_refused("an empty file", open_path, scratch_path("empty"), "");
    unlink(scratch_path("empty"));
}

#endif
