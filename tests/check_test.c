/*
 * What krn.h offers for whole arrays: scalars in range, points on their curves, conversions. Every length around the
 * blocks', every place of the bad one, any alignment, any number of threads. RUN_VALGRIND RUN_TSAN
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/krn.h"
#include "tests/files.h"
#include "tests/vectors.h"

enum { MOST = 131 };

static const size_t lengths[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- scalars ---- */

/* r, r + 1, values whose top word alone is too large, and the largest; and what is below in spite of its look. */
static void check_scalars(const struct krn_curve *c, uint64_t *random)
{
    uint8_t *v = malloc(MOST * KRN_FR_BYTES + 1), *at = v + 1;  /* misaligned on purpose */
    uint8_t above[4][KRN_FR_BYTES], below[3][KRN_FR_BYTES];

    memcpy(above[0], c->r, KRN_FR_BYTES);
    memcpy(above[1], c->r, KRN_FR_BYTES);
    above[1][0]++;
    memset(above[2], 0, KRN_FR_BYTES);
    above[2][KRN_FR_BYTES - 1] = (uint8_t)(c->r[KRN_FR_BYTES - 1] + 1);
    memset(above[3], 0xff, KRN_FR_BYTES);
    memcpy(below[0], c->r, KRN_FR_BYTES);
    below[0][0]--;      /* r is odd */
    memset(below[1], 0, KRN_FR_BYTES);
    memcpy(below[1] + 24, c->r + 24, 8);    /* the top word of r, the others less */
    memset(below[2], 0xff, 24);
    memset(below[2] + 24, 0, 8);

    for (size_t k = 0; k < LENGTHS; k++) {
        size_t n = lengths[k];
        for (size_t i = 0; i < n; i++)
            memcpy(at + i * KRN_FR_BYTES, below[rnd(random) % 3], KRN_FR_BYTES);
        size_t got = krn_fr_first_above(c, at, n);
        check(got == n, "%s: of %zu right scalars number %zu is refused", c->name, n, got);
        for (size_t bad = 0; bad < n; bad++) {
            uint8_t kept[KRN_FR_BYTES], *value = at + bad * KRN_FR_BYTES;
            memcpy(kept, value, sizeof kept);
            memcpy(value, above[rnd(random) % 4], sizeof kept);
            got = krn_fr_first_above(c, at, n);
            check(got == bad, "%s: of %zu scalars %zu is bad, found %zu", c->name, n, bad, got);
            memcpy(value, kept, sizeof kept);
        }
        if (n >= 2) {
            memcpy(at, above[0], KRN_FR_BYTES);
            memcpy(at + (n - 1) * KRN_FR_BYTES, above[1], KRN_FR_BYTES);
            check(krn_fr_first_above(c, at, n) == 0, "%s: the first of two bad scalars", c->name);
        }
    }
    free(v);
}

/* ---- points ---- */

typedef size_t first_bad_fn(const struct krn_curve *c, const uint8_t *points, size_t n, unsigned threads);

/* ffjavascript's multiples of the generator, infinity among them, over and over; Montgomery coordinates. */
static void read_points(uint8_t *out, const struct krn_curve *c, const char *group, size_t point_bytes)
{
    struct vectors v;
    const char *name;
    size_t n = 0;
    vectors_open(&v, "tests/data/curve.txt");
    while ((name = vectors_next(&v)) != NULL) {
        if (strcmp(name, group) != 0 || strcmp(vectors_word(&v), "mul") != 0)
            continue;
        vectors_word(&v);
        for (size_t i = 0; i < point_bytes / c->fq_bytes; i++)
            vectors_number(&v, out + n * point_bytes + i * c->fq_bytes, c->fq_bytes);
        n++;
    }
    check(n > 10, "%s: only %zu points", group, n);
    krn_fq_to_mont(c, out, out, n * (point_bytes / c->fq_bytes));
    for (size_t i = n; i < MOST && n > 0; i++)
        memcpy(out + i * point_bytes, out + (i - n) * point_bytes, point_bytes);
}

static void check_points(const struct krn_curve *c, const char *group, size_t point_bytes, first_bad_fn *first_bad,
                         uint64_t *random)
{
    uint8_t *v = malloc(MOST * point_bytes + 1), *points = v + 1;
    read_points(points, c, group, point_bytes);

    for (size_t k = 0; k < LENGTHS; k++) {
        size_t n = lengths[k];
        for (unsigned threads = 0; threads < 5; threads++) {
            size_t got = first_bad(c, points, n, threads);
            check(got == n, "%s: of %zu right points number %zu is refused", group, n, got);
        }
        for (size_t bad = 0; bad < n; bad++) {
            uint8_t kept[KRN_G2_MAX], *point = points + bad * point_bytes;
            size_t coordinate = rnd(random) % (point_bytes / c->fq_bytes) * c->fq_bytes;
            memcpy(kept, point, point_bytes);
            switch (rnd(random) % 3) {
            case 0:
                point[coordinate] ^= 1;                             /* off the curve */
                break;
            case 1:
                memcpy(point + coordinate, c->q, c->fq_bytes);      /* q, which is no spelling of 0 */
                break;
            default:
                memset(point + coordinate, 0xff, c->fq_bytes);
            }
            size_t got = first_bad(c, points, n, (unsigned)(rnd(random) % 5));
            check(got == bad, "%s: of %zu points %zu is bad, found %zu", group, n, bad, got);
            if (bad + 1 < n) {
                points[(n - 1) * point_bytes] ^= 1;
                check(first_bad(c, points, n, 3) == bad, "%s: the first of two bad points", group);
                points[(n - 1) * point_bytes] ^= 1;
            }
            memcpy(point, kept, point_bytes);
        }
    }
    free(v);
}

/* Which variables have points in B, whatever these are. */
static void check_finite(const struct krn_curve *c, uint64_t *random)
{
    const size_t g1 = 2 * c->fq_bytes, g2 = 2 * g1;
    uint8_t *b1 = calloc(MOST, g1), *b2 = calloc(MOST, g2);
    struct krn_key key = {.curve = c->id, .b1 = b1, .b2 = b2};
    for (key.n_vars = 1; key.n_vars < MOST; key.n_vars++) {
        const size_t i = key.n_vars - 1, at1 = i * g1, at2 = i * g2;
        const uint32_t before = krn_finite_b(&key, (unsigned)(rnd(random) % 5));
        b1[at1 + rnd(random) % g1] = 1;
        check(krn_finite_b(&key, 2) == 0, "%s: variable %zu has a point in b1 alone", c->name, i);
        b2[at2 + rnd(random) % g2] = 1;
        check(krn_finite_b(&key, 3) == before + 1, "%s: variable %zu has points", c->name, i);
        if (rnd(random) % 2) {
            memset(b1 + at1, 0, g1);
            check(krn_finite_b(&key, 0) == 0, "%s: variable %zu has a point in b2 alone", c->name, i);
            memset(b2 + at2, 0, g2);
        }
    }
    free(b1);
    free(b2);
}

/* ---- conversions ---- */

/* The columns a, a*R and a/R of field.txt. */
static void check_conversions(const struct krn_curve *c, const char *field)
{
    uint8_t plain[MOST * KRN_FQ_MAX], times_r[MOST * KRN_FQ_MAX], over_r[MOST * KRN_FQ_MAX], got[MOST * KRN_FQ_MAX + 1];
    size_t bytes = c->fq_bytes, n = 0;
    struct vectors v;
    const char *name;

    vectors_open(&v, "tests/data/field.txt");
    while ((name = vectors_next(&v)) != NULL) {
        if (strcmp(name, field) != 0 || strcmp(vectors_word(&v), "u") != 0 || n == MOST)
            continue;
        vectors_number(&v, plain + n * bytes, bytes);
        vectors_word(&v);
        vectors_word(&v);
        vectors_number(&v, times_r + n * bytes, bytes);
        vectors_number(&v, over_r + n * bytes, bytes);
        n++;
    }
    check(n > 20, "%s: only %zu vectors", field, n);
    memset(got, 0x55, sizeof got);
    krn_fq_to_mont(c, got + 1, plain, n);
    check(memcmp(got + 1, times_r, n * bytes) == 0, "%s: krn_fq_to_mont", c->name);
    krn_fq_to_plain(c, got + 1, got + 1, n);
    check(memcmp(got + 1, plain, n * bytes) == 0, "%s: krn_fq_to_plain in place", c->name);
    krn_fq_to_plain(c, got, plain, n);
    check(memcmp(got, over_r, n * bytes) == 0, "%s: krn_fq_to_plain", c->name);
    krn_fq_to_plain(c, got, plain, 0);
    check(memcmp(got, over_r, n * bytes) == 0, "%s: krn_fq_to_plain of nothing", c->name);
}

int main(void)
{
    static const char *const prefixes[KRN_CURVES] = {"bn254", "bls381"};
    uint64_t random = test_seed();

    for (int i = 0; i < KRN_CURVES; i++) {
        const struct krn_curve *c = krn_curve((enum krn_curve_id)i);
        char name[16];
        check_scalars(c, &random);
        snprintf(name, sizeof name, "%s_g1", prefixes[i]);
        check_points(c, name, 2 * c->fq_bytes, krn_g1_first_bad, &random);
        snprintf(name, sizeof name, "%s_g2", prefixes[i]);
        check_points(c, name, 4 * c->fq_bytes, krn_g2_first_bad, &random);
        check_finite(c, &random);
        snprintf(name, sizeof name, "%s_fq", prefixes[i]);
        check_conversions(c, name);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
