/*
 * synth/child.h: a program run as a child process, with limits, and what it said last.
 *
 * The child is a session of its own, so that what it starts dies with it; it dies too when the process that runs it
 * does. It sees no descriptor but its standard ones and those it is given. The caller waits here and nowhere else; a
 * worker that waits for its child has nothing else to do.
 */
#ifndef SYNTH_CHILD_H
#define SYNTH_CHILD_H

#include <stdint.h>

#include "formats/error.h"

enum {
    SYNTH_CHILD_FD = 3,         /* the first descriptor handed on has this number in the child, the next one 4 ... */
    SYNTH_CHILD_MAX_FDS = 4,
    SYNTH_CHILD_WORDS = 320,
};

struct synth_child {
    const char *const *argv;    /* ends with NULL; argv[0] is looked up in PATH */
    const char *folder;         /* it starts there; NULL: where the caller is */
    int fds[SYNTH_CHILD_MAX_FDS];
    unsigned n_fds;
    double seconds;             /* wall clock; 0: no limit */
    uint64_t memory;            /* bytes of private memory of each of its processes (RLIMIT_DATA); 0: no limit */
    uint64_t file_bytes;        /* size of a file that it may write (RLIMIT_FSIZE); 0: no limit */
};

struct synth_child_end {
    int exit_code;              /* -1 where a signal ended it */
    int signal;                 /* 0 where none did */
    int timed_out;              /* we killed it */
    double seconds;
    uint64_t max_rss;           /* bytes, of its largest process */
    /* the last lines that it wrote to stdout and stderr, one line, control characters out */
    char words[SYNTH_CHILD_WORDS];
};

/* Runs it and waits for its end. 0 with *end, whatever the end was; -1 with err where it could not be started. */
int synth_child_run(const struct synth_child *c, struct synth_child_end *end, struct fmt_error *err);

/* 0 where the child exited with 0; else -1 with err: "WHAT: exit 3: last words", "killed after 5 s" ... */
int synth_child_judge(const struct synth_child *c, const struct synth_child_end *end, const char *what,
                      struct fmt_error *err);

#endif
