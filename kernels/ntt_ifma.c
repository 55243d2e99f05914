/*
 * The twin of kernels/ntt.c in eight lanes of AVX-512 IFMA, for sizes from 2^6. Entered only where krn_cpu_isa()
 * says so.
 *
 * A vector holds eight neighbours. Levels with m >= 8 pair whole vectors; for the last three, 64 neighbours are
 * transposed, so that they pair vectors too, and stay so until the forward transform has undone its first three.
 * Memory is passed over few times: the first pass takes 2^k rows of vectors, far apart, through k levels in a buffer;
 * the last ones of 2^ROW vectors are done where they lie, inverse, coset factor and forward in one go; and a pass of
 * columns ends it. Only very large transforms need column passes between.
 *
 * Values between passes are below 2p. Products divide by S = 2^260 where the data came with R = 2^256: twiddles are
 * w S, so data keep their form, and the coset factors (and one factor for c = a b) hold what is needed so that a b - c
 * comes out plain.
 *
 * Cost of a butterfly: one multiplication of 105 IFMA instructions on two ports, for eight.
 */
#include "kernels/ntt.h"

#include <string.h>

#include "kernels/lanes.h"

#ifdef __x86_64__

enum {
    N = 5,              /* limbs */
    MIN_ROW = 7,        /* log2 of the vectors in a row: 40 KiB */
    MAX_ROW = 9,
    MAX_COLUMN = 9,     /* levels in a column pass */
    MAX_PASSES = 3,
    COLUMNS = 8,        /* neighbouring columns in a task: whole lines for the bytes outside */
    ARRAYS = 3,
};

typedef struct {
    lanes_v l[N];
} vec;

struct pass {
    unsigned levels;    /* k: rows are 2^k */
    size_t stride;      /* vectors from row to row */
};

struct ifma {
    struct lanes_prime m;
    unsigned log_v;             /* log2 of the vectors of an array */
    unsigned row;               /* log2 of the vectors in a row */
    unsigned passes;
    struct pass pass[MAX_PASSES];   /* of columns, in the order of the inverse; the first may have no levels */
    vec *inverse, *forward;     /* twiddles: the level that pairs vectors M apart at [M, 2M) */
    vec *factors;               /* 2^-126 shift^i / n, at transposed bit-reversed places */
    vec *work[ARRAYS];
    vec *buffers;               /* one a thread, of ARRAYS times the rows of the largest pass */
    size_t buffer;              /* vectors in each */
    vec eighth[2][4];           /* powers of w_8: of the forward transform, of the inverse */
    vec a_b_to_c;               /* 2^-126, with which a b R^2 / S leaves the coset factors plain */
    vec c_to_a_b;               /* 2^-4: c R becomes comparable to a b R^2 / S */
    vec n_inverse;
};

/* ---- tables ---- */

/* Lane l gets x[l] S of x[l] R: S / R = 2^4. */
static vec lanes_of(const struct krn_ntt *t, const struct krn_scalar x[LANES])
{
    uint64_t bytes[KRN_SCALAR_LIMBS][LANES];
    lanes_v words[KRN_SCALAR_LIMBS];
    vec r;
    for (int l = 0; l < LANES; l++) {
        struct krn_scalar y = x[l];
        for (int i = 0; i < 4; i++)
            krn_scalar_add(&t->field, &y, &y, &y);
        for (int j = 0; j < KRN_SCALAR_LIMBS; j++)
            bytes[j][l] = y.l[j];
    }
    for (int j = 0; j < KRN_SCALAR_LIMBS; j++)
        words[j] = _mm512_loadu_si512(bytes[j]);
    lanes_from_words(r.l, words, KRN_SCALAR_LIMBS, N);
    return r;
}

static vec same_lanes(const struct krn_ntt *t, const struct krn_scalar *x)
{
    struct krn_scalar all[LANES];
    for (int l = 0; l < LANES; l++)
        all[l] = *x;
    return lanes_of(t, all);
}

static struct krn_scalar power(const struct krn_ntt *t, const struct krn_scalar *x, uint64_t e)
{
    struct krn_scalar r, exponent = {{e}};
    krn_scalar_pow(&t->field, &r, x, &exponent);
    return r;
}

/* 2^-e */
static struct krn_scalar half_power(const struct krn_ntt *t, unsigned e)
{
    struct krn_scalar two, half;
    krn_scalar_set_u64(&t->field, &two, 2);
    krn_scalar_inv(&t->field, &half, &two);
    return power(t, &half, e);
}

/* A table of which n entries are filled, and as many more are to be. */
struct table {
    const struct ifma *f;
    vec *v, by;
    size_t n;
};

static void extend_part(void *ctx, unsigned i, unsigned n)
{
    const struct table *s = ctx;
    for (size_t k = krn_part(s->n, i, n); k < krn_part(s->n, i + 1, n); k++) {
        lanes_mul(s->v[s->n + k].l, s->v[k].l, s->by.l, &s->f->m, N);
        lanes_reduce(s->v[s->n + k].l, s->v[s->n + k].l, &s->f->m, N);
    }
}

/* v[n + k] = v[k] * by for k < n. */
static void extend(struct krn_ntt *t, vec *v, size_t n, const struct krn_scalar *by)
{
    struct table s = {.f = t->tables, .v = v, .by = same_lanes(t, by), .n = n};
    if (n < 512)
        extend_part(&s, 0, 1);
    else
        krn_pool_run(t->pool, extend_part, &s);
}

static void init_twiddles(struct krn_ntt *t, vec *twiddles, const struct krn_scalar *root)
{
    const struct ifma *f = t->tables;
    for (size_t m = 1; m < (size_t)1 << f->log_v; m *= 2) {
        struct krn_scalar w = power(t, root, t->n / (16 * m)), lane[LANES] = {t->field.one};   /* w: of order 16 m */
        for (int l = 1; l < LANES; l++)
            krn_scalar_mul(&t->field, &lane[l], &lane[l - 1], &w);
        twiddles[m] = lanes_of(t, lane);
        for (size_t n = 1; n < m; n *= 2) {
            struct krn_scalar by = power(t, &w, 8 * n);
            extend(t, twiddles + m, n, &by);
        }
    }
}

/* Tile T's vector e has in lane l the place 64 T + 8 l + e, whose coefficient has the reversed number. */
static void init_factors(struct krn_ntt *t)
{
    const struct ifma *f = t->tables;
    struct krn_scalar scale = half_power(t, 126), lane[LANES];
    krn_scalar_mul(&t->field, &scale, &scale, &t->n_inverse);
    for (size_t e = 0; e < LANES; e++) {
        for (size_t l = 0; l < LANES; l++) {
            lane[l] = power(t, &t->shift, ntt_reversed(8 * l + e, t->log_n));
            krn_scalar_mul(&t->field, &lane[l], &lane[l], &scale);
        }
        f->factors[e] = lanes_of(t, lane);
    }
    for (unsigned bit = 6; bit < t->log_n; bit++) {
        struct krn_scalar by = power(t, &t->shift, (uint64_t)1 << (t->log_n - 1 - bit));
        extend(t, f->factors, (size_t)1 << (bit - 3), &by);
    }
}

static void init_constants(struct krn_ntt *t, const struct krn_scalar *inverse_root)
{
    struct ifma *f = t->tables;
    struct krn_scalar x;
    for (int i = 0; i < 4; i++) {
        x = power(t, &t->root, (uint64_t)i * (t->n / 8));
        f->eighth[KRN_NTT_FORWARD][i] = same_lanes(t, &x);
        x = power(t, inverse_root, (uint64_t)i * (t->n / 8));
        f->eighth[KRN_NTT_INVERSE][i] = same_lanes(t, &x);
    }
    x = half_power(t, 126);
    f->a_b_to_c = same_lanes(t, &x);
    x = half_power(t, 4);
    f->c_to_a_b = same_lanes(t, &x);
    f->n_inverse = same_lanes(t, &t->n_inverse);
}

/* ---- shapes and memory ---- */

static unsigned row_of(unsigned log_v)
{
    unsigned row = (log_v + 1) / 2;
    row = row < MIN_ROW ? MIN_ROW : row > MAX_ROW ? MAX_ROW : row;
    return row < log_v ? row : log_v;
}

/* Shares the levels above the rows among as few passes as may be; there is always one. */
static void plan_passes(struct ifma *f)
{
    unsigned levels = f->log_v - f->row, done = 0;
    f->passes = levels <= MAX_COLUMN ? 1 : (levels + MAX_COLUMN - 1) / MAX_COLUMN;
    for (unsigned i = 0; i < f->passes; i++) {
        unsigned k = (levels - done) / (f->passes - i);
        done += k;
        f->pass[i] = (struct pass){.levels = k, .stride = (size_t)1 << (f->log_v - done)};
    }
}

static size_t buffer_vectors(const struct ifma *f)
{
    unsigned most = 0;
    for (unsigned i = 0; i < f->passes; i++)
        most = f->pass[i].levels > most ? f->pass[i].levels : most;
    return (size_t)ARRAYS << most;
}

static struct ifma plan(unsigned log_n)
{
    struct ifma f = {.log_v = log_n - 3};
    f.row = row_of(f.log_v);
    plan_passes(&f);
    f.buffer = buffer_vectors(&f);
    return f;
}

static size_t header_bytes(void)
{
    return (sizeof(struct ifma) + 63) / 64 * 64;
}

static size_t ifma_table_bytes(unsigned log_n)
{
    return header_bytes() + sizeof(vec) * ((size_t)3 << (log_n - 3));
}

static size_t ifma_work_bytes(unsigned log_n, unsigned threads)
{
    const struct ifma f = plan(log_n);
    return sizeof(vec) * (((size_t)ARRAYS << f.log_v) + threads * f.buffer);
}

static void ifma_use(struct krn_ntt *t, void *work)
{
    struct ifma *f = t->tables;
    for (size_t i = 0; i < ARRAYS; i++)
        f->work[i] = (vec *)work + (i << f->log_v);
    f->buffers = (vec *)work + ((size_t)ARRAYS << f->log_v);
}

static void ifma_init(struct krn_ntt *t)
{
    struct ifma *f = t->tables;
    vec *at = (void *)((uint8_t *)t->tables + header_bytes());
    const size_t v = t->n / LANES;
    struct krn_scalar inverse_root;
    *f = plan(t->log_n);
    f->m = lanes_prime_of(t->field.p.l, KRN_SCALAR_LIMBS, t->field.np0, N);
    f->inverse = at;
    f->forward = at + v;
    f->factors = at + 2 * v;
    krn_scalar_inv(&t->field, &inverse_root, &t->root);
    init_constants(t, &inverse_root);
    init_twiddles(t, f->inverse, &inverse_root);
    init_twiddles(t, f->forward, &t->root);
    init_factors(t);
}

/* ---- butterflies ---- */

/* (x, y) = (x + y, (x - y) w); below 2p in and out. */
KRN_FN void inverse_butterfly(vec *x, vec *y, const vec *w, const struct lanes_prime *m)
{
    lanes_v sum[N], difference[N];
    lanes_sub(difference, x->l, y->l, 2, m, N);
    lanes_add(sum, x->l, y->l, N);
    lanes_reduce_by(x->l, sum, 2, m, N);
    if (w != NULL)
        lanes_mul(y->l, difference, w->l, m, N);
    else
        lanes_reduce_by(y->l, difference, 2, m, N);
}

/* (x, y) = (x + y w, x - y w). Grows by 2p. */
KRN_FN void forward_butterfly(vec *x, vec *y, const vec *w, const struct lanes_prime *m)
{
    lanes_v t[N];
    lanes_mul(t, y->l, w->l, m, N);
    lanes_sub(y->l, x->l, t, 2, m, N);
    lanes_add(x->l, x->l, t, N);
}

/* From below 32p to below 2p. */
KRN_FN void settle(vec *x, const struct lanes_prime *m)
{
    KRN_UNROLL
    for (uint64_t k = 16; k >= 2; k /= 2)
        lanes_reduce_by(x->l, x->l, k, m, N);
}

/* k levels on 2^k vectors of column j, `stride` apart in the array. */
static void inverse_levels(const struct ifma *f, vec *x, unsigned k, size_t stride, size_t j)
{
    const struct lanes_prime m = f->m;
    for (size_t half = (size_t)1 << k >> 1; half > 0; half /= 2) {
        const vec *w = f->inverse + half * stride + j;
        for (size_t base = 0; base < (size_t)1 << k; base += 2 * half)
            for (size_t i = 0; i < half; i++)
                inverse_butterfly(&x[base + i], &x[base + half + i], &w[i * stride], &m);
    }
}

/* Grows by 2p a level. */
static void forward_levels(const struct ifma *f, vec *x, unsigned k, size_t stride, size_t j)
{
    const struct lanes_prime m = f->m;
    for (size_t half = 1; half < (size_t)1 << k; half *= 2) {
        const vec *w = f->forward + half * stride + j;
        for (size_t base = 0; base < (size_t)1 << k; base += 2 * half)
            for (size_t i = 0; i < half; i++)
                forward_butterfly(&x[base + i], &x[base + half + i], &w[i * stride], &m);
    }
}

static void transpose_tile(vec *x)
{
    for (int limb = 0; limb < N; limb++) {
        lanes_v t[8];
        KRN_UNROLL
        for (int i = 0; i < 8; i++)
            t[i] = x[i].l[limb];
        lanes_transpose(t);
        KRN_UNROLL
        for (int i = 0; i < 8; i++)
            x[i].l[limb] = t[i];
    }
}

/* The levels of m = 4, 2, 1 on a transposed tile. */
static void inverse_tile(const struct ifma *f, vec *x)
{
    const struct lanes_prime m = f->m;
    for (int half = 4; half > 0; half /= 2)
        for (int base = 0; base < 8; base += 2 * half)
            for (int i = 0; i < half; i++) {
                const vec *w = &f->eighth[KRN_NTT_INVERSE][i * (4 / half)];
                if (i == 0)
                    inverse_butterfly(&x[base], &x[base + half], NULL, &m);
                else
                    inverse_butterfly(&x[base + i], &x[base + half + i], w, &m);
            }
}

static void forward_tile(const struct ifma *f, vec *x)
{
    const struct lanes_prime m = f->m;
    for (int half = 1; half < 8; half *= 2)
        for (int base = 0; base < 8; base += 2 * half)
            for (int i = 0; i < half; i++)
                forward_butterfly(&x[base + i], &x[base + half + i], &f->eighth[KRN_NTT_FORWARD][i * (4 / half)], &m);
}

/* ---- rows ---- */

/* What is done to a transform's rows. */
enum { INVERSE = 1, COSET = 2, FORWARD = 4 };

struct job {
    struct krn_ntt *t;
    unsigned what;
    int arrays;
    const struct pass *pass;
    const uint8_t *in[ARRAYS];  /* a, b, and c or NULL; a plain transform: v */
    uint8_t *out;
    _Atomic size_t differs;     /* the first row with a b != c, or n */
};

static void row_task(void *ctx, size_t task, unsigned thread)
{
    const struct job *job = ctx;
    const struct ifma *f = job->t->tables;
    const size_t rows = (size_t)1 << (f->log_v - f->row), first = task % rows << f->row, n = (size_t)1 << f->row;
    vec *x = f->work[task / rows] + first;
    (void)thread;
    if (job->what & INVERSE)
        inverse_levels(f, x, f->row, 1, 0);
    for (size_t tile = 0; tile < n; tile += 8) {
        transpose_tile(x + tile);
        if (job->what & INVERSE)
            inverse_tile(f, x + tile);
        for (size_t i = tile; i < tile + 8; i++)
            if (job->what & COSET)
                lanes_mul(x[i].l, x[i].l, f->factors[first + i].l, &f->m, N);
        if (job->what & FORWARD)
            forward_tile(f, x + tile);
        transpose_tile(x + tile);
    }
    if (job->what & FORWARD) {
        forward_levels(f, x, f->row, 1, 0);
        for (size_t i = 0; i < n; i++)
            settle(&x[i], &f->m);
    }
}

/* ---- columns ---- */

/* Eight neighbours of 32 bytes. */
KRN_FN void load_vec(vec *x, const uint8_t *bytes)
{
    const uint8_t *at[LANES];
    lanes_v words[KRN_SCALAR_LIMBS];
    KRN_UNROLL
    for (int i = 0; i < LANES; i++)
        at[i] = bytes + KRN_FR_BYTES * i;
    lanes_gather(words, at, KRN_SCALAR_LIMBS);
    lanes_from_words(x->l, words, KRN_SCALAR_LIMBS, N);
}

/* Of a canonical vector. */
KRN_FN void store_vec(uint8_t *bytes, const vec *x)
{
    uint8_t *at[LANES];
    lanes_v words[KRN_SCALAR_LIMBS];
    KRN_UNROLL
    for (int i = 0; i < LANES; i++)
        at[i] = bytes + KRN_FR_BYTES * i;
    lanes_to_words(words, x->l, KRN_SCALAR_LIMBS, N);
    lanes_scatter(at, words, KRN_SCALAR_LIMBS);
}

static void note_difference(struct job *job, size_t row)
{
    /* relaxed: read only when all threads are done */
    size_t seen = atomic_load_explicit(&job->differs, memory_order_relaxed);
    while (row < seen && !atomic_compare_exchange_weak_explicit(&job->differs, &seen, row, memory_order_relaxed,
                                                                memory_order_relaxed))
        ;
}

/* Vector v of a, b and the c that goes with them; where a c was sent it is compared. */
static void load_row(struct job *job, const struct ifma *f, vec *a, vec *b, vec *c, size_t v)
{
    const size_t at = v * LANES * KRN_FR_BYTES;
    load_vec(a, job->in[0] + at);
    load_vec(b, job->in[1] + at);
    lanes_mul(c->l, a->l, b->l, &f->m, N);
    if (job->in[2] != NULL) {
        vec sent, derived;
        load_vec(&sent, job->in[2] + at);
        lanes_mul(sent.l, sent.l, f->c_to_a_b.l, &f->m, N);
        lanes_reduce(sent.l, sent.l, &f->m, N);
        lanes_reduce(derived.l, c->l, &f->m, N);
        unsigned differ = (uint8_t)~lanes_equal_mask(sent.l, derived.l, N);
        if (differ != 0)
            note_difference(job, v * LANES + (size_t)__builtin_ctz(differ));
    }
    lanes_mul(c->l, c->l, f->a_b_to_c.l, &f->m, N);
}

static void quotient_row(const struct job *job, const struct ifma *f, vec *a, vec *b, vec *c, size_t v)
{
    vec h;
    settle(a, &f->m);
    settle(b, &f->m);
    settle(c, &f->m);
    lanes_mul(h.l, a->l, b->l, &f->m, N);
    lanes_sub(h.l, h.l, c->l, 2, &f->m, N);
    lanes_reduce(h.l, h.l, &f->m, N);
    store_vec(job->out + v * LANES * KRN_FR_BYTES, &h);
}

static size_t columns_in_task(const struct pass *p)
{
    return p->stride < COLUMNS ? p->stride : COLUMNS;
}

static size_t column_tasks(const struct ifma *f, const struct pass *p)
{
    return ((size_t)1 << (f->log_v - p->levels)) / columns_in_task(p);
}

/* The neighbouring columns of a task: numbers in their block, and the block's first vector. */
struct columns {
    size_t begin, end, block;
};

static struct columns columns_of(const struct pass *p, size_t task)
{
    const size_t columns = columns_in_task(p), tasks = p->stride / columns, begin = task % tasks * columns;
    return (struct columns){begin, begin + columns, task / tasks * (p->stride << p->levels)};
}

/* The first pass of a proof: from bytes to the work arrays. */
static void first_task(void *ctx, size_t task, unsigned thread)
{
    struct job *job = ctx;
    const struct ifma *f = job->t->tables;
    const struct pass *p = job->pass;
    const size_t rows = (size_t)1 << p->levels, stride = p->stride;
    vec *x = f->buffers + thread * f->buffer;
    const struct columns columns = columns_of(p, task);
    for (size_t j = columns.begin; j < columns.end; j++) {
        for (size_t i = 0; i < rows; i++)
            load_row(job, f, &x[i], &x[rows + i], &x[2 * rows + i], j + i * stride);
        for (int array = 0; array < ARRAYS; array++) {
            inverse_levels(f, x + (size_t)array * rows, p->levels, stride, j);
            for (size_t i = 0; i < rows; i++)
                f->work[array][j + i * stride] = x[(size_t)array * rows + i];
        }
    }
}

/* The last pass of a proof: to the bytes of h. */
static void last_task(void *ctx, size_t task, unsigned thread)
{
    struct job *job = ctx;
    const struct ifma *f = job->t->tables;
    const struct pass *p = job->pass;
    const size_t rows = (size_t)1 << p->levels, stride = p->stride;
    vec *x = f->buffers + thread * f->buffer;
    const struct columns columns = columns_of(p, task);
    for (size_t j = columns.begin; j < columns.end; j++) {
        for (int array = 0; array < ARRAYS; array++) {
            for (size_t i = 0; i < rows; i++)
                x[(size_t)array * rows + i] = f->work[array][j + i * stride];
            forward_levels(f, x + (size_t)array * rows, p->levels, stride, j);
        }
        for (size_t i = 0; i < rows; i++)
            quotient_row(job, f, &x[i], &x[rows + i], &x[2 * rows + i], j + i * stride);
    }
}

/* Any pass on the work arrays. */
static void column_task(void *ctx, size_t task, unsigned thread)
{
    struct job *job = ctx;
    const struct ifma *f = job->t->tables;
    const struct pass *p = job->pass;
    const size_t rows = (size_t)1 << p->levels, stride = p->stride, tasks = column_tasks(f, p);
    const struct columns columns = columns_of(p, task % tasks);
    vec *x = f->buffers + thread * f->buffer, *array = f->work[task / tasks] + columns.block;
    for (size_t j = columns.begin; j < columns.end; j++) {
        for (size_t i = 0; i < rows; i++)
            x[i] = array[j + i * stride];
        if (job->what & INVERSE)
            inverse_levels(f, x, p->levels, stride, j);
        else
            forward_levels(f, x, p->levels, stride, j);
        for (size_t i = 0; i < rows; i++) {
            if (job->what & FORWARD)
                settle(&x[i], &f->m);
            array[j + i * stride] = x[i];
        }
    }
}

static void run_columns(struct job *job, unsigned pass, unsigned what, void (*fn)(void *, size_t, unsigned), int arrays)
{
    const struct ifma *f = job->t->tables;
    job->pass = &f->pass[pass];
    job->what = what;
    krn_pool_tasks(job->t->pool, (size_t)arrays * column_tasks(f, job->pass), fn, job);
}

static void run_rows(struct job *job, unsigned what, int arrays)
{
    const struct ifma *f = job->t->tables;
    job->what = what;
    krn_pool_tasks(job->t->pool, (size_t)arrays << (f->log_v - f->row), row_task, job);
}

static size_t ifma_quotient(struct krn_ntt *t, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *h)
{
    const struct ifma *f = t->tables;
    struct job job = {.t = t, .in = {a, b, c}, .out = h, .differs = t->n};
    run_columns(&job, 0, INVERSE, first_task, 1);
    if (job.differs < t->n)
        return job.differs;
    for (unsigned i = 1; i < f->passes; i++)
        run_columns(&job, i, INVERSE, column_task, ARRAYS);
    run_rows(&job, INVERSE | COSET | FORWARD, ARRAYS);
    for (unsigned i = f->passes; --i > 0;)
        run_columns(&job, i, FORWARD, column_task, ARRAYS);
    run_columns(&job, 0, FORWARD, last_task, 1);
    return t->n;
}

/* ---- one transform ---- */

static void ifma_transform(struct krn_ntt *t, enum krn_ntt_direction direction, uint8_t *v)
{
    const struct ifma *f = t->tables;
    struct job job = {.t = t};
    vec *work = f->work[0];
    uint8_t eight[LANES * KRN_FR_BYTES];
    for (size_t i = 0; i < t->n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            size_t from = direction == KRN_NTT_FORWARD ? ntt_reversed(i + l, t->log_n) : i + l;
            memcpy(eight + KRN_FR_BYTES * l, v + KRN_FR_BYTES * from, KRN_FR_BYTES);
        }
        load_vec(&work[i / LANES], eight);
    }
    if (direction == KRN_NTT_INVERSE)
        for (unsigned i = 0; i < f->passes; i++)
            run_columns(&job, i, INVERSE, column_task, 1);
    run_rows(&job, direction == KRN_NTT_INVERSE ? INVERSE : FORWARD, 1);
    if (direction == KRN_NTT_FORWARD)
        for (unsigned i = f->passes; i-- > 0;)
            run_columns(&job, i, FORWARD, column_task, 1);
    for (size_t i = 0; i < t->n; i += LANES) {
        vec x = work[i / LANES];
        if (direction == KRN_NTT_INVERSE)
            lanes_mul(x.l, x.l, f->n_inverse.l, &f->m, N);
        lanes_reduce(x.l, x.l, &f->m, N);
        store_vec(eight, &x);
        for (size_t l = 0; l < LANES; l++) {
            size_t to = direction == KRN_NTT_INVERSE ? ntt_reversed(i + l, t->log_n) : i + l;
            memcpy(v + KRN_FR_BYTES * to, eight + KRN_FR_BYTES * l, KRN_FR_BYTES);
        }
    }
}

const struct ntt_twin ntt_twin_ifma = {
    .table_bytes = ifma_table_bytes,
    .work_bytes = ifma_work_bytes,
    .init = ifma_init,
    .use = ifma_use,
    .quotient = ifma_quotient,
    .transform = ifma_transform,
};

#endif
