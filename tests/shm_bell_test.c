/*
 * The bell and its three back ends: what a container forbids first; then descriptors, time limits, sleep without CPU, a
 * hammer, and the proof that no wake-up is lost: the ringer is stopped before each of its instructions while the waiter
 * goes to sleep, and the waiter before each of its own while the bell is rung.
 *
 * NO_ASAN: sanitizers multiply the instructions, not the states.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/shm_trace.h"
#include "tests/shm_world.h"

/* On an emulated machine time is not what it seems: a second of sleep has more in it, a spin more turns, and 500
 * stepped instructions may take seconds. */
static bool is_emulated(void) {
    return getenv("PINWHEEL_TEST_EMULATED") != NULL;
}

/* A wait that takes this long has lost its wake-up, though it sees the ring then. */
static int lost_ms(void) {
    return is_emulated() ? 40000 : 5000;
}

static struct shm_bell *bell;   /* shared with children */
static enum shm_backend backend;
static const char *name;

static struct shm_waiter *open_waiter(struct shm_bell *b) {
    struct shm_waiter *w;
    char why[160];
    int rc = shm_waiter_open(&w, b, backend, why);
    if (rc == 0)
        return w;
    printf("%s: %s\n", why, strerror(-rc));
    exit(1);
}

/* ---- what is forbidden ---- */

static void forbid(int call) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

static int with_forbidden(int call) {
    struct shm_waiter *w;
    struct shm_event ev[2];
    char why[160];
    forbid(call);
    for (enum shm_backend b = SHM_BACKEND_FUTEX; b <= SHM_BACKEND_EVENTFD; b++)
        if (!check(shm_waiter_open(&w, bell, b, why) == -EPERM && strstr(why, "io_uring_"), "named back end %d: '%s'",
                   b, why))
            return 1;
    if (!check(shm_waiter_open(&w, bell, SHM_BACKEND_AUTO, why) == 0 && strncmp(why, "epoll (", 7) == 0 &&
               strcmp(shm_waiter_name(w), "epoll") == 0, "the best of all: '%s'", why))
        return 1;
    uint32_t seen = shm_bell_read(bell);
    shm_bell_ring(bell, shm_waiter_eventfd(w));
    check(shm_waiter_wait(w, seen, lost_ms(), ev, 2) == 1, "a ring");
    return failures != 0;
}

static void check_forbidden(void) {
    static const int calls[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register};
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            _exit(with_forbidden(calls[i]));
        int status;
        waitpid(pid, &status, 0);
        check(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77), "system call %d forbidden",
              calls[i]);
    }
}

/* ---- waiting ---- */

static double elapsed_ms(uint64_t since) {
    return (double)(shm_host_now_ns() - since) / 1e6;
}

static void check_bell(void) {
    struct shm_waiter *w = open_waiter(bell);
    struct shm_event ev[2];
    uint32_t seen = shm_bell_read(bell);
    check((shm_waiter_eventfd(w) >= 0) == (backend != SHM_BACKEND_FUTEX), "%s: eventfd", name);
    check(shm_waiter_wait(w, seen, 0, ev, 2) == 0, "%s: nothing, no time", name);
    uint64_t t = shm_host_now_ns();
    check(shm_waiter_wait(w, seen, 30, ev, 2) == 0 && elapsed_ms(t) >= 29.9, "%s: nothing for 30 ms: %.1f", name,
          elapsed_ms(t));
    shm_bell_ring(bell, shm_waiter_eventfd(w));
    shm_bell_ring(bell, shm_waiter_eventfd(w));
    for (int i = 0; i < 2; i++)
        check(shm_waiter_wait(w, seen, -1, ev, 2) == 1 && ev[0].tag == SHM_TAG_BELL, "%s: rung before the wait", name);
    seen = shm_bell_read(bell);
    check(shm_waiter_wait(w, seen, 20, ev, 2) == 0, "%s: a ring that was seen rings no more", name);
    check(shm_load_seq(&bell->asleep) == SHM_BELL_AWAKE, "%s: awake after a wait", name);
    shm_waiter_close(w);
}

static void check_descriptors(void) {
    struct shm_waiter *w = open_waiter(bell);
    struct shm_event ev[4];
    uint32_t seen = shm_bell_read(bell);
    int s[2];
    char x;
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0, "socketpair");
    check(shm_waiter_watch(w, -1, POLLIN, 1) == -EINVAL && shm_waiter_watch(w, s[0], POLLIN, SHM_TAG_BELL) == -EINVAL &&
          shm_waiter_unwatch(w, s[0]) == -ENOENT && shm_waiter_unwatch(w, 60000) == -ENOENT, "%s: bad watches", name);
    check(shm_waiter_watch(w, s[0], POLLIN, 42) == 0, "%s: watch", name);
    check(shm_waiter_wait(w, seen, 10, ev, 4) == 0, "%s: nothing to read", name);
    check(write(s[1], "a", 1) == 1, "write");
    for (int i = 0; i < 3; i++)
        check(shm_waiter_wait(w, seen, lost_ms(), ev, 4) == 1 && ev[0].tag == 42 && ev[0].ready == POLLIN,
              "%s: level-triggered", name);
    shm_bell_ring(bell, shm_waiter_eventfd(w));
    check(shm_waiter_wait(w, seen, lost_ms(), ev, 4) == 2, "%s: both at once", name);
    seen = shm_bell_read(bell);
    check(shm_waiter_watch(w, s[0], POLLIN | POLLOUT, 43) == 0 && shm_waiter_wait(w, seen, lost_ms(), ev, 4) == 1 &&
          ev[0].tag == 43 && ev[0].ready == (POLLIN | POLLOUT), "%s: changed events", name);
    check(shm_waiter_watch(w, s[0], POLLIN, 44) == 0 && read(s[0], &x, 1) == 1 &&
          shm_waiter_wait(w, seen, 10, ev, 4) == 0, "%s: changed back, and read", name);
    check(shm_waiter_unwatch(w, s[0]) == 0 && write(s[1], "b", 1) == 1 && shm_waiter_wait(w, seen, 10, ev, 4) == 0,
          "%s: not watched", name);
    check(shm_waiter_watch(w, s[0], POLLIN, 45) == 0 && shm_waiter_wait(w, seen, lost_ms(), ev, 4) == 1, "%s: again",
          name);
    check(read(s[0], &x, 1) == 1, "read");
    close(s[1]);
    check(shm_waiter_wait(w, seen, lost_ms(), ev, 4) == 1 && (ev[0].ready & POLLHUP), "%s: hang-up", name);
    shm_waiter_unwatch(w, s[0]);
    close(s[0]);

    /* Unwatched and closed means closed: the other end sees it, though a poll was in flight. */
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0, "socketpair");
    shm_waiter_watch(w, s[0], POLLIN, 1);
    shm_waiter_wait(w, seen, 1, ev, 4);
    shm_waiter_unwatch(w, s[0]);
    close(s[0]);
    struct pollfd other = {.fd = s[1], .events = POLLIN};
    check(poll(&other, 1, 1000) == 1 && (other.revents & POLLHUP), "%s: an unwatched descriptor stays open", name);
    close(s[1]);
    shm_waiter_close(w);
}

/* More descriptors than a ring has entries; all are reported, a few at a time. */
static void check_many(void) {
    enum { MANY = 300 };
    static int pairs[MANY][2];
    static bool seen_tag[MANY];
    struct shm_waiter *w = open_waiter(NULL);
    memset(seen_tag, 0, sizeof seen_tag);
    for (int i = 0; i < MANY; i++) {
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) == 0, "socketpair");
        shm_waiter_watch(w, pairs[i][0], POLLIN, (uint64_t)i);
    }
    struct shm_event ev[7];
    check(shm_waiter_wait(w, 0, 10, ev, 7) == 0, "%s: none of many", name);
    for (int i = 0; i < MANY; i++)
        check(write(pairs[i][1], "x", 1) == 1, "write");
    int reported = 0;
    while (reported < MANY) {
        char x;
        int n = shm_waiter_wait(w, 0, lost_ms(), ev, 7);
        if (!check(n > 0 && n <= 7, "%s: %d of %d reported, then %d", name, reported, MANY, n))
            break;
        for (int i = 0; i < n; i++) {
            int k = (int)ev[i].tag;
            check(!seen_tag[k], "%s: %d reported twice", name, k);
            seen_tag[k] = true;
            reported++;
            check(read(pairs[k][0], &x, 1) == 1, "read");
        }
    }
    for (int i = 0; i < MANY; i++) {
        shm_waiter_unwatch(w, pairs[i][0]);
        close(pairs[i][0]);
        close(pairs[i][1]);
    }
    shm_waiter_close(w);
}

static void check_pidfd(void) {
    struct shm_waiter *w = open_waiter(bell);
    struct shm_event ev[2];
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    shm_waiter_watch(w, fd, POLLIN, 5);
    uint32_t seen = shm_bell_read(bell);
    check(shm_waiter_wait(w, seen, 10, ev, 2) == 0, "%s: a living process", name);
    kill(pid, SIGKILL);
    check(shm_waiter_wait(w, seen, lost_ms(), ev, 2) == 1 && ev[0].tag == 5, "%s: a killed process", name);
    waitpid(pid, NULL, 0);
    shm_waiter_unwatch(w, fd);
    close(fd);
    shm_waiter_close(w);
}

static double cpu_ms(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void check_idle(void) {
    struct shm_waiter *w = open_waiter(bell);
    struct shm_event ev[2];
    double before = cpu_ms();
    check(shm_waiter_wait(w, shm_bell_read(bell), 1000, ev, 2) == 0, "%s: a second of nothing", name);
    check(cpu_ms() - before < (is_emulated() ? 100 : 10), "%s: a second of sleep took %.1f ms of CPU", name,
          cpu_ms() - before);
    shm_waiter_close(w);
}

/* Whoever rings without the sleeper's eventfd wakes it by its belt only. */
static void check_belt(void) {
    struct shm_waiter *w = open_waiter(bell);
    struct shm_event ev[2];
    pid_t pid = fork();
    if (pid == 0) {
        while (shm_load_seq(&bell->asleep) == SHM_BELL_AWAKE)
            sched_yield();
        shm_bell_ring(bell, -1);
        _exit(0);
    }
    check(shm_waiter_wait(w, shm_bell_read(bell), 500, ev, 2) == 1, "%s: belt", name);
    waitpid(pid, NULL, 0);
    shm_waiter_close(w);
}

/* ---- hammer ---- */

enum { RINGERS = 3 };
static int ringer_efd;
static uint32_t rings_each;

static void *ringer(void *arg) {
    uint64_t rng = (uintptr_t)arg;
    for (uint32_t i = 0; i < rings_each; i++) {
        for (uint64_t pauses = random_below(&rng, 700); pauses > 0; pauses--)
            shm_pause();
        shm_bell_ring(bell, ringer_efd);
    }
    return NULL;
}

static void too_late(int sig) {
    static const char text[] = "the hammer hangs: a wake-up was lost\n";
    (void)sig;
    _exit(write(1, text, sizeof text - 1) > 0);
}

static void check_hammer(void) {
    struct shm_waiter *w = open_waiter(bell);
    struct shm_event ev[2];
    pthread_t threads[RINGERS];
    uint32_t start = shm_bell_read(bell), seen = start, sleeps = 0;
    ringer_efd = shm_waiter_eventfd(w);
    rings_each = is_short() ? 3000 : 30000;
    signal(SIGALRM, too_late);
    alarm(60);
    for (uintptr_t i = 0; i < RINGERS; i++)
        pthread_create(&threads[i], NULL, ringer, (void *)(i + 1));
    while (seen != start + RINGERS * rings_each) {
        check(shm_waiter_wait(w, seen, -1, ev, 2) == 1, "%s: hammered", name);
        seen = shm_bell_read(bell);
        sleeps++;
    }
    alarm(0);
    for (int i = 0; i < RINGERS; i++)
        pthread_join(threads[i], NULL);
    printf("%-16s %u rings in %u waits\n", name, RINGERS * rings_each, sleeps);
    shm_waiter_close(w);
}

/* ---- every instruction of the ringer against a waiter that goes to sleep ---- */

static char state_of(const char *stat_path) {
    char text[512], state = '?';
    FILE *f = fopen(stat_path, "r");
    if (f && fgets(text, sizeof text, f) && strrchr(text, ')'))
        state = strrchr(text, ')')[2];
    if (f)
        fclose(f);
    return state;
}

struct sleeper {
    sem_t go, opened, returned;
    atomic_bool done, quit;
    uint32_t seen;
    int efd, events;
    double ms;
    char stat_path[64];
};

static void *sleeper_thread(void *arg) {
    struct sleeper *s = arg;
    struct shm_waiter *w = open_waiter(bell);
    struct shm_event ev[2];
    s->efd = shm_waiter_eventfd(w);
    snprintf(s->stat_path, sizeof s->stat_path, "/proc/self/task/%d/stat", (int)syscall(SYS_gettid));
    sem_post(&s->opened);
    for (;;) {
        sem_wait(&s->go);
        if (s->quit)
            break;
        uint64_t since = shm_host_now_ns();
        s->events = shm_waiter_wait(w, s->seen, lost_ms(), ev, 2);
        s->ms = elapsed_ms(since);
        s->done = true;
        sem_post(&s->returned);
    }
    shm_waiter_close(w);
    return NULL;
}

static int ring_once(void *efd) {
    shm_bell_ring(bell, *(int *)efd);
    return 0;
}

enum { MAX_POINTS = 8192 };
static struct trace_point points[MAX_POINTS];

static void start_ringer(struct traced *t, struct sleeper *s) {
    if (!trace_start(t, NULL, ring_once, &s->efd))
        exit(77);
}

/* The ringer stands at p until the waiter sleeps, or has seen the ring already. */
static void ringer_stopped_at(struct sleeper *s, const struct trace_point *p, long i) {
    struct traced t;
    start_ringer(&t, s);
    s->seen = shm_bell_read(bell);
    trace_until(&t, p->pc, p->hit);
    s->done = false;
    sem_post(&s->go);
    while (!s->done && !(shm_load_seq(&bell->asleep) != SHM_BELL_AWAKE && state_of(s->stat_path) == 'S'))
        sched_yield();
    trace_finish(&t);
    sem_wait(&s->returned);
    check(s->events == 1 && s->ms < lost_ms(),
          "%s: the ringer stopped before instruction %ld: the wait ends with %d after "
          "%.0f ms", name, i, s->events, s->ms);
}

static void check_ringer_stepped(void) {
    struct sleeper s = {.efd = -1};
    struct traced t;
    pthread_t thread;
    long stops = 0;
    int before = failures;
    sem_init(&s.go, 0, 0);
    sem_init(&s.opened, 0, 0);
    sem_init(&s.returned, 0, 0);
    pthread_create(&thread, NULL, sleeper_thread, &s);
    sem_wait(&s.opened);
    start_ringer(&t, &s);
    long n = trace_record(&t, points, MAX_POINTS);
    for (long i = 0; i < n && failures < before + 3; i++)
        if (trace_worth(&points[i])) {
            ringer_stopped_at(&s, &points[i], i);
            stops++;
        }
    printf("%-16s %ld of %ld instructions of the ringer against a sleeper\n", name, stops, n);
    s.quit = true;
    sem_post(&s.go);
    pthread_join(thread, NULL);
}

/* ---- every instruction of the waiter against a ring ---- */

static struct shm_waiter *child_waiter;

struct page {
    struct shm_bell bell;
    int efd;                    /* the child's, in its own numbers */
};

static void prepare_waiter(void *arg) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);     /* with one CPU it does not spin: less to step */
    child_waiter = open_waiter(bell);
    ((struct page *)arg)->efd = shm_waiter_eventfd(child_waiter);
}

static int wait_once(void *arg) {
    struct shm_event ev[2];
    uint64_t since = shm_host_now_ns();
    (void)arg;
    return shm_waiter_wait(child_waiter, 0, lost_ms(), ev, 2) == 1 && elapsed_ms(since) < lost_ms() ? 0 : 3;
}

/* The child's eventfd, in our numbers. */
static int steal_efd(pid_t pid, int efd) {
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int fd = (int)syscall(438 /* pidfd_getfd */, pidfd, efd, 0);
    close(pidfd);
    return fd;
}

/* One instruction; false where that put the child to sleep (or ended it). */
static bool step_awake(struct traced *t, const char *stat_path) {
    int status;
    ptrace(PTRACE_SINGLESTEP, t->pid, NULL, NULL);
    for (;;) {
        if (waitpid(t->pid, &status, WNOHANG) == t->pid)
            return trace_end(t, status);
        if (shm_load_seq(&bell->asleep) != SHM_BELL_AWAKE && state_of(stat_path) == 'S')
            return false;
        sched_yield();
    }
}

static void start_waiter(struct traced *t, struct page *page) {
    shm_store_seq(&bell->value, 0);
    if (!trace_start(t, prepare_waiter, wait_once, page))
        exit(77);
}

static void ring_and_finish(struct traced *t, int efd, bool stopped) {
    shm_bell_ring(bell, efd);
    int status;
    if (!stopped && waitpid(t->pid, &status, 0) == t->pid)      /* the step that slept ends now */
        trace_end(t, status);
    trace_finish(t);
    close(efd);
}

static void check_waiter_stepped(struct page *page) {
    struct traced t;
    char stat_path[64];
    long n = 0, met = 0;
    int before = failures;
    start_waiter(&t, page);
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", (int)t.pid);
    do
        trace_note(&t, points, n++);
    while (n < MAX_POINTS && step_awake(&t, stat_path));
    ring_and_finish(&t, steal_efd(t.pid, page->efd), false);
    check(t.code == 0, "%s: a ring to a sleeper: exit %d", name, t.code);
    for (long i = 0; i < n && failures < before + 3; i++) {
        if (!trace_worth(&points[i]))
            continue;
        start_waiter(&t, page);
        if (trace_until(&t, points[i].pc, points[i].hit)) {
            ring_and_finish(&t, steal_efd(t.pid, page->efd), true);
            check(t.code == 0, "%s: the waiter rung before instruction %ld of %ld: exit %d", name, i, n, t.code);
            met++;
        }
        trace_kill(&t);
    }
    check(met > n / (is_emulated() ? 30 : 3), "%s: only %ld of %ld places were met", name, met, n);
    printf("%-16s %ld of %ld instructions of the waiter against a ring\n", name, met, n);
}

int main(void) {
    struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bell = &page->bell;
    check_forbidden();
    for (backend = SHM_BACKEND_FUTEX; backend <= SHM_BACKEND_EPOLL; backend++) {
        struct shm_waiter *w;
        char why[160];
        if (shm_waiter_open(&w, NULL, backend, why) != 0) {
            printf("not to be had here: %s\n", why);
            continue;
        }
        name = shm_waiter_name(w);
        shm_waiter_close(w);
        check_bell();
        check_descriptors();
        check_many();
        check_pidfd();
        check_idle();
        check_belt();
        check_ringer_stepped();
        check_waiter_stepped(page);
        check_hammer();
    }
    return finish("bells: no wake-up lost, no CPU while asleep");
}
