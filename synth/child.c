#include "synth/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TAIL = 4096, NOT_STARTED = 127 };

/* The last bytes of a stream. */
struct tail {
    char bytes[TAIL];
    uint64_t total;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void limit(int resource, uint64_t bytes)
{
    struct rlimit r = {bytes, bytes};
    if (bytes > 0)
        setrlimit(resource, &r);
}

/* In the child: descriptors to their numbers, everything else closed at exec. */
static int place_fds(const struct synth_child *c, int out)
{
    int high[SYNTH_CHILD_MAX_FDS];

    /* first out of the way of the numbers that are to be taken */
    for (unsigned i = 0; i < c->n_fds; i++) {
        high[i] = fcntl(c->fds[i], F_DUPFD_CLOEXEC, SYNTH_CHILD_FD + SYNTH_CHILD_MAX_FDS);
        if (high[i] < 0)
            return -1;
    }
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || dup2(null, 0) < 0)
        return -1;
    if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) != 0)
        return -1;
    for (unsigned i = 0; i < c->n_fds; i++) {
        if (dup2(high[i], SYNTH_CHILD_FD + (int)i) < 0)
            return -1;
    }
    return 0;
}

/* Between fork and exec only calls that are safe in a copy of a process with threads. failure: a pipe that exec
 * closes. */
_Noreturn static void become(const struct synth_child *c, int out, int failure, pid_t parent)
{
    sigset_t none;
    int code;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(NOT_STARTED);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    failure = fcntl(failure, F_DUPFD_CLOEXEC, SYNTH_CHILD_FD + SYNTH_CHILD_MAX_FDS);
    if ((c->folder && chdir(c->folder) != 0) || place_fds(c, out) != 0)
        goto failed;
    limit(RLIMIT_DATA, c->memory);
    limit(RLIMIT_FSIZE, c->file_bytes);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    execvp(c->argv[0], (char *const *)c->argv);
failed:
    code = errno;
    if (write(failure, &code, sizeof code) != sizeof code)
        _exit(NOT_STARTED - 1);
    _exit(NOT_STARTED);
}

static void tail_add(struct tail *t, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        t->bytes[t->total++ % TAIL] = bytes[i];
}

/* Reads all that is there now; false at the end of the stream. */
static bool tail_read(struct tail *t, int fd)
{
    char buffer[TAIL];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        tail_add(t, buffer, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The tail as one line: its last SYNTH_CHILD_WORDS - 1 characters, line ends as " | ", other control characters out. */
static void tail_words(const struct tail *t, char out[SYNTH_CHILD_WORDS])
{
    char line[3 * TAIL + 1];
    size_t n = 0;
    for (uint64_t i = t->total > TAIL ? t->total - TAIL : 0; i < t->total; i++) {
        char c = t->bytes[i % TAIL];
        if (c == '\n' && n > 0 && line[n - 1] != ' ') {
            memcpy(line + n, " | ", 3);
            n += 3;
        } else if ((unsigned char)c >= ' ' && c != 0x7f) {
            line[n++] = c;
        }
    }
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '|'))
        n--;
    size_t skip = n >= SYNTH_CHILD_WORDS ? n - (SYNTH_CHILD_WORDS - 1) : 0;
    memcpy(out, line + skip, n - skip);
    out[n - skip] = '\0';
}

/* Reads its output until it has ended or its time is over. */
static void watch(const struct synth_child *c, struct synth_child_end *end, int pidfd, int out, double start,
                  struct tail *tail)
{
    struct pollfd p[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = out, .events = POLLIN}};

    while (!(p[0].revents & POLLIN)) {
        double left = c->seconds > 0 ? start + c->seconds - now() : INFINITY;
        if (left <= 0) {
            end->timed_out = 1;
            break;
        }
        poll(p, 2, left > 3600 ? 3600 * 1000 : (int)(left * 1000) + 1);
        if (p[1].revents && !tail_read(tail, out))
            p[1].fd = -1;
    }
}

/* Waits until the child runs its program; the pipe is closed by exec, or says why that failed. */
static int started(const struct synth_child *c, int failure, struct fmt_error *err)
{
    int code;
    ssize_t n;
    do
        n = read(failure, &code, sizeof code);
    while (n < 0 && errno == EINTR);
    if (n != sizeof code)
        return 0;
    return fmt_fail(err, "%s: cannot be started: %s", c->argv[0], strerror(code));
}

static void reap(struct synth_child_end *end, pid_t pid)
{
    struct rusage use;
    int status = 0;
    while (wait4(pid, &status, 0, &use) < 0 && errno == EINTR)
        ;
    end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->max_rss = (uint64_t)use.ru_maxrss * 1024;
}

int synth_child_run(const struct synth_child *c, struct synth_child_end *end, struct fmt_error *err)
{
    int out[2], failure[2], rc;
    struct tail tail = {.total = 0};
    double start = now();
    pid_t self = getpid();

    *end = (struct synth_child_end){.exit_code = -1};
    if (pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0)
        return fmt_fail(err, "%s: a pipe: %s", c->argv[0], strerror(errno));
    if (pipe2(failure, O_CLOEXEC) != 0) {
        rc = fmt_fail(err, "%s: a pipe: %s", c->argv[0], strerror(errno));
        goto close_out;
    }
    fcntl(out[1], F_SETFL, 0);      /* the child's end blocks, as programs expect */
    pid_t pid = fork();
    if (pid == 0)
        become(c, out[1], failure[1], self);
    close(out[1]);
    close(failure[1]);
    out[1] = failure[1] = -1;
    if (pid < 0) {
        rc = fmt_fail(err, "%s: fork: %s", c->argv[0], strerror(errno));
        goto close_all;
    }
    rc = started(c, failure[0], err);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (rc == 0 && pidfd < 0)
        rc = fmt_fail(err, "%s: pidfd_open: %s", c->argv[0], strerror(errno));
    if (rc == 0)
        watch(c, end, pidfd, out[0], start, &tail);
    kill(-pid, SIGKILL);    /* what it left behind too */
    reap(end, pid);
    close(pidfd);
    tail_read(&tail, out[0]);
    tail_words(&tail, end->words);
    end->seconds = now() - start;
close_all:
    close(failure[0]);
close_out:
    close(out[0]);
    if (out[1] >= 0)
        close(out[1]);
    return rc;
}

int synth_child_judge(const struct synth_child *c, const struct synth_child_end *end, const char *what,
                      struct fmt_error *err)
{
    const char *sep = end->words[0] ? ": " : "";

    if (end->timed_out)
        return fmt_fail(err, "%s: killed after its limit of %g s%s%s", what, c->seconds, sep, end->words);
    if (end->signal == SIGXFSZ)
        return fmt_fail(err, "%s: wrote more than %llu bytes%s%s", what, (unsigned long long)c->file_bytes, sep,
                        end->words);
    if (end->signal)
        return fmt_fail(err, "%s: ended by signal %d (%s)%s%s", what, end->signal, strsignal(end->signal), sep,
                        end->words);
    if (end->exit_code != 0)
        return fmt_fail(err, "%s: exit %d%s%s", what, end->exit_code, sep, end->words);
    return 0;
}
