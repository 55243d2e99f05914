/*
 * A.w and B.w from section 4 of a key, and the check of constraints: time beside that of copying the bytes that they
 * touch (entries and witness read, rows written) from memory to memory.
 *
 *   eval_bench [log2 of constraints, default 18] [threads, default all]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/r1cs.h"
#include "formats/wtns.h"
#include "kernels/clock.h"
#include "kernels/parallel.h"
#include "kernels/scalar.h"
#include "launcher/synthetic.h"
#include "synth/eval.h"

enum { ROUNDS = 15 };

static void die(const char *why)
{
    puts(why);
    exit(1);
}

static void *need(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        die("out of memory");
    memset(p, 1, bytes);
    return p;
}

/* ---- a circuit: constraints, witness, and the coefficients as a key would hold them ---- */

struct circuit {
    struct fmt_r1cs r;
    struct fmt_zkey z;          /* only what is read of it here */
    uint8_t *w, *coefs;
};

static uint8_t *put_terms(uint8_t *at, const struct krn_scalar_field *f, uint32_t matrix, uint32_t row,
                          const struct fmt_r1cs_sum *s)
{
    for (uint32_t i = 0; i < s->n; i++, at += FMT_ZKEY_COEF_BYTES) {
        const uint8_t *term = s->terms + (size_t)i * FMT_R1CS_TERM_BYTES;
        struct krn_scalar value;
        memcpy(at, &matrix, 4);
        memcpy(at + 4, &row, 4);
        memcpy(at + 8, term, 4);
        memcpy(value.l, term + 4, sizeof value.l);
        krn_scalar_to_mont(f, &value, &value);
        krn_scalar_to_mont(f, &value, &value);
        memcpy(at + 12, value.l, sizeof value.l);
    }
    return at;
}

static void make_coefs(struct circuit *c)
{
    const struct krn_scalar_field f = krn_scalar_field(c->r.curve->id);
    uint64_t at = c->r.blocks[0], entries = 0;

    for (uint32_t row = 0; row < c->r.n_constraints; row++) {
        struct fmt_r1cs_constraint k = fmt_r1cs_next(&c->r, &at);
        entries += k.a.n + k.b.n;
    }
    c->coefs = need(entries * FMT_ZKEY_COEF_BYTES);
    c->z = (struct fmt_zkey){.curve = c->r.curve, .n_vars = c->r.n_wires, .n_public = c->r.n_public,
                             .n_rows = c->r.n_constraints, .n_coefs = (uint32_t)entries, .coefs = c->coefs};
    while (1u << c->z.log_domain < c->r.n_constraints + c->r.n_public + 1)
        c->z.log_domain++;
    c->z.domain_size = 1u << c->z.log_domain;
    uint8_t *end = c->coefs;
    at = c->r.blocks[0];
    for (uint32_t row = 0; row < c->r.n_constraints; row++) {
        struct fmt_r1cs_constraint k = fmt_r1cs_next(&c->r, &at);
        end = put_terms(end, &f, 0, row, &k.a);
        end = put_terms(end, &f, 1, row, &k.b);
    }
}

static void circuit_make(struct circuit *c, enum krn_curve_id curve, enum synthetic_mix mix, uint32_t n)
{
    const struct synthetic s = {.curve = curve, .mix = mix, .n_constraints = n, .n_public = 4, .seed = 1};
    char folder[] = "/tmp/pinwheel-bench-XXXXXX", r1cs[64], wtns[64];
    struct fmt_error err;

    if (!mkdtemp(folder))
        die("no folder under /tmp");
    snprintf(r1cs, sizeof r1cs, "%s/c.r1cs", folder);
    snprintf(wtns, sizeof wtns, "%s/c.wtns", folder);
    c->w = need((size_t)synthetic_wires(&s) * KRN_FR_BYTES);
    if (synthetic_write(&s, r1cs, wtns, &err) != 0 || fmt_r1cs_open(&c->r, r1cs, &err) != 0 ||
        fmt_wtns_read(wtns, c->r.curve, c->r.n_wires, c->w, &err) != 0)
        die(err.text);
    unlink(r1cs);
    unlink(wtns);
    rmdir(folder);
    make_coefs(c);
}

static void circuit_free(struct circuit *c)
{
    fmt_r1cs_close(&c->r);
    free(c->w);
    free(c->coefs);
}

/* ---- copying, as the limit ---- */

struct copy {
    uint8_t *to;
    const uint8_t *from;
    size_t bytes;
};

static void copy_part(void *arg, unsigned i, unsigned n)
{
    const struct copy *c = arg;
    size_t from = krn_part(c->bytes, i, n), to = krn_part(c->bytes, i + 1, n);
    memcpy(c->to + from, c->from + from, to - from);
}

/* Bytes read plus written a second. */
static double copy_rate(unsigned threads)
{
    const size_t bytes = 128 << 20;
    struct copy c = {need(bytes), need(bytes), bytes};
    double best = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double start = krn_seconds();
        krn_parallel(threads, copy_part, &c);
        double rate = 2 * (double)bytes / (krn_seconds() - start);
        best = rate > best ? rate : best;
    }
    free(c.to);
    free((uint8_t *)(uintptr_t)c.from);
    return best;
}

/* ---- measuring ---- */

static void line(const char *what, double seconds, double bytes, double items, double copy)
{
    printf("  %-24s %9.2f ms %8.2f GB/s  %5.1f ns an item, copying the bytes %8.2f ms (%.2f of it)\n", what,
           1e3 * seconds, 1e-9 * bytes / seconds, 1e9 * seconds / items, 1e3 * bytes / copy, bytes / copy / seconds);
}

static void measure(const char *name, enum krn_curve_id curve, enum synthetic_mix mix, uint32_t n, unsigned threads,
                    double copy)
{
    struct circuit c = {.w = NULL};
    struct fmt_error err;
    struct fmt_r1cs_broken broken;
    double eval = 1e9, check = 1e9, coefs = 1e9;

    circuit_make(&c, curve, mix, n);
    uint8_t *a = need((size_t)c.z.domain_size * KRN_FR_BYTES), *b = need((size_t)c.z.domain_size * KRN_FR_BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = krn_seconds();
        if (synth_eval(&c.z, c.w, a, b, threads, &err) != 0)
            die(err.text);
        double t1 = krn_seconds();
        if (fmt_r1cs_check(&c.r, c.w, threads, &broken, &err) != 0)
            die(err.text);
        double t2 = krn_seconds();
        if (fmt_zkey_check_coefficients(&c.z, threads, &err) != 0)
            die(err.text);
        double t3 = krn_seconds();
        eval = t1 - t0 < eval ? t1 - t0 : eval;
        check = t2 - t1 < check ? t2 - t1 : check;
        coefs = t3 - t2 < coefs ? t3 - t2 : coefs;
    }
    const double entries = c.z.n_coefs, rows = 2.0 * c.z.domain_size * KRN_FR_BYTES;
    const double witness = (double)c.z.n_vars * KRN_FR_BYTES;
    printf("%s, %s, 2^%u rows, %u entries\n", c.z.curve->name, name, c.z.log_domain, c.z.n_coefs);
    line("a = A.w, b = B.w", eval, entries * FMT_ZKEY_COEF_BYTES + witness + rows, entries, copy);
    line("check of coefficients", coefs, entries * FMT_ZKEY_COEF_BYTES, entries, copy);
    line("check of constraints", check, (double)c.r.file.size + witness, n, copy);
    free(a);
    free(b);
    circuit_free(&c);
}

int main(int argc, char **argv)
{
    const int log = argc > 1 ? atoi(argv[1]) : 18;
    const unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : krn_cpus();
    const uint32_t n = (1u << log) - 8;     /* with its publics within a domain of this size */
    const double copy = copy_rate(threads);

    printf("%u threads, copying memory %.2f GB/s read plus written; an item is an entry or a constraint\n", threads,
           1e-9 * copy);
    measure("full-width values", KRN_BN254, SYNTHETIC_UNIFORM, n, threads, copy);
    measure("90 % bits", KRN_BN254, SYNTHETIC_BITS, n, threads, copy);
    measure("SHA-256-like", KRN_BLS12_381, SYNTHETIC_SHA256, n, threads, copy);
    return 0;
}
