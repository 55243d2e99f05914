/*
 * tests/shm_trace.h: children that are stepped one instruction at a time. A child runs `body` after it has stopped
 * itself; its exit code says how it went.
 */
#ifndef TESTS_SHM_TRACE_H
#define TESTS_SHM_TRACE_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

enum { TRACE_MAX_STOPS = 64 };

/* Runs freely until it stands before one of n <= TRACE_MAX_STOPS instructions, having moved by one at least. Much
 * faster than steps; children of one process have its addresses. False once the child is gone. */
static inline bool trace_until_any(struct traced *t, const unsigned long *pcs, int n) {
    char path[32];
    const uint8_t trap = 0xcc;
    if (!trace_step(t))
        return false;
    unsigned long here = trace_pc(t);
    for (int i = 0; i < n; i++)
        if (pcs[i] == here)
            return true;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)t->pid);
    int mem = open(path, O_RDWR | O_CLOEXEC);
    bool armed = mem >= 0;
    for (int i = 0; i < n && armed; i++)
        armed = pwrite(mem, &trap, 1, (off_t)pcs[i]) == 1;
    if (armed && trace_continue(t)) {
        for (int i = 0; i < n; i++)
            armed &= pwrite(mem, (const void *)pcs[i], 1, (off_t)pcs[i]) == 1;  /* what this process has there */
        ptrace(PTRACE_POKEUSER, t->pid, offsetof(struct user, regs.rip), (void *)(trace_pc(t) - 1));
    }
    if (mem >= 0)
        close(mem);
    return armed && !t->gone;
}

/* Until it stands before the instruction at pc for the hit-th time from here on (0: the first). */
static inline bool trace_until(struct traced *t, unsigned long pc, int hit) {
    if (!t->gone && trace_pc(t) == pc && hit-- == 0)
        return true;
    while (trace_until_any(t, &pc, 1))
        if (hit-- == 0)
            return true;
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
