/* The checks and conversions of krn.h that take whole arrays. */
#include "kernels/krn.h"

#include <string.h>

#include "kernels/ec.h"
#include "kernels/parallel.h"
#include "kernels/sum.h"

/* ---- scalars ---- */

static int is_below(const uint8_t *v, const uint64_t r[4])
{
    uint64_t x[4], unused[4];
    memcpy(x, v, sizeof x);
    return (int)limbs_sub(unused, x, r, 4);
}

/* Nearly every scalar is settled by its top limb, so blocks are looked through by that alone and without a branch;
 * a block with any doubt is looked at scalar by scalar. */
size_t krn_fr_first_above(const struct krn_curve *c, const uint8_t *v, size_t n)
{
    enum { BLOCK = 32 };
    uint64_t r[4];
    memcpy(r, c->r, sizeof r);
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t end = n - i < BLOCK ? n : i + BLOCK;
        uint64_t doubt = 0;
        for (size_t j = i; j < end; j++) {
            uint64_t top;
            memcpy(&top, v + j * KRN_FR_BYTES + 24, sizeof top);
            doubt |= top >= r[3];
        }
        for (size_t j = i; doubt && j < end; j++)
            if (!is_below(v + j * KRN_FR_BYTES, r))
                return j;
    }
    return n;
}

/* ---- points ---- */

typedef int is_good_fn(const uint8_t *point);

#define IS_GOOD(group)                                                                                               \
    static int group##_is_good(const uint8_t *point)                                                                 \
    {                                                                                                                \
        group##_affine a;                                                                                            \
        memcpy(&a, point, sizeof a);                                                                                 \
        return group##_affine_is_reduced(&a) && group##_affine_on_curve(&a);                                         \
    }

IS_GOOD(bn254_g1)
IS_GOOD(bn254_g2)
IS_GOOD(bls381_g1)
IS_GOOD(bls381_g2)

struct scan {
    is_good_fn *is_good;
    const struct sum_ops *ops;          /* what it can say of many points at once comes first */
    const uint8_t *points;
    size_t bytes, n;                    /* of one point; how many */
    size_t first_bad[KRN_MAX_THREADS];  /* of each part; n where it has none */
};

static void scan_part(void *ctx, unsigned i, unsigned n)
{
    struct scan *s = ctx;
    size_t j = krn_part(s->n, i, n), end = krn_part(s->n, i + 1, n);
    s->first_bad[i] = s->n;
    if (s->ops->lead != NULL)
        j += s->ops->lead(s->points + j * s->bytes, end - j);
    for (; j < end; j++) {
        if (!s->is_good(s->points + j * s->bytes)) {
            s->first_bad[i] = j;
            return;
        }
    }
}

static size_t first_bad(is_good_fn *is_good, const struct sum_ops *ops, const uint8_t *points, size_t n,
                        unsigned threads)
{
    struct scan s = {.is_good = is_good, .ops = ops, .points = points, .bytes = ops->point_bytes, .n = n};
    for (int i = 0; i < KRN_MAX_THREADS; i++)
        s.first_bad[i] = n;
    krn_parallel(threads, scan_part, &s);
    size_t first = n;
    for (int i = 0; i < KRN_MAX_THREADS; i++)
        first = s.first_bad[i] < first ? s.first_bad[i] : first;
    return first;
}

size_t krn_g1_first_bad(const struct krn_curve *c, const uint8_t *points, size_t n, unsigned threads)
{
    return first_bad(c->id == KRN_BN254 ? bn254_g1_is_good : bls381_g1_is_good, sum_ops(c->id, 1, krn_cpu_isa()),
                     points, n, threads);
}

size_t krn_g2_first_bad(const struct krn_curve *c, const uint8_t *points, size_t n, unsigned threads)
{
    return first_bad(c->id == KRN_BN254 ? bn254_g2_is_good : bls381_g2_is_good, sum_ops(c->id, 2, krn_cpu_isa()),
                     points, n, threads);
}

struct finite_scan {
    const struct krn_key *key;
    size_t g1_bytes;
    uint32_t found[KRN_MAX_THREADS];
    int differ[KRN_MAX_THREADS];
};

static int is_finite(const uint8_t *point, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (point[i])
            return 1;
    return 0;
}

static void count_part(void *ctx, unsigned part, unsigned n)
{
    struct finite_scan *s = ctx;
    const size_t end = krn_part(s->key->n_vars, part + 1, n);
    for (size_t i = krn_part(s->key->n_vars, part, n); i < end; i++) {
        const int b1 = is_finite(s->key->b1 + i * s->g1_bytes, s->g1_bytes);
        const int b2 = is_finite(s->key->b2 + i * 2 * s->g1_bytes, 2 * s->g1_bytes);
        s->found[part] += (uint32_t)b1;
        s->differ[part] |= b1 != b2;
    }
}

uint32_t krn_finite_b(const struct krn_key *key, unsigned threads)
{
    struct finite_scan s = {.key = key, .g1_bytes = 2 * (size_t)krn_curve(key->curve)->fq_bytes};
    uint32_t found = 0;
    krn_parallel(threads, count_part, &s);
    for (int i = 0; i < KRN_MAX_THREADS; i++) {
        found += s.found[i];
        if (s.differ[i])
            return 0;
    }
    return found;
}

/* ---- base-field elements ---- */

#define CONVERT(field, op)                                                                                           \
    static void field##_##op##_all(uint8_t *out, const uint8_t *in, size_t n)                                        \
    {                                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                             \
            field x;                                                                                                 \
            field##_load(&x, in + i * sizeof x);                                                                     \
            field##_##op(&x, &x);                                                                                    \
            field##_store(out + i * sizeof x, &x);                                                                   \
        }                                                                                                            \
    }

CONVERT(bn254_fq, from_mont)
CONVERT(bn254_fq, to_mont)
CONVERT(bls381_fq, from_mont)
CONVERT(bls381_fq, to_mont)

void krn_fq_to_plain(const struct krn_curve *c, uint8_t *out, const uint8_t *in, size_t n)
{
    (c->id == KRN_BN254 ? bn254_fq_from_mont_all : bls381_fq_from_mont_all)(out, in, n);
}

void krn_fq_to_mont(const struct krn_curve *c, uint8_t *out, const uint8_t *in, size_t n)
{
    (c->id == KRN_BN254 ? bn254_fq_to_mont_all : bls381_fq_to_mont_all)(out, in, n);
}
