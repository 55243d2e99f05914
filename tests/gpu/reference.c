#include "tests/gpu/reference.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/group.h"
#include "kernels/msm.h"
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

void reference_msm_fast(enum krn_curve_id curve, int g2, const void *points, const void *scalars, size_t n, void *out)
{
    memset(out, 0xee, reference_point_bytes(curve, g2));
    krn_msm(curve, g2 ? 2 : 1, points, scalars, n, 0, out);
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

/* Work on a vector of scalars, by ranges. */
struct vector_job {
    void (*range)(const struct vector_job *job, size_t from, size_t to);
    struct krn_scalar_field f;
    struct krn_scalar *r;
    const struct krn_scalar *a, *b;
    struct krn_scalar k;
    int log;
    size_t n;
};

static void one_range(void *ctx, unsigned i, unsigned parts)
{
    const struct vector_job *job = ctx;
    job->range(job, krn_part(job->n, i, parts), krn_part(job->n, i + 1, parts));
}

static void run_ranges(struct vector_job *job)
{
    krn_parallel(job->n < 4096 ? 1 : 0, one_range, job);
}

/* k^e for a plain whole number e. */
static struct krn_scalar power(const struct krn_scalar_field *f, const struct krn_scalar *k, size_t e)
{
    const struct krn_scalar exponent = {{e}};
    struct krn_scalar x;
    krn_scalar_pow(f, &x, k, &exponent);
    return x;
}

static size_t reversed(size_t i, int log)
{
    size_t r = 0;
    for (int b = 0; b < log; b++)
        r |= (i >> b & 1) << (log - 1 - b);
    return r;
}

/* A pair is swapped where its lower index is. */
static void bit_reverse_range(const struct vector_job *job, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const size_t j = reversed(i, job->log);
        if (i < j) {
            const struct krn_scalar t = job->r[i];
            job->r[i] = job->r[j];
            job->r[j] = t;
        }
    }
}

void reference_bit_reverse(int log, uint8_t *values)
{
    struct vector_job job = {bit_reverse_range, .r = (struct krn_scalar *)values, .log = log, .n = (size_t)1 << log};
    run_ranges(&job);
}

/* r[i] = k^i, or times that where a is given. */
static void powers_range(const struct vector_job *job, size_t from, size_t to)
{
    struct krn_scalar x = power(&job->f, &job->k, from);
    for (size_t i = from; i < to; i++) {
        if (job->a)
            krn_scalar_mul(&job->f, &job->r[i], &job->a[i], &x);
        else
            job->r[i] = x;
        krn_scalar_mul(&job->f, &x, &x, &job->k);
    }
}

static void scale_range(const struct vector_job *job, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        krn_scalar_mul(&job->f, &job->r[i], &job->r[i], &job->k);
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
    struct vector_job job = {powers_range, f, .r = powers, .k = w, .n = n / 2};
    run_ranges(&job);
    reference_bit_reverse(log, values);
    struct ntt_job levels = {&f, (struct krn_scalar *)values, powers, 1, n};
    for (; levels.half < n; levels.half *= 2)
        krn_parallel(n < 4096 ? 1 : 0, ntt_level, &levels);
    free(powers);
    if (!inverse)
        return;
    struct vector_job scale = {scale_range, f, .r = (struct krn_scalar *)values, .n = n};
    krn_scalar_set_u64(&f, &scale.k, n);
    krn_scalar_inv(&f, &scale.k, &scale.k);
    run_ranges(&scale);
}

/* The generator of the odd coset. */
static struct krn_scalar coset_shift(const struct krn_scalar_field *f, int log)
{
    struct krn_scalar shift;
    if ((uint32_t)log < f->two_adicity)
        krn_scalar_root(f, &shift, (uint32_t)log + 1);
    else
        krn_scalar_set_u64(f, &shift, 25);
    return shift;
}

void reference_coset(enum krn_curve_id curve, int log, uint8_t *values)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    struct krn_scalar *v = (struct krn_scalar *)values;
    struct vector_job job = {powers_range, f, .r = v, .a = v, .k = coset_shift(&f, log), .n = (size_t)1 << log};
    run_ranges(&job);
}

static void mul_range(const struct vector_job *job, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        krn_scalar_mul(&job->f, &job->r[i], &job->a[i], &job->b[i]);
}

static void sub_range(const struct vector_job *job, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        krn_scalar_sub(&job->f, &job->r[i], &job->a[i], &job->b[i]);
}

static void plain_range(const struct vector_job *job, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        krn_scalar_from_mont(&job->f, &job->r[i], &job->r[i]);
}

static void elementwise(void (*range)(const struct vector_job *, size_t, size_t), enum krn_curve_id curve, uint8_t *r,
                        const uint8_t *a, const uint8_t *b, size_t n)
{
    struct vector_job job = {range, krn_scalar_field(curve), (struct krn_scalar *)r, (const struct krn_scalar *)a,
                             (const struct krn_scalar *)b, .n = n};
    run_ranges(&job);
}

void reference_mul(enum krn_curve_id curve, uint8_t *r, const uint8_t *a, const uint8_t *b, size_t n)
{
    elementwise(mul_range, curve, r, a, b, n);
}

void reference_sub(enum krn_curve_id curve, uint8_t *r, const uint8_t *a, const uint8_t *b, size_t n)
{
    elementwise(sub_range, curve, r, a, b, n);
}

void reference_plain(enum krn_curve_id curve, uint8_t *r, size_t n)
{
    elementwise(plain_range, curve, r, NULL, NULL, n);
}

/* ---- values of polynomials ---- */

struct evaluation {
    struct krn_scalar_field f;
    const struct krn_scalar *v, *squares;   /* squares[b] = z^(2^b) */
    int log;
    struct krn_scalar part[KRN_MAX_THREADS];
};

/* c(z) over a run of places: neighbours differ in the topmost bits of the exponent, so that pairs, then pairs of
 * pairs, are joined by powers of z: a tree with one multiplication a place. */
static struct krn_scalar evaluate_run(const struct evaluation *e, size_t at, int levels)
{
    if (levels == 0)
        return e->v[at];
    struct krn_scalar low = evaluate_run(e, at, levels - 1);
    struct krn_scalar high = evaluate_run(e, at + ((size_t)1 << (levels - 1)), levels - 1);
    krn_scalar_mul(&e->f, &high, &high, &e->squares[e->log - levels]);
    krn_scalar_add(&e->f, &low, &low, &high);
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

void reference_evaluate(enum krn_curve_id curve, int log, const uint8_t *coefficients, const uint8_t z[32],
                        uint8_t out[32])
{
    struct krn_scalar squares[32];
    struct evaluation e = {krn_scalar_field(curve), (const struct krn_scalar *)coefficients, squares, log, {{{0}}}};
    memcpy(&squares[0], z, 32);
    for (int b = 1; b < log; b++)
        krn_scalar_mul(&e.f, &squares[b], &squares[b - 1], &squares[b - 1]);
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
            krn_scalar_mul(&e.f, &e.part[2 * i + 1], &e.part[2 * i + 1], &squares[log - level]);
            krn_scalar_add(&e.f, &e.part[i], &e.part[2 * i], &e.part[2 * i + 1]);
        }
    }
    memcpy(out, &e.part[0], 32);
}

struct interpolation {
    struct krn_scalar_field f;
    const struct krn_scalar *v;
    struct krn_scalar x, w;
    size_t n;
    struct krn_scalar part[KRN_MAX_THREADS];
};

/* Sums of v_i w^i / (x - w^i), 256 inversions at a time by Montgomery's trick. */
static void interpolate_part(void *ctx, unsigned part, unsigned parts)
{
    enum { RUN = 256 };
    struct interpolation *e = ctx;
    const struct krn_scalar_field *f = &e->f;
    const size_t from = krn_part(e->n, part, parts), to = krn_part(e->n, part + 1, parts);
    struct krn_scalar sum = {{0}}, w = power(f, &e->w, from), term[RUN], difference[RUN], before[RUN];
    for (size_t at = from; at < to; at += RUN) {
        const size_t count = to - at < RUN ? to - at : RUN;
        struct krn_scalar product = f->one, t;
        for (size_t i = 0; i < count; i++) {
            krn_scalar_mul(f, &term[i], &e->v[at + i], &w);
            krn_scalar_sub(f, &difference[i], &e->x, &w);
            before[i] = product;
            krn_scalar_mul(f, &product, &product, &difference[i]);
            krn_scalar_mul(f, &w, &w, &e->w);
        }
        krn_scalar_inv(f, &product, &product);
        for (size_t i = count; i-- > 0;) {
            krn_scalar_mul(f, &t, &product, &before[i]);
            krn_scalar_mul(f, &t, &t, &term[i]);
            krn_scalar_add(f, &sum, &sum, &t);
            krn_scalar_mul(f, &product, &product, &difference[i]);
        }
    }
    e->part[part] = sum;
}

void reference_interpolate(enum krn_curve_id curve, int log, const uint8_t *values, int on_coset, const uint8_t z[32],
                           uint8_t out[32])
{
    struct interpolation e = {.f = krn_scalar_field(curve), .v = (const struct krn_scalar *)values,
                              .n = (size_t)1 << log};
    struct krn_scalar factor, n, sum = {{0}};
    memcpy(&e.x, z, 32);
    if (on_coset) {
        struct krn_scalar shift = coset_shift(&e.f, log);
        krn_scalar_inv(&e.f, &shift, &shift);
        krn_scalar_mul(&e.f, &e.x, &e.x, &shift);
    }
    krn_scalar_root(&e.f, &e.w, (uint32_t)log);
    const unsigned threads = e.n < 4096 ? 1 : krn_cpus();
    krn_parallel(threads, interpolate_part, &e);
    for (unsigned i = 0; i < threads; i++)
        krn_scalar_add(&e.f, &sum, &sum, &e.part[i]);
    factor = power(&e.f, &e.x, e.n);
    krn_scalar_sub(&e.f, &factor, &factor, &e.f.one);
    krn_scalar_set_u64(&e.f, &n, e.n);
    krn_scalar_inv(&e.f, &n, &n);
    krn_scalar_mul(&e.f, &factor, &factor, &n);
    krn_scalar_mul(&e.f, &sum, &sum, &factor);
    memcpy(out, &sum, 32);
}
