/*
 * synth/program.h: a translated witness program (synth/build.h) in this process: from an input to a witness.
 *
 * One instance with a memory of its own, set back before each job; its code and constants are mapped from the shared
 * object and so shared by all processes that load it. Nothing that the program does ends the process or touches other
 * memory: what circom reports, what WebAssembly traps, an access outside its memory, an endless recursion and an
 * endless loop all come back as errors of the job. For that this file handles SIGSEGV and SIGVTALRM; faults that are
 * not the program's go where they would have gone.
 *
 * One thread at a time uses a program; different programs may run in different threads.
 */
#ifndef SYNTH_PROGRAM_H
#define SYNTH_PROGRAM_H

#include "formats/error.h"
#include "formats/sym.h"
#include "kernels/krn.h"
#include "synth/input.h"

enum { SYNTH_PROGRAM_LOG = 4096 };

struct synth_program_limits {
    double cpu_seconds;         /* of one job, of the calling thread; 0: none */
    uint64_t memory_bytes;      /* of the program's linear memory; 0: 4 GiB, the most there can be */
};

struct synth_program;

struct synth_program_info {
    const struct krn_curve *curve;
    uint32_t n_witness;         /* values of the witness, the leading 1 included */
    uint32_t n_inputs;          /* values that all inputs together have */
    uint32_t circom[3];         /* version of the compiler, zeros where the program does not tell */
};

/* Loads the shared object and makes the instance. NULL with err: not to be trusted, of another ABI or over another
 * field. */
struct synth_program *synth_program_open(const char *object, const struct synth_program_limits *limits,
                                         struct fmt_error *err);
const struct synth_program_info *synth_program_info(const struct synth_program *p);

/*
 * Computes the witness of an input over the same curve into w: n_witness plain values of KRN_FR_BYTES. sym: the
 * circuit's names, so that a missing input can be named; may be NULL. -1 with err: a signal that is unknown, missing or
 * has too few or too many values; a failed assertion with the circuit's own message; a trap; a limit. After a failure
 * the program is as new, and w holds anything.
 */
int synth_program_run(struct synth_program *p, const struct synth_input *in, const struct fmt_sym *sym, uint8_t *w,
                      struct fmt_error *err);

/* What log() in the circuit wrote during the last run, lines ended by '\n', cut at SYNTH_PROGRAM_LOG. */
const char *synth_program_log(const struct synth_program *p);

void synth_program_close(struct synth_program *p);      /* NULL is harmless; wipes the memory */

#endif
