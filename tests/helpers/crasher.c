/*
 * A producer of the library that dies by SIGKILL at a moment drawn from a seed, or proves right:
 *   crasher INSTANCE good X proof.json public.json      x^3 + x + 5 = y, as in examples/cubic.c
 *   crasher INSTANCE dies SEED                          again and again, until it dies
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "synth/pinwheel-synth.h"

static void put(uint8_t *w, int wire, uint64_t v) {
    memset(w + 32 * wire, 0, 32);
    memcpy(w + 32 * wire, &v, sizeof v);
}

static void fill(const struct pinwheel_slot *slot, uint64_t x) {
    put(slot->w, 0, 1);
    put(slot->w, 1, x * x * x + x + 5);
    put(slot->w, 2, x);
    put(slot->w, 3, x * x);
    put(slot->w, 4, x * x * x);
}

static int fail(const char *what, const char *text) {
    fprintf(stderr, "crasher: %s: %s\n", what, text);
    return 1;
}

/* One proof; each step may be the last of a process whose timer is set. */
static int prove(struct pinwheel_synth *s, uint64_t x, char **proof, char **publics) {
    struct pinwheel_slot slot;
    int rc;
    while ((rc = pinwheel_synth_claim(s, "cubic", 1000, &slot)) == PINWHEEL_AGAIN) continue;
    if (rc) return fail("claim", pinwheel_synth_error(s));
    fill(&slot, x);
    if (pinwheel_synth_eval(s)) return fail("eval", pinwheel_synth_error(s));
    if (pinwheel_synth_commit(s, 0)) return fail("commit", pinwheel_synth_error(s));
    return pinwheel_synth_wait(s, slot.job, -1, proof, publics) ? fail("wait", pinwheel_synth_error(s)) : 0;
}

static int write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    return !f || fputs(text, f) < 0 || fclose(f) != 0 ? fail(path, "cannot be written") : 0;
}

static void die(int sig) {
    (void)sig;
    kill(getpid(), SIGKILL);
}

/* Somewhere in the first 30 ms after the join, to the microsecond. */
static void set_timer(unsigned seed) {
    struct itimerval t = {.it_value = {.tv_usec = (long)((seed * 2654435761u >> 8) % 30000) + 1}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &t, NULL);
}

int main(int argc, char **argv) {
    char why[PINWHEEL_ERROR], *proof = NULL, *publics = NULL;
    if (argc < 4) return 2;
    int good = strcmp(argv[2], "good") == 0 && argc == 6;
    struct pinwheel_synth *s = pinwheel_synth_join(argv[1], why);
    if (!s) return fail("join", why);
    if (!good) {
        set_timer((unsigned)strtoul(argv[3], NULL, 10));
        for (uint64_t x = 1;; x++) {
            if (prove(s, x, &proof, &publics)) return 1;
            pinwheel_synth_free(proof);
            pinwheel_synth_free(publics);
        }
    }
    int rc = prove(s, strtoull(argv[3], NULL, 10), &proof, &publics);
    if (rc == 0) rc = write_file(argv[4], proof) | write_file(argv[5], publics);
    pinwheel_synth_free(proof);
    pinwheel_synth_free(publics);
    pinwheel_synth_leave(s);
    return rc;
}
