#include "kernels/fixed_base.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/ec.h"
#include "kernels/parallel.h"

enum {
    BLOCK = 1024,           /* additions that share an inversion; a thread's work is in its second-level cache */
    MAX_BITS = 16,          /* of a window */
    SCALAR_BITS = 255,
};

/* One of the four groups. */
struct group {
    size_t point_bytes, work_bytes;
    void (*build)(const struct krn_fixed_base *t, unsigned window, void *work);
    void (*mul)(const struct krn_fixed_base *t, uint8_t *out, const uint8_t *scalars, size_t n, void *work);
};

struct krn_fixed_base {
    const struct group *group;
    unsigned bits, windows;
    uint8_t *table;         /* windows x 2^(bits - 1) affine points */
};

static size_t window_size(const struct krn_fixed_base *t)
{
    return (size_t)1 << (t->bits - 1);
}

/* The top digit takes the last carry: one bit more than a scalar has. */
static unsigned window_count(unsigned bits)
{
    return (SCALAR_BITS + bits) / bits;
}

/* Digit k, in -2^(bits-1)+1 .. 2^(bits-1), the digits below having been taken in order; *carry is 0 at first. */
static int32_t signed_digit(const uint8_t *scalar, unsigned bits, unsigned k, uint8_t *carry)
{
    unsigned at = bits * k, byte = at / 8;
    uint32_t window = 0;

    for (unsigned i = 0; i < 3 && byte + i < KRN_FR_BYTES; i++)
        window |= (uint32_t)scalar[byte + i] << (8 * i);
    uint32_t d = (window >> at % 8 & ((1u << bits) - 1)) + *carry;
    *carry = d > 1u << (bits - 1);
    return (int32_t)d - (*carry ? (int32_t)(1u << bits) : 0);
}

#define EC bn254_g1
#define EC_FIELD bn254_fq
#include "kernels/fixed_base_tmpl.h"

#define EC bn254_g2
#define EC_FIELD bn254_fq2
#include "kernels/fixed_base_tmpl.h"

#define EC bls381_g1
#define EC_FIELD bls381_fq
#include "kernels/fixed_base_tmpl.h"

#define EC bls381_g2
#define EC_FIELD bls381_fq2
#include "kernels/fixed_base_tmpl.h"

static const struct group *const groups[KRN_CURVES][2] = {
    [KRN_BN254] = {&fixed_base_bn254_g1_group, &fixed_base_bn254_g2_group},
    [KRN_BLS12_381] = {&fixed_base_bls381_g1_group, &fixed_base_bls381_g2_group},
};

/* Additions for the table and for n multiplications, by the width of a window. */
static unsigned best_bits(size_t n)
{
    unsigned best = 1;
    double least = 0;

    for (unsigned bits = 1; bits <= MAX_BITS; bits++) {
        double additions = window_count(bits) * ((double)n + (double)(1u << (bits - 1)));
        if (bits == 1 || additions < least) {
            least = additions;
            best = bits;
        }
    }
    return best;
}

/* Blocks or windows, taken by whichever thread is free. */
struct job {
    const struct krn_fixed_base *t;
    uint8_t *out;
    const uint8_t *scalars;
    size_t n;
    atomic_size_t next;     /* a counter only: no data is passed through it */
    atomic_int failed;
};

static void run(struct job *job, void (*step)(struct job *job, size_t i, void *work), size_t steps)
{
    void *work = malloc(job->t->group->work_bytes);

    if (!work) {
        atomic_store_explicit(&job->failed, 1, memory_order_relaxed);
        return;
    }
    for (size_t i; (i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < steps;)
        step(job, i, work);
    free(work);
}

static void build_step(struct job *job, size_t i, void *work)
{
    job->t->group->build(job->t, (unsigned)i, work);
}

static void build_thread(void *arg, unsigned i, unsigned n)
{
    struct job *job = arg;
    (void)i, (void)n;
    run(job, build_step, job->t->windows);
}

static void mul_step(struct job *job, size_t i, void *work)
{
    size_t at = i * BLOCK, n = job->n - at < BLOCK ? job->n - at : BLOCK;
    job->t->group->mul(job->t, job->out + at * job->t->group->point_bytes, job->scalars + at * KRN_FR_BYTES, n, work);
}

static void mul_thread(void *arg, unsigned i, unsigned n)
{
    struct job *job = arg;
    (void)i, (void)n;
    run(job, mul_step, (job->n + BLOCK - 1) / BLOCK);
}

struct krn_fixed_base *krn_fixed_base_new(enum krn_curve_id curve, enum krn_group group, size_t n, unsigned threads)
{
    struct krn_fixed_base *t = malloc(sizeof *t);

    if (!t)
        return NULL;
    *t = (struct krn_fixed_base){.group = groups[curve][group], .bits = best_bits(n)};
    t->windows = window_count(t->bits);
    t->table = malloc(t->windows * window_size(t) * t->group->point_bytes);
    if (t->table) {
        struct job job = {.t = t};
        krn_parallel(threads, build_thread, &job);
        if (!job.failed)
            return t;
    }
    krn_fixed_base_free(t);
    return NULL;
}

int krn_fixed_base_mul(const struct krn_fixed_base *t, uint8_t *out, const uint8_t *scalars, size_t n,
                       unsigned threads)
{
    struct job job = {.t = t, .out = out, .scalars = scalars, .n = n};

    krn_parallel(threads, mul_thread, &job);
    return job.failed ? -ENOMEM : 0;
}

void krn_fixed_base_free(struct krn_fixed_base *t)
{
    if (!t)
        return;
    free(t->table);
    free(t);
}
