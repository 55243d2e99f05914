/* formats/file, formats/container, formats/decimal. RUN_VALGRIND */
#include "tests/files.h"

#include <errno.h>
#include <fcntl.h>

#include "formats/decimal.h"

/* ---- container ---- */

static int parse(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_container c;
    struct fmt_file f;
    fmt_file_lend(&f, name, bytes, len);
    return fmt_container_read(&c, &f, "test", 3, err);
}

static struct bytes sample(void)
{
    uint8_t file[128] = "test";
    size_t at = 12;
    put_u32(file + 4, 3);
    put_u32(file + 8, 3);
    for (uint32_t id = 7; id > 4; id--) {
        put_u32(file + at, id);
        put_u64(file + at + 4, id);
        memset(file + at + 12, (int)id, id);
        at += 12 + id;
    }
    return bytes_copy(file, at);
}

static void containers(uint64_t *state)
{
    struct bytes b = sample();
    struct fmt_container c = sections_of(&b, "test", 3);

    check(c.n_sections == 3 && c.sections[0].id == 7 && c.sections[1].size == 6 && *section_at(&b, &c, 5) == 5,
          "the sample's sections are read wrong");
    check(fmt_container_find(&c, 4) == NULL, "a section that is not there is found");
    cuts_refused("sample", parse, &b, &c, state);

    container_refused("sample", parse, &b, &c);

    put_u64(b.at + 16, 55);
    refused("an oversized section", parse, b.at, b.len, "section 7 at byte 24 has 55 bytes", "ends at byte 66", NULL);
    put_u64(b.at + 16, 7);
    put_u32(b.at + 12, 6);
    refused("a section twice", parse, b.at, b.len, "section 6 is there twice, at bytes 24 and 43", NULL);
    put_u32(b.at + 8, FMT_MAX_SECTIONS + 1);
    refused("too many sections", parse, b.at, b.len, "33 sections", "32", NULL);
    put_u32(b.at + 4, 4);
    refused("another version", parse, b.at, b.len, "version 4", "only 3", NULL);
    b.at[0] = 'T';
    refused("another magic", parse, b.at, b.len, "not a .test file", "54 65 73 74", NULL);
    bytes_free(&b);
}

/* ---- files ---- */

static int open_only(const char *path, struct fmt_error *err)
{
    struct fmt_file f;
    if (fmt_file_map(&f, path, err) != 0)
        return -1;
    fmt_file_close(&f);
    return 0;
}

static void reading(void)
{
    struct fmt_file f;
    struct fmt_error err;
    char eight[9] = "", *text;
    size_t len;

    scratch_write("digits", "0123456789", 10);
    check(fmt_file_open(&f, scratch_path("digits"), &err) == 0 && f.size == 10, "a file is not opened");
    check(fmt_file_read(&f, 2, eight, 8, &err) == 0 && strcmp(eight, "23456789") == 0, "pread gives %s", eight);
    check(fmt_file_read(&f, 3, eight, 8, &err) == -1 && strstr(err.text, "8 bytes at byte 3"), "read past the end");
    check(fmt_file_read(&f, ~0ull, eight, 8, &err) == -1, "an offset that wraps is taken");
    check(truncate(scratch_path("digits"), 5) == 0 && fmt_file_read(&f, 2, eight, 8, &err) == -1 &&
          strstr(err.text, "cut to 5 bytes"), "a file cut after opening: %s", err.text);
    fmt_file_close(&f);
    fmt_file_close(&f);
    check(fmt_file_read_whole(scratch_path("digits"), 5, &text, &len, &err) == 0 && len == 5 &&
          strcmp(text, "01234") == 0, "a whole file");
    free(text);
    check(fmt_file_read_whole(scratch_path("digits"), 4, &text, &len, &err) == -1 && strstr(err.text, "at most 4"),
          "a file over the limit: %s", err.text);

    char path[600];
    memset(path, 'x', sizeof path);
    memcpy(path + sizeof path - 6, "/tail", 6);
    check(fmt_file_open(&f, path, &err) == -1 && strstr(err.text, "/tail: "), "a long path keeps its end: %s",
          err.text);
    unlink(scratch_path("digits"));
}

/* What the scratch folder holds, as a number of entries. */
static int entries(void)
{
    char command[160];
    int n = -1;
    snprintf(command, sizeof command, "ls -A %s | wc -l", scratch());
    FILE *p = popen(command, "r");
    if (!p || fscanf(p, "%d", &n) != 1)
        puts("ls cannot be run");
    if (p)
        pclose(p);
    return n;
}

static void write_refused(const char *what, const char *path, const char *word)
{
    struct fmt_error err = {.text = ""};
    int before = entries();
    check(fmt_file_write_whole(path, "data", 4, &err) == -1, "%s: written", what);
    check(strstr(err.text, path) && strstr(err.text, word), "%s: \"%s\" is not in: %s", what, word, err.text);
    check(entries() == before, "%s: something was left behind", what);
}

static void writing(void)
{
    struct fmt_error err;
    struct stat st;
    char target[160], *text;
    size_t len;

    umask(022);
    check(fmt_file_write_whole(scratch_path("out"), "one", 3, &err) == 0, "%s", err.text);
    check(fmt_file_write_whole(scratch_path("out"), "three", 5, &err) == 0, "%s", err.text);
    check(stat(scratch_path("out"), &st) == 0 && st.st_size == 5 && (st.st_mode & 0777) == 0644, "size or mode");
    snprintf(target, sizeof target, "%s/out", scratch());
    check(symlink(target, scratch_path("link")) == 0 && fmt_file_write_whole(scratch_path("link"), "four", 4,
                                                                             &err) == 0 &&
          lstat(scratch_path("link"), &st) == 0 && S_ISLNK(st.st_mode) &&
          fmt_file_read_whole(target, 100, &text, &len, &err) == 0, "a link is written through");
    check(len == 4 && memcmp(text, "four", 4) == 0, "the link's file holds %.4s", text);
    free(text);
    check(entries() == 2, "temporary files were left");

    write_refused("a folder", scratch(), "directory");
    write_refused("a device", "/dev/null", "regular");
    check(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode), "/dev/null was replaced");
    write_refused("a missing folder", scratch_path("no/out"), "No such file");
    write_refused("a path through a file", "Makefile/out", "Not a directory");
    write_refused("/proc", "/proc/pinwheel-out", "cannot be written");
    check(stat(scratch_path("out"), &st) == 0 && st.st_size == 4, "the old file did not survive");
    write_refused("a full disk", "/dev/full", "regular");
    unlink(scratch_path("link"));
    unlink(scratch_path("out"));
}

/* ---- decimal ---- */

/* 2^384 without its last two digits. */
#define P384 \
    "394020061963944792122790401001436138050797392704654466679482934042457217714972106114142662548849156408066279903068"

static void decimals(uint64_t *state)
{
    static const struct {
        const char *text;
        size_t bytes;
        int rc;
    } cases[] = {
        {"0", 32, 0},
        {"10000000000000000000", 32, 0},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639935", 32, 0},   /* 2^256 - 1 */
        {"115792089237316195423570985008687907853269984665640564039457584007913129639936", 32, -ERANGE},
        {P384 "15", 48, 0},
        {P384 "16", 48, -ERANGE},
        {"", 32, -EINVAL}, {"00", 32, -EINVAL}, {"01", 32, -EINVAL}, {"-1", 32, -EINVAL}, {"+1", 32, -EINVAL},
        {" 1", 32, -EINVAL}, {"1 ", 32, -EINVAL}, {"1.0", 32, -EINVAL}, {"0x1", 32, -EINVAL}, {"1e3", 32, -EINVAL},
        {"12a", 32, -EINVAL}, {"\xd9\xa1", 32, -EINVAL},
    };
    uint8_t value[48];
    char text[FMT_DECIMAL_MAX];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = fmt_decimal_read(value, cases[i].bytes, cases[i].text, strlen(cases[i].text));
        check(rc == cases[i].rc, "\"%s\" is read with %d", cases[i].text, rc);
        if (rc == 0)
            check(fmt_decimal_write(text, value, cases[i].bytes) == strlen(text) && strcmp(text, cases[i].text) == 0,
                  "\"%s\" is written as \"%s\"", cases[i].text, text);
    }
    for (int i = 0; i < 2000; i++) {       /* to text and back, numbers of every length */
        uint8_t in[48] = {0}, out[48];
        size_t n = i % 2 ? 32 : 48, used = rnd(state) % (n + 1);
        for (size_t k = 0; k < used; k++)
            in[k] = (uint8_t)rnd(state);
        size_t len = fmt_decimal_write(text, in, n);
        check(fmt_decimal_read(out, n, text, len) == 0 && memcmp(in, out, n) == 0, "%s does not come back", text);
        in[0] ^= 1;
        check(fmt_below(in, out, n) == !(in[0] & 1) && fmt_below(out, in, n) == (in[0] & 1) && !fmt_below(in, in, n),
              "the order of %s and its neighbour", text);
    }
}

int main(void)
{
    uint64_t state = test_seed();
    containers(&state);
    paths_refused(open_only);
    reading();
    writing();
    rmdir(scratch());
    decimals(&state);
    return failures != 0;
}
