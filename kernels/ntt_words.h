/*
 * kernels/ntt_words.h: the twins of kernels/ntt.h that work on one number at a time. Included by kernels/ntt.c and
 * kernels/ntt_adx.c, which are compiled for different processors, with NTT_TWIN, the twin's name. No include guard.
 */
#include "kernels/ntt.h"

#include <string.h>

/* Blocks below this size are one task. */
enum { TASK_LOG = 12 };

struct portable {
    struct krn_scalar *twiddles;    /* level m at [m, 2m): powers 0 .. m-1 of the root of order 2m */
    struct krn_scalar *factors;     /* shift^i / n, at bit-reversed places */
    struct krn_scalar *work[3];
};

static size_t portable_table_bytes(unsigned log_n)
{
    return (sizeof(struct portable) + 63) / 64 * 64 + 2 * (sizeof(struct krn_scalar) << log_n);
}

static size_t portable_work_bytes(unsigned log_n, unsigned threads)
{
    (void)threads;
    return 3 * (sizeof(struct krn_scalar) << log_n);
}

static void portable_twiddles(struct krn_ntt *t, struct krn_scalar *twiddles)
{
    for (size_t m = 1; m <= t->n / 2; m *= 2) {
        struct krn_scalar root, power = t->field.one;
        krn_scalar_root(&t->field, &root, (uint32_t)__builtin_ctzll(m) + 1);
        for (size_t i = 0; i < m; i++) {
            twiddles[m + i] = power;
            krn_scalar_mul(&t->field, &power, &power, &root);
        }
    }
}

static void portable_factors(struct krn_ntt *t, struct krn_scalar *factors)
{
    struct krn_scalar power = t->n_inverse;
    for (size_t i = 0; i < t->n; i++) {
        factors[ntt_reversed(i, t->log_n)] = power;
        krn_scalar_mul(&t->field, &power, &power, &t->shift);
    }
}

static void portable_init(struct krn_ntt *t)
{
    struct portable *p = t->tables;
    p->twiddles = (void *)((uint8_t *)t->tables + (sizeof *p + 63) / 64 * 64);
    p->factors = p->twiddles + t->n;
    portable_twiddles(t, p->twiddles);
    portable_factors(t, p->factors);
}

static void portable_use(struct krn_ntt *t, void *work)
{
    struct portable *p = t->tables;
    for (size_t i = 0; i < 3; i++)
        p->work[i] = (struct krn_scalar *)work + i * t->n;
}

/* w^-i for i < m, from the table of powers of w: -w^(m-i). */
static void inverse_butterfly(const struct krn_scalar_field *f, struct krn_scalar *x, struct krn_scalar *y,
                              const struct krn_scalar *level, size_t i, size_t m)
{
    struct krn_scalar difference;
    if (i == 0)
        krn_scalar_sub(f, &difference, x, y);
    else
        krn_scalar_sub(f, &difference, y, x);
    krn_scalar_add(f, x, x, y);
    if (i == 0)
        *y = difference;
    else
        krn_scalar_mul(f, y, &difference, &level[m - i]);
}

static void forward_butterfly(const struct krn_scalar_field *f, struct krn_scalar *x, struct krn_scalar *y,
                              const struct krn_scalar *level, size_t i)
{
    struct krn_scalar t = *y;
    if (i != 0)
        krn_scalar_mul(f, &t, &t, &level[i]);
    krn_scalar_sub(f, y, x, &t);
    krn_scalar_add(f, x, x, &t);
}

/* Butterflies [from, to) of a block of 2m. */
static void level_part(const struct krn_ntt *t, struct krn_scalar *v, size_t m, size_t from, size_t to,
                       enum krn_ntt_direction direction)
{
    const struct portable *p = t->tables;
    const struct krn_scalar *level = p->twiddles + m;
    for (size_t i = from; i < to; i++) {
        if (direction == KRN_NTT_INVERSE)
            inverse_butterfly(&t->field, &v[i], &v[i + m], level, i, m);
        else
            forward_butterfly(&t->field, &v[i], &v[i + m], level, i);
    }
}

/* A whole block, in halves that fit the caches sooner or later. */
static void block(const struct krn_ntt *t, struct krn_scalar *v, size_t size, enum krn_ntt_direction direction)
{
    const size_t m = size / 2;
    if (size == 1)
        return;
    if (direction == KRN_NTT_INVERSE)
        level_part(t, v, m, 0, m, direction);
    block(t, v, m, direction);
    block(t, v + m, m, direction);
    if (direction == KRN_NTT_FORWARD)
        level_part(t, v, m, 0, m, direction);
}

/* Some arrays under one direction. */
struct batch {
    struct krn_ntt *t;
    struct krn_scalar *const *v;
    enum krn_ntt_direction direction;
    size_t m, tasks;        /* of the level at hand; tasks an array */
};

static void level_task(void *ctx, size_t task, unsigned thread)
{
    const struct batch *b = ctx;
    struct krn_scalar *v = b->v[task / b->tasks];
    size_t blocks = b->t->n / (2 * b->m), parts = b->tasks / blocks, k = task % b->tasks;
    (void)thread;
    level_part(b->t, v + k / parts * 2 * b->m, b->m, krn_part(b->m, (unsigned)(k % parts), (unsigned)parts),
               krn_part(b->m, (unsigned)(k % parts) + 1, (unsigned)parts), b->direction);
}

static void block_task(void *ctx, size_t task, unsigned thread)
{
    const struct batch *b = ctx;
    size_t size = b->t->n / b->tasks;
    (void)thread;
    block(b->t, b->v[task / b->tasks] + task % b->tasks * size, size, b->direction);
}

/* The upper levels one by one, shared; below them blocks, shared. */
static void transform_all(struct krn_ntt *t, struct krn_scalar *const *v, size_t count,
                          enum krn_ntt_direction direction)
{
    const size_t tasks = t->log_n > TASK_LOG ? t->n >> TASK_LOG : 1;
    struct batch b = {.t = t, .v = v, .direction = direction, .tasks = tasks};
    for (b.m = t->n / 2; direction == KRN_NTT_INVERSE && b.m >= t->n / tasks; b.m /= 2)
        krn_pool_tasks(t->pool, count * tasks, level_task, &b);
    krn_pool_tasks(t->pool, count * tasks, block_task, &b);
    for (b.m = t->n / tasks; direction == KRN_NTT_FORWARD && b.m <= t->n / 2; b.m *= 2)
        krn_pool_tasks(t->pool, count * tasks, level_task, &b);
}

/* One proof's step over a range of rows. */
struct rows {
    struct krn_ntt *t;
    const uint8_t *a, *b, *c;
    uint8_t *h;
    _Atomic size_t differs;     /* the first row with a b != c, or n */
};

static void note_difference(struct rows *r, size_t row)
{
    size_t seen = atomic_load_explicit(&r->differs, memory_order_relaxed);
    while (row < seen && !atomic_compare_exchange_weak(&r->differs, &seen, row))
        ;
}

static void load_rows(void *ctx, unsigned i, unsigned n)
{
    struct rows *r = ctx;
    struct krn_ntt *t = r->t;
    struct portable *p = t->tables;
    for (size_t k = krn_part(t->n, i, n); k < krn_part(t->n, i + 1, n); k++) {
        struct krn_scalar c;
        memcpy(&p->work[0][k], r->a + KRN_FR_BYTES * k, KRN_FR_BYTES);
        memcpy(&p->work[1][k], r->b + KRN_FR_BYTES * k, KRN_FR_BYTES);
        krn_scalar_mul(&t->field, &p->work[2][k], &p->work[0][k], &p->work[1][k]);
        if (r->c == NULL)
            continue;
        memcpy(&c, r->c + KRN_FR_BYTES * k, KRN_FR_BYTES);
        if (!krn_scalar_eq(&c, &p->work[2][k]))
            note_difference(r, k);
    }
}

static void scale_rows(void *ctx, unsigned i, unsigned n)
{
    struct rows *r = ctx;
    struct krn_ntt *t = r->t;
    struct portable *p = t->tables;
    for (size_t k = krn_part(t->n, i, n); k < krn_part(t->n, i + 1, n); k++)
        for (int v = 0; v < 3; v++)
            krn_scalar_mul(&t->field, &p->work[v][k], &p->work[v][k], &p->factors[k]);
}

static void store_rows(void *ctx, unsigned i, unsigned n)
{
    struct rows *r = ctx;
    struct krn_ntt *t = r->t;
    struct portable *p = t->tables;
    for (size_t k = krn_part(t->n, i, n); k < krn_part(t->n, i + 1, n); k++) {
        struct krn_scalar h;
        krn_scalar_mul(&t->field, &h, &p->work[0][k], &p->work[1][k]);
        krn_scalar_sub(&t->field, &h, &h, &p->work[2][k]);
        krn_scalar_from_mont(&t->field, &h, &h);
        memcpy(r->h + KRN_FR_BYTES * k, &h, KRN_FR_BYTES);
    }
}

static size_t portable_quotient(struct krn_ntt *t, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *h)
{
    struct portable *p = t->tables;
    struct rows r = {.t = t, .a = a, .b = b, .c = c, .h = h, .differs = t->n};
    krn_pool_run(t->pool, load_rows, &r);
    if (r.differs < t->n)
        return r.differs;
    transform_all(t, p->work, 3, KRN_NTT_INVERSE);
    krn_pool_run(t->pool, scale_rows, &r);
    transform_all(t, p->work, 3, KRN_NTT_FORWARD);
    krn_pool_run(t->pool, store_rows, &r);
    return t->n;
}

static void portable_transform(struct krn_ntt *t, enum krn_ntt_direction direction, uint8_t *v)
{
    struct portable *p = t->tables;
    struct krn_scalar *work = p->work[0];
    for (size_t i = 0; i < t->n; i++) {
        size_t from = direction == KRN_NTT_FORWARD ? ntt_reversed(i, t->log_n) : i;
        memcpy(&work[i], v + KRN_FR_BYTES * from, KRN_FR_BYTES);
    }
    transform_all(t, p->work, 1, direction);
    for (size_t i = 0; i < t->n; i++) {
        size_t from = direction == KRN_NTT_INVERSE ? ntt_reversed(i, t->log_n) : i;
        if (direction == KRN_NTT_INVERSE)
            krn_scalar_mul(&t->field, &work[from], &work[from], &t->n_inverse);
        memcpy(v + KRN_FR_BYTES * i, &work[from], KRN_FR_BYTES);
    }
}

const struct ntt_twin NTT_TWIN = {
    .table_bytes = portable_table_bytes,
    .work_bytes = portable_work_bytes,
    .init = portable_init,
    .use = portable_use,
    .quotient = portable_quotient,
    .transform = portable_transform,
};
