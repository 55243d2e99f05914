/*
 * pinwheel-synth.h: fill slots of a running Pinwheel service from any process and any language.
 *
 * A producer computes the witness of a circuit that the service knows, straight into shared memory that the GPU reads;
 * no file is written, nothing is copied. In C, a whole one:
 *
 *     struct pinwheel_slot slot;
 *     char why[PINWHEEL_ERROR];
 *     struct pinwheel_synth *s = pinwheel_synth_join("default", why);
 *     if (s && pinwheel_synth_claim(s, "mul2", 5000, &slot) == 0) {
 *         ...                                      fill slot.w: slot.n_vars values, slot.w[0] = 1
 *         pinwheel_synth_eval(s);                  a and b from w; or fill them yourself
 *         if (pinwheel_synth_commit(s, 0) == 0)
 *             pinwheel_synth_wait(s, slot.job, 60000, &proof, &publics);
 *     }
 *     pinwheel_synth_leave(s);
 *
 * Values are 32 bytes, little-endian. w holds plain values below the group order: the constant 1, the public signals,
 * then all others, as in a .wtns. a, b and c hold one value a row in Montgomery form (value * 2^256 mod r), zero beyond
 * the last row: n_rows rows are used of 2^log_domain. Rows are the constraints, then one for each public signal and the
 * constant.
 *
 * A process has as many handles as it likes; a handle has one slot at a time and is used by one thread at a time. A
 * producer that dies, at whatever point, loses its slot and its job and nothing else: the job fails, the slot is free
 * again. Do not hand a handle on to a child (fork) and go on using it in both.
 *
 * Functions return 0 or one of the negative numbers below; pinwheel_synth_error then has a line for people.
 * Nothing here prints, exits or installs signal handlers. The interface only grows; PINWHEEL_SYNTH_ABI counts.
 */
#ifndef PINWHEEL_SYNTH_H
#define PINWHEEL_SYNTH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PINWHEEL_SYNTH_ABI 1
#define PINWHEEL_ERROR 512      /* bytes of an error text */

enum {
    PINWHEEL_OK = 0,
    PINWHEEL_FAILED = -1,       /* the job or its vectors are at fault; trying again gives the same */
    PINWHEEL_AGAIN = -2,        /* nothing came in time: no free slot, no job, no result yet. Try again */
    PINWHEEL_LOST = -3,         /* the job was cancelled or taken back; claim a new one */
    PINWHEEL_GONE = -4,         /* the service stops or is not there */
    PINWHEEL_MISUSE = -5,       /* no slot claimed, a slot claimed already, or no such circuit */
};

enum { PINWHEEL_BN254 = 0, PINWHEEL_BLS12_381 = 1 };
enum { PINWHEEL_HAS_C = 1 };    /* of pinwheel_synth_commit */

struct pinwheel_synth;          /* a handle */

struct pinwheel_slot {
    uint64_t job;               /* the job's id, as `pinwheel wait` takes it */
    uint32_t curve;             /* PINWHEEL_BN254 or PINWHEEL_BLS12_381 */
    uint32_t n_vars, n_public, n_rows, log_domain;
    uint32_t attempt;           /* 1 for the first */
    uint8_t *w;                 /* n_vars values */
    uint8_t *a, *b;             /* 2^log_domain values each */
    /* The same, or NULL where the slot has no room for it. Sending c is a choice: a * b = c is then checked row by row,
     * and the first row that differs is told. */
    uint8_t *c;
};

/* PINWHEEL_SYNTH_ABI of the library in use. */
int pinwheel_synth_abi(void);

/* Joins the service of that name as a producer. NULL with a text in why (PINWHEEL_ERROR bytes). */
struct pinwheel_synth *pinwheel_synth_join(const char *instance, char *why);
/* Leaves; a claimed slot is abandoned. NULL is harmless. */
void pinwheel_synth_leave(struct pinwheel_synth *s);
/* The text of the last call of this handle that failed. */
const char *pinwheel_synth_error(const struct pinwheel_synth *s);

/* Makes a job for a registered circuit and claims a slot for it. Waits up to timeout_ms for a free slot (-1: as long as
 * it takes). AGAIN, GONE, MISUSE. */
int pinwheel_synth_claim(struct pinwheel_synth *s, const char *circuit, int timeout_ms, struct pinwheel_slot *slot);

/* Takes a job that someone else has submitted without a file (`pinwheel submit NAME`), and a slot for it. circuit: only
 * jobs of this one; NULL: any. AGAIN, GONE, MISUSE. */
int pinwheel_synth_next(struct pinwheel_synth *s, const char *circuit, int timeout_ms, struct pinwheel_slot *slot);

/* Evaluates a = A.w and b = B.w of the claimed slot by the circuit's own matrices; w must be filled with values below
 * the group order. FAILED names the value that is not. */
int pinwheel_synth_eval(struct pinwheel_synth *s);

/* Plain values to Montgomery form, in place. */
int pinwheel_synth_to_montgomery(uint32_t curve, uint8_t *values, uint64_t n);

/* Hands the filled slot to the service: its pointers must not be used any more. flags: PINWHEEL_HAS_C where c was
 * written. LOST. */
int pinwheel_synth_commit(struct pinwheel_synth *s, uint32_t flags);
/* Gives the slot back; the job fails with the text (NULL: one of ours). */
int pinwheel_synth_abandon(struct pinwheel_synth *s, const char *why);

/* Waits for a job's proof, up to timeout_ms (-1: as long as it takes). proof and publics, where not NULL, get snarkjs's
 * JSON texts, to be freed by pinwheel_synth_free. A daemon that is restarted meanwhile is waited for. FAILED: the job
 * failed, the text says why. AGAIN, LOST, GONE. */
int pinwheel_synth_wait(struct pinwheel_synth *s, uint64_t job, int timeout_ms, char **proof, char **publics);
void pinwheel_synth_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
