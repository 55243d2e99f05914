/* A key's file read for a device: both ways give the file's bytes, whatever the place and length; a file that is cut or
 * written to meanwhile, that ends too early or that cannot be read is refused by name, without a SIGBUS, and the buffer
 * is left alone afterwards. RUN_VALGRIND */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gpud/reader.h"
#include "tests/check.h"
#include "tests/random.h"

enum { FILE_BYTES = (GPUD_READER_DEPTH + 3) * GPUD_READER_PIECE + 12345, GUARD = 64 };

static char path[64];
static uint8_t *content;
static uint64_t state;

static void write_file(size_t bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    size_t done = 0;
    while (fd >= 0 && done < bytes) {
        ssize_t n = write(fd, content + done, bytes - done);
        if (n <= 0) exit(1);
        done += (size_t)n;
    }
    close(fd);
}

static void open_reader(struct gpud_reader *r, bool queue) {
    gpud_reader_open(r);
    if (queue) return;
    shm_uring_close(r->ring);
    r->ring = NULL;
}

static void test_bytes(bool queue) {
    struct gpud_reader r;
    struct fmt_file file;
    struct fmt_error why;
    uint8_t *to = malloc(FILE_BYTES + 2 * GUARD);
    write_file(FILE_BYTES);
    CHECK(fmt_file_map(&file, path, &why) == 0);
    open_reader(&r, queue);
    gpud_reader_use(&r, &file);
    for (int i = 0; i < 12; i++) {
        size_t at = i ? rnd(&state) % FILE_BYTES : 0, n = i ? rnd(&state) % (FILE_BYTES - at + 1) : FILE_BYTES;
        memset(to, 0xa5, FILE_BYTES + 2 * GUARD);
        CHECK(gpud_reader_fill(&r, file.bytes + at, n, to + GUARD) == 0);
        CHECK(memcmp(to + GUARD, content + at, n) == 0);
        for (int k = 0; k < GUARD; k++) CHECK(to[k] == 0xa5 && to[GUARD + n + (size_t)k] == 0xa5);
    }
    CHECK(gpud_reader_fill(&r, file.bytes + 1, FILE_BYTES, to) == -ERANGE && strstr(r.error.text, path));
    CHECK(gpud_reader_fill(&r, file.bytes - 1, 1, to) == -ERANGE);
    gpud_reader_close(&r);
    fmt_file_close(&file);
    free(to);
}

/* Cut in place: the mapping would be SIGBUS there. */
static void test_cut(bool queue) {
    struct gpud_reader r;
    struct fmt_file file;
    struct fmt_error why;
    uint8_t *to = calloc(1, FILE_BYTES);   /* valgrind does not see what io_uring writes */
    write_file(FILE_BYTES);
    CHECK(fmt_file_map(&file, path, &why) == 0);
    open_reader(&r, queue);
    gpud_reader_use(&r, &file);
    CHECK(truncate(path, FILE_BYTES / 2) == 0);
    CHECK(gpud_reader_fill(&r, file.bytes, FILE_BYTES, to) == -ESTALE);
    CHECK(strstr(r.error.text, path) && strstr(r.error.text, "was changed"));
    struct stat st;             /* as though it were cut after that look: the reads themselves say so */
    CHECK(stat(path, &st) == 0);
    file.stamp = (struct fmt_stamp){(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                                    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
    CHECK(gpud_reader_fill(&r, file.bytes, FILE_BYTES, to) == -ENODATA);
    CHECK(strstr(r.error.text, path) && strstr(r.error.text, "where the file ends"));
    CHECK(gpud_reader_fill(&r, file.bytes, FILE_BYTES / 2, to) == 0 && memcmp(to, content, FILE_BYTES / 2) == 0);
    gpud_reader_close(&r);
    fmt_file_close(&file);
    free(to);
}

/* Written to in place, the length kept; and replaced by rename, which is no change of the file that is open. */
static void test_written(bool queue) {
    struct gpud_reader r;
    struct fmt_file file;
    struct fmt_error why;
    uint8_t to[100] = {0};
    char other[80];
    snprintf(other, sizeof other, "%s.new", path);
    write_file(FILE_BYTES);
    CHECK(fmt_file_map(&file, path, &why) == 0);
    open_reader(&r, queue);
    gpud_reader_use(&r, &file);
    int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(write(fd, "other", 5) == 5 && close(fd) == 0 && rename(other, path) == 0);
    CHECK(gpud_reader_fill(&r, file.bytes + 7, sizeof to, to) == 0 && memcmp(to, content + 7, sizeof to) == 0);
    fmt_file_close(&file);

    write_file(FILE_BYTES);
    CHECK(fmt_file_map(&file, path, &why) == 0);
    const struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = file.stamp.changed_ns / 1000000000 + 5}};
    fd = open(path, O_WRONLY);
    CHECK(pwrite(fd, "x", 1, 50) == 1 && futimens(fd, later) == 0 && close(fd) == 0);
    CHECK(gpud_reader_fill(&r, file.bytes, sizeof to, to) == -ESTALE);
    CHECK(strstr(r.error.text, path) && strstr(r.error.text, "was written to"));
    gpud_reader_close(&r);
    fmt_file_close(&file);
}

/* What a read fails with comes through: this process's memory as a file has places that cannot be read. */
static void test_read_error(bool queue) {
    struct gpud_reader r;
    struct stat st;
    size_t bytes = 3 * (size_t)GPUD_READER_PIECE;
    uint8_t *hole = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = malloc(bytes);
    int fd = open("/proc/self/mem", O_RDONLY);
    CHECK(fd >= 0 && hole != MAP_FAILED && munmap(hole + GPUD_READER_PIECE, GPUD_READER_PIECE) == 0);
    CHECK(fstat(fd, &st) == 0);
    const struct fmt_file file = {
        .fd = fd, .size = UINT64_MAX / 2, .name = "memory",
        .stamp = {(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                  (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec},
    };
    open_reader(&r, queue);
    gpud_reader_use(&r, &file);
    CHECK(gpud_reader_fill(&r, hole, bytes, to) == -EIO && strstr(r.error.text, "memory: reading at byte"));
    gpud_reader_close(&r);
    munmap(hole, bytes);
    free(to);
    close(fd);
}

int main(void) {
    state = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)state);
    snprintf(path, sizeof path, "/tmp/gpud_reader_test.%d", (int)getpid());
    content = malloc(FILE_BYTES);
    for (size_t i = 0; i < FILE_BYTES; i++) content[i] = (uint8_t)rnd(&state);
    struct gpud_reader probe;
    gpud_reader_open(&probe);
    printf("%s\n", probe.ring ? "io_uring" : probe.why);
    bool has_ring = probe.ring != NULL;
    gpud_reader_close(&probe);
    for (int queue = 0; queue <= has_ring; queue++) {
        test_bytes(queue);
        test_cut(queue);
        test_written(queue);
        test_read_error(queue);
    }
    unlink(path);
    free(content);
    return failures != 0;
}
