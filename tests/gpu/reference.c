#include "tests/gpu/reference.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/group.h"
#include "kernels/parallel.h"
#include "kernels/scalar.h"

static void generator(enum krn_curve_id curve, int g2, uint8_t out[KRN_G2_MAX])
{
    const bn254_g1_affine a = bn254_g1_generator();
    const bn254_g2_affine b = bn254_g2_generator();
    const bls381_g1_affine c = bls381_g1_generator();
    const bls381_g2_affine d = bls381_g2_generator();
    if (curve == KRN_BN254)
        memcpy(out, g2 ? (const void *)&b : (const void *)&a, g2 ? sizeof b : sizeof a);
    else
        memcpy(out, g2 ? (const void *)&d : (const void *)&c, g2 ? sizeof d : sizeof c);
}

void reference_times_generator(enum krn_curve_id curve, int g2, const uint8_t k[32], void *out)
{
    const struct group_ops *group = group_ops(curve, g2 ? 2 : 1);
    uint8_t g[KRN_G2_MAX];
    union krn_sum x;
    generator(curve, g2, g);
    group->from_affine(&x, g);
    group->mul(&x, k);
    group->to_affine(out, &x);
}

void reference_fr_double(enum krn_curve_id curve, uint8_t k[32])
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    struct krn_scalar x;
    memcpy(&x, k, 32);
    krn_scalar_add(&f, &x, &x, &x);
    memcpy(k, &x, 32);
}

size_t reference_point_bytes(enum krn_curve_id curve, int g2)
{
    return group_ops(curve, g2 ? 2 : 1)->point_bytes;
}

struct job {
    const struct group_ops *group;
    const uint8_t *points, *scalars;
    size_t n;
    union krn_sum part[KRN_MAX_THREADS];
};

static void one_part(void *ctx, unsigned i, unsigned n)
{
    struct job *job = ctx;
    const struct group_ops *group = job->group;
    group->set_inf(&job->part[i]);
    for (size_t k = krn_part(job->n, i, n); k < krn_part(job->n, i + 1, n); k++) {
        union krn_sum x;
        group->from_affine(&x, job->points + k * group->point_bytes);
        group->mul(&x, job->scalars + 32 * k);
        group->add(&job->part[i], &x);
    }
}

void reference_msm(enum krn_curve_id curve, int g2, const void *points, const void *scalars, size_t n, void *out)
{
    struct job job = {.group = group_ops(curve, g2 ? 2 : 1), .points = points, .scalars = scalars, .n = n};
    const unsigned threads = n < 64 ? 1 : krn_cpus();
    union krn_sum sum;
    krn_parallel(threads, one_part, &job);
    job.group->set_inf(&sum);
    for (unsigned i = 0; i < threads; i++)
        job.group->add(&sum, &job.part[i]);
    job.group->to_affine(out, &sum);
}

void reference_negate(enum krn_curve_id curve, int g2, void *point)
{
    const struct group_ops *group = group_ops(curve, g2 ? 2 : 1);
    union krn_sum x;
    group->from_affine(&x, point);
    group->neg(&x);
    group->to_affine(point, &x);
}

/* ---- transforms ---- */

static size_t reversed(size_t i, int log)
{
    size_t r = 0;
    for (int b = 0; b < log; b++)
        r |= (i >> b & 1) << (log - 1 - b);
    return r;
}

void reference_bit_reverse(int log, uint8_t *values)
{
    struct krn_scalar *v = (struct krn_scalar *)values;
    for (size_t i = 0; i < (size_t)1 << log; i++) {
        const size_t j = reversed(i, log);
        if (i < j) {
            const struct krn_scalar t = v[i];
            v[i] = v[j];
            v[j] = t;
        }
    }
}

struct ntt_job {
    const struct krn_scalar_field *f;
    struct krn_scalar *v;
    const struct krn_scalar *powers;    /* w^0 .. w^(n/2 - 1) */
    size_t half, n;
};

/* One level: butterflies of size 2 half. */
static void ntt_level(void *ctx, unsigned part, unsigned parts)
{
    const struct ntt_job *job = ctx;
    for (size_t k = krn_part(job->n / 2, part, parts); k < krn_part(job->n / 2, part + 1, parts); k++) {
        const size_t j = k % job->half, at = k / job->half * 2 * job->half + j;
        struct krn_scalar t, *u = &job->v[at], *v = &job->v[at + job->half];
        krn_scalar_mul(job->f, &t, v, &job->powers[j * (job->n / (2 * job->half))]);
        krn_scalar_sub(job->f, v, u, &t);
        krn_scalar_add(job->f, u, u, &t);
    }
}

void reference_ntt(enum krn_curve_id curve, int log, int inverse, uint8_t *values)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    const size_t n = (size_t)1 << log;
    struct krn_scalar w, *powers = malloc(sizeof *powers * (n / 2 + 1));
    krn_scalar_root(&f, &w, (uint32_t)log);
    if (inverse)
        krn_scalar_inv(&f, &w, &w);
    powers[0] = f.one;
    for (size_t i = 1; i < n / 2; i++)
        krn_scalar_mul(&f, &powers[i], &powers[i - 1], &w);
    reference_bit_reverse(log, values);
    struct ntt_job job = {&f, (struct krn_scalar *)values, powers, 1, n};
    for (; job.half < n; job.half *= 2)
        krn_parallel(n < 4096 ? 1 : 0, ntt_level, &job);
    free(powers);
    if (!inverse)
        return;
    struct krn_scalar scale;
    krn_scalar_set_u64(&f, &scale, n);
    krn_scalar_inv(&f, &scale, &scale);
    for (size_t i = 0; i < n; i++)
        krn_scalar_mul(&f, &job.v[i], &job.v[i], &scale);
}

void reference_coset(enum krn_curve_id curve, int log, uint8_t *values)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    struct krn_scalar *v = (struct krn_scalar *)values, shift, power = f.one;
    if ((uint32_t)log < f.two_adicity)
        krn_scalar_root(&f, &shift, (uint32_t)log + 1);
    else
        krn_scalar_set_u64(&f, &shift, 25);
    for (size_t i = 0; i < (size_t)1 << log; i++) {
        krn_scalar_mul(&f, &v[i], &v[i], &power);
        krn_scalar_mul(&f, &power, &power, &shift);
    }
}

void reference_mul(enum krn_curve_id curve, uint8_t *r, const uint8_t *a, const uint8_t *b, size_t n)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    for (size_t i = 0; i < n; i++)
        krn_scalar_mul(&f, (struct krn_scalar *)r + i, (const struct krn_scalar *)a + i,
                       (const struct krn_scalar *)b + i);
}

void reference_sub(enum krn_curve_id curve, uint8_t *r, const uint8_t *a, const uint8_t *b, size_t n)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    for (size_t i = 0; i < n; i++)
        krn_scalar_sub(&f, (struct krn_scalar *)r + i, (const struct krn_scalar *)a + i,
                       (const struct krn_scalar *)b + i);
}

void reference_plain(enum krn_curve_id curve, uint8_t *r, size_t n)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    for (size_t i = 0; i < n; i++)
        krn_scalar_from_mont(&f, (struct krn_scalar *)r + i, (const struct krn_scalar *)r + i);
}

struct evaluation {
    const struct krn_scalar_field *f;
    const struct krn_scalar *v, *squares;   /* squares[b] = w^(j 2^b) */
    int log;
    struct krn_scalar part[KRN_MAX_THREADS];
};

/* c(x) over a run of places: neighbours differ in the topmost bits of the exponent, so that pairs, then pairs of
 * pairs, are joined by powers of x: a tree with one multiplication a place. */
static struct krn_scalar evaluate_run(const struct evaluation *e, size_t at, int levels)
{
    if (levels == 0)
        return e->v[at];
    struct krn_scalar low = evaluate_run(e, at, levels - 1);
    struct krn_scalar high = evaluate_run(e, at + ((size_t)1 << (levels - 1)), levels - 1);
    krn_scalar_mul(e->f, &high, &high, &e->squares[e->log - levels]);
    krn_scalar_add(e->f, &low, &low, &high);
    return low;
}

static void evaluate_part(void *ctx, unsigned i, unsigned n)
{
    struct evaluation *e = ctx;
    int split = 0;
    while (1u << split < n)
        split++;
    e->part[i] = evaluate_run(e, (size_t)i << (e->log - split), e->log - split);
}

void reference_evaluate(enum krn_curve_id curve, int log, const uint8_t *coefficients, size_t j, uint8_t out[32])
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    struct krn_scalar squares[32], w, exponent = {{j}};
    krn_scalar_root(&f, &w, (uint32_t)log);
    krn_scalar_pow(&f, &squares[0], &w, &exponent);
    for (int b = 1; b < log; b++)
        krn_scalar_mul(&f, &squares[b], &squares[b - 1], &squares[b - 1]);
    struct evaluation e = {.f = &f, .v = (const struct krn_scalar *)coefficients, .squares = squares, .log = log};
    unsigned threads = 1;
    int split = 0;
    while (2 * threads <= krn_cpus() && split < log) {
        threads *= 2;
        split++;
    }
    krn_parallel(threads, evaluate_part, &e);
    /* The parts are the top levels of the tree. */
    for (int level = log - split + 1; level <= log; level++) {
        threads /= 2;
        for (unsigned i = 0; i < threads; i++) {
            krn_scalar_mul(&f, &e.part[2 * i + 1], &e.part[2 * i + 1], &squares[log - level]);
            krn_scalar_add(&f, &e.part[i], &e.part[2 * i], &e.part[2 * i + 1]);
        }
    }
    memcpy(out, &e.part[0], 32);
}
