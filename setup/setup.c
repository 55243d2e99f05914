#include "setup/setup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/snarkjs.h"
#include "formats/zkey_write.h"
#include "kernels/lagrange.h"
#include "kernels/parallel.h"
#include "setup/trapdoor.h"

/* A setup at work. */
struct setup {
    struct fmt_r1cs r1cs;
    struct krn_scalar_field f;
    uint32_t log_domain;
    uint64_t n_coefs;
    const struct setup_options *o;
    struct setup_trapdoor trapdoor;
    /* lagrange: L_i(tau) in Montgomery form for each row, later the scalars of H. u, v: A_j(tau) and B_j(tau) of each
     * wire. k: C_j(tau), later (beta A_j + alpha B_j + C_j)(tau) / gamma or delta. Plain but where said. */
    struct krn_scalar *lagrange, *u, *v, *k;
    const struct krn_setup_backend *backend;
    struct krn_setup *device;
    struct fmt_writer out;
    unsigned long long done, total;
};

/* ---- the scalars of all points ---- */

/* The wires of one thread: it looks at all terms and takes those, so that no two threads add to one sum. */
struct share {
    const struct krn_scalar_field *f;
    uint32_t first, end;
};

/* Adds coefficient * lagrange to the place of each wire of a sum. */
static void accumulate(const struct share *mine, struct krn_scalar *wires, const struct fmt_r1cs_sum *sum,
                       const struct krn_scalar *lagrange)
{
    const uint8_t *t = sum->terms;

    for (uint32_t i = 0; i < sum->n; i++, t += FMT_R1CS_TERM_BYTES) {
        uint32_t wire;
        struct krn_scalar coef;
        memcpy(&wire, t, sizeof wire);
        if (wire < mine->first || wire >= mine->end)
            continue;
        memcpy(&coef, t + sizeof wire, sizeof coef);
        krn_scalar_mul(mine->f, &coef, &coef, lagrange);
        krn_scalar_add(mine->f, &wires[wire], &wires[wire], &coef);
    }
}

/* The polynomials of a share of the wires at tau. */
static void evaluate_share(void *arg, unsigned part, unsigned parts)
{
    struct setup *s = arg;
    const size_t wires = s->r1cs.n_wires;
    const struct share mine = {.f = &s->f, .first = (uint32_t)krn_part(wires, part, parts),
                               .end = (uint32_t)krn_part(wires, part + 1, parts)};
    uint64_t at = s->r1cs.blocks[0];

    for (uint32_t i = 0; i < s->r1cs.n_constraints; i++) {
        struct fmt_r1cs_constraint c = fmt_r1cs_next(&s->r1cs, &at);
        accumulate(&mine, s->u, &c.a, &s->lagrange[i]);
        accumulate(&mine, s->v, &c.b, &s->lagrange[i]);
        accumulate(&mine, s->k, &c.c, &s->lagrange[i]);
    }
}

/* The polynomials of all wires at tau. The rows after the constraints bind the constant and the publics: there A
 * is 1. */
static void evaluate_wires(struct setup *s)
{
    krn_parallel(s->o->threads, evaluate_share, s);
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
                          s->o->threads);
    explicit_bzero(&by_delta, sizeof by_delta);
    return rc;
}

/* ---- the points ---- */

static int backend_failed(const struct setup *s, const char *why, struct fmt_error *err)
{
    return fmt_fail(err, "%s: a setup of %" PRIu32 " wires (%s): %s", s->r1cs.file.name, s->r1cs.n_wires,
                    s->backend->name, why);
}

/* Section id: the multiples of the generator of a group by n plain scalars. A writer that failed ends it early, for
 * commit to tell. */
static int write_points(struct setup *s, uint32_t id, int group, const struct krn_scalar *scalars, size_t n,
                        struct fmt_error *err)
{
    const size_t point_bytes = 2 * (size_t)group * s->r1cs.curve->fq_bytes;
    const struct setup_progress *progress = s->o->progress;
    char why[KRN_ERR_TEXT];

    fmt_writer_begin(&s->out, id);
    for (size_t at = 0, m; at < n && !s->out.failed; at += m) {
        m = n - at;
        const uint8_t *points = s->backend->multiples(s->device, group, (const uint8_t *)(scalars + at), &m, why);
        if (!points)
            return backend_failed(s, why, err);
        fmt_writer_put(&s->out, points, m * point_bytes);
        s->done += m;
        if (progress)
            progress->step(progress->ctx, s->done, s->total);
    }
    fmt_writer_end(&s->out);
    return 0;
}

/* The multiples of a generator by four scalars. */
static int four_points(struct setup *s, int group, uint8_t *out, const struct krn_scalar scalars[4],
                       struct fmt_error *err)
{
    char why[KRN_ERR_TEXT];
    size_t n = 4;
    const uint8_t *points = s->backend->multiples(s->device, group, (const uint8_t *)scalars, &n, why);

    if (!points)
        return backend_failed(s, why, err);
    memcpy(out, points, 4 * 2 * (size_t)group * s->r1cs.curve->fq_bytes);
    return 0;
}

/* The points of section 2, and the sections before the IC. */
static int write_header(struct setup *s, const char *zkey, struct fmt_error *err)
{
    const struct setup_trapdoor *t = &s->trapdoor;
    const struct krn_scalar *const in[] = {&t->alpha, &t->beta, &t->gamma, &t->delta};
    struct krn_scalar plain[4];
    uint8_t g1[4 * KRN_G1_MAX], g2[4 * KRN_G2_MAX];
    const size_t g1_bytes = 2 * s->r1cs.curve->fq_bytes, g2_bytes = 2 * g1_bytes;

    for (int i = 0; i < 4; i++)
        krn_scalar_from_mont(&s->f, &plain[i], in[i]);
    int rc = four_points(s, 1, g1, plain, err) || four_points(s, 2, g2, plain, err);
    explicit_bzero(plain, sizeof plain);
    if (rc != 0)
        return -1;
    const struct fmt_zkey_header h = {
        .curve = s->r1cs.curve, .n_vars = s->r1cs.n_wires, .n_public = s->r1cs.n_public, .log_domain = s->log_domain,
        .alpha1 = g1, .beta1 = g1 + g1_bytes, .delta1 = g1 + 3 * g1_bytes,
        .beta2 = g2 + g2_bytes, .gamma2 = g2 + 2 * g2_bytes, .delta2 = g2 + 3 * g2_bytes,
    };
    return fmt_zkey_write_open(&s->out, zkey, &h, err);
}

static int write_sections(struct setup *s, struct fmt_error *err)
{
    const size_t wires = s->r1cs.n_wires, bound = s->r1cs.n_public + (size_t)1;

    if (write_points(s, 3, 1, s->k, bound, err) != 0)
        return -1;
    fmt_zkey_write_coefs(&s->out, &s->r1cs, s->n_coefs);
    if (write_points(s, 5, 1, s->u, wires, err) != 0 || write_points(s, 6, 1, s->v, wires, err) != 0 ||
        write_points(s, 7, 2, s->v, wires, err) != 0 ||
        write_points(s, 8, 1, s->k + bound, wires - bound, err) != 0 ||
        write_points(s, 9, 1, s->lagrange, (size_t)1 << s->log_domain, err) != 0)
        return -1;
    fmt_zkey_write_contributions(&s->out);
    return 0;
}

static int write_key(struct setup *s, const char *zkey, struct fmt_error *err)
{
    if (write_header(s, zkey, err) != 0)
        return -1;
    if (write_sections(s, err) == 0)
        return fmt_writer_commit(&s->out, err);
    fmt_writer_discard(&s->out);
    return -1;
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
    char why[KRN_ERR_TEXT];

    s->lagrange = calloc(rows, sizeof *s->lagrange);
    s->u = calloc(wires, sizeof *s->u);
    s->v = calloc(wires, sizeof *s->v);
    s->k = calloc(wires, sizeof *s->k);
    if (!s->lagrange || !s->u || !s->v || !s->k)
        return fmt_fail(err, "%s: out of memory for a setup of %" PRIu32 " wires", s->r1cs.file.name, s->r1cs.n_wires);
    s->device = s->backend->open(s->r1cs.curve->id, 3 * wires + rows, wires, s->o->threads, why);
    return s->device ? 0 : backend_failed(s, why, err);
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
    if (s->device)
        s->backend->close(s->device);
    fmt_r1cs_close(&s->r1cs);
    explicit_bzero(s, sizeof *s);
}

/* The trapdoor and the Lagrange values at its tau, which is drawn again where it is a point of the domain: that has a
 * chance of 2^-226. */
static int choose_trapdoor(struct setup *s, struct fmt_error *err)
{
    const char *given = s->o->trapdoor;

    do {
        if ((given ? setup_trapdoor_read(&s->f, &s->trapdoor, given, err)
                   : setup_trapdoor_draw(&s->f, &s->trapdoor, err)) != 0)
            return -1;
        if (krn_lagrange(&s->f, KRN_LAGRANGE_ALL, s->lagrange, s->log_domain, &s->trapdoor.tau, &s->f.one,
                         s->o->threads) == 0)
            return 0;
    } while (!given);
    return fmt_fail(err, "the tau that was given is a point of the domain of 2^%" PRIu32, s->log_domain);
}

static int run(struct setup *s, const char *zkey, struct fmt_error *err)
{
    if (measure(s, err) != 0 || allocate(s, err) != 0 || choose_trapdoor(s, err) != 0)
        return -1;
    evaluate_wires(s);
    krn_parallel(s->o->threads, combine, s);
    if (evaluate_h(s) != 0)
        return fmt_fail(err, "the random point lies in the domain: run it again");
    return write_key(s, zkey, err);
}

int setup_write(const char *r1cs, const char *zkey, const struct setup_options *o, struct fmt_error *err)
{
    struct setup s = {.o = o, .backend = o->backend ? o->backend : &krn_setup_cpu};

    if (fmt_r1cs_open(&s.r1cs, r1cs, err) != 0)
        return -1;
    s.f = krn_scalar_field(s.r1cs.curve->id);
    int rc = run(&s, zkey, err);
    release(&s);
    return rc;
}

/* ---- the verification key ---- */

int setup_write_vk(const char *zkey, const char *path, struct fmt_error *err)
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
