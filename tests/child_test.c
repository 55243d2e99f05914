/* synth/child: limits, last words, descriptors, and that nothing of a child outlives it. */
#include "tests/files.h"

#include <signal.h>
#include <sys/mman.h>

#include "synth/child.h"

static struct synth_child_end end;
static struct fmt_error err;

/* Runs a shell command; the judgement's text, "" where it succeeded. */
static const char *run(struct synth_child c, const char *command)
{
    const char *argv[] = {"sh", "-c", command, NULL};
    c.argv = argv;
    err.text[0] = '\0';
    if (synth_child_run(&c, &end, &err) == 0)
        synth_child_judge(&c, &end, "it", &err);
    return err.text;
}

static void says(struct synth_child c, const char *command, const char *words)
{
    const char *text = run(c, command);
    check(strstr(text, words) != NULL && (*words != '\0' || *text == '\0'), "%s: \"%s\", not \"%s\"", command, text,
          words);
}

static void ends(void)
{
    const struct synth_child plain = {.seconds = 20};
    says(plain, "exit 0", "");
    says(plain, "exit 3", "it: exit 3");
    says(plain, "echo first; echo second >&2; printf 'a\\033b\\n\\n'; exit 1", "it: exit 1: first | second | ab");
    says(plain, "kill -SEGV $$", "it: ended by signal 11 (Segmentation fault)");
    says(plain, "yes words | head -c 300000; exit 2", "words");
    check(strlen(end.words) < SYNTH_CHILD_WORDS, "%zu characters of last words", strlen(end.words));
    says(plain, "read x && exit 1; exit 0", "");        /* nothing to read */
    const char *none[] = {"/no/such/program", NULL};
    check(synth_child_run(&(struct synth_child){.argv = none}, &end, &err) == -1 && strstr(err.text, "No such file"),
          "%s", err.text);
    says((struct synth_child){.folder = "/usr"}, "test $(pwd) = /usr", "");
    says((struct synth_child){.folder = "/no/such"}, "true", "No such file");
}

static void limits(void)
{
    says((struct synth_child){.seconds = 0.3}, "echo waiting; sleep 100", "killed after its limit of 0.3 s: waiting");
    check(end.seconds < 10, "killed only after %.1f s", end.seconds);
    says((struct synth_child){.seconds = 0.3}, "exec >/dev/null 2>&1; while :; do :; done", "killed after");
    says((struct synth_child){.seconds = 60, .memory = 64 << 20}, "python3 -c 'x = bytearray(512 << 20)'",
         "MemoryError");
    says((struct synth_child){.seconds = 60}, "python3 -c 'x = bytearray(100 << 20)'", "");
    check(end.max_rss > 100 << 20 && end.max_rss < 300 << 20, "%llu bytes of memory seen",
          (unsigned long long)end.max_rss);
    says((struct synth_child){.seconds = 60, .file_bytes = 4096}, "exec head -c 100000 /dev/zero > \"$TMPDIR/big\"",
         "wrote more than 4096 bytes");
    unlink(scratch_path("big"));
}

/* A grandchild in the background dies with the child, also at a time limit. */
static void no_orphans(void)
{
    char command[256];
    int pid = 0;
    snprintf(command, sizeof command, "sleep 1000 & echo $! > %s; [ -n \"$WAIT\" ] && wait; exit 0",
             scratch_path("pid"));
    for (int round = 0; round < 2; round++) {
        if (round == 1)
            setenv("WAIT", "1", 1);
        run((struct synth_child){.seconds = 0.3}, command);
        FILE *f = fopen(scratch_path("pid"), "r");
        check(f && fscanf(f, "%d", &pid) == 1, "no pid");
        if (f)
            fclose(f);
        for (int i = 0; i < 500 && kill(pid, 0) == 0; i++)
            usleep(10000);      /* its new parent reaps it */
        snprintf(command + 200, 40, "/proc/%d/stat", pid);
        char state = 'Z';
        f = fopen(command + 200, "r");
        if (f && fscanf(f, "%*d %*s %c", &state) != 1)
            state = 'Z';
        if (f)
            fclose(f);
        check(state == 'Z', "round %d: process %d lives on (%c)", round, pid, state);
    }
    unsetenv("WAIT");
    unlink(scratch_path("pid"));
}

/* The child sees the descriptors it is given, in order, and no other. */
static void descriptors(void)
{
    char text[32] = "";
    int fd = memfd_create("out", 0), second = memfd_create("second", 0), secret = memfd_create("secret", 0);
    struct synth_child c = {.seconds = 20, .fds = {fd, second}, .n_fds = 2};
    says(c, "echo hello > /dev/fd/3; echo there >&4; cat /proc/self/fd/3 >/dev/null", "");
    check(pread(fd, text, sizeof text - 1, 0) == 6 && strcmp(text, "hello\n") == 0, "the first holds '%s'", text);
    check(pread(second, text, sizeof text - 1, 0) == 6, "the second holds '%s'", text);
    says(c, "ls -l /proc/self/fd | grep -c memfd:secret && exit 1; exit 0", "");
    says(c, "ls /proc/self/fd | wc -l", "");
    check(strcmp(end.words, "6") == 0, "it sees %s descriptors, not 0 to 2, two of ours and its own of the folder",
          end.words);
    close(fd);
    close(second);
    close(secret);
}

int main(void)
{
    setenv("TMPDIR", scratch(), 1);
    ends();
    limits();
    no_orphans();
    descriptors();
    rmdir(scratch());
    return failures != 0;
}
