#include "synth/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/file.h"
#include "synth/child.h"
#include "synth/shim.h"
#include "synth/wasm.h"

#define WABT_VERSION "1.0.32"       /* the generated code's interface differs from version to version */

/* Indirect calls and linear memory are checked by wasm2c's code and by the faults that the host turns into errors; a
 * stack is probed page by page so that its end is never jumped over. */
static const char *const compile_flags[] = {
    "-O3", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-fstack-clash-protection",
    "-DNDEBUG", "-w", "-Wl,-z,defs,-z,relro,-z,now",
};

#define HEADER_BYTES ((size_t)(synth_shim_header_end - synth_shim_header))
#define SOURCE_BYTES ((size_t)(synth_shim_source_end - synth_shim_source))

enum { FLAGS = sizeof compile_flags / sizeof *compile_flags };

/* Files of one build; all in a folder that only the holder of the lock touches. */
static const char *const work_files[] = {"circuit.wasm", "circuit.c", "circuit.h", "circom.c", "circom.h",
                                         "program.so"};

/* The .wasm, read once: what is named by its digest is what gets built. */
struct program {
    char *bytes;
    size_t len;
};

static const char *compiler(void)
{
    const char *cc = getenv("PINWHEEL_CC");
    return cc && *cc ? cc : "cc";
}

static int join(char out[SYNTH_BUILD_PATH], const char *folder, const char *name, const char *suffix,
                struct fmt_error *err)
{
    int n = snprintf(out, SYNTH_BUILD_PATH, "%s/%s%s", folder, name, suffix);
    if (n < SYNTH_BUILD_PATH)
        return 0;
    return fmt_fail(err, "%s/%s%s: longer than %d bytes", folder, name, suffix, SYNTH_BUILD_PATH - 1);
}

/* The object depends on the program, the shim, the recipe and the compiler's name. */
static void digest_of(const struct program *wasm, char out[FMT_SHA256_TEXT])
{
    struct fmt_sha256 h;
    fmt_sha256_begin(&h);
    fmt_sha256_add(&h, WABT_VERSION, sizeof WABT_VERSION);
    fmt_sha256_add(&h, compiler(), strlen(compiler()) + 1);
    for (int i = 0; i < FLAGS; i++)
        fmt_sha256_add(&h, compile_flags[i], strlen(compile_flags[i]) + 1);
    fmt_sha256_add(&h, synth_shim_header, HEADER_BYTES);
    fmt_sha256_add(&h, synth_shim_source, SOURCE_BYTES);
    fmt_sha256_add(&h, wasm->bytes, wasm->len);
    fmt_sha256_end(&h, out);
}

/* ---- the cache folder ---- */

static int default_folder(char out[SYNTH_BUILD_PATH], struct fmt_error *err)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/')
        return join(out, xdg, "pinwheel", "", err);
    if (home && home[0] == '/')
        return join(out, home, ".cache/pinwheel", "", err);
    return fmt_fail(err, "no cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path; name one by --cache");
}

static int trust(const char *path, const struct stat *st, struct fmt_error *err)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return fmt_fail(err, "%s: belongs to user %u, not to %u: not loaded as code", path, st->st_uid, geteuid());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return fmt_fail(err, "%s: mode %o: others may write it: not loaded as code; chmod go-w it", path,
                        st->st_mode & 07777);
    return 0;
}

int synth_build_trust(const char *path, struct fmt_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return fmt_fail(err, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return fmt_fail(err, "%s: not a regular file", path);
    return trust(path, &st, err);
}

static int open_cache(char folder[SYNTH_BUILD_PATH], const char *cache, struct fmt_error *err)
{
    char given[SYNTH_BUILD_PATH];
    struct stat st;
    if (cache ? snprintf(given, sizeof given, "%s", cache) >= (int)sizeof given : default_folder(given, err) != 0)
        return cache ? fmt_fail(err, "%s: longer than %d bytes", cache, SYNTH_BUILD_PATH - 1) : -1;
    if (fmt_make_folders(given, err) != 0)
        return -1;
    char *real = realpath(given, NULL);
    int n = real ? snprintf(folder, SYNTH_BUILD_PATH, "%s", real) : -1;
    free(real);
    if (n < 0 || n >= SYNTH_BUILD_PATH)
        return fmt_fail(err, "%s: %s", given, n < 0 ? strerror(errno) : "its absolute path is too long");
    if (stat(folder, &st) != 0)
        return fmt_fail(err, "%s: %s", folder, strerror(errno));
    return trust(folder, &st, err);
}

/* ---- one build ---- */

static int run_tool(const char *const *argv, const char *folder, const char *what, struct synth_child_end *end,
                    struct fmt_error *err)
{
    struct synth_child c = {.argv = argv, .folder = folder};
    return synth_child_run(&c, end, err) == 0 && synth_child_judge(&c, end, what, err) == 0 ? 0 : -1;
}

/* Says what is missing before anything is written. */
static int check_tools(struct fmt_error *err)
{
    const char *wasm2c[] = {"wasm2c", "--version", NULL}, *cc[] = {compiler(), "--version", NULL};
    struct synth_child_end end;

    if (run_tool(wasm2c, NULL, "wasm2c --version", &end, err) != 0) {
        fmt_fail(err, "wasm2c is needed to add a witness program, and was not found or does not run: install wabt "
                      "%s (Debian: apt install wabt)", WABT_VERSION);
        return -1;
    }
    if (strcmp(end.words, WABT_VERSION) != 0)
        return fmt_fail(err, "wasm2c is of wabt %.32s; its output differs between versions and %s is needed (that of "
                             "Debian 12)", end.words, WABT_VERSION);
    if (run_tool(cc, NULL, "the C compiler", &end, err) != 0)
        return fmt_fail(err, "a C compiler is needed to add a witness program, and '%.64s' was not found or does not "
                             "run: install gcc, or name one by PINWHEEL_CC", compiler());
    return 0;
}

static void remove_work(const char *folder)
{
    struct fmt_error ignored;
    char path[SYNTH_BUILD_PATH];
    for (size_t i = 0; i < sizeof work_files / sizeof *work_files; i++) {
        if (join(path, folder, work_files[i], "", &ignored) == 0)
            unlink(path);
    }
    rmdir(folder);
}

static int write_work(const char *folder, const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    char path[SYNTH_BUILD_PATH];
    return join(path, folder, name, "", err) != 0 ? -1 : fmt_file_write_whole(path, bytes, len, err);
}

static int compile(struct synth_build *b, const char *folder, const struct program *wasm, struct fmt_error *err)
{
    static const char *const translate[] = {"wasm2c", "-n", "circuit", "--no-debug-names", "circuit.wasm", "-o",
                                            "circuit.c", NULL};
    const char *cc[FLAGS + 7] = {compiler()};
    struct synth_child_end end;
    int n = 1;

    if (write_work(folder, "circuit.wasm", wasm->bytes, wasm->len, err) != 0 ||
        write_work(folder, "circom.h", synth_shim_header, HEADER_BYTES, err) != 0 ||
        write_work(folder, "circom.c", synth_shim_source, SOURCE_BYTES, err) != 0 ||
        run_tool(translate, folder, "wasm2c", &end, err) != 0)
        return -1;
    b->translate_seconds = end.seconds;

    for (int i = 0; i < FLAGS; i++)
        cc[n++] = compile_flags[i];
    cc[n++] = "-o";
    cc[n++] = "program.so";
    cc[n++] = "circuit.c";
    cc[n++] = "circom.c";
    cc[n++] = "-lm";
    if (run_tool(cc, folder, "the C compiler", &end, err) != 0)
        return -1;
    b->compile_seconds = end.seconds;
    b->compile_rss = end.max_rss;
    return 0;
}

/* Moves the finished object to its place, on disk before its name appears. */
static int publish(struct synth_build *b, const char *folder, struct fmt_error *err)
{
    char made[SYNTH_BUILD_PATH];
    struct stat st;
    if (join(made, folder, "program.so", "", err) != 0)
        return -1;
    int fd = open(made, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || fchmod(fd, 0500) != 0 || fsync(fd) != 0 || rename(made, b->path) != 0) {
        fmt_fail(err, "%s: %s", b->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    close(fd);
    b->object_bytes = (uint64_t)st.st_size;
    return 0;
}

/* With the lock held. An earlier builder that died here left its folder behind: it is emptied and used. */
static int build_alone(struct synth_build *b, const char *cache, const struct program *wasm, struct fmt_error *err)
{
    char folder[SYNTH_BUILD_PATH];
    int rc = -1;

    b->cached = access(b->path, R_OK) == 0;     /* another builder may have been first */
    if (b->cached)
        return 0;
    if (check_tools(err) != 0 || join(folder, cache, b->digest, ".build", err) != 0)
        return -1;
    remove_work(folder);
    if (mkdir(folder, 0700) != 0)
        return fmt_fail(err, "%s: cannot be made: %s", folder, strerror(errno));
    if (compile(b, folder, wasm, err) == 0 && publish(b, folder, err) == 0)
        rc = 0;
    remove_work(folder);
    return rc;
}

static int build_locked(struct synth_build *b, const char *cache, const struct program *wasm, struct fmt_error *err)
{
    char lock[SYNTH_BUILD_PATH];
    if (join(lock, cache, b->digest, ".lock", err) != 0)
        return -1;
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fmt_fail(err, "%s: %s", lock, strerror(errno));
    int rc;
    while ((rc = flock(fd, LOCK_EX)) != 0 && errno == EINTR)
        ;
    rc = rc == 0 ? build_alone(b, cache, wasm, err) : fmt_fail(err, "%s: cannot be locked: %s", lock, strerror(errno));
    close(fd);      /* the file stays: to unlink it would let two builders hold two locks of one name */
    return rc;
}

int synth_build_program(const char *wasm, const char *cache, struct synth_build *b, struct fmt_error *err)
{
    char folder[SYNTH_BUILD_PATH];
    struct program p;
    int rc = -1;

    *b = (struct synth_build){.cached = false};
    if (fmt_file_read_whole(wasm, SYNTH_WASM_MAX_FILE, &p.bytes, &p.len, err) != 0)
        return -1;
    if (synth_wasm_check(wasm, (const uint8_t *)p.bytes, p.len, err) == 0 && open_cache(folder, cache, err) == 0) {
        digest_of(&p, b->digest);
        if (join(b->path, folder, b->digest, ".so", err) == 0)
            rc = build_locked(b, folder, &p, err);
    }
    free(p.bytes);
    return rc == 0 ? synth_build_trust(b->path, err) : rc;
}
