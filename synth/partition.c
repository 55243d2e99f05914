#include "synth/partition.h"

#include <errno.h>
#include <string.h>

#include "formats/payload.h"
#include "kernels/parallel.h"
#include "kernels/scalar.h"

/* PoRep's 32 GiB partition, one of the inputs being the constant. */
enum { FULL_CONSTRAINTS = 130278541, FULL_PUBLIC = 327, FULL_AUX = 130169893 };

static uint32_t log_of(uint64_t rows)
{
    uint32_t log = 0;

    while ((uint64_t)1 << log < rows)
        log++;
    return log;
}

int partition_init(struct partition *p, enum krn_curve_id curve, uint32_t n_constraints, uint32_t n_public,
                   uint32_t n_aux, uint64_t seed)
{
    const uint32_t blocks = n_aux / PARTITION_WIRES, tail = n_aux % PARTITION_WIRES;
    const uint64_t needed = (uint64_t)PARTITION_ROWS * blocks + tail + n_public;

    if (blocks < 2 || needed > n_constraints)
        return -EINVAL;
    *p = (struct partition){
        .curve = curve, .seed = seed, .n_constraints = n_constraints, .n_public = n_public,
        .n_wires = 1 + n_public + n_aux, .log_domain = log_of((uint64_t)n_constraints + n_public + 1),
        .blocks = blocks, .tail = tail, .first_aux = 1 + n_public,
        .coef_key = partition_mix(seed), .bit_key = partition_mix(seed + 1), .value_key = partition_mix(seed + 2),
    };
    p->first_tail = p->first_aux + PARTITION_WIRES * blocks;
    p->tail_row = PARTITION_ROWS * blocks;
    p->public_row = p->tail_row + tail;
    p->check_row = p->public_row + n_public;
    for (uint32_t i = 0; i < 4; i++) {      /* 1 .. n-1: never to oneself */
        const uint32_t n = i < 3 ? PARTITION_UNITS * blocks : blocks;
        p->shift[i] = 1 + (uint32_t)(partition_mix(seed + 3 + i) % (n - 1));
    }
    return 0;
}

int partition_scaled(struct partition *p, enum krn_curve_id curve, uint32_t log_domain, uint64_t seed)
{
    if (log_domain == PARTITION_FULL_LOG)
        return partition_init(p, curve, FULL_CONSTRAINTS, FULL_PUBLIC, FULL_AUX, seed);
    if (log_domain > KRN_MAX_LOG_DOMAIN)
        return -EINVAL;
    const uint32_t constraints = (uint32_t)(((uint64_t)FULL_CONSTRAINTS << log_domain) >> PARTITION_FULL_LOG);
    const uint32_t publics = constraints / 100 < FULL_PUBLIC ? constraints / 100 : FULL_PUBLIC;
    return partition_init(p, curve, constraints, publics, constraints - publics, seed);
}

/* ---- rows ---- */

static void put(struct partition_term *terms, uint32_t *n, uint32_t wire, int64_t coef)
{
    terms[(*n)++] = (struct partition_term){wire, coef};
}

#define A(wire, coef) put(row->a, &row->n_a, wire, coef)
#define B(wire, coef) put(row->b, &row->n_b, wire, coef)
#define C(wire, coef) put(row->c, &row->n_c, wire, coef)

/* x x = x */
static void bit_row(uint32_t x, int64_t k, struct partition_row *row)
{
    A(x, k);
    B(x, 1);
    C(x, k);
}

/* The p of the unit `shift` units on. */
static uint32_t far_p(const struct partition *p, uint32_t unit, uint32_t shift)
{
    const uint32_t to = partition_forth(unit, shift, PARTITION_UNITS * p->blocks);
    return partition_wire(p, to / PARTITION_UNITS, 4 * (to % PARTITION_UNITS));
}

static void xor_row(uint32_t before, uint32_t far, uint32_t x, int64_t k, struct partition_row *row)
{
    A(before, 2 * k);
    B(far, 1);
    C(before, k);
    C(far, k);
    C(x, -k);
}

static void unit_row(const struct partition *p, uint32_t block, uint32_t place, int64_t k, struct partition_row *row)
{
    const uint32_t u = place / 4, unit = PARTITION_UNITS * block + u, kind = place % 4;
    const uint32_t x = partition_wire(p, block, place), own_p = x - kind, before = u ? x - 4 : own_p;

    if (kind == 0) {
        bit_row(x, k, row);
        return;
    }
    const uint32_t far = far_p(p, unit, p->shift[kind - 1]);
    if (kind != 2) {
        xor_row(before, far, x, k, row);
        return;
    }
    A(u ? before - 1 : own_p, k);
    if (u)
        A(before, -k);
    B(far, 1);
    C(x, k);
    if (u)
        C(before, -k);
}

/* The rows of f1, f2, f3. */
static void value_row(const struct partition *p, uint32_t i, uint32_t block, uint32_t value, struct partition_row *row)
{
    const uint32_t f0 = partition_wire(p, block, PARTITION_F0);
    const int64_t k = partition_coef(p, i, 0);

    if (value == 1) {
        for (uint32_t u = 0; u < PARTITION_UNITS; u++)
            A(partition_wire(p, block, 4 * u + 1), partition_coef(p, i, 2 + u));
        A(f0, k);
        B(f0, partition_coef(p, i, 1));
        C(f0 + 1, 1);
        return;
    }
    A(value == 2 ? f0 + 1 : f0, k);
    B(partition_wire(p, partition_forth(block, p->shift[3], p->blocks), PARTITION_F0), 1);
    C(f0 + value, k);
}

static void public_row(const struct partition *p, uint32_t i, uint32_t s, struct partition_row *row)
{
    const uint32_t block = s % p->blocks;

    A(partition_wire(p, block, PARTITION_F0 + 1), partition_coef(p, i, 0));
    for (uint32_t u = 0; u < PARTITION_UNITS; u++)
        A(partition_wire(p, block, 4 * u + 1), (int64_t)1 << u);
    B(0, 1);
    C(1 + s, 1);
}

static void check_row(const struct partition *p, uint32_t i, uint32_t block, struct partition_row *row)
{
    const uint32_t f0 = partition_wire(p, block, PARTITION_F0);
    const int64_t j = partition_coef(p, i, 0), k = partition_coef(p, i, 1);

    A(f0 + 1, j);
    A(f0, k);
    B(partition_wire(p, partition_forth(block, p->shift[3], p->blocks), PARTITION_F0), 1);
    C(f0 + 2, j);
    C(f0 + 3, k);
}

#undef A
#undef B
#undef C

void partition_row(const struct partition *p, uint32_t i, struct partition_row *row)
{
    row->n_a = row->n_b = row->n_c = 0;
    if (i >= p->check_row) {
        check_row(p, i, (i - p->check_row) % p->blocks, row);
    } else if (i >= p->public_row) {
        public_row(p, i, i - p->public_row, row);
    } else if (i >= p->tail_row) {
        bit_row(p->first_tail + (i - p->tail_row), partition_coef(p, i, 0), row);
    } else {
        const uint32_t block = i / PARTITION_ROWS, place = i % PARTITION_ROWS;
        if (place < PARTITION_F0)
            unit_row(p, block, place, partition_coef(p, i, 0), row);
        else
            value_row(p, i, block, 1 + place - PARTITION_F0, row);
    }
}

/* ---- the witness ---- */

struct job {
    const struct partition *p;
    struct krn_scalar_field f;
    struct krn_scalar *w, *a, *b;
};

/* The p of a unit; those beyond the blocks' are the bits that fill up. */
static unsigned free_bit(const struct partition *p, uint32_t unit)
{
    return partition_mix(p->bit_key + unit / 64) >> unit % 64 & 1;
}

/* Below 2^252, and so below both orders. */
static struct krn_scalar free_value(const struct partition *p, uint32_t block)
{
    struct krn_scalar v;

    for (uint32_t i = 0; i < KRN_SCALAR_LIMBS; i++)
        v.l[i] = partition_mix(p->value_key + (uint64_t)KRN_SCALAR_LIMBS * block + i);
    v.l[KRN_SCALAR_LIMBS - 1] >>= 4;
    return v;
}

static struct krn_scalar coef_value(const struct krn_scalar_field *f, int64_t coef)
{
    struct krn_scalar v = {{(uint64_t)(coef < 0 ? -coef : coef)}};
    const struct krn_scalar zero = {{0}};

    if (coef < 0)
        krn_scalar_sub(f, &v, &zero, &v);
    return v;
}

/* Of plain values. */
static struct krn_scalar product(const struct krn_scalar_field *f, const struct krn_scalar *x,
                                 const struct krn_scalar *y)
{
    struct krn_scalar r;

    krn_scalar_to_mont(f, &r, x);
    krn_scalar_mul(f, &r, &r, y);
    return r;
}

static int is_bit(const struct krn_scalar *v)
{
    return (v->l[1] | v->l[2] | v->l[3]) == 0 && v->l[0] <= 1;
}

/* A sum at the witness, plain. */
static struct krn_scalar value_of(const struct job *job, const struct partition_term *terms, uint32_t n)
{
    struct krn_scalar sum = {{0}};

    for (uint32_t i = 0; i < n; i++) {
        const struct krn_scalar *w = &job->w[terms[i].wire];
        struct krn_scalar t = coef_value(&job->f, terms[i].coef);
        if (is_bit(w) && w->l[0] == 0)
            continue;
        if (!is_bit(w))
            t = product(&job->f, &t, w);
        krn_scalar_add(&job->f, &sum, &sum, &t);
    }
    return sum;
}

static void define_units(const struct job *job, uint32_t block, struct krn_scalar *w)
{
    const struct partition *p = job->p;
    const uint32_t units = PARTITION_UNITS * p->blocks;
    unsigned q = 0, r = 0, s = 0;

    for (uint32_t u = 0; u < PARTITION_UNITS; u++) {
        const uint32_t unit = PARTITION_UNITS * block + u;
        unsigned far[3], own = free_bit(p, unit), before;
        for (int i = 0; i < 3; i++)
            far[i] = free_bit(p, partition_forth(unit, p->shift[i], units));
        if (u == 0)
            q = s = own;
        before = q;
        q ^= far[0];
        r = far[1] ? before : r;
        s ^= far[2];
        w[4 * u] = (struct krn_scalar){{own}};
        w[4 * u + 1] = (struct krn_scalar){{q}};
        w[4 * u + 2] = (struct krn_scalar){{r}};
        w[4 * u + 3] = (struct krn_scalar){{s}};
    }
}

static void define_values(const struct job *job, uint32_t block, struct krn_scalar *f)
{
    const struct partition *p = job->p;
    const struct krn_scalar far = free_value(p, partition_forth(block, p->shift[3], p->blocks));
    struct partition_row row = {.n_a = 0};

    f[0] = free_value(p, block);
    value_row(p, PARTITION_ROWS * block + PARTITION_F0, block, 1, &row);
    const struct krn_scalar a = value_of(job, row.a, row.n_a), b = value_of(job, row.b, row.n_b);
    f[1] = product(&job->f, &a, &b);
    f[2] = product(&job->f, &f[1], &far);
    f[3] = product(&job->f, &f[0], &far);
}

static void define_blocks(void *arg, unsigned part, unsigned parts)
{
    const struct job *job = arg;
    const struct partition *p = job->p;

    for (size_t i = krn_part(p->blocks, part, parts); i < krn_part(p->blocks, part + 1, parts); i++) {
        struct krn_scalar *w = job->w + partition_wire(p, (uint32_t)i, 0);
        define_units(job, (uint32_t)i, w);
        define_values(job, (uint32_t)i, w + PARTITION_F0);
    }
}

static void define_all(const struct job *job, unsigned threads)
{
    const struct partition *p = job->p;

    krn_parallel(threads, define_blocks, (void *)job);
    job->w[0] = (struct krn_scalar){{1}};
    for (uint32_t i = 0; i < p->tail; i++)
        job->w[p->first_tail + i] = (struct krn_scalar){{free_bit(p, PARTITION_UNITS * p->blocks + i)}};
    for (uint32_t s = 0; s < p->n_public; s++) {
        struct partition_row row = {.n_a = 0};
        public_row(p, p->public_row + s, s, &row);
        job->w[1 + s] = value_of(job, row.a, row.n_a);
    }
}

void partition_witness(const struct partition *p, uint8_t *w, unsigned threads)
{
    const struct job job = {.p = p, .f = krn_scalar_field(p->curve), .w = (struct krn_scalar *)(void *)w};

    define_all(&job, threads);
}

/* ---- a slot ---- */

/* Rows as they go into a slot: behind the constraints, those that bind the constant and the publics, and zeros. */
static void evaluate_rows(void *arg, unsigned part, unsigned parts)
{
    const struct job *job = arg;
    const struct partition *p = job->p;
    const size_t rows = (size_t)1 << p->log_domain;

    for (size_t i = krn_part(rows, part, parts); i < krn_part(rows, part + 1, parts); i++) {
        struct krn_scalar a = {{0}}, b = {{0}};
        if (i < p->n_constraints) {
            struct partition_row row;
            partition_row(p, (uint32_t)i, &row);
            a = value_of(job, row.a, row.n_a);
            b = value_of(job, row.b, row.n_b);
        } else if (i - p->n_constraints <= p->n_public) {
            a = job->w[i - p->n_constraints];
        }
        krn_scalar_to_mont(&job->f, &job->a[i], &a);
        krn_scalar_to_mont(&job->f, &job->b[i], &b);
    }
}

void partition_fill(const struct partition *p, uint8_t *payload, unsigned threads)
{
    const struct fmt_payload at = fmt_payload_of(p->n_wires, p->log_domain);
    struct job job = {.p = p, .f = krn_scalar_field(p->curve), .w = (struct krn_scalar *)(void *)(payload + at.w),
                      .a = (struct krn_scalar *)(void *)(payload + at.a),
                      .b = (struct krn_scalar *)(void *)(payload + at.b)};

    define_all(&job, threads);
    krn_parallel(threads, evaluate_rows, &job);
}
