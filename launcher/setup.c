#include "launcher/setup.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "formats/snarkjs.h"
#include "formats/zkey_write.h"
#include "kernels/fixed_base.h"
#include "kernels/lagrange.h"
#include "kernels/parallel.h"

enum { CHUNK = 1 << 15 };   /* points between two writes */

/* Montgomery form, and none of them zero. */
struct trapdoor {
    struct krn_scalar tau, alpha, beta, gamma, delta;
};

/* A setup at work. */
struct setup {
    struct fmt_r1cs r1cs;
    struct krn_scalar_field f;
    uint32_t log_domain;
    uint64_t n_coefs;
    unsigned threads;
    struct trapdoor trapdoor;
    /* lagrange: L_i(tau) in Montgomery form for each row, later the scalars of H. u, v: A_j(tau) and B_j(tau) of each
     * wire. k: C_j(tau), later (beta A_j + alpha B_j + C_j)(tau) / gamma or delta. Plain but where said. */
    struct krn_scalar *lagrange, *u, *v, *k;
    struct krn_fixed_base *g1, *g2;
    struct fmt_writer out;
    const struct setup_progress *progress;
    unsigned long long done, total;
};

/* ---- the trapdoor ---- */

/* Uniform among 1 .. p-1: as many bits as p has, drawn again where that is not below p, or zero. */
static int draw(const struct krn_scalar_field *f, struct krn_scalar *v, struct fmt_error *err)
{
    const struct krn_scalar zero = {{0}};

    do {
        ssize_t n = getrandom(v, sizeof *v, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof *v)
            return fmt_fail(err, "getrandom: %s", n < 0 ? strerror(errno) : "too few bytes");
        v->l[KRN_SCALAR_LIMBS - 1] &= UINT64_MAX >> __builtin_clzll(f->p.l[KRN_SCALAR_LIMBS - 1]);
    } while (!krn_scalar_is_reduced(f, v) || krn_scalar_eq(v, &zero));
    return 0;
}

static int draw_trapdoor(struct setup *s, struct fmt_error *err)
{
    struct trapdoor *t = &s->trapdoor;
    struct krn_scalar *const all[] = {&t->tau, &t->alpha, &t->beta, &t->gamma, &t->delta};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (draw(&s->f, all[i], err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the scalars of all points ---- */

/* Adds coefficient * lagrange to the place of each wire in a sum. */
static void accumulate(const struct krn_scalar_field *f, struct krn_scalar *wires, const struct fmt_r1cs_sum *sum,
                       const struct krn_scalar *lagrange)
{
    const uint8_t *t = sum->terms;

    for (uint32_t i = 0; i < sum->n; i++, t += FMT_R1CS_TERM_BYTES) {
        uint32_t wire;
        struct krn_scalar coef;
        memcpy(&wire, t, sizeof wire);
        memcpy(&coef, t + sizeof wire, sizeof coef);
        krn_scalar_mul(f, &coef, &coef, lagrange);
        krn_scalar_add(f, &wires[wire], &wires[wire], &coef);
    }
}

/* The polynomials of all wires at tau. The rows after the constraints bind the constant and the publics: there A
 * is 1. */
static void evaluate_wires(struct setup *s)
{
    uint64_t at = s->r1cs.blocks[0];

    for (uint32_t i = 0; i < s->r1cs.n_constraints; i++) {
        struct fmt_r1cs_constraint c = fmt_r1cs_next(&s->r1cs, &at);
        accumulate(&s->f, s->u, &c.a, &s->lagrange[i]);
        accumulate(&s->f, s->v, &c.b, &s->lagrange[i]);
        accumulate(&s->f, s->k, &c.c, &s->lagrange[i]);
    }
    for (uint32_t i = 0; i <= s->r1cs.n_public; i++) {
        struct krn_scalar plain;
        krn_scalar_from_mont(&s->f, &plain, &s->lagrange[s->r1cs.n_constraints + i]);
        krn_scalar_add(&s->f, &s->u[i], &s->u[i], &plain);
    }
}

/* k_j = (beta u_j + alpha v_j + k_j) / gamma for the constant and the publics, / delta for all others. */
static void combine(void *arg, unsigned part, unsigned parts)
{
    struct setup *s = arg;
    const struct krn_scalar_field *f = &s->f;
    struct krn_scalar by_gamma, by_delta;

    krn_scalar_inv(f, &by_gamma, &s->trapdoor.gamma);
    krn_scalar_inv(f, &by_delta, &s->trapdoor.delta);
    for (size_t j = krn_part(s->r1cs.n_wires, part, parts); j < krn_part(s->r1cs.n_wires, part + 1, parts); j++) {
        struct krn_scalar a, b;
        krn_scalar_mul(f, &a, &s->trapdoor.beta, &s->u[j]);
        krn_scalar_mul(f, &b, &s->trapdoor.alpha, &s->v[j]);
        krn_scalar_add(f, &s->k[j], &s->k[j], &a);
        krn_scalar_add(f, &s->k[j], &s->k[j], &b);
        krn_scalar_mul(f, &s->k[j], &s->k[j], j <= s->r1cs.n_public ? &by_gamma : &by_delta);
    }
    explicit_bzero(&by_gamma, sizeof by_gamma);
    explicit_bzero(&by_delta, sizeof by_delta);
}

/* The scalars of H, in place of the Lagrange values: those at the odd points of the doubled domain, by delta. */
static int evaluate_h(struct setup *s)
{
    struct krn_scalar by_delta;

    krn_scalar_inv(&s->f, &by_delta, &s->trapdoor.delta);
    krn_scalar_from_mont(&s->f, &by_delta, &by_delta);
    int rc = krn_lagrange(&s->f, KRN_LAGRANGE_ODD, s->lagrange, s->log_domain, &s->trapdoor.tau, &by_delta,
                          s->threads);
    explicit_bzero(&by_delta, sizeof by_delta);
    return rc;
}

static int out_of_memory(const struct setup *s, struct fmt_error *err)
{
    return fmt_fail(err, "%s: out of memory for a setup of %" PRIu32 " wires", s->r1cs.file.name, s->r1cs.n_wires);
}

/* ---- the points ---- */

/* Section id: the multiples of a table's generator by n plain scalars. -1 where memory is short; a writer that failed
 * ends it early, for commit to tell. */
static int write_points(struct setup *s, uint32_t id, const struct krn_fixed_base *table, size_t point_bytes,
                        const struct krn_scalar *scalars, size_t n)
{
    uint8_t *points = malloc(CHUNK * point_bytes);
    int rc = points ? 0 : -1;

    fmt_writer_begin(&s->out, id);
    for (size_t at = 0, m; at < n && rc == 0 && !s->out.failed; at += m) {
        m = n - at < CHUNK ? n - at : CHUNK;
        rc = krn_fixed_base_mul(table, points, (const uint8_t *)(scalars + at), m, s->threads);
        fmt_writer_put(&s->out, points, m * point_bytes);
        s->done += m;
        if (s->progress)
            s->progress->step(s->progress->ctx, s->done, s->total);
    }
    fmt_writer_end(&s->out);
    free(points);
    return rc;
}

/* The points of section 2, and the sections before the IC. */
static int write_header(struct setup *s, const char *zkey, struct fmt_error *err)
{
    const struct trapdoor *t = &s->trapdoor;
    const struct krn_scalar *const in[] = {&t->alpha, &t->beta, &t->gamma, &t->delta};
    struct krn_scalar plain[4];
    uint8_t g1[4 * KRN_G1_MAX], g2[4 * KRN_G2_MAX];
    const size_t g1_bytes = 2 * s->r1cs.curve->fq_bytes, g2_bytes = 2 * g1_bytes;

    for (int i = 0; i < 4; i++)
        krn_scalar_from_mont(&s->f, &plain[i], in[i]);
    int rc = krn_fixed_base_mul(s->g1, g1, (const uint8_t *)plain, 4, 1) |
             krn_fixed_base_mul(s->g2, g2, (const uint8_t *)plain, 4, 1);
    explicit_bzero(plain, sizeof plain);
    if (rc != 0)
        return out_of_memory(s, err);
    const struct fmt_zkey_header h = {
        .curve = s->r1cs.curve, .n_vars = s->r1cs.n_wires, .n_public = s->r1cs.n_public, .log_domain = s->log_domain,
        .alpha1 = g1, .beta1 = g1 + g1_bytes, .delta1 = g1 + 3 * g1_bytes,
        .beta2 = g2 + g2_bytes, .gamma2 = g2 + 2 * g2_bytes, .delta2 = g2 + 3 * g2_bytes,
    };
    return fmt_zkey_write_open(&s->out, zkey, &h, err);
}

static int write_sections(struct setup *s)
{
    const size_t g1 = 2 * s->r1cs.curve->fq_bytes, g2 = 2 * g1;
    const size_t wires = s->r1cs.n_wires, bound = s->r1cs.n_public + (size_t)1;

    if (write_points(s, 3, s->g1, g1, s->k, bound) != 0)
        return -1;
    fmt_zkey_write_coefs(&s->out, &s->r1cs, s->n_coefs);
    if (write_points(s, 5, s->g1, g1, s->u, wires) != 0 || write_points(s, 6, s->g1, g1, s->v, wires) != 0 ||
        write_points(s, 7, s->g2, g2, s->v, wires) != 0 ||
        write_points(s, 8, s->g1, g1, s->k + bound, wires - bound) != 0 ||
        write_points(s, 9, s->g1, g1, s->lagrange, (size_t)1 << s->log_domain) != 0)
        return -1;
    fmt_zkey_write_contributions(&s->out);
    return 0;
}

static int write_key(struct setup *s, const char *zkey, struct fmt_error *err)
{
    if (write_header(s, zkey, err) != 0)
        return -1;
    if (write_sections(s) == 0)
        return fmt_writer_commit(&s->out, err);
    fmt_writer_discard(&s->out);
    return out_of_memory(s, err);
}

/* ---- the whole ---- */

/* The domain, the number of coefficients, and whether a key can hold them. */
static int measure(struct setup *s, struct fmt_error *err)
{
    const uint64_t rows = (uint64_t)s->r1cs.n_constraints + s->r1cs.n_public + 1;

    /* H wants a domain of twice the size */
    const uint32_t most = s->f.two_adicity > KRN_MAX_LOG_DOMAIN ? KRN_MAX_LOG_DOMAIN : s->f.two_adicity - 1;

    while ((uint64_t)1 << s->log_domain < rows)
        s->log_domain++;
    if (s->log_domain > most)
        return fmt_fail(err, "%s: %" PRIu64 " rows, where keys over %s have at most %" PRIu64, s->r1cs.file.name, rows,
                        s->r1cs.curve->name, (uint64_t)1 << most);
    s->n_coefs = fmt_zkey_count_coefs(&s->r1cs);
    if (s->n_coefs > UINT32_MAX)
        return fmt_fail(err, "%s: %" PRIu64 " coefficients, where a key holds at most %" PRIu32, s->r1cs.file.name,
                        s->n_coefs, UINT32_MAX);
    s->total = 4ull * s->r1cs.n_wires + (1ull << s->log_domain);
    return 0;
}

static int allocate(struct setup *s, struct fmt_error *err)
{
    const size_t wires = s->r1cs.n_wires, rows = (size_t)1 << s->log_domain;

    s->lagrange = calloc(rows, sizeof *s->lagrange);
    s->u = calloc(wires, sizeof *s->u);
    s->v = calloc(wires, sizeof *s->v);
    s->k = calloc(wires, sizeof *s->k);
    s->g1 = krn_fixed_base_new(s->r1cs.curve->id, 1, 3 * wires + rows, s->threads);
    s->g2 = krn_fixed_base_new(s->r1cs.curve->id, 2, wires, s->threads);
    return s->lagrange && s->u && s->v && s->k && s->g1 && s->g2 ? 0 : out_of_memory(s, err);
}

static void wipe(struct krn_scalar *v, size_t n)
{
    if (v)
        explicit_bzero(v, n * sizeof *v);
    free(v);
}

static void release(struct setup *s)
{
    wipe(s->lagrange, (size_t)1 << s->log_domain);
    wipe(s->u, s->r1cs.n_wires);
    wipe(s->v, s->r1cs.n_wires);
    wipe(s->k, s->r1cs.n_wires);
    krn_fixed_base_free(s->g1);
    krn_fixed_base_free(s->g2);
    fmt_r1cs_close(&s->r1cs);
    explicit_bzero(s, sizeof *s);
}

static int run(struct setup *s, const char *zkey, struct fmt_error *err)
{
    if (measure(s, err) != 0 || allocate(s, err) != 0)
        return -1;
    do {    /* again where tau is a point of the domain, which has a chance of 2^-226 */
        if (draw_trapdoor(s, err) != 0)
            return -1;
    } while (krn_lagrange(&s->f, KRN_LAGRANGE_ALL, s->lagrange, s->log_domain, &s->trapdoor.tau, &s->f.one,
                          s->threads) != 0);
    evaluate_wires(s);
    krn_parallel(s->threads, combine, s);
    if (evaluate_h(s) != 0)
        return fmt_fail(err, "the random point lies in the domain: run it again");
    return write_key(s, zkey, err);
}

int setup_write(const char *r1cs, const char *zkey, unsigned threads, const struct setup_progress *progress,
                struct fmt_error *err)
{
    struct setup s = {.threads = threads, .progress = progress};

    if (fmt_r1cs_open(&s.r1cs, r1cs, err) != 0)
        return -1;
    s.f = krn_scalar_field(s.r1cs.curve->id);
    int rc = run(&s, zkey, err);
    release(&s);
    return rc;
}

/* ---- the command ---- */

static int usage(void)
{
    fprintf(stderr, "usage: pinwheel setup [--vk vk.json] [--threads N] circuit.r1cs circuit.zkey\n");
    return 2;
}

static void show_progress(void *ctx, unsigned long long done, unsigned long long total)
{
    (void)ctx;
    fprintf(stderr, "\r%3llu %% of %llu points%s", 100 * done / total, total, done == total ? "\n" : "");
}

/* A decimal number from 1 to KRN_MAX_THREADS; 0 or -1. */
static int parse_threads(const char *text, unsigned *threads)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*text < '1' || *text > '9' || *end != '\0' || n > KRN_MAX_THREADS)
        return -1;
    *threads = (unsigned)n;
    return 0;
}

/* Writes the verification key of the key at zkey. */
static int write_vk(const char *zkey, const char *path, struct fmt_error *err)
{
    struct fmt_zkey z;
    struct krn_vk vk;

    if (fmt_zkey_open(&z, zkey, err) != 0)
        return -1;
    uint8_t *ic = malloc((z.n_public + (size_t)1) * 2 * z.curve->fq_bytes);
    int rc = ic ? 0 : fmt_fail(err, "%s: out of memory", zkey);
    if (rc == 0) {
        fmt_zkey_vk(&z, &vk, ic);
        rc = fmt_vk_write(path, &vk, err);
    }
    free(ic);
    fmt_zkey_close(&z);
    return rc;
}

int tool_setup(int argc, char **argv)
{
    static const struct option options[] = {
        {"vk", required_argument, NULL, 'v'}, {"threads", required_argument, NULL, 't'}, {NULL, 0, NULL, 0},
    };
    const struct setup_progress terminal = {.step = show_progress};
    const char *vk = NULL;
    unsigned threads = 0;
    struct fmt_error err;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'v')
            vk = optarg;
        else if (option != 't' || parse_threads(optarg, &threads) != 0)
            return usage();
    }
    if (argc - optind != 2)
        return usage();
    const char *r1cs = argv[optind], *zkey = argv[optind + 1];
    fprintf(stderr, "pinwheel setup: %s is for DEVELOPMENT only, NOT for production: this process knows its trapdoor\n",
            zkey);
    if (setup_write(r1cs, zkey, threads, isatty(STDERR_FILENO) ? &terminal : NULL, &err) != 0 ||
        (vk && write_vk(zkey, vk, &err) != 0)) {
        fprintf(stderr, "pinwheel setup: %s\n", err.text);
        return 1;
    }
    return 0;
}
