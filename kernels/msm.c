#include "kernels/msm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/memory.h"
#include "kernels/scalar.h"

enum {
    MAX_LENGTH = 254,               /* bits of min(s, r - s), either curve */
    MIN_WINDOW = 3, MAX_WINDOW = 17,
    MAX_WINDOWS = (MAX_LENGTH + 1) / MIN_WINDOW + 1,
    WORDS = KRN_FR_BYTES / 8,
    FIXED_COST = 100,               /* of a window, in additions: the batches that are too small to be cheap */
};

/* What a batch of windows may need for terms and buckets, unless that is too few windows to keep the threads busy. More
 * is no faster, and memory that is touched for the first time costs as much as a sum. */
static const size_t BATCH_BYTES = (size_t)4 << 20;

/* A scalar ready for its digits: |s| plus half a window's range in each window but the top one, so that a digit is some
 * bits less that half and depends on no carry. Bit 255 is the sign; the rest stays below 2^255 because |s| <= r/2. */
struct recoded {
    uint64_t w[WORDS];
};

/* What one thread writes, apart from its arena entries. */
struct worker {
    struct sum_space space;
    uint32_t lengths[MAX_LENGTH + 1];       /* scalars of each length in its part */
    uint32_t at[MAX_WINDOWS + 1];           /* where its next scalar of so many windows goes */
    uint32_t *cursor;                       /* buckets */
    uint32_t *terms, *starts;               /* lists of the reduction */
    uint32_t fold, merged;                  /* arena: levels of the reduction; sums of heads; one entry more */
};

/* The windows [first, end) of a batch. */
struct batch {
    unsigned first, end;
    size_t chunk_of[MAX_WINDOWS + 1];       /* number of a window's first chunk; of [end - first]: chunks in all */
};

struct krn_msm {
    enum krn_curve_id curve;
    struct krn_pool *pool;
    enum krn_isa isa;
    struct krn_scalar order;
    int groups;
    size_t n;                               /* the most scalars */
    unsigned max_window;
    size_t max_terms, max_buckets, max_heads, fold_size;

    /* The scalars at hand, longest first. */
    const uint8_t *scalars;
    size_t count;
    unsigned window, windows;               /* bits, and number */
    uint32_t reaching[MAX_WINDOWS + 1];     /* scalars that reach window w */
    struct recoded *recoded, offset;
    uint32_t *index;
    uint8_t *length;

    /* The batch of windows at hand. */
    struct batch batch;
    uint32_t *terms, *starts;               /* of window w: terms + term_of[w - first], buckets + 1 starts */
    size_t term_of[MAX_WINDOWS + 1];
    uint32_t *head_group;

    /* The set at hand. */
    const struct sum_ops *ops;
    const struct krn_msm_set *set;
    uint8_t *arena;
    uint32_t heads, results;                /* arena */
    uint8_t *bits[KRN_MSM_SETS];            /* per window: the whole, then the sum of each digit bit */

    struct worker *workers;
    size_t bytes;
};

/* ---- scalars ---- */

/* |s| = min(s, r - s); returns whether it is r - s. */
static int magnitude(struct recoded *m, const struct krn_scalar *order, const uint8_t *scalar)
{
    struct recoded s, minus;
    uint64_t t[WORDS];
    memcpy(&s, scalar, sizeof s);
    limbs_sub(minus.w, order->l, s.w, WORDS);
    int negative = (int)limbs_sub(t, minus.w, s.w, WORDS);
    *m = negative ? minus : s;
    return negative;
}

static unsigned bit_length(const struct recoded *m)
{
    for (int i = WORDS; i-- > 0;)
        if (m->w[i] != 0)
            return 64 * (unsigned)i + 64 - (unsigned)__builtin_clzll(m->w[i]);
    return 0;
}

/* Windows that the signed digits of a number of so many bits reach. One bit is the sign's, one stays free: so a carry
 * never leaves the last of them. */
static unsigned windows_of(unsigned length, unsigned window)
{
    return length == 0 ? 0 : (length + 1) / window + 1;
}

static void measure(void *ctx, unsigned i, unsigned n)
{
    struct krn_msm *m = ctx;
    uint32_t *lengths = m->workers[i].lengths;
    struct recoded s;
    memset(lengths, 0, sizeof m->workers[i].lengths);
    for (size_t k = krn_part(m->count, i, n); k < krn_part(m->count, i + 1, n); k++) {
        magnitude(&s, &m->order, m->scalars + KRN_FR_BYTES * k);
        unsigned length = bit_length(&s);
        m->length[k] = (uint8_t)(length <= MAX_LENGTH ? length : 0);
        lengths[m->length[k]]++;
    }
}

/* Additions for so many scalars of each length: one a term, two a bucket. */
static double cost(const size_t *lengths, unsigned window)
{
    unsigned windows = 0;
    double terms = 0;
    for (unsigned length = 1; length <= MAX_LENGTH; length++) {
        if (lengths[length] == 0)
            continue;
        windows = windows_of(length, window);
        terms += (double)lengths[length] * windows;
    }
    return terms + (double)windows * (double)((2u << (window - 1)) + FIXED_COST);
}

static unsigned best_window(const size_t *lengths, unsigned limit)
{
    unsigned best = MIN_WINDOW;
    for (unsigned window = MIN_WINDOW + 1; window <= limit; window++)
        if (cost(lengths, window) < cost(lengths, best))
            best = window;
    return best;
}

/* Window size, and how many scalars reach each window; false where all are zero. */
static int plan_windows(struct krn_msm *m, unsigned threads)
{
    size_t lengths[MAX_LENGTH + 1] = {0};
    for (unsigned t = 0; t < threads; t++)
        for (unsigned length = 0; length <= MAX_LENGTH; length++)
            lengths[length] += m->workers[t].lengths[length];
    m->window = best_window(lengths, m->max_window);
    m->windows = 0;
    memset(m->reaching, 0, sizeof m->reaching);
    for (unsigned length = 1; length <= MAX_LENGTH; length++) {
        if (lengths[length] == 0)
            continue;
        m->windows = windows_of(length, m->window);
        for (unsigned w = 0; w < m->windows; w++)
            m->reaching[w] += (uint32_t)lengths[length];
    }
    return m->windows > 0;
}

/* Where each thread puts its scalars: by the windows they reach, longest first, then by thread. */
static void plan_order(struct krn_msm *m, unsigned threads)
{
    uint32_t at = 0;
    for (unsigned w = m->windows; w > 0; w--) {
        for (unsigned t = 0; t < threads; t++) {
            m->workers[t].at[w] = at;
            for (unsigned length = 1; length <= MAX_LENGTH; length++)
                if (windows_of(length, m->window) == w)
                    at += m->workers[t].lengths[length];
        }
    }
    memset(&m->offset, 0, sizeof m->offset);
    for (unsigned w = 0; w + 1 < m->windows; w++) {
        unsigned bit = m->window * (w + 1) - 1;
        m->offset.w[bit / 64] |= 1ull << (bit % 64);
    }
}

/* Scalars may lie where another process writes, and change after they were measured. One that grew counts as 0: the sum
 * is wrong then, but no digit is larger than its window. */
static void recode(void *ctx, unsigned i, unsigned n)
{
    struct krn_msm *m = ctx;
    uint32_t *at = m->workers[i].at;
    for (size_t k = krn_part(m->count, i, n); k < krn_part(m->count, i + 1, n); k++) {
        if (m->length[k] == 0)
            continue;
        uint32_t to = at[windows_of(m->length[k], m->window)]++;
        struct recoded *s = &m->recoded[to];
        uint64_t carry = 0;
        int negative = magnitude(s, &m->order, m->scalars + KRN_FR_BYTES * k);
        if (bit_length(s) > m->length[k])
            memset(s, 0, sizeof *s);
        for (int j = 0; j < WORDS; j++)
            s->w[j] = limbs_addc(s->w[j], m->offset.w[j], &carry);
        s->w[WORDS - 1] |= (uint64_t)negative << 63;
        m->index[to] = (uint32_t)k;
    }
}

/* ---- digits, sorted ---- */

static uint32_t buckets_of(const struct krn_msm *m)
{
    return 1u << (m->window - 1);
}

struct digit_place {
    unsigned word, shift;
    uint64_t mask;
    int64_t half;
};

static struct digit_place digit_place(const struct krn_msm *m, unsigned w)
{
    unsigned bit = m->window * w;
    return (struct digit_place){
        .word = bit / 64,
        .shift = bit % 64,
        .mask = (1ull << m->window) - 1,
        .half = w + 1 < m->windows ? (int64_t)buckets_of(m) : 0,
    };
}

/* The digit, and in *negative the sign of what it stands for. */
static uint32_t digit(const struct recoded *s, const struct digit_place *p, uint32_t *negative)
{
    const uint64_t top = s->w[WORDS - 1];
    uint64_t low = s->w[p->word], high = p->word + 1 < WORDS ? s->w[p->word + 1] : 0;
    if (p->word == WORDS - 1)
        low &= ~(1ull << 63);
    else if (p->word == WORDS - 2)
        high &= ~(1ull << 63);
    uint64_t bits = low >> p->shift | (high << 1) << (63 - p->shift);
    int64_t d = (int64_t)(bits & p->mask) - p->half;
    *negative = (uint32_t)(top >> 63) ^ (uint32_t)(d < 0);
    return (uint32_t)(d < 0 ? -d : d);
}

/* Counting sort of one window's terms by digit. */
static void sort_window(void *ctx, size_t task, unsigned thread)
{
    struct krn_msm *m = ctx;
    const unsigned w = m->batch.first + (unsigned)task;
    const struct digit_place place = digit_place(m, w);
    const uint32_t buckets = buckets_of(m);
    uint32_t *terms = m->terms + m->term_of[task], *starts = m->starts + task * (buckets + 1);
    uint32_t *cursor = m->workers[thread].cursor, at = 0, negative;

    memset(cursor, 0, (buckets + 1) * sizeof *cursor);
    for (uint32_t i = 0; i < m->reaching[w]; i++)
        cursor[digit(&m->recoded[i], &place, &negative)]++;
    for (uint32_t b = 0; b < buckets; b++) {
        starts[b] = at;
        at += cursor[b + 1];
        cursor[b + 1] = starts[b];
    }
    starts[buckets] = at;
    cursor[0] = at;         /* zero digits end up behind the others, where nobody looks */
    for (uint32_t i = 0; i < m->reaching[w]; i++) {
        uint32_t d = digit(&m->recoded[i], &place, &negative);
        terms[cursor[d]++] = 2 * m->index[i] + negative;
    }
}

/* As many windows as fit. */
static void plan_batch(struct krn_msm *m, unsigned first)
{
    struct batch *b = &m->batch;
    size_t terms = 0, count = 0;
    b->first = first;
    for (b->end = first; b->end < m->windows; b->end++, count++) {
        size_t more = m->reaching[b->end];
        if (count > 0 && (terms + more > m->max_terms || (count + 1) * buckets_of(m) > m->max_buckets))
            break;
        m->term_of[count] = terms;
        terms += more;
    }
}

/* ---- sums ---- */

static struct sum_groups window_groups(const struct krn_msm *m, size_t window)
{
    const uint32_t buckets = buckets_of(m);
    return (struct sum_groups){
        .src = &m->set->src,
        .terms = m->terms + m->term_of[window],
        .starts = m->starts + window * (buckets + 1),
        .n = buckets,
    };
}

static void plan_chunks(struct krn_msm *m)
{
    struct batch *b = &m->batch;
    const uint32_t buckets = buckets_of(m);
    size_t chunks = 0;
    for (size_t w = 0; w < b->end - b->first; w++) {
        uint32_t terms = m->starts[w * (buckets + 1) + buckets];
        b->chunk_of[w] = chunks;
        chunks += terms == 0 ? 1 : (terms + SUM_CHUNK - 1) / SUM_CHUNK;
    }
    b->chunk_of[b->end - b->first] = chunks;
}

static void accumulate(void *ctx, size_t chunk, unsigned thread)
{
    struct krn_msm *m = ctx;
    size_t w = 0;
    while (m->batch.chunk_of[w + 1] <= chunk)
        w++;
    struct sum_groups groups = window_groups(m, w);
    uint32_t terms = groups.starts[groups.n], lo = (uint32_t)(chunk - m->batch.chunk_of[w]) * SUM_CHUNK;
    uint32_t hi = terms - lo > SUM_CHUNK ? lo + SUM_CHUNK : terms;
    m->head_group[chunk] = sum_chunk(m->ops, m->arena, &m->workers[thread].space, &groups, lo, hi,
                                     (uint32_t)w * groups.n, m->heads + (uint32_t)chunk);
}

static uint8_t *entry(const struct krn_msm *m, uint32_t index)
{
    return m->arena + (size_t)index * m->ops->point_bytes;
}

/* Adds what later chunks found of a bucket to it. */
static void merge_heads(struct krn_msm *m, struct worker *k, size_t w)
{
    const uint32_t buckets = buckets_of(m), first_bucket = (uint32_t)w * buckets;
    struct sum_groups groups = {.terms = k->terms, .starts = k->starts};
    uint32_t n = 0, last = buckets;
    for (size_t c = m->batch.chunk_of[w]; c < m->batch.chunk_of[w + 1]; c++) {
        uint32_t g = m->head_group[c];
        if (g == buckets)
            continue;
        if (g != last) {
            k->starts[groups.n++] = n;
            k->terms[n++] = first_bucket + g;
        }
        k->terms[n++] = m->heads + (uint32_t)c;
        last = g;
    }
    k->starts[groups.n] = n;
    if (groups.n == 0)
        return;
    sum_all(m->ops, m->arena, &k->space, &groups, k->merged, k->merged + groups.n);
    for (uint32_t g = 0; g < groups.n; g++)
        memcpy(entry(m, k->terms[k->starts[g]]), entry(m, k->merged + g), m->ops->point_bytes);
}

/* Level l of some windows' buckets has the sums of 2^l neighbours: level[l][i] = level[l-1][2i] + level[l-1][2i+1]. */
static void fold(struct krn_msm *m, struct worker *k, uint32_t from, uint32_t to, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t count = n - i > SUM_CHUNK / 2 ? SUM_CHUNK / 2 : n - i;
        for (uint32_t j = 0; j < count; j++, i++)
            k->space.pairs[j] = (struct sum_pair){from + 2 * i, from + 2 * i + 1, to + i};
        m->ops->add(m->arena, NULL, k->space.pairs, count, k->space.scratch);
    }
}

/*
 * A window's sum is sum of (i + 1) B_i over its buckets i: the whole, sum of B_i, and 2^l times the sum of the B_i
 * with bit l of i set, which are the odd entries of level l. All this costs two additions a bucket.
 */
static void reduce_windows(struct krn_msm *m, struct worker *k, uint32_t w, uint32_t count)
{
    const uint32_t buckets = buckets_of(m);
    uint32_t level[MAX_WINDOW + 1] = {w * buckets, k->fold}, n = count * buckets;
    for (unsigned l = 1; l < m->window; l++) {
        n /= 2;
        fold(m, k, level[l - 1], level[l], n);
        level[l + 1] = level[l] + n;
    }

    struct sum_groups groups = {.terms = k->terms, .starts = k->starts, .n = count * m->window};
    uint32_t terms = 0, *starts = k->starts;
    for (uint32_t i = 0; i < count; i++) {
        *starts++ = terms;
        k->terms[terms++] = level[m->window - 1] + i;
        for (unsigned l = 0; l + 1 < m->window; l++) {
            uint32_t size = buckets >> l, first = level[l] + i * size;
            *starts++ = terms;
            for (uint32_t odd = 1; odd < size; odd += 2)
                k->terms[terms++] = first + odd;
        }
    }
    *starts = terms;
    sum_all(m->ops, m->arena, &k->space, &groups, m->results + w * m->window, k->merged);
}

static uint32_t windows_a_task(const struct krn_msm *m)
{
    uint32_t buckets = buckets_of(m), count = m->batch.end - m->batch.first;
    uint32_t share = (count + krn_pool_threads(m->pool) - 1) / krn_pool_threads(m->pool);
    uint32_t fit = (uint32_t)(m->fold_size / buckets);
    return share < fit ? share : fit;
}

static void reduce(void *ctx, size_t task, unsigned thread)
{
    struct krn_msm *m = ctx;
    struct worker *k = &m->workers[thread];
    uint32_t step = windows_a_task(m), w = (uint32_t)task * step, left = m->batch.end - m->batch.first - w;
    uint32_t count = left < step ? left : step;
    for (uint32_t i = 0; i < count; i++)
        merge_heads(m, k, w + i);
    reduce_windows(m, k, w, count);
}

/* One batch of one set: its windows' points per bit go to `bits`. */
static void sum_batch(struct krn_msm *m, struct krn_msm_set *set, uint8_t *bits)
{
    double start = krn_seconds();
    uint32_t count = m->batch.end - m->batch.first, step;
    m->set = set;
    m->ops = sum_ops(m->curve, set->group, m->isa);
    step = windows_a_task(m);
    krn_pool_tasks(m->pool, m->batch.chunk_of[count], accumulate, m);
    krn_pool_tasks(m->pool, (count + step - 1) / step, reduce, m);
    bits += (size_t)m->batch.first * m->window * m->ops->point_bytes;
    for (uint32_t i = 0; i < count * m->window; i++)
        m->ops->leave(bits + (size_t)i * m->ops->point_bytes, m->arena, m->results + i);
    set->seconds += krn_seconds() - start;
}

/* The points per bit, put together from the top. */
static void weigh(struct krn_msm *m, struct krn_msm_set *set, const uint8_t *bits)
{
    const struct group_ops *g = group_ops(m->curve, set->group);
    union krn_sum t;
    g->set_inf(&set->sum);
    for (unsigned w = m->windows; w-- > 0;) {
        const uint8_t *of_window = bits + (size_t)w * m->window * g->point_bytes;
        for (unsigned l = m->window; l-- > 0;) {
            g->dbl(&set->sum);
            if (l + 1 == m->window)
                continue;
            g->from_affine(&t, of_window + (size_t)(l + 1) * g->point_bytes);
            g->add(&set->sum, &t);
        }
        g->from_affine(&t, of_window);
        g->add(&set->sum, &t);
    }
}

struct sets {
    struct krn_msm *msm;
    struct krn_msm_set *sets;
};

static void weigh_set(void *ctx, size_t task, unsigned thread)
{
    struct sets *s = ctx;
    (void)thread;
    weigh(s->msm, &s->sets[task], s->msm->bits[task]);
}

void krn_msm_run(struct krn_msm *m, const uint8_t *scalars, size_t n, struct krn_msm_set *sets, int n_sets)
{
    const unsigned threads = krn_pool_threads(m->pool);
    for (int i = 0; i < n_sets; i++) {
        sets[i].seconds = 0;
        group_ops(m->curve, sets[i].group)->set_inf(&sets[i].sum);
    }
    m->scalars = scalars;
    m->count = n;
    krn_pool_run(m->pool, measure, m);
    if (!plan_windows(m, threads))
        return;
    plan_order(m, threads);
    krn_pool_run(m->pool, recode, m);
    for (unsigned first = 0; first < m->windows; first = m->batch.end) {
        plan_batch(m, first);
        krn_pool_tasks(m->pool, m->batch.end - first, sort_window, m);
        plan_chunks(m);
        for (int i = 0; i < n_sets; i++)
            sum_batch(m, &sets[i], m->bits[i]);
    }
    krn_pool_tasks(m->pool, (size_t)n_sets, weigh_set, &(struct sets){m, sets});
}

/* ---- workspace ---- */

/* Hands out pieces of one mapping; first to count, then for real. */
struct pieces {
    uint8_t *base;
    size_t used;
};

static void *piece(struct pieces *p, size_t bytes)
{
    uint8_t *at = p->base == NULL ? NULL : p->base + p->used;
    p->used += (bytes + 63) / 64 * 64;
    return at;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void divide_arena(struct krn_msm *m, struct pieces *p, uint32_t point_bytes, unsigned threads)
{
    size_t used = m->max_buckets;
    m->heads = (uint32_t)used;
    m->results = (uint32_t)(used += m->max_heads);
    used += MAX_LENGTH + 1 + 2 * MAX_WINDOW;
    for (unsigned t = 0; t < threads; t++) {
        struct worker *k = &m->workers[t];
        k->fold = (uint32_t)used;
        k->merged = (uint32_t)(used += m->fold_size);
        k->space.slots = (uint32_t)(used += larger(m->max_heads, MAX_LENGTH) + 1);
        used += SUM_CHUNK;
    }
    m->arena = piece(p, used * point_bytes);
}

static void divide(struct krn_msm *m, struct pieces *p, size_t n, int groups)
{
    const unsigned threads = krn_pool_threads(m->pool);
    const struct sum_ops *ops = sum_ops(m->curve, groups, m->isa);
    const size_t buckets = (size_t)1 << (m->max_window - 1);
    m->recoded = piece(p, n * sizeof *m->recoded);
    m->index = piece(p, n * sizeof *m->index);
    m->length = piece(p, n);
    m->terms = piece(p, m->max_terms * sizeof *m->terms);
    m->starts = piece(p, (m->max_buckets + MAX_WINDOWS) * sizeof *m->starts);
    m->head_group = piece(p, m->max_heads * sizeof *m->head_group);
    for (int i = 0; i < KRN_MSM_SETS; i++)
        m->bits[i] = piece(p, (MAX_LENGTH + 1 + 2 * MAX_WINDOW) * (size_t)ops->point_bytes);
    divide_arena(m, p, ops->point_bytes, threads);
    for (unsigned t = 0; t < threads; t++) {
        struct worker *k = &m->workers[t];
        k->cursor = piece(p, (buckets + 1) * sizeof *k->cursor);
        k->terms = piece(p, (m->fold_size + 2 * m->max_heads + MAX_WINDOWS) * sizeof *k->terms);
        k->starts = piece(p, (m->max_heads + MAX_LENGTH + 2 * MAX_WINDOW + 2) * sizeof *k->starts);
        uint8_t *space = piece(p, sum_space_bytes(ops->scratch_bytes));
        if (space != NULL)
            sum_space_init(&k->space, space, k->space.slots);
    }
}

static void plan_sizes(struct krn_msm *m, size_t n, uint32_t point_bytes)
{
    const size_t lengths[MAX_LENGTH + 1] = {[MAX_LENGTH] = n}, busy = 2 * krn_pool_threads(m->pool);
    m->max_window = best_window(lengths, MAX_WINDOW);
    const size_t buckets = (size_t)1 << (m->max_window - 1), all = windows_of(MAX_LENGTH, m->max_window);
    const size_t fit = BATCH_BYTES / (n * sizeof *m->terms + buckets * point_bytes);
    const size_t windows = fit < busy ? busy : fit, batch = windows < all ? windows : all;
    m->max_terms = n * batch;
    m->max_buckets = buckets * batch;
    m->max_heads = m->max_terms / SUM_CHUNK + MAX_WINDOWS + 1;
    m->fold_size = larger(buckets, SUM_CHUNK);
}

/* The addresses of all pieces; returns how many bytes they take. */
static size_t divide_at(struct krn_msm *m, uint8_t *memory, size_t n, int groups)
{
    struct pieces p = {.base = memory};
    divide(m, &p, n, groups);
    return p.used;
}

struct krn_msm *krn_msm_new(enum krn_curve_id curve, int groups, size_t n, struct krn_pool *pool)
{
    if (n >= (size_t)1 << 31) {
        errno = EOVERFLOW;
        return NULL;
    }
    struct krn_msm *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->curve = curve;
    m->pool = pool;
    m->isa = krn_cpu_isa();
    m->n = n;
    m->groups = groups;
    memcpy(&m->order, krn_curve(curve)->r, sizeof m->order);
    m->workers = calloc(krn_pool_threads(pool), sizeof *m->workers);
    if (m->workers == NULL) {
        free(m);
        return NULL;
    }
    plan_sizes(m, n, group_ops(curve, groups)->point_bytes);
    m->bytes = divide_at(m, NULL, n, groups);
    return m;
}

size_t krn_msm_bytes(const struct krn_msm *m)
{
    return m->bytes;
}

void krn_msm_use(struct krn_msm *m, void *memory)
{
    divide_at(m, memory, m->n, m->groups);
}

void krn_msm_free(struct krn_msm *m)
{
    if (m == NULL)
        return;
    free(m->workers);
    free(m);
}

struct infinities {
    uint64_t *skip;
    const uint8_t *points;
    uint32_t point_bytes;
    size_t n;
};

static int is_zero(const uint8_t *bytes, uint32_t n)
{
    uint64_t any = 0, w;
    for (uint32_t i = 0; i < n; i += 8) {
        memcpy(&w, bytes + i, 8);
        any |= w;
    }
    return any == 0;
}

static void find_infinities(void *ctx, unsigned i, unsigned n)
{
    struct infinities *f = ctx;
    size_t words = (f->n + 63) / 64;
    for (size_t w = krn_part(words, i, n); w < krn_part(words, i + 1, n); w++) {
        f->skip[w] = 0;
        for (size_t k = 64 * w; k < 64 * (w + 1) && k < f->n; k++)
            f->skip[w] |= (uint64_t)is_zero(f->points + k * f->point_bytes, f->point_bytes) << (k % 64);
    }
}

void krn_msm_find_infinities(struct krn_pool *pool, uint64_t *skip, const uint8_t *points, uint32_t point_bytes,
                             size_t n)
{
    krn_pool_run(pool, find_infinities, &(struct infinities){skip, points, point_bytes, n});
}

int krn_msm(enum krn_curve_id curve, int group, const uint8_t *points, const uint8_t *scalars, size_t n,
            unsigned threads, uint8_t *out)
{
    if (krn_fr_first_above(krn_curve(curve), scalars, n) != n)
        return -EINVAL;
    struct krn_pool *pool = krn_pool_new(threads);
    if (pool == NULL)
        return -errno;
    struct krn_msm *m = krn_msm_new(curve, group, n, pool);
    int err = m == NULL ? -errno : 0;
    if (m != NULL) {
        struct krn_msm_set set = {.group = group, .src = {.points = points}};
        void *memory = krn_memory_map(krn_msm_bytes(m));
        if (memory == NULL) {
            err = -ENOMEM;
        } else {
            krn_msm_use(m, memory);
            krn_msm_run(m, scalars, n, &set, 1);
            group_ops(curve, group)->to_affine(out, &set.sum);
            krn_memory_unmap(memory, krn_msm_bytes(m));
        }
    }
    krn_msm_free(m);
    krn_pool_free(pool);
    return err;
}
