#include "formats/r1cs.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/container.h"
#include "kernels/dot.h"
#include "kernels/parallel.h"

enum {
    VERSION = 1,
    SECTION_HEADER = 1,
    SECTION_CONSTRAINTS = 2,
    SECTION_CUSTOM_GATES = 4,
    SECTION_CUSTOM_USES = 5,
    HEADER_BYTES = 4 + KRN_FR_BYTES + 4 * 4 + 8 + 4,
    BLOCK = 1024,               /* constraints between two entries of the index */
    MIN_CONSTRAINT = 3 * 4,     /* three empty sums */
};

/* ---- opening ---- */

static int read_header(struct fmt_r1cs *r, const struct fmt_section *s, struct fmt_error *err)
{
    const uint8_t *p = r->file.bytes + s->offset;
    uint32_t n8, n[4];

    if (s->size != HEADER_BYTES)
        return fmt_fail(err, "%s: section 1 at byte %" PRIu64 " has %" PRIu64 " bytes, where a 32-byte field takes %d",
                        r->file.name, s->offset, s->size, HEADER_BYTES);
    memcpy(&n8, p, 4);
    if (n8 != KRN_FR_BYTES)
        return fmt_fail(err, "%s: section 1 says %u bytes a value, where the known fields take %d", r->file.name,
                        n8, KRN_FR_BYTES);
    r->curve = krn_curve_by_r(p + 4, KRN_FR_BYTES);
    if (!r->curve) {
        char prime[FMT_DECIMAL_MAX];
        fmt_decimal_write(prime, p + 4, KRN_FR_BYTES);
        return fmt_fail(err, "%s: section 1 names the prime %s, which is no known curve's group order", r->file.name,
                        prime);
    }
    memcpy(n, p + 4 + KRN_FR_BYTES, sizeof n);
    r->n_wires = n[0];
    r->n_pub_out = n[1];
    r->n_pub_in = n[2];
    r->n_prv_in = n[3];
    memcpy(&r->n_constraints, p + HEADER_BYTES - 4, 4);
    uint64_t named = 1ull + r->n_pub_out + r->n_pub_in + r->n_prv_in;
    if (named > r->n_wires)
        return fmt_fail(err, "%s: section 1 says %u wires, where one, outputs and inputs alone are %" PRIu64,
                        r->file.name, r->n_wires, named);
    r->n_public = r->n_pub_out + r->n_pub_in;
    return 0;
}

/* Sections 4 and 5 are absent, or present with a count of zero. */
static int refuse_custom_gates(const struct fmt_r1cs *r, const struct fmt_container *c, uint32_t id,
                               struct fmt_error *err)
{
    static const uint8_t none[4];
    const struct fmt_section *s = fmt_container_find(c, id);
    if (!s || s->size == 0 || (s->size == sizeof none && memcmp(r->file.bytes + s->offset, none, sizeof none) == 0))
        return 0;
    return fmt_fail(err, "%s: section %u at byte %" PRIu64 " holds %" PRIu64 " bytes of custom gates, which Groth16 "
                    "does not have", r->file.name, id, s->offset, s->size);
}

struct walk {
    const struct fmt_r1cs *r;
    uint64_t at, end;           /* file offsets within section 2 */
    uint32_t row;
    char sum;                   /* 'A', 'B', 'C' */
};

static int check_terms(const struct walk *w, uint32_t n, struct fmt_error *err)
{
    const uint8_t *p = w->r->file.bytes + w->at;

    for (uint32_t i = 0; i < n; i++, p += FMT_R1CS_TERM_BYTES) {
        uint32_t wire;
        memcpy(&wire, p, 4);
        if (wire >= w->r->n_wires)
            return fmt_fail(err, "%s: section 2, constraint %u, %c, term %u: wire %u, where there "
                            "are %u", w->r->file.name, w->row, w->sum, i, wire, w->r->n_wires);
        if (!fmt_below(p + 4, w->r->curve->r, KRN_FR_BYTES)) {
            char is[FMT_DECIMAL_MAX], order[FMT_DECIMAL_MAX];
            fmt_decimal_write(is, p + 4, KRN_FR_BYTES);
            fmt_decimal_write(order, w->r->curve->r, KRN_FR_BYTES);
            return fmt_fail(err, "%s: section 2, constraint %u, %c, term %u: coefficient %s is not below "
                            "the group order %s", w->r->file.name, w->row, w->sum, i, is, order);
        }
    }
    return 0;
}

static int walk_sum(struct walk *w, struct fmt_error *err)
{
    uint32_t n;

    if (w->end - w->at < 4)
        return fmt_fail(err, "%s: section 2 ends at byte %" PRIu64 ", within constraint %u of %u",
                        w->r->file.name, w->end, w->row, w->r->n_constraints);
    memcpy(&n, w->r->file.bytes + w->at, 4);
    w->at += 4;
    uint64_t bytes = (uint64_t)n * FMT_R1CS_TERM_BYTES;
    if (bytes > w->end - w->at)
        return fmt_fail(err, "%s: section 2, constraint %u, %c: %u terms at byte %" PRIu64 " take %" PRIu64
                        " bytes, but the section ends at byte %" PRIu64, w->r->file.name, w->row, w->sum, n, w->at,
                        bytes, w->end);
    if (check_terms(w, n, err) != 0)
        return -1;
    w->at += bytes;
    return 0;
}

static int walk_constraints(struct fmt_r1cs *r, const struct fmt_section *s, struct fmt_error *err)
{
    struct walk w = {.r = r, .at = s->offset, .end = s->offset + s->size};

    if ((uint64_t)r->n_constraints * MIN_CONSTRAINT > s->size)
        return fmt_fail(err, "%s: section 2 at byte %" PRIu64 " has %" PRIu64 " bytes, where %u constraints take %"
                        PRIu64 " at least", r->file.name, s->offset, s->size, r->n_constraints,
                        (uint64_t)r->n_constraints * MIN_CONSTRAINT);
    r->blocks = malloc((r->n_constraints / BLOCK + 1) * sizeof *r->blocks);
    if (!r->blocks)
        return fmt_fail(err, "%s: out of memory", r->file.name);
    r->blocks[0] = w.at;
    for (; w.row < r->n_constraints; w.row++) {
        if (w.row % BLOCK == 0)
            r->blocks[w.row / BLOCK] = w.at;
        for (w.sum = 'A'; w.sum <= 'C'; w.sum++) {
            if (walk_sum(&w, err) != 0)
                return -1;
        }
    }
    if (w.at != w.end)
        return fmt_fail(err, "%s: section 2 ends at byte %" PRIu64 ", but its %u constraints at byte %" PRIu64,
                        r->file.name, w.end, r->n_constraints, w.at);
    return 0;
}

static int read_structure(struct fmt_r1cs *r, struct fmt_error *err)
{
    struct fmt_container c;
    const struct fmt_section *head, *constraints;

    if (fmt_container_read(&c, &r->file, "r1cs", VERSION, err) != 0 ||
        !(head = fmt_container_need(&c, &r->file, SECTION_HEADER, err)) || read_header(r, head, err) != 0 ||
        refuse_custom_gates(r, &c, SECTION_CUSTOM_GATES, err) != 0 ||
        refuse_custom_gates(r, &c, SECTION_CUSTOM_USES, err) != 0 ||
        !(constraints = fmt_container_need(&c, &r->file, SECTION_CONSTRAINTS, err)))
        return -1;
    return walk_constraints(r, constraints, err);
}

static int finish_open(struct fmt_r1cs *r, struct fmt_error *err)
{
    if (read_structure(r, err) == 0)
        return 0;
    fmt_r1cs_close(r);
    return -1;
}

int fmt_r1cs_open(struct fmt_r1cs *r, const char *path, struct fmt_error *err)
{
    *r = (struct fmt_r1cs){0};
    if (fmt_file_map(&r->file, path, err) != 0)
        return -1;
    return finish_open(r, err);
}

int fmt_r1cs_parse(struct fmt_r1cs *r, const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    *r = (struct fmt_r1cs){0};
    fmt_file_lend(&r->file, name, bytes, len);
    return finish_open(r, err);
}

void fmt_r1cs_close(struct fmt_r1cs *r)
{
    free(r->blocks);
    r->blocks = NULL;
    fmt_file_close(&r->file);
}

/* ---- use ---- */

static struct fmt_r1cs_sum next_sum(const struct fmt_r1cs *r, uint64_t *at)
{
    struct fmt_r1cs_sum s = {.terms = r->file.bytes + *at + 4};
    memcpy(&s.n, r->file.bytes + *at, 4);
    *at += 4 + (uint64_t)s.n * FMT_R1CS_TERM_BYTES;
    return s;
}

struct fmt_r1cs_constraint fmt_r1cs_next(const struct fmt_r1cs *r, uint64_t *at)
{
    struct fmt_r1cs_constraint k;
    k.a = next_sum(r, at);
    k.b = next_sum(r, at);
    k.c = next_sum(r, at);
    return k;
}

int fmt_r1cs_match(const struct fmt_r1cs *r, const struct fmt_zkey *z, struct fmt_error *err)
{
    static const char other[] = "of another circuit or optimisation level";
    const char *key = z->file.name;

    if (r->curve != z->curve)
        return fmt_fail(err, "%s: constraints over %s, where the key %s is over %s", r->file.name, r->curve->name, key,
                        z->curve->name);
    if (r->n_constraints != z->n_constraints)
        return fmt_fail(err, "%s: %u constraints, where the key %s has %u: %s", r->file.name,
                        r->n_constraints, key, z->n_constraints, other);
    if (r->n_wires != z->n_vars)
        return fmt_fail(err, "%s: %u wires, where the key %s has %u: %s", r->file.name, r->n_wires, key,
                        z->n_vars, other);
    if (r->n_public != z->n_public)
        return fmt_fail(err, "%s: %u publics, where the key %s has %u: %s", r->file.name, r->n_public,
                        key, z->n_public, other);
    return 0;
}

enum { BATCH = 128 };           /* constraints evaluated by one call of krn_dot_rows */

_Static_assert(BLOCK % BATCH == 0, "a block of the index is whole batches");

struct check {
    const struct fmt_r1cs *r;
    struct krn_dot dot;
    struct krn_scalar_field field;
    struct krn_scalar one_over_r;       /* plain */
    _Atomic uint32_t first_broken;      /* the smallest found so far; n_constraints: none */
};

/* The three sums of a constraint, each over R: coefficients and witness are both plain. */
struct sums {
    struct krn_scalar a, b, c;
};

static struct krn_row row_of(const struct fmt_r1cs_sum *s, struct krn_scalar *out)
{
    return (struct krn_row){.terms = s->terms, .out = (uint8_t *)out->l, .n = s->n};
}

/* The sums of the next n constraints at *at. */
static void evaluate(const struct check *k, uint64_t *at, struct sums *sums, size_t n)
{
    struct krn_row rows[3 * BATCH];

    for (size_t i = 0; i < n; i++) {
        struct fmt_r1cs_constraint c = fmt_r1cs_next(k->r, at);
        rows[3 * i] = row_of(&c.a, &sums[i].a);
        rows[3 * i + 1] = row_of(&c.b, &sums[i].b);
        rows[3 * i + 2] = row_of(&c.c, &sums[i].c);
    }
    krn_dot_rows(&k->dot, rows, 3 * n);
}

/* With each sum over R: (a/R)(b/R)/R = (ab)/R^3, and (c/R)(1/R)/R = c/R^3. */
static int holds(const struct check *k, const struct sums *s)
{
    struct krn_scalar ab, c;

    krn_scalar_mul(&k->field, &ab, &s->a, &s->b);
    krn_scalar_mul(&k->field, &c, &s->c, &k->one_over_r);
    return krn_scalar_eq(&ab, &c);
}

/* The first of n constraints at *at that does not hold; n where all do. */
static size_t first_of_batch(const struct check *k, uint64_t *at, size_t n)
{
    struct sums sums[BATCH];
    size_t i = 0;

    evaluate(k, at, sums, n);
    while (i < n && holds(k, &sums[i]))
        i++;
    return i;
}

static void check_rows(void *arg, unsigned part, unsigned parts)
{
    struct check *k = arg;
    const size_t total = k->r->n_constraints, blocks = (total + BLOCK - 1) / BLOCK;
    size_t row = krn_part(blocks, part, parts) * BLOCK, end = krn_part(blocks, part + 1, parts) * BLOCK;
    uint64_t at = row < total ? k->r->blocks[row / BLOCK] : 0;

    end = end < total ? end : total;
    for (; row < end; row += BATCH) {
        uint32_t known = atomic_load_explicit(&k->first_broken, memory_order_relaxed);
        if (row >= known)
            return;
        const size_t n = end - row < BATCH ? end - row : BATCH, i = first_of_batch(k, &at, n);
        if (i == n)
            continue;
        while (row + i < known && !atomic_compare_exchange_weak(&k->first_broken, &known, (uint32_t)(row + i)))
            ;
        return;
    }
}

/* Decimal text of a sum, which lacks a factor of R. */
static void sum_text(const struct check *k, const struct krn_scalar *sum, char text[FMT_DECIMAL_MAX])
{
    struct krn_scalar value;
    krn_scalar_to_mont(&k->field, &value, sum);
    fmt_decimal_write(text, (const uint8_t *)value.l, KRN_FR_BYTES);
}

static int describe(const struct check *k, struct fmt_r1cs_broken *broken, struct fmt_error *err)
{
    const uint32_t row = k->first_broken;
    uint64_t at = k->r->blocks[row / BLOCK];
    struct sums sums;

    for (uint32_t i = row / BLOCK * BLOCK; i < row; i++)
        fmt_r1cs_next(k->r, &at);
    evaluate(k, &at, &sums, 1);
    broken->row = row;
    sum_text(k, &sums.a, broken->a);
    sum_text(k, &sums.b, broken->b);
    sum_text(k, &sums.c, broken->c);
    fmt_fail(err, "the witness breaks constraint %u of %u in %s: %s * %s is not %s", row, k->r->n_constraints,
             k->r->file.name, broken->a, broken->b, broken->c);
    return 1;
}

int fmt_r1cs_check(const struct fmt_r1cs *r, const uint8_t *w, unsigned threads, struct fmt_r1cs_broken *broken,
                   struct fmt_error *err)
{
    struct check k = {
        .r = r,
        .dot = {.curve = r->curve->id, .isa = krn_cpu_isa(), .stride = FMT_R1CS_TERM_BYTES, .w = w},
        .field = krn_scalar_field(r->curve->id),
        .first_broken = r->n_constraints,
    };

    krn_scalar_from_mont(&k.field, &k.one_over_r, &(struct krn_scalar){{1}});
    krn_parallel(threads, check_rows, &k);
    return k.first_broken == r->n_constraints ? 0 : describe(&k, broken, err);
}
