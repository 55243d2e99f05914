/*
 * examples/cubic.c: proves that x^3 + x + 5 = y for a given x, without circom: the witness is computed here, straight
 * into a slot of a running service. See examples/README.md.
 *
 *     cubic X proof.json public.json
 */
#include <pinwheel-synth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A small number as a field element: 32 bytes, little-endian. */
static void put(uint8_t *w, int wire, uint64_t v)
{
    memset(w + 32 * wire, 0, 32);
    for (int i = 0; i < 8; i++)
        w[32 * wire + i] = (uint8_t)(v >> 8 * i);
}

static int write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

/* Wires: 0 the constant, 1 y (public), 2 x, 3 x^2, 4 x^3. */
static int prove(struct pinwheel_synth *s, uint64_t x, char **proof, char **publics)
{
    struct pinwheel_slot slot;
    int rc = pinwheel_synth_claim(s, "cubic", 60000, &slot);
    if (rc != PINWHEEL_OK)
        return rc;
    put(slot.w, 0, 1);
    put(slot.w, 1, x * x * x + x + 5);
    put(slot.w, 2, x);
    put(slot.w, 3, x * x);
    put(slot.w, 4, x * x * x);
    rc = pinwheel_synth_eval(s);
    if (rc != PINWHEEL_OK) {
        pinwheel_synth_abandon(s, pinwheel_synth_error(s));
        return rc;
    }
    rc = pinwheel_synth_commit(s, 0);
    return rc == PINWHEEL_OK ? pinwheel_synth_wait(s, slot.job, -1, proof, publics) : rc;
}

int main(int argc, char **argv)
{
    char why[PINWHEEL_ERROR], *proof, *publics;
    const char *instance = getenv("PINWHEEL_INSTANCE");
    if (argc != 4 || strtoull(argv[1], NULL, 10) > 1000000) {
        fprintf(stderr, "usage: cubic X proof.json public.json, X up to 1000000\n");
        return 2;
    }
    struct pinwheel_synth *s = pinwheel_synth_join(instance ? instance : "default", why);
    if (!s) {
        fprintf(stderr, "cubic: %s\n", why);
        return 3;
    }
    int rc = prove(s, strtoull(argv[1], NULL, 10), &proof, &publics);
    if (rc == PINWHEEL_OK) {
        rc = write_file(argv[2], proof) | write_file(argv[3], publics);
        pinwheel_synth_free(proof);
        pinwheel_synth_free(publics);
    } else {
        fprintf(stderr, "cubic: %s\n", pinwheel_synth_error(s));
    }
    pinwheel_synth_leave(s);
    return rc != 0;
}
