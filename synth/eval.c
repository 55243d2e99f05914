#include "synth/eval.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/dot.h"
#include "kernels/parallel.h"

enum {
    SIGNAL_AT = 8,              /* matrix u32 | constraint u32 | here begins what krn_dot_rows calls a term */
    BLOCK = 512,                /* entries looked through, and whose witness values are asked for, at a time */
    BATCH = 512,                /* sums a call of krn_dot_rows */
};

/* A part of the work: the entries from `entry` to the next part's, which are all of the rows from `row` to the next
 * part's. */
struct border {
    size_t entry;
    uint32_t row;
};

struct eval {
    const struct fmt_zkey *z;
    const uint8_t *w;
    uint8_t *a, *b;
    struct krn_dot dot;
    struct border borders[KRN_MAX_THREADS + 1];
    _Atomic size_t first_bad;   /* the smallest entry found wrong; n_coefs: none */
};

struct entry {
    uint32_t matrix, row, signal;
};

static struct entry entry_at(const struct eval *e, size_t i)
{
    struct entry v;
    memcpy(&v, e->z->coefs + i * FMT_ZKEY_COEF_BYTES, sizeof v);
    return v;
}

static uint32_t row_of(const struct eval *e, size_t i)
{
    return entry_at(e, i).row;
}

/* Matrix and row as one number, to be compared. */
static uint64_t place_of(const struct eval *e, size_t i)
{
    uint64_t v;
    memcpy(&v, e->z->coefs + i * FMT_ZKEY_COEF_BYTES, sizeof v);
    return v;
}

static void note_bad(struct eval *e, size_t i)
{
    size_t known = atomic_load(&e->first_bad);
    while (i < known && !atomic_compare_exchange_weak(&e->first_bad, &known, i))
        ;
}

/* What one thread knows: sums that wait to be computed together, and how far it has written. Sums are numbered 2 *
 * row + matrix: row 0 of A, row 0 of B, row 1 of A ... */
struct part {
    struct eval *e;
    uint64_t next, end;         /* the first sum not yet written, and the first that is another part's */
    size_t n;
    struct krn_row rows[BATCH];
};

static uint8_t *place_in(const struct eval *e, uint64_t sum)
{
    return (sum % 2 ? e->b : e->a) + sum / 2 * KRN_FR_BYTES;
}

static void flush(struct part *p)
{
    krn_dot_rows(&p->e->dot, p->rows, p->n);
    p->n = 0;
}

/* Sums without an entry. */
static void zero_until(struct part *p, uint64_t sum)
{
    for (; p->next < sum; p->next++)
        memset(place_in(p->e, p->next), 0, KRN_FR_BYTES);
}

/* Takes the entries from..to, all of one place; -1 where that is not one of the part's that are still to come. */
static int add_sum(struct part *p, size_t from, size_t to)
{
    const struct entry first = entry_at(p->e, from);
    const uint64_t sum = 2 * (uint64_t)first.row + first.matrix;

    if (first.matrix > 1 || sum < p->next || sum >= p->end) {
        note_bad(p->e, from);
        return -1;
    }
    zero_until(p, sum);
    p->next = sum + 1;
    if (p->n == BATCH)
        flush(p);
    p->rows[p->n++] = (struct krn_row){
        .terms = p->e->z->coefs + from * FMT_ZKEY_COEF_BYTES + SIGNAL_AT,
        .out = place_in(p->e, sum),
        .n = (uint32_t)(to - from),
    };
    return 0;
}

/* Checks the signals of the entries from..to and asks for their values. */
static int fetch_signals(struct eval *e, size_t from, size_t to)
{
    uint32_t largest = 0;

    for (size_t i = from; i < to; i++) {
        uint32_t signal = entry_at(e, i).signal;
        largest = signal > largest ? signal : largest;
        __builtin_prefetch(e->w + (size_t)signal * KRN_FR_BYTES);
    }
    if (largest < e->z->n_vars)
        return 0;
    while (entry_at(e, from).signal < e->z->n_vars)
        from++;
    note_bad(e, from);
    return -1;
}

/* Where among the entries from..to, none of them the first of all, another place begins than the entry's before. */
static size_t find_starts(const struct eval *e, size_t from, size_t to, size_t starts[BLOCK])
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {    /* without a branch: lengths of rows cannot be foretold */
        starts[n] = i;
        n += place_of(e, i) != place_of(e, i - 1);
    }
    return n;
}

static int add_entries(struct part *p, size_t from, size_t to)
{
    size_t starts[BLOCK], first = from;

    for (size_t at = from; at < to; at += BLOCK) {
        const size_t end = to - at < BLOCK ? to : at + BLOCK;
        if (fetch_signals(p->e, at, end) != 0)
            return -1;
        const size_t n = find_starts(p->e, at == from ? at + 1 : at, end, starts);
        for (size_t k = 0; k < n; first = starts[k++]) {
            if (add_sum(p, first, starts[k]) != 0)
                return -1;
        }
    }
    return first < to ? add_sum(p, first, to) : 0;
}

static void eval_part(void *arg, unsigned i, unsigned n)
{
    struct eval *e = arg;
    const struct border *from = &e->borders[i], *to = &e->borders[i + 1];
    struct part p = {.e = e, .next = 2 * (uint64_t)from->row, .end = 2 * (uint64_t)to->row};

    (void)n;
    if (add_entries(&p, from->entry, to->entry) != 0)
        return;
    flush(&p);
    zero_until(&p, p.end);
}

/* Cuts the entries into equal parts, each moved on to where a row begins; -1 where the rows at the cuts fall. */
static int set_borders(struct eval *e, unsigned parts)
{
    const size_t n = e->z->n_coefs;

    e->borders[0] = (struct border){0, 0};
    for (unsigned p = 1; p < parts; p++) {
        size_t i = krn_part(n, p, parts);
        while (i > 0 && i < n && row_of(e, i) == row_of(e, i - 1))
            i++;
        e->borders[p] = (struct border){i, i < n ? row_of(e, i) : e->z->domain_size};
    }
    e->borders[parts] = (struct border){n, e->z->domain_size};
    for (unsigned p = 0; p < parts; p++) {
        if (e->borders[p].row > e->borders[p + 1].row) {
            note_bad(e, e->borders[p].entry);
            return -1;
        }
    }
    return 0;
}

static int refuse(const struct eval *e, struct fmt_error *err)
{
    const size_t i = e->first_bad;
    const struct entry v = entry_at(e, i);
    return fmt_fail(err, "%s: section 4, coefficient %zu: matrix %u, row %u, signal %u, where the key has matrices 0 "
                    "and 1, %u rows in order and %u signals", e->z->file.name, i, v.matrix, v.row, v.signal,
                    e->z->n_rows, e->z->n_vars);
}

int synth_eval(const struct fmt_zkey *z, const uint8_t *w, uint8_t *a, uint8_t *b, unsigned threads,
               struct fmt_error *err)
{
    struct eval e = {
        .z = z,
        .w = w,
        .a = a,
        .b = b,
        .dot = {.curve = z->curve->id, .isa = krn_cpu_isa(), .stride = FMT_ZKEY_COEF_BYTES, .w = w},
        .first_bad = z->n_coefs,
    };
    unsigned parts = threads == 0 ? krn_cpus() : threads < KRN_MAX_THREADS ? threads : KRN_MAX_THREADS;

    if (set_borders(&e, parts) == 0)
        krn_parallel(parts, eval_part, &e);
    return e.first_bad == z->n_coefs ? 0 : refuse(&e, err);
}
