#include "kernels/fixed_base.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/group.h"
#include "kernels/parallel.h"
#include "kernels/sum.h"

enum {
    MAX_BITS = 16,          /* of a window */
    SCALAR_BITS = 255,
    BUILD_BLOCK = SUM_CHUNK / 2,
};

struct krn_fixed_base {
    const struct group_ops *group;
    const struct sum_ops *sum;
    unsigned bits, windows;
    uint8_t generator[KRN_G2_MAX];
    uint8_t *table;         /* windows x 2^(bits - 1) points, iden3's bytes */
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

/* Scalars whose digits make one chunk of terms. */
static size_t block_size(const struct krn_fixed_base *t)
{
    return SUM_CHUNK / t->windows;
}

static uint8_t *entry(const struct krn_fixed_base *t, size_t i)
{
    return t->table + i * t->group->point_bytes;
}

/* ---- one thread's work ---- */

struct work {
    uint8_t *memory;        /* all below lies in it */
    uint8_t *arena;         /* up to SUM_CHUNK results, then as many slots */
    struct sum_space space;
    uint32_t *terms;        /* SUM_CHUNK */
    uint32_t *starts;       /* SUM_CHUNK + 1 */
};

static int work_new(struct work *w, const struct krn_fixed_base *t)
{
    const size_t arena = 2 * SUM_CHUNK * (size_t)t->sum->point_bytes, space = sum_space_bytes(t->sum->scratch_bytes);

    w->memory = aligned_alloc(64, arena + space + (2 * SUM_CHUNK + 16) * sizeof(uint32_t));
    if (!w->memory)
        return -ENOMEM;
    w->arena = w->memory;
    sum_space_init(&w->space, w->memory + arena, SUM_CHUNK);
    w->terms = (uint32_t *)(void *)(w->memory + arena + space);
    w->starts = w->terms + SUM_CHUNK;
    return 0;
}

/* Window k of the table: multiples 1 .. size of 2^(bits k) G. To known multiples 1 .. m the last is added, which gives
 * as many again. */
static void build_window(const struct krn_fixed_base *t, size_t k, struct work *w)
{
    const size_t size = window_size(t), first = size * k;
    const struct sum_source known = {.points = entry(t, first)};
    union krn_sum base;

    t->group->from_affine(&base, t->generator);
    for (size_t i = 0; i < t->bits * k; i++)
        t->group->dbl(&base);
    t->group->to_affine(entry(t, first), &base);
    for (size_t m = 1; m < size; m *= 2) {
        for (size_t i = 0, n; i < m; i += n) {
            n = m - i < BUILD_BLOCK ? m - i : BUILD_BLOCK;
            for (size_t j = 0; j < n; j++)
                w->space.pairs[j] = (struct sum_pair){(uint32_t)(2 * (i + j)), (uint32_t)(2 * (m - 1)), (uint32_t)j};
            t->sum->add(w->arena, &known, w->space.pairs, n, w->space.scratch);
            for (size_t j = 0; j < n; j++)
                t->sum->leave(entry(t, first + m + i + j), w->arena, (uint32_t)j);
        }
    }
}

/* The table's entries whose sum is the scalar's multiple, as terms of a sum; returns their number. */
static uint32_t scalar_terms(const struct krn_fixed_base *t, uint32_t *terms, const uint8_t *scalar)
{
    uint64_t limbs[KRN_FR_BYTES / 8];
    uint32_t n = 0;
    unsigned carry = 0;

    memcpy(limbs, scalar, sizeof limbs);
    for (unsigned k = 0; k < t->windows; k++) {
        int32_t d = krn_fixed_base_digit(limbs, t->bits, k, &carry);
        uint32_t window = (uint32_t)(window_size(t) * k);
        if (d > 0)
            terms[n++] = 2 * (window + (uint32_t)d - 1);
        else if (d < 0)
            terms[n++] = 2 * (window + (uint32_t)-d - 1) + 1;
    }
    return n;
}

static void mul_block(const struct krn_fixed_base *t, uint8_t *out, const uint8_t *scalars, size_t n, struct work *w)
{
    const struct sum_source table = {.points = t->table};
    const struct sum_groups groups = {.src = &table, .terms = w->terms, .starts = w->starts, .n = (uint32_t)n};

    w->starts[0] = 0;
    for (size_t i = 0; i < n; i++)
        w->starts[i + 1] = w->starts[i] + scalar_terms(t, w->terms + w->starts[i], scalars + i * KRN_FR_BYTES);
    sum_chunk(t->sum, w->arena, &w->space, &groups, 0, w->starts[n], 0, 0);
    for (size_t i = 0; i < n; i++)
        t->sum->leave(out + i * t->group->point_bytes, w->arena, (uint32_t)i);
}

/* ---- all threads ---- */

/* Windows to build, or blocks to multiply: taken by whichever thread is free. */
struct job {
    const struct krn_fixed_base *t;
    void (*step)(struct job *job, size_t i, struct work *w);
    size_t steps;
    uint8_t *out;
    const uint8_t *scalars;
    size_t n;
    atomic_size_t next;     /* a counter only: no data is passed through it */
    atomic_int failed;
};

static void run(void *arg, unsigned part, unsigned parts)
{
    struct job *job = arg;
    struct work w;
    (void)part, (void)parts;

    if (work_new(&w, job->t) != 0) {
        atomic_store_explicit(&job->failed, 1, memory_order_relaxed);
        return;
    }
    for (size_t i; (i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->steps;)
        job->step(job, i, &w);
    free(w.memory);
}

static void build_step(struct job *job, size_t i, struct work *w)
{
    build_window(job->t, i, w);
}

static void mul_step(struct job *job, size_t i, struct work *w)
{
    const size_t block = block_size(job->t), at = i * block, n = job->n - at < block ? job->n - at : block;
    mul_block(job->t, job->out + at * job->t->group->point_bytes, job->scalars + at * KRN_FR_BYTES, n, w);
}

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

static void copy_generator(uint8_t *out, enum krn_curve_id curve, int group)
{
    const bn254_g1_affine bn1 = bn254_g1_generator();
    const bn254_g2_affine bn2 = bn254_g2_generator();
    const bls381_g1_affine bls1 = bls381_g1_generator();
    const bls381_g2_affine bls2 = bls381_g2_generator();

    if (curve == KRN_BN254)
        memcpy(out, group == 1 ? (const void *)&bn1 : &bn2, group == 1 ? sizeof bn1 : sizeof bn2);
    else
        memcpy(out, group == 1 ? (const void *)&bls1 : &bls2, group == 1 ? sizeof bls1 : sizeof bls2);
}

struct krn_fixed_base *krn_fixed_base_new(enum krn_curve_id curve, int group, size_t n, unsigned threads)
{
    struct krn_fixed_base *t = malloc(sizeof *t);

    if (!t)
        return NULL;
    *t = (struct krn_fixed_base){.group = group_ops(curve, group), .sum = sum_ops(curve, group, krn_cpu_isa()),
                                 .bits = best_bits(n)};
    copy_generator(t->generator, curve, group);
    t->windows = window_count(t->bits);
    t->table = malloc(t->windows * window_size(t) * t->group->point_bytes);
    if (t->table) {
        struct job job = {.t = t, .step = build_step, .steps = t->windows};
        krn_parallel(threads, run, &job);
        if (!job.failed)
            return t;
    }
    krn_fixed_base_free(t);
    return NULL;
}

int krn_fixed_base_mul(const struct krn_fixed_base *t, uint8_t *out, const uint8_t *scalars, size_t n,
                       unsigned threads)
{
    const size_t block = block_size(t);
    struct job job = {.t = t, .step = mul_step, .steps = (n + block - 1) / block,
                      .out = out, .scalars = scalars, .n = n};

    krn_parallel(threads, run, &job);
    return job.failed ? -ENOMEM : 0;
}

struct krn_fixed_base_table krn_fixed_base_table(const struct krn_fixed_base *t)
{
    return (struct krn_fixed_base_table){.points = t->table, .bits = t->bits, .windows = t->windows,
                                         .bytes = t->windows * window_size(t) * t->group->point_bytes};
}

void krn_fixed_base_free(struct krn_fixed_base *t)
{
    if (!t)
        return;
    free(t->table);
    free(t);
}
