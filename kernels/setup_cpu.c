#include <stdio.h>
#include <stdlib.h>

#include "kernels/fixed_base.h"
#include "kernels/setup.h"

enum { CHUNK = 1 << 15 };   /* points at once */

struct krn_setup {
    struct krn_fixed_base *table[2];    /* G1, G2 */
    unsigned threads;
    uint8_t *points;                    /* CHUNK of the larger group */
};

static int count(char err[KRN_ERR_TEXT])
{
    (void)err;
    return 1;
}

static void close_setup(struct krn_setup *s)
{
    krn_fixed_base_free(s->table[0]);
    krn_fixed_base_free(s->table[1]);
    free(s->points);
    free(s);
}

static struct krn_setup *open_setup(enum krn_curve_id curve, size_t n_g1, size_t n_g2, unsigned threads,
                                    char err[KRN_ERR_TEXT])
{
    struct krn_setup *s = calloc(1, sizeof *s);

    snprintf(err, KRN_ERR_TEXT, "out of memory for the multiples of a generator");
    if (!s)
        return NULL;
    s->threads = threads;
    s->points = malloc(CHUNK * KRN_G2_MAX);
    s->table[0] = krn_fixed_base_new(curve, 1, n_g1, threads);
    s->table[1] = krn_fixed_base_new(curve, 2, n_g2, threads);
    if (s->points && s->table[0] && s->table[1])
        return s;
    close_setup(s);
    return NULL;
}

static const uint8_t *multiples(struct krn_setup *s, int group, const uint8_t *scalars, size_t *n,
                                char err[KRN_ERR_TEXT])
{
    if (*n > CHUNK)
        *n = CHUNK;
    if (krn_fixed_base_mul(s->table[group - 1], s->points, scalars, *n, s->threads) == 0)
        return s->points;
    snprintf(err, KRN_ERR_TEXT, "out of memory for %zu multiples of a generator", *n);
    return NULL;
}

const struct krn_setup_backend krn_setup_cpu = {
    .name = "cpu", .count = count, .open = open_setup, .close = close_setup, .multiples = multiples,
};
