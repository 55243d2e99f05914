/*
 * Proofs by the CPU back end, from keys and witnesses that snarkjs and circom made: each is valid under snarkjs's
 * verification key, A and B are the sums that they should be, term by term (and then C is settled, for only one makes
 * the equation hold), and for the same r and s the bytes are the same with any number of threads, in each of the
 * arithmetic's twins, with c sent or derived.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/wtns.h"
#include "formats/zkey.h"
#include "kernels/backend.h"
#include "kernels/group.h"
#include "kernels/scalar.h"
#include "synth/eval.h"
#include "tests/files.h"

static const struct krn_backend *const cpu = &krn_cpu_backend;

struct proving {
    const char *name;
    struct fmt_zkey z;
    struct krn_vk vk;
    uint8_t *ic, *w, *a, *b, *c;
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
};

static void *memory(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);
    if (p == NULL) {
        puts("no memory");
        exit(1);
    }
    return p;
}

static void stop(const char *name, const char *why)
{
    printf("%s: %s\n", name, why);
    exit(1);
}

/* c = a b, row by row. */
static void make_c(struct proving *p)
{
    const struct krn_scalar_field f = krn_scalar_field(p->z.curve->id);
    for (size_t i = 0; i < p->z.domain_size; i++) {
        struct krn_scalar a, b;
        memcpy(&a, p->a + KRN_FR_BYTES * i, sizeof a);
        memcpy(&b, p->b + KRN_FR_BYTES * i, sizeof b);
        krn_scalar_mul(&f, &a, &a, &b);
        memcpy(p->c + KRN_FR_BYTES * i, &a, sizeof a);
    }
}

static void evaluate(struct proving *p)
{
    struct fmt_error err;
    if (synth_eval(&p->z, p->w, p->a, p->b, 1, &err) != 0)
        stop(p->name, err.text);
    make_c(p);
}

static struct proving open_case(const char *name)
{
    struct proving p = {.name = name};
    struct fmt_error err;
    if (fmt_zkey_open(&p.z, circuit_path(name, "_final.zkey"), &err) != 0)
        stop(name, err.text);
    const size_t rows = (size_t)p.z.domain_size * KRN_FR_BYTES;
    p.ic = memory((size_t)(p.z.n_public + 1) * KRN_G1_MAX);
    fmt_zkey_vk(&p.z, &p.vk, p.ic);
    p.w = memory((size_t)p.z.n_vars * KRN_FR_BYTES);
    p.a = memory(rows);
    p.b = memory(rows);
    p.c = memory(rows);
    if (fmt_wtns_read(circuit_path(name, ".wtns"), p.z.curve, p.z.n_vars, p.w, &err) != 0)
        stop(name, err.text);
    evaluate(&p);
    for (size_t i = 0; i < KRN_FR_BYTES; i++) {
        p.r[i] = (uint8_t)(7 * i + 1);
        p.s[i] = (uint8_t)(11 * i + 3);
    }
    p.r[KRN_FR_BYTES - 1] = p.s[KRN_FR_BYTES - 1] = 0x12;
    return p;
}

static void close_case(struct proving *p)
{
    fmt_zkey_close(&p->z);
    free(p->ic);
    free(p->w);
    free(p->a);
    free(p->b);
    free(p->c);
}

/* A device with one key on it. */
struct device {
    struct krn_device *dev;
    struct krn_dev_key *key;
};

static struct device load(const struct proving *p, unsigned threads)
{
    char err[KRN_ERR_TEXT] = "";
    struct device d = {.dev = cpu->open(0, threads, err)};
    d.key = NULL;
    if (d.dev != NULL)
        cpu->key_load(d.dev, &p->z.key, NULL, &d.key, err);
    if (d.key == NULL)
        stop(p->name, err);
    return d;
}

static void unload(struct device *d)
{
    cpu->key_free(d->key);
    cpu->close(d->dev);
}

static struct krn_job *begin(const struct proving *p, struct device *d, const uint8_t *c)
{
    char err[KRN_ERR_TEXT] = "";
    struct krn_vectors v = {.w = p->w, .a = p->a, .b = p->b, .c = c};
    struct krn_job *job = NULL;
    if (cpu->begin(d->key, &v, p->r, p->s, &job, err) != 0)
        stop(p->name, err);
    return job;
}

static struct krn_proof finish(const struct proving *p, struct krn_job *job)
{
    struct krn_proof proof = {.a = {0}};
    struct krn_times times;
    char err[KRN_ERR_TEXT] = "";
    uint64_t row = 0;
    int rc = cpu->finish(job, &proof, &times, &row, err);
    check(rc == KRN_OK, "%s: finish gives %d (row %llu) %s", p->name, rc, (unsigned long long)row, err);
    return proof;
}

static enum krn_result verify(const struct proving *p, const struct krn_proof *proof)
{
    return krn_verify(&p->vk, p->w + KRN_FR_BYTES, p->z.n_public, proof);
}

static void check_same(const struct proving *p, const struct krn_proof *a, const struct krn_proof *b, const char *what)
{
    check(memcmp(a, b, sizeof *a) == 0, "%s: %s changes the proof", p->name, what);
}

/* sum of w_i points_i + first + blinding * delta, term by term, plain affine. */
static void textbook(const struct proving *p, int group, const uint8_t *points, const uint8_t *first,
                     const uint8_t *blinding, const uint8_t *delta, uint8_t *out)
{
    const struct group_ops *g = group_ops(p->z.curve->id, group);
    union krn_sum sum, term;
    g->from_affine(&sum, first);
    g->from_affine(&term, delta);
    g->mul(&term, blinding);
    g->add(&sum, &term);
    for (size_t i = 0; i < p->z.n_vars; i++) {
        g->from_affine(&term, points + i * g->point_bytes);
        g->mul(&term, p->w + KRN_FR_BYTES * i);
        g->add(&sum, &term);
    }
    g->to_affine(out, &sum);
    krn_fq_to_plain(p->z.curve, out, out, 2 * (size_t)group);
}

static void check_textbook(const struct proving *p, const struct krn_proof *proof)
{
    const struct krn_key *k = &p->z.key;
    uint8_t a[KRN_G2_MAX] = {0}, b[KRN_G2_MAX] = {0};
    textbook(p, 1, k->a, k->alpha1, p->r, k->delta1, a);
    textbook(p, 2, k->b2, k->beta2, p->s, k->delta2, b);
    check(memcmp(a, proof->a, sizeof proof->a) == 0, "%s: A is not the sum that it should be", p->name);
    check(memcmp(b, proof->b, sizeof proof->b) == 0, "%s: B is not the sum that it should be", p->name);
}

/* Every number of threads, either twin, c sent or not. */
static void same_bytes(struct proving *p)
{
    static const char *const twins[] = {"portable", "adx", "best"};
    static const unsigned threads[] = {1, 2, 5};
    struct krn_proof first;
    for (int i = 0; i < 9; i++) {
        setenv("PINWHEEL_CPU_ISA", twins[i % 3], 1);
        struct device d = load(p, threads[i / 3]);
        struct krn_proof proof = finish(p, begin(p, &d, NULL));
        if (i == 0)
            first = proof;
        check(verify(p, &proof) == KRN_OK, "%s: the proof is not valid (%s, %u threads)", p->name, twins[i % 3],
              threads[i / 3]);
        check_same(p, &first, &proof, "the number of threads or the twin");
        proof = finish(p, begin(p, &d, p->c));
        check_same(p, &first, &proof, "sending c");
        unload(&d);
    }
    check_textbook(p, &first);
}

static void no_blinding(struct proving *p)
{
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
    struct device d = load(p, 2);
    memcpy(r, p->r, sizeof r);
    memcpy(s, p->s, sizeof s);
    for (int i = 0; i < 3; i++) {
        memset(p->r, 0, i != 1 ? sizeof p->r : 0);
        memset(p->s, 0, i != 2 ? sizeof p->s : 0);
        struct krn_proof proof = finish(p, begin(p, &d, NULL));
        check(verify(p, &proof) == KRN_OK, "%s: not valid with r or s zero", p->name);
        check_textbook(p, &proof);
        memcpy(p->r, r, sizeof r);
        memcpy(p->s, s, sizeof s);
    }
    unload(&d);
}

/* A row that does not hold is found where c is sent; and a witness that is wrong gives no valid proof. */
static void unsatisfied(struct proving *p)
{
    struct device d = load(p, 2);
    char err[KRN_ERR_TEXT] = "";
    for (uint32_t bad = 0; bad < p->z.domain_size; bad = 2 * bad + 1) {
        struct krn_proof proof;
        uint64_t row = ~0ull;
        p->c[(size_t)bad * KRN_FR_BYTES] ^= 1;
        int rc = cpu->finish(begin(p, &d, p->c), &proof, NULL, &row, err);
        check(rc == KRN_ROW_DIFFERS && row == bad, "%s: row %u is wrong, but finish gives %d, row %llu", p->name, bad,
              rc, (unsigned long long)row);
        p->c[(size_t)bad * KRN_FR_BYTES] ^= 1;
    }
    uint8_t *last = p->w + (size_t)(p->z.n_vars - 1) * KRN_FR_BYTES;
    *last ^= 1;
    evaluate(p);
    struct krn_proof proof = finish(p, begin(p, &d, NULL));
    check(verify(p, &proof) == KRN_INVALID, "%s: a wrong witness gives a valid proof", p->name);
    *last ^= 1;
    evaluate(p);
    unload(&d);
}

/* Jobs end in any order; too many and scalars too large are refused. */
static void jobs(struct proving *p)
{
    enum { MANY = 100 };
    struct device d = load(p, 1);
    struct krn_job *job[MANY];
    struct krn_vectors v = {.w = p->w, .a = p->a, .b = p->b};
    struct krn_proof first;
    char err[KRN_ERR_TEXT] = "";
    unsigned n = 0;
    int rc;
    while ((rc = cpu->begin(d.key, &v, p->r, p->s, &job[n], err)) == 0 && n + 1 < MANY)
        n++;
    check(n == cpu->depth(d.dev) && rc == -EBUSY && err[0] != '\0', "%s: %u jobs at once: %s", p->name, n, err);
    check(cpu->uploaded(job[0]) == 0, "%s: the CPU holds no copy of the vectors", p->name);
    for (unsigned i = n; i-- > 0;) {
        struct krn_proof proof = finish(p, job[i]);
        if (i == n - 1)
            first = proof;
        check_same(p, &first, &proof, "another job");
    }
    err[0] = '\0';
    check(cpu->begin(d.key, &v, p->z.curve->r, p->s, job, err) == -EINVAL && err[0] != '\0', "%s: r is the order",
          p->name);
    err[0] = '\0';
    check(cpu->begin(d.key, &v, p->r, p->z.curve->r, job, err) == -EINVAL && err[0] != '\0', "%s: s is the order",
          p->name);
    unload(&d);
}

/* Keys of both curves side by side. */
static void two_curves(struct proving *p, struct proving *q)
{
    struct device d = load(p, 2), e = load(q, 2);
    for (int i = 0; i < 3; i++) {
        struct krn_job *job = begin(p, &d, NULL), *other = begin(q, &e, NULL);
        struct krn_proof proof = finish(q, other);
        check(verify(q, &proof) == KRN_OK, "%s: not valid beside another curve", q->name);
        proof = finish(p, job);
        check(verify(p, &proof) == KRN_OK, "%s: not valid beside another curve", p->name);
    }
    unload(&d);
    unload(&e);
}

static void refusals(const struct proving *p)
{
    char err[KRN_ERR_TEXT] = "";
    struct krn_device *dev = cpu->open(1, 1, err);
    check(dev == NULL && err[0] != '\0', "a second CPU was opened");
    dev = cpu->open(0, 1, err);
    struct krn_key key = p->z.key;
    struct krn_dev_key *loaded = NULL;
    key.log_domain = 29;
    err[0] = '\0';
    check(cpu->key_load(dev, &key, NULL, &loaded, err) == -EINVAL && strstr(err, "2^29") != NULL,
          "a domain of 2^29: %s", err);
    key = p->z.key;
    key.n_public = key.n_vars;
    err[0] = '\0';
    check(cpu->key_load(dev, &key, NULL, &loaded, err) == -EINVAL && err[0] != '\0',
          "all variables public, and the one too");
    cpu->close(dev);
}

int main(void)
{
    struct proving bn = open_case("range_bn128"), bls = open_case("range_bls12381");
    for (int i = 0; i < ALL_CASES; i++) {
        struct proving p = open_case(all_cases[i]);
        if (p.z.n_vars < 1000 || getenv("PINWHEEL_TEST_SHORT") == NULL)
            same_bytes(&p);
        close_case(&p);
    }
    setenv("PINWHEEL_CPU_ISA", "best", 1);
    no_blinding(&bn);
    no_blinding(&bls);
    unsatisfied(&bn);
    unsatisfied(&bls);
    jobs(&bn);
    two_curves(&bn, &bls);
    refusals(&bn);
    close_case(&bn);
    close_case(&bls);
    return failures > 0;
}
