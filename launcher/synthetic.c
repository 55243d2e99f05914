#include "launcher/synthetic.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "formats/container_write.h"
#include "kernels/scalar.h"
#include "synth/partition.h"

enum {
    PRIVATE_INPUTS = 64,    /* alternately a full-width value and a bit: what the first constraints refer to */
    POOL = 1 << 16,         /* constraints refer to the last so many wires of a kind */
    WORD_BITS = 32,
    LONG_ROW = 512,         /* the longest row seen in a real key has 513 terms */
};

/* ---- random numbers: xoshiro256++ (Blackman, Vigna 2019), seeded by splitmix64 ---- */

struct rng {
    uint64_t s[4];
};

static void rng_seed(struct rng *g, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        g->s[i] = z ^ z >> 31;
    }
}

static uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static uint64_t rng_next(struct rng *g)
{
    uint64_t *s = g->s, result = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* 0 .. n-1; the bias of at most n / 2^64 does not matter here. */
static uint32_t rng_below(struct rng *g, uint32_t n)
{
    return (uint32_t)((krn_u128)rng_next(g) * n >> 64);
}

static struct krn_scalar rng_scalar(struct rng *g, const struct krn_scalar_field *f)
{
    struct krn_scalar v;
    do {
        for (int i = 0; i < KRN_SCALAR_LIMBS; i++)
            v.l[i] = rng_next(g);
        v.l[KRN_SCALAR_LIMBS - 1] &= UINT64_MAX >> __builtin_clzll(f->p.l[KRN_SCALAR_LIMBS - 1]);
    } while (!krn_scalar_is_reduced(f, &v));
    return v;
}

/* ---- wires ---- */

struct wire {
    uint32_t index;
    struct krn_scalar value;    /* Montgomery form */
};

/* The last POOL wires of one kind. */
struct pool {
    uint32_t n;                 /* all that were ever added */
    struct wire wires[POOL];
};

static uint32_t pool_size(const struct pool *p)
{
    return p->n < POOL ? p->n : POOL;
}

static const struct wire *pool_pick(const struct pool *p, struct rng *g)
{
    return &p->wires[rng_below(g, pool_size(p))];
}

/* ---- rows ---- */

struct term {
    uint32_t wire;
    struct krn_scalar coef;     /* plain */
};

struct sum {
    uint32_t n;
    struct term terms[LONG_ROW + 1];
    struct krn_scalar value;    /* plain */
};

/* What a generation carries along. */
struct generator {
    struct krn_scalar_field f;
    struct krn_scalar minus_one;    /* plain */
    struct rng rng;
    struct fmt_writer r1cs, wtns;
    uint32_t n_wires;               /* defined so far */
    struct pool full, bits;
    struct sum a, b, c;             /* the row at work */
    struct partition partition;     /* for SYNTHETIC_PARTITION, with its whole witness */
    uint8_t *witness;
};

static const struct krn_scalar one = {{1}}, two = {{2}};

static void sum_clear(struct sum *s)
{
    s->n = 0;
    s->value = (struct krn_scalar){{0}};
}

static void sum_add(struct generator *g, struct sum *s, const struct wire *w, const struct krn_scalar *coef)
{
    struct krn_scalar t;

    s->terms[s->n++] = (struct term){w->index, *coef};
    krn_scalar_mul(&g->f, &t, coef, &w->value);
    krn_scalar_add(&g->f, &s->value, &s->value, &t);
}

/* Coefficients as circuits have them: mostly 1 and -1, some powers of two, a few that are full-width. */
static struct krn_scalar random_coef(struct generator *g, uint32_t i)
{
    (void)i;
    uint32_t kind = rng_below(&g->rng, 100);

    if (kind < 70)
        return one;
    if (kind < 85)
        return g->minus_one;
    if (kind < 93)
        return (struct krn_scalar){{1ull << rng_below(&g->rng, 64)}};
    return rng_scalar(&g->rng, &g->f);
}

static struct krn_scalar power_of_two(struct generator *g, uint32_t i)
{
    (void)g;
    return (struct krn_scalar){{1ull << i}};
}

/* Adds n neighbours of a pool, or all of them where it has fewer; coef(g, i) is the i-th coefficient. Neighbours,
 * because no wire may be twice in a sum: readers differ on what that means. */
static void sum_add_run(struct generator *g, struct sum *s, const struct pool *from, uint32_t n,
                        struct krn_scalar (*coef)(struct generator *g, uint32_t i))
{
    uint32_t size = pool_size(from), start = rng_below(&g->rng, size);

    for (uint32_t i = 0; i < n && i < size; i++) {
        struct krn_scalar c = coef(g, i);
        sum_add(g, s, &from->wires[(start + i) % size], &c);
    }
}

static void put_sum(struct fmt_writer *w, const struct sum *s)
{
    fmt_writer_u32(w, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        fmt_writer_u32(w, s->terms[i].wire);
        fmt_writer_put(w, &s->terms[i].coef, KRN_FR_BYTES);
    }
}

/* Writes the next wire's plain value to the witness; the wire joins the pool, where one is given. */
static struct wire define_wire(struct generator *g, const struct krn_scalar *value, struct pool *pool)
{
    struct wire w = {.index = g->n_wires++};

    fmt_writer_put(&g->wtns, value, KRN_FR_BYTES);
    krn_scalar_to_mont(&g->f, &w.value, value);
    if (pool)
        pool->wires[pool->n++ % POOL] = w;
    return w;
}

static struct wire the_constant(const struct generator *g)
{
    return (struct wire){.index = 0, .value = g->f.one};
}

/* ---- kinds of constraints; each defines one wire ---- */

/* A * B = new */
static void define_product(struct generator *g, struct pool *pool)
{
    struct krn_scalar value;

    krn_scalar_to_mont(&g->f, &value, &g->a.value);
    krn_scalar_mul(&g->f, &value, &value, &g->b.value);
    struct wire w = define_wire(g, &value, pool);
    sum_add(g, &g->c, &w, &one);
}

/* (a few wires) * (a few wires) = new: full-width */
static void row_product(struct generator *g)
{
    uint32_t more = rng_below(&g->rng, 2);
    int mostly_bits = g->bits.n > g->full.n;

    sum_add_run(g, &g->a, &g->full, mostly_bits ? 1 : 1 + more, random_coef);
    sum_add_run(g, &g->a, &g->bits, mostly_bits ? more : 0, random_coef);
    sum_add_run(g, &g->b, &g->full, 1, random_coef);
    define_product(g, &g->full);
}

/* b * (b - 1) = 0: b a free bit */
static void row_boolean(struct generator *g)
{
    const struct krn_scalar value = {{rng_next(&g->rng) >> 63}};
    const struct wire w = define_wire(g, &value, &g->bits), unit = the_constant(g);

    sum_add(g, &g->a, &w, &one);
    sum_add(g, &g->b, &unit, &g->minus_one);
    sum_add(g, &g->b, &w, &one);
}

/* a * b = new, of bits */
static void row_and(struct generator *g)
{
    sum_add(g, &g->a, pool_pick(&g->bits, &g->rng), &one);
    sum_add(g, &g->b, pool_pick(&g->bits, &g->rng), &one);
    define_product(g, &g->bits);
}

/* 2a * b = a + b - new: new is a xor b */
static void row_xor(struct generator *g)
{
    const struct wire a = *pool_pick(&g->bits, &g->rng);
    struct wire b;

    do
        b = *pool_pick(&g->bits, &g->rng);
    while (b.index == a.index);
    sum_add(g, &g->a, &a, &two);
    sum_add(g, &g->b, &b, &one);
    sum_add(g, &g->c, &a, &one);
    sum_add(g, &g->c, &b, &one);

    const struct krn_scalar value = {{!krn_scalar_eq(&a.value, &b.value)}};
    const struct wire w = define_wire(g, &value, &g->bits);
    sum_add(g, &g->c, &w, &g->minus_one);
}

/* (sum of 2^i b_i) * 1 = new: a word */
static void row_word(struct generator *g)
{
    const struct wire unit = the_constant(g);

    sum_add_run(g, &g->a, &g->bits, WORD_BITS, power_of_two);
    sum_add(g, &g->b, &unit, &one);
    define_product(g, NULL);
}

/* (hundreds of bits) * (a wire) = new: full-width */
static void row_long(struct generator *g)
{
    sum_add_run(g, &g->a, &g->bits, LONG_ROW / 2 + rng_below(&g->rng, LONG_ROW / 2 + 1), random_coef);
    sum_add_run(g, &g->b, &g->full, 1, random_coef);
    define_product(g, &g->full);
}

/* How often each kind comes, in 1/2000, for a mix. */
struct share {
    uint32_t share;
    void (*row)(struct generator *g);
};

static const struct share mixes[][6] = {
    [SYNTHETIC_UNIFORM] = {{2000, row_product}},
    [SYNTHETIC_BITS] = {{1800, row_boolean}, {200, row_product}},
    [SYNTHETIC_SHA256] = {{900, row_xor}, {700, row_and}, {360, row_boolean}, {30, row_word}, {9, row_product},
                          {1, row_long}},
};

static void random_row(struct generator *g, enum synthetic_mix mix)
{
    uint32_t pick = rng_below(&g->rng, 2000);
    const struct share *kind = mixes[mix];

    while (pick >= kind->share)
        pick -= kind++->share;
    sum_clear(&g->a);
    sum_clear(&g->b);
    sum_clear(&g->c);
    kind->row(g);
    put_sum(&g->r1cs, &g->a);
    put_sum(&g->r1cs, &g->b);
    put_sum(&g->r1cs, &g->c);
}

/* ---- the files ---- */

uint32_t synthetic_wires(const struct synthetic *s)
{
    return s->mix == SYNTHETIC_PARTITION ? 1 + s->n_constraints : 1 + s->n_public + PRIVATE_INPUTS + s->n_constraints;
}

static void put_headers(struct generator *g, const struct synthetic *s)
{
    const uint8_t *r = krn_curve(s->curve)->r;
    const uint32_t n = synthetic_wires(s);

    fmt_writer_begin(&g->r1cs, 1);
    fmt_writer_u32(&g->r1cs, KRN_FR_BYTES);
    fmt_writer_put(&g->r1cs, r, KRN_FR_BYTES);
    fmt_writer_u32(&g->r1cs, n);
    fmt_writer_u32(&g->r1cs, 0);                /* public outputs */
    fmt_writer_u32(&g->r1cs, s->n_public);      /* public inputs */
    fmt_writer_u32(&g->r1cs, s->mix == SYNTHETIC_PARTITION ? 0 : PRIVATE_INPUTS);
    fmt_writer_u64(&g->r1cs, n);                /* labels */
    fmt_writer_u32(&g->r1cs, s->n_constraints);
    fmt_writer_end(&g->r1cs);

    fmt_writer_begin(&g->wtns, 1);
    fmt_writer_u32(&g->wtns, KRN_FR_BYTES);
    fmt_writer_put(&g->wtns, r, KRN_FR_BYTES);
    fmt_writer_u32(&g->wtns, n);
    fmt_writer_end(&g->wtns);
}

static void put_inputs(struct generator *g, const struct synthetic *s)
{
    define_wire(g, &one, NULL);
    for (uint32_t i = 0; i < s->n_public + PRIVATE_INPUTS; i++) {
        struct krn_scalar value = rng_scalar(&g->rng, &g->f);
        int bit = i >= s->n_public && i % 2;
        if (bit)
            value = (struct krn_scalar){{value.l[0] & 1}};
        define_wire(g, &value, bit ? &g->bits : &g->full);
    }
}

/* Section 2 of both files. */
static void put_random(struct generator *g, const struct synthetic *s)
{
    fmt_writer_begin(&g->wtns, 2);
    put_inputs(g, s);
    fmt_writer_begin(&g->r1cs, 2);
    for (uint32_t i = 0; i < s->n_constraints; i++)
        random_row(g, s->mix);
    fmt_writer_end(&g->r1cs);
    fmt_writer_end(&g->wtns);
}

static void put_terms(struct generator *g, const struct partition_term *terms, uint32_t n)
{
    static const struct krn_scalar zero;

    fmt_writer_u32(&g->r1cs, n);
    for (uint32_t i = 0; i < n; i++) {
        struct krn_scalar coef = {{(uint64_t)(terms[i].coef < 0 ? -terms[i].coef : terms[i].coef)}};
        if (terms[i].coef < 0)
            krn_scalar_sub(&g->f, &coef, &zero, &coef);
        fmt_writer_u32(&g->r1cs, terms[i].wire);
        fmt_writer_put(&g->r1cs, &coef, KRN_FR_BYTES);
    }
}

static void put_partition(struct generator *g, const struct partition *p)
{
    fmt_writer_begin(&g->wtns, 2);
    fmt_writer_put(&g->wtns, g->witness, (size_t)p->n_wires * KRN_FR_BYTES);
    fmt_writer_end(&g->wtns);
    fmt_writer_begin(&g->r1cs, 2);
    for (uint32_t i = 0; i < p->n_constraints; i++) {
        struct partition_row row;
        partition_row(p, i, &row);
        put_terms(g, row.a, row.n_a);
        put_terms(g, row.b, row.n_b);
        put_terms(g, row.c, row.n_c);
    }
    fmt_writer_end(&g->r1cs);
}

static void generate(struct generator *g, const struct synthetic *s)
{
    put_headers(g, s);
    if (s->mix == SYNTHETIC_PARTITION)
        put_partition(g, &g->partition);
    else
        put_random(g, s);
    fmt_writer_begin(&g->r1cs, 3);
    for (uint64_t i = 0; i < synthetic_wires(s); i++)
        fmt_writer_u64(&g->r1cs, i);
    fmt_writer_end(&g->r1cs);
}

/* What a partition needs beforehand. */
static int prepare_partition(struct generator *g, const struct synthetic *s, struct fmt_error *err)
{
    struct partition *p = &g->partition;

    if (s->n_public >= s->n_constraints ||
        partition_init(p, s->curve, s->n_constraints, s->n_public, s->n_constraints - s->n_public, s->seed) != 0)
        return fmt_fail(err, "%" PRIu32 " constraints and %" PRIu32 " publics, where a partition has %d constraints "
                        "more than publics at least", s->n_constraints, s->n_public, 2 * PARTITION_WIRES);
    g->witness = malloc((size_t)p->n_wires * KRN_FR_BYTES);
    if (!g->witness)
        return fmt_fail(err, "out of memory for a witness of %" PRIu32 " wires", p->n_wires);
    partition_witness(p, g->witness, 0);
    return 0;
}

static int write_files(struct generator *g, const struct synthetic *s, const char *r1cs, const char *wtns,
                       struct fmt_error *err)
{
    if (fmt_writer_open(&g->r1cs, r1cs, "r1cs", 1, 3, err) != 0)
        return -1;
    if (fmt_writer_open(&g->wtns, wtns, "wtns", 2, 2, err) != 0) {
        fmt_writer_discard(&g->r1cs);
        return -1;
    }
    generate(g, s);
    if (fmt_writer_commit(&g->r1cs, err) == 0)
        return fmt_writer_commit(&g->wtns, err);
    fmt_writer_discard(&g->wtns);
    return -1;
}

int synthetic_write(const struct synthetic *s, const char *r1cs, const char *wtns, struct fmt_error *err)
{
    struct generator *g = calloc(1, sizeof *g);

    if (!g)
        return fmt_fail(err, "out of memory");
    g->f = krn_scalar_field(s->curve);
    krn_scalar_sub(&g->f, &g->minus_one, &g->minus_one, &one);
    rng_seed(&g->rng, s->seed);
    int rc = s->mix == SYNTHETIC_PARTITION ? prepare_partition(g, s, err) : 0;
    if (rc == 0)
        rc = write_files(g, s, r1cs, wtns, err);
    free(g->witness);
    free(g);
    return rc;
}

/* ---- the command ---- */

static const char *const mix_names[] = {"uniform", "bits", "sha256", "partition", NULL};
static const char *const curve_names[] = {"bn254", "bls12381", NULL};

static int usage(void)
{
    fprintf(stderr, "usage: pinwheel synthetic --constraints N [--curve bn254|bls12381]\n"
                    "                          [--mix uniform|bits|sha256|partition] [--public K] [--seed S]\n"
                    "                          out.r1cs out.wtns\n");
    return 2;
}

/* Position of text among names, or -1. */
static int choice(const char *const *names, const char *text)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0)
            return i;
    }
    return -1;
}

/* A decimal number of at most max; 0 or -1. */
static int number(const char *text, uint64_t max, uint64_t *value)
{
    char *end;

    if (*text < '0' || *text > '9' || strlen(text) > 20)
        return -1;
    *value = strtoull(text, &end, 10);
    return *end == '\0' && *value <= max ? 0 : -1;
}

static int set_option(struct synthetic *s, int option, const char *text)
{
    uint64_t n = 0;
    int i = 0, rc = 0;

    switch (option) {
    case 'c':
        rc = number(text, SYNTHETIC_MAX_ROWS - 1, &n);
        s->n_constraints = (uint32_t)n;
        break;
    case 'p':
        rc = number(text, SYNTHETIC_MAX_ROWS - 1, &n);
        s->n_public = (uint32_t)n;
        break;
    case 's':
        rc = number(text, UINT64_MAX, &s->seed);
        break;
    case 'C':
        rc = i = choice(curve_names, text);
        s->curve = (enum krn_curve_id)i;
        break;
    case 'm':
        rc = i = choice(mix_names, text);
        s->mix = (enum synthetic_mix)i;
        break;
    default:
        return -1;
    }
    if (rc < 0)
        fprintf(stderr, "pinwheel synthetic: %s: not a value that this option takes\n", text);
    return rc < 0 ? -1 : 0;
}

int tool_synthetic(int argc, char **argv)
{
    static const struct option options[] = {
        {"constraints", required_argument, NULL, 'c'}, {"curve", required_argument, NULL, 'C'},
        {"mix", required_argument, NULL, 'm'},         {"public", required_argument, NULL, 'p'},
        {"seed", required_argument, NULL, 's'},        {NULL, 0, NULL, 0},
    };
    struct synthetic s = {.n_public = 1};
    struct fmt_error err;
    int option;

    if (getrandom(&s.seed, sizeof s.seed, 0) != (ssize_t)sizeof s.seed)
        return perror("getrandom"), 1;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (set_option(&s, option, optarg) != 0)
            return usage();
    }
    if (argc - optind != 2 || s.n_constraints == 0)
        return usage();
    if ((uint64_t)s.n_constraints + s.n_public + 1 > SYNTHETIC_MAX_ROWS) {
        fprintf(stderr, "pinwheel synthetic: %" PRIu32 " constraints, %" PRIu32 " publics and one, where the largest "
                "domain has %d rows\n", s.n_constraints, s.n_public, SYNTHETIC_MAX_ROWS);
        return 2;
    }
    if (synthetic_write(&s, argv[optind], argv[optind + 1], &err) != 0) {
        fprintf(stderr, "pinwheel synthetic: %s\n", err.text);
        return 1;
    }
    printf("%s, %s: %" PRIu32 " constraints, %" PRIu32 " wires, %" PRIu32 " public, seed %" PRIu64 "\n",
           curve_names[s.curve], mix_names[s.mix], s.n_constraints, synthetic_wires(&s), s.n_public, s.seed);
    return 0;
}
