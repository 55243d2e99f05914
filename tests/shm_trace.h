/*
 * tests/shm_trace.h: children that are stepped one instruction at a time. A child runs `body` after it has stopped
 * itself; its exit code says how it went.
 */
#ifndef TESTS_SHM_TRACE_H
#define TESTS_SHM_TRACE_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct traced {
    pid_t pid;
    bool gone;
    int code;               /* of its exit, once gone; 128 + signal where one killed it */
};

/* prepare runs at full speed, then the child stops; body is what is stepped. Both may be NULL-argument functions. */
static inline bool trace_start(struct traced *t, void (*prepare)(void *), int (*body)(void *), void *arg) {
    *t = (struct traced){.pid = fork()};
    if (t->pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        if (prepare)
            prepare(arg);
        raise(SIGSTOP);
        _exit(body(arg));
    }
    int status;
    return t->pid > 0 && waitpid(t->pid, &status, 0) == t->pid && WIFSTOPPED(status);
}

static inline bool trace_end(struct traced *t, int status) {
    t->gone = WIFEXITED(status) || WIFSIGNALED(status);
    t->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return !t->gone;
}

/* One instruction (a system call is one). False once the child is gone. */
static inline bool trace_step(struct traced *t) {
    int status;
    if (t->gone || ptrace(PTRACE_SINGLESTEP, t->pid, NULL, NULL) != 0 || waitpid(t->pid, &status, 0) != t->pid) {
        t->gone = true;
        return false;
    }
    return trace_end(t, status);
}

/* Up to n instructions; how many were done. */
static inline long trace_steps(struct traced *t, long n) {
    long done = 0;
    while (done < n && trace_step(t))
        done++;
    return done;
}

/* Where it stands: the address of the next instruction. */
static inline unsigned long trace_pc(const struct traced *t) {
    return (unsigned long)ptrace(PTRACE_PEEKUSER, t->pid, offsetof(struct user, regs.rip), NULL);
}

static inline bool trace_continue(struct traced *t) {
    int status;
    if (t->gone || ptrace(PTRACE_CONT, t->pid, NULL, NULL) != 0 || waitpid(t->pid, &status, 0) != t->pid) {
        t->gone = true;
        return false;
    }
    return trace_end(t, status);
}

/* A place to stop: before the hit-th execution of the instruction at pc. */
struct trace_point {
    unsigned long pc;
    int hit;
    bool last;              /* the instruction's last execution */
};

/* Appends where the child stands; n points are there already. */
static inline void trace_note(const struct traced *t, struct trace_point *points, long n) {
    points[n] = (struct trace_point){trace_pc(t), 0, true};
    for (long i = n; i-- > 0;)
        if (points[i].pc == points[n].pc) {
            points[n].hit = points[i].hit + 1;
            points[i].last = false;
            return;
        }
}

/* Steps the child to its end; how many instructions that were, at most max. */
static inline long trace_record(struct traced *t, struct trace_point *points, long max) {
    long n = 0;
    for (; n < max && !t->gone; trace_step(t))
        trace_note(t, points, n++);
    return n;
}

/* Of an instruction in a loop the first two rounds and the last are worth a stop. Not the kernel's code that reads the
 * clock: it touches nothing shared, and takes another way each time. */
static inline bool trace_worth(const struct trace_point *p) {
    unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
    return (p->hit < 2 || p->last) && (p->pc < vdso || p->pc >= vdso + 0x2000);
}

/* Runs freely until it stands before the instruction at pc for the hit-th time (0: the first). Much faster than as many
 * steps; children of one process have the same addresses. False once the child is gone. */
static inline bool trace_until(struct traced *t, unsigned long pc, int hit) {
    const long word = ptrace(PTRACE_PEEKTEXT, t->pid, (void *)pc, NULL);
    const long trap = (word & ~0xffl) | 0xcc;
    for (int i = 0; !t->gone; i++) {
        if (i > 0 && !trace_step(t))
            return false;
        if (i == 0 && trace_pc(t) == pc)
            goto arrived;           /* it stands there from the start */
        ptrace(PTRACE_POKETEXT, t->pid, (void *)pc, (void *)trap);
        if (!trace_continue(t))
            return false;
        ptrace(PTRACE_POKETEXT, t->pid, (void *)pc, (void *)word);
        ptrace(PTRACE_POKEUSER, t->pid, offsetof(struct user, regs.rip), (void *)pc);
    arrived:
        if (i == hit)
            return true;
    }
    return false;
}

/* Runs freely to its end. */
static inline void trace_finish(struct traced *t) {
    while (trace_continue(t))
        ;
}

/* Runs freely, no longer watched. */
static inline void trace_release(struct traced *t) {
    ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
}

static inline void trace_kill(struct traced *t) {
    int status;
    if (t->gone)
        return;
    kill(t->pid, SIGKILL);
    while (waitpid(t->pid, &status, 0) == t->pid && trace_end(t, status))
        ;
}

#endif
