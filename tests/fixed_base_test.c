/*
 * Multiples of the generators against points computed by ffjavascript (tests/data/gen_curve.mjs), by tables of all
 * sizes, and among many others in one call.
 * RUN_VALGRIND RUN_TSAN
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fixed_base.h"
#include "tests/vectors.h"

enum { MAX_POINTS = 64, MANY = 3000 };

/* The vectors of one group: scalar and point, in Montgomery form. */
struct known {
    enum krn_curve_id curve;
    int group;
    size_t n;
    uint8_t scalars[MAX_POINTS][KRN_FR_BYTES], points[MAX_POINTS][KRN_G2_MAX];
};

static const char *const group_names[KRN_CURVES][2] = {{"bn254_g1", "bn254_g2"}, {"bls381_g1", "bls381_g2"}};

static size_t coordinates(const struct known *k)
{
    return k->group == 1 ? 2 : 4;
}

static int below_order(const struct known *k, const uint8_t *scalar)
{
    return krn_fr_first_above(krn_curve(k->curve), scalar, 1) == 1;
}

/* One line "GROUP mul K x y". */
static void read_line(struct vectors *v, struct known *k)
{
    const struct krn_curve *c = krn_curve(k->curve);

    if (k->n == MAX_POINTS) {
        printf("%s: more than %d points of a group\n", v->path, MAX_POINTS);
        exit(1);
    }
    vectors_number(v, k->scalars[k->n], KRN_FR_BYTES);
    for (size_t i = 0; i < coordinates(k); i++)
        vectors_number(v, k->points[k->n] + i * c->fq_bytes, c->fq_bytes);
    krn_fq_to_mont(c, k->points[k->n], k->points[k->n], coordinates(k));
    k->n += (size_t)below_order(k, k->scalars[k->n]);
}

static void read_known(struct known *k)
{
    struct vectors v;
    const char *word;

    vectors_open(&v, "tests/data/curve.txt");
    while ((word = vectors_next(&v)) != NULL) {
        if (strcmp(word, group_names[k->curve][k->group - 1]) == 0 && strcmp(vectors_word(&v), "mul") == 0)
            read_line(&v, k);
    }
}

/* Multiplies n scalars, the known ones over and over, with a table made for `expected` multiplications. */
static int check(const struct known *k, size_t n, size_t expected, unsigned threads)
{
    const size_t bytes = coordinates(k) * krn_curve(k->curve)->fq_bytes;
    uint8_t *scalars = malloc(n * KRN_FR_BYTES + 1), *out = malloc(n * bytes + 1);
    struct krn_fixed_base *t = krn_fixed_base_new(k->curve, k->group, expected, threads);
    int bad = scalars == NULL || out == NULL || t == NULL;

    for (size_t i = 0; i < n && !bad; i++)
        memcpy(scalars + i * KRN_FR_BYTES, k->scalars[i % k->n], KRN_FR_BYTES);
    bad = bad || krn_fixed_base_mul(t, out + 1, scalars, n, threads) != 0;   /* + 1: at any alignment */
    for (size_t i = 0; i < n && !bad; i++) {
        bad = memcmp(out + 1 + i * bytes, k->points[i % k->n], bytes) != 0;
        if (bad)
            printf("%s: %zu scalars, table for %zu, %u threads: number %zu is wrong\n",
                   group_names[k->curve][k->group - 1], n, expected, threads, i);
    }
    krn_fixed_base_free(t);
    free(scalars);
    free(out);
    return bad;
}

static int check_group(enum krn_curve_id curve, int group)
{
    struct known k = {.curve = curve, .group = group};
    int bad = 0;

    read_known(&k);
    if (k.n < 10) {
        printf("%s: only %zu points known\n", group_names[curve][group - 1], k.n);
        return 1;
    }
    for (size_t expected = 1; expected <= 1 << 16; expected *= 4)
        bad |= check(&k, k.n, expected, 1);
    bad |= check(&k, 0, 1, 2);
    bad |= check(&k, 1, 1 << 10, 2);
    bad |= check(&k, MANY, MANY, 3);
    return bad;
}

int main(void)
{
    int bad = 0;

    for (int curve = 0; curve < KRN_CURVES; curve++) {
        bad |= check_group((enum krn_curve_id)curve, 1);
        bad |= check_group((enum krn_curve_id)curve, 2);
    }
    return bad;
}
