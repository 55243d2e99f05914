#include "synth/external.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/wtns.h"
#include "synth/child.h"
#include "synth/recipe.h"

enum { SCRIPT_MAX = 2 * SYNTH_RECIPE_COMMAND };

static const struct { const char *mark, *argument; } marks[] = {{"{input}", "\"$1\""}, {"{output}", "\"$2\""}};

/* The command as a script of two arguments. */
static int script_of(const char *command, char out[SCRIPT_MAX], struct fmt_error *err)
{
    size_t n = 0;
    int used = 0;

    for (const char *p = command; *p && n + 16 < SCRIPT_MAX;) {
        size_t skip = 0;
        for (int i = 0; i < 2; i++) {
            size_t len = strlen(marks[i].mark);
            if (strncmp(p, marks[i].mark, len) != 0)
                continue;
            n += (size_t)snprintf(out + n, SCRIPT_MAX - n, "%s", marks[i].argument);
            skip = len;
            used = 1;
        }
        if (skip == 0)
            out[n++] = *p;
        p += skip ? skip : 1;
    }
    out[n] = '\0';
    if (n + 16 >= SCRIPT_MAX || strlen(command) >= SYNTH_RECIPE_COMMAND)
        return fmt_fail(err, "the witness program's command is longer than %d bytes", SYNTH_RECIPE_COMMAND - 1);
    if (!used)
        snprintf(out + n, SCRIPT_MAX - n, " \"$1\" \"$2\"");
    return 0;
}

int synth_external_check(const char *command, struct fmt_error *err)
{
    char script[SCRIPT_MAX];
    if (command[strspn(command, " \t\n")] == '\0')
        return fmt_fail(err, "the witness program's command is empty");
    return script_of(command, script, err);
}

static int run(const struct synth_external *x, const char *input, int output, uint64_t most, struct fmt_error *err)
{
    char script[SCRIPT_MAX], output_path[32];
    const char *argv[] = {"sh", "-c", script, "sh", input, output_path, NULL};
    struct synth_child c = {
        .argv = argv, .folder = x->folder, .fds = {output}, .n_fds = 1, .seconds = x->seconds, .memory = x->memory,
        .file_bytes = most,
    };
    struct synth_child_end end;

    snprintf(output_path, sizeof output_path, "/dev/fd/%d", SYNTH_CHILD_FD);
    if (script_of(x->command, script, err) != 0 || synth_child_run(&c, &end, err) != 0)
        return -1;
    return synth_child_judge(&c, &end, "the witness program", err);
}

static int take(const uint8_t *bytes, size_t len, const struct krn_curve *curve, uint32_t n_vars, uint8_t *w,
                struct fmt_error *err)
{
    struct fmt_wtns f;
    if (fmt_wtns_parse(&f, "the witness program's output", bytes, len, err) != 0)
        return -1;
    int rc = fmt_wtns_expect(&f, curve, n_vars, err) == 0 && fmt_wtns_values(&f, w, err) == 0 ? 0 : -1;
    fmt_wtns_close(&f);
    return rc;
}

/* Nobody can change the file once it is sealed, whatever of the command is still alive somewhere. */
static int read_output(int fd, const struct krn_curve *curve, uint32_t n_vars, uint8_t *w, struct fmt_error *err)
{
    struct stat st;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0 || fstat(fd, &st) != 0)
        return fmt_fail(err, "the witness program's output cannot be sealed: %s", strerror(errno));
    if (st.st_size == 0)
        return fmt_fail(err, "the witness program wrote nothing to its output");
    size_t len = (size_t)st.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return fmt_fail(err, "the witness program's output of %zu bytes: %s", len, strerror(errno));
    int rc = take(bytes, len, curve, n_vars, w, err);
    munmap(bytes, len);
    return rc;
}

int synth_external_run(const struct synth_external *x, const char *input, const struct krn_curve *curve,
                       uint32_t n_vars, uint8_t *w, struct fmt_error *err)
{
    uint64_t most = ((uint64_t)n_vars + 1024) * KRN_FR_BYTES;   /* the values and more than the file's headers */
    int fd = memfd_create("witness", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return fmt_fail(err, "memory for the witness program's output: %s", strerror(errno));
    int rc = run(x, input, fd, most, err);
    if (rc == 0)
        rc = read_output(fd, curve, n_vars, w, err);
    close(fd);
    return rc;
}
