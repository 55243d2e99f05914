/*
 * formats/container_write: what is written in pieces of any size is what the reader finds, and a container that failed
 * or was not finished leaves nothing.
 * RUN_VALGRIND
 */
#include "tests/files.h"

#include <signal.h>
#include <sys/resource.h>

#include "formats/container_write.h"

enum { LARGE = 3 << 20 };   /* larger than the writer's buffer */

static uint8_t large[LARGE];

/* Puts the first n bytes of `large`, `piece` at a time. */
static void put_pieces(struct fmt_writer *w, size_t n, size_t piece)
{
    for (size_t at = 0; at < n; at += piece)
        fmt_writer_put(w, large + at, n - at < piece ? n - at : piece);
}

static int open_writer(struct fmt_writer *w, const char *path, uint32_t n_sections)
{
    struct fmt_error err;
    return check(fmt_writer_open(w, path, "test", 9, n_sections, &err) == 0, "open: %s", err.text);
}

static void check_section(const struct bytes *file, const struct fmt_container *c, uint32_t i, uint32_t id, size_t size)
{
    const struct fmt_section *s = &c->sections[i];
    check(s->id == id && s->size == size && memcmp(file->at + s->offset, large, size) == 0,
          "section %u is not what was put", id);
}

static void round_trip(const char *path, size_t piece)
{
    struct fmt_writer w;
    struct fmt_error err;

    if (!open_writer(&w, path, 3))
        return;
    fmt_writer_begin(&w, 8);
    fmt_writer_end(&w);
    fmt_writer_begin(&w, 2);
    put_pieces(&w, LARGE - 7, piece);
    fmt_writer_end(&w);
    fmt_writer_begin(&w, 5);
    put_pieces(&w, 5, 5);
    fmt_writer_end(&w);
    check(access(path, F_OK) != 0, "the file is there before commit");
    if (!check(fmt_writer_commit(&w, &err) == 0, "commit: %s", err.text))
        return;

    struct bytes file = bytes_load(path);
    struct fmt_container c = {0};
    struct fmt_file f;
    fmt_file_lend(&f, path, file.at, file.len);
    if (check(fmt_container_read(&c, &f, "test", 9, &err) == 0 && c.n_sections == 3, "read: %s", err.text)) {
        check_section(&file, &c, 0, 8, 0);
        check_section(&file, &c, 1, 2, LARGE - 7);
        check_section(&file, &c, 2, 5, 5);
    }
    bytes_free(&file);
    unlink(path);
}

/* Fewer sections than promised, and a discarded file. */
static void unfinished(const char *path)
{
    struct fmt_writer w;
    struct fmt_error err = {""};

    if (!open_writer(&w, path, 2))
        return;
    fmt_writer_begin(&w, 1);
    fmt_writer_end(&w);
    check(fmt_writer_commit(&w, &err) == -1 && strstr(err.text, "1 sections written, 2 promised"), "unfinished: '%s'",
          err.text);
    if (!open_writer(&w, path, 1))
        return;
    fmt_writer_discard(&w);
    fmt_writer_discard(&w);
}

/* A file that grows beyond the process's limit: the first error is the one that is told. */
static void no_room(const char *path)
{
    const struct rlimit little = {1 << 20, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    struct fmt_writer w;
    struct fmt_error err = {""};

    signal(SIGXFSZ, SIG_IGN);
    if (!check(setrlimit(RLIMIT_FSIZE, &little) == 0, "setrlimit") || !open_writer(&w, path, 1))
        return;
    fmt_writer_begin(&w, 1);
    put_pieces(&w, LARGE, 4096);
    fmt_writer_end(&w);
    check(fmt_writer_commit(&w, &err) == -1 && strstr(err.text, "File too large"), "no room: '%s'", err.text);
    setrlimit(RLIMIT_FSIZE, &all);
}

int main(void)
{
    char folder[] = "/tmp/container_write_test.XXXXXX", path[64];
    static const size_t pieces[] = {1, 7, 4096, 1 << 20, LARGE};
    struct fmt_writer w;
    struct fmt_error err = {""};

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    snprintf(path, sizeof path, "%s/file", folder);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        round_trip(path, pieces[i]);
    unfinished(path);
    no_room(path);
    check(fmt_writer_open(&w, folder, "test", 9, 1, &err) == -1 && strstr(err.text, "directory"), "a folder: '%s'",
          err.text);
    check(rmdir(folder) == 0, "something is left in %s", folder);
    return failures != 0;
}
