#include "synth/eval.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/dot.h"
#include "kernels/parallel.h"

enum {
    SIGNAL_AT = 8,              /* matrix u32 | constraint u32 | here begins what krn_dot calls a term */
    PREFETCH_ENTRIES = 24,      /* how far ahead the witness values are asked for: about a memory latency of work */
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
    struct krn_scalar_field field;
    struct border borders[KRN_MAX_THREADS + 1];
    _Atomic size_t first_bad;   /* the smallest entry found wrong; n_coefs: none */
};

static uint32_t matrix_of(const struct eval *e, size_t i)
{
    uint32_t v;
    memcpy(&v, e->z->coefs + i * FMT_ZKEY_COEF_BYTES, sizeof v);
    return v;
}

static uint32_t row_of(const struct eval *e, size_t i)
{
    uint32_t v;
    memcpy(&v, e->z->coefs + i * FMT_ZKEY_COEF_BYTES + 4, sizeof v);
    return v;
}

static uint32_t signal_of(const struct eval *e, size_t i)
{
    uint32_t v;
    memcpy(&v, e->z->coefs + i * FMT_ZKEY_COEF_BYTES + SIGNAL_AT, sizeof v);
    return v;
}

static void note_bad(struct eval *e, size_t i)
{
    size_t known = atomic_load(&e->first_bad);
    while (i < known && !atomic_compare_exchange_weak(&e->first_bad, &known, i))
        ;
}

/* The end of the run of entries from i on that are in this row of this matrix and whose signals exist. */
static size_t run_end(const struct eval *e, size_t i, size_t end, uint32_t row, uint32_t matrix)
{
    for (; i < end && row_of(e, i) == row && matrix_of(e, i) == matrix && signal_of(e, i) < e->z->n_vars; i++) {
        if (i + PREFETCH_ENTRIES < end)
            __builtin_prefetch(e->w + (size_t)signal_of(e, i + PREFETCH_ENTRIES) * KRN_FR_BYTES);
    }
    return i;
}

static void dot_row(const struct eval *e, uint8_t *out, size_t from, size_t to)
{
    struct krn_scalar sum;
    const uint8_t *terms = e->z->coefs + from * FMT_ZKEY_COEF_BYTES + SIGNAL_AT;
    krn_dot(&e->field, &sum, terms, FMT_ZKEY_COEF_BYTES, to - from, e->w);
    memcpy(out, sum.l, KRN_FR_BYTES);
}

static void zero_rows(const struct eval *e, size_t from, size_t to)
{
    memset(e->a + from * KRN_FR_BYTES, 0, (to - from) * KRN_FR_BYTES);
    memset(e->b + from * KRN_FR_BYTES, 0, (to - from) * KRN_FR_BYTES);
}

static void eval_part(void *arg, unsigned part, unsigned parts)
{
    struct eval *e = arg;
    const struct border *from = &e->borders[part], *to = &e->borders[part + 1];
    size_t next = from->row;    /* the first row not yet written */

    (void)parts;
    for (size_t i = from->entry; i < to->entry;) {
        uint32_t row = row_of(e, i);
        if (row < next || row >= to->row) {
            note_bad(e, i);
            return;
        }
        size_t b = run_end(e, i, to->entry, row, 0), end = run_end(e, b, to->entry, row, 1);
        if (end < to->entry && row_of(e, end) == row) {
            note_bad(e, end);
            return;
        }
        zero_rows(e, next, row);
        dot_row(e, e->a + (size_t)row * KRN_FR_BYTES, i, b);
        dot_row(e, e->b + (size_t)row * KRN_FR_BYTES, b, end);
        next = row + (size_t)1;
        i = end;
    }
    zero_rows(e, next, to->row);
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
    size_t i = e->first_bad;
    return fmt_fail(err, "%s: section 4, coefficient %zu: matrix %u, row %u, signal %u, where the key has matrices 0 "
                    "and 1, %u rows in order and %u signals", e->z->file.name, i, matrix_of(e, i), row_of(e, i),
                    signal_of(e, i), e->z->n_rows, e->z->n_vars);
}

int synth_eval(const struct fmt_zkey *z, const uint8_t *w, uint8_t *a, uint8_t *b, unsigned threads,
               struct fmt_error *err)
{
    struct eval e = {.z = z, .w = w, .a = a, .b = b, .field = krn_scalar_field(z->curve->id), .first_bad = z->n_coefs};
    unsigned parts = threads == 0 ? krn_cpus() : threads < KRN_MAX_THREADS ? threads : KRN_MAX_THREADS;

    if (set_borders(&e, parts) == 0)
        krn_parallel(parts, eval_part, &e);
    return e.first_bad == z->n_coefs ? 0 : refuse(&e, err);
}
