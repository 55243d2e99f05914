/*
 * krn_verify on snarkjs's keys and proofs of both curves: everything that must be refused first, then what must pass.
 * Points outside the subgroups are those of tests/data/gen_subgroup.py. RUN_VALGRIND
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/decimal.h"
#include "formats/snarkjs.h"
#include "kernels/krn.h"
#include "kernels/limbs.h"
#include "tests/files.h"
#include "tests/vectors.h"

enum { G1_MAX_FQ = KRN_FQ_MAX / 8 };

/* A case, to be altered in one place, asked about and put right again. */
struct subject {
    const char *name;
    const struct krn_curve *curve;
    struct fmt_vk key;
    uint8_t *publics;
    size_t n;
    struct krn_proof proof;
};

static const char *const result_names[] = {"OK", "INVALID", "BAD_POINT", "BAD_SCALAR", "BAD_COUNT"};

static void expect_count(const struct subject *s, size_t n, enum krn_result want, const char *what)
{
    enum krn_result got = krn_verify(&s->key.vk, s->publics, n, &s->proof);
    check(got == want, "%s: %s: %s in place of %s", s->name, what, result_names[got], result_names[want]);
}

static void expect(const struct subject *s, enum krn_result want, const char *what)
{
    expect_count(s, s->n, want, what);
}

/* value += add, both of n bytes; false where the sum does not fit. */
static int add_bytes(uint8_t *value, const uint8_t *add, size_t n)
{
    uint64_t a[G1_MAX_FQ], b[G1_MAX_FQ], carry = 0;
    memcpy(a, value, n);
    memcpy(b, add, n);
    for (size_t i = 0; i < n / 8; i++)
        a[i] = limbs_addc(a[i], b[i], &carry);
    memcpy(value, a, n);
    return carry == 0;
}

static void sub_bytes(uint8_t *r, const uint8_t *from, const uint8_t *value, size_t n)
{
    uint64_t a[G1_MAX_FQ], b[G1_MAX_FQ], borrow = 0;
    memcpy(a, from, n);
    memcpy(b, value, n);
    for (size_t i = 0; i < n / 8; i++)
        a[i] = limbs_subb(a[i], b[i], &borrow);
    memcpy(r, a, n);
}

static int is_zero(const uint8_t *v, size_t n)
{
    while (n > 0 && v[n - 1] == 0)
        n--;
    return n == 0;
}

/* -P: y becomes q - y, coordinate by coordinate (one in G1, two in G2). */
static void negate(const struct subject *s, uint8_t *point, size_t coordinates)
{
    size_t bytes = s->curve->fq_bytes;
    for (size_t i = coordinates; i < 2 * coordinates; i++)
        if (!is_zero(point + i * bytes, bytes))
            sub_bytes(point + i * bytes, s->curve->q, point + i * bytes, bytes);
}

static void double_mod_q(const struct subject *s, uint8_t *value)
{
    size_t bytes = s->curve->fq_bytes;
    uint8_t same[KRN_FQ_MAX];
    memcpy(same, value, bytes);
    add_bytes(value, same, bytes);
    if (!fmt_below(value, s->curve->q, bytes))
        sub_bytes(value, value, s->curve->q, bytes);
}

/* (4 x, 8 y): of the same order on y^2 = x^3 + 64 b, where every formula and both tests of the subgroup hold just as
 * well, for none of them knows b. */
static void move_to_another_curve(const struct subject *s, uint8_t *point, size_t coordinates)
{
    for (size_t i = 0; i < 2 * coordinates; i++)
        for (size_t k = i < coordinates ? 2 : 3; k > 0; k--)
            double_mod_q(s, point + i * s->curve->fq_bytes);
}

/* ---- publics ---- */

static void check_publics(struct subject *s)
{
    static const uint8_t one[KRN_FR_BYTES] = {1};
    uint8_t more[KRN_FR_BYTES * 16] = {0}, kept[KRN_FR_BYTES];

    if (s->n > 0)
        expect_count(s, s->n - 1, KRN_BAD_COUNT, "a public signal too few");
    uint8_t *own = s->publics;
    memcpy(more, own, s->n * KRN_FR_BYTES);
    s->publics = more;
    expect_count(s, s->n + 1, KRN_BAD_COUNT, "a public signal too many");
    s->publics = own;

    for (size_t i = 0; i < s->n; i++) {
        uint8_t *x = s->publics + i * KRN_FR_BYTES;
        memcpy(kept, x, sizeof kept);
        check(add_bytes(x, s->curve->r, KRN_FR_BYTES), "%s: x + r does not fit", s->name);
        expect(s, KRN_BAD_SCALAR, "x + r, the same signal again");
        memcpy(x, s->curve->r, KRN_FR_BYTES);
        expect(s, KRN_BAD_SCALAR, "a signal of r");
        memset(x, 0xff, KRN_FR_BYTES);
        expect(s, KRN_BAD_SCALAR, "a signal of 2^256 - 1");
        memcpy(x, kept, sizeof kept);
        add_bytes(x, one, KRN_FR_BYTES);
        expect(s, KRN_INVALID, "another signal");
        sub_bytes(x, s->curve->r, one, KRN_FR_BYTES);
        expect(s, KRN_INVALID, "a signal of r - 1");
        memcpy(x, kept, sizeof kept);
    }
}

/* ---- many publics ---- */

static uint64_t random_state = 88172645463325252u;

/* x as a sum of `parts` values modulo r, all but the last random; each stands where the next one does, `stride` on. */
static void split(const struct subject *s, const uint8_t *x, uint8_t *parts, size_t n, size_t stride)
{
    uint8_t left[KRN_FR_BYTES];
    memcpy(left, x, sizeof left);
    for (size_t i = 0; i + 1 < n; i++) {
        uint8_t *part = parts + i * stride;
        for (size_t b = 0; b < KRN_FR_BYTES - 1; b++)
            part[b] = (uint8_t)(i % 7 == 0 ? 0 : rnd(&random_state));        /* some are zero; none reaches r */
        part[KRN_FR_BYTES - 1] = 0;
        if (fmt_below(left, part, KRN_FR_BYTES))
            add_bytes(left, s->curve->r, KRN_FR_BYTES);
        sub_bytes(left, left, part, KRN_FR_BYTES);
    }
    memcpy(parts + (n - 1) * stride, left, sizeof left);
}

/* The same equation with each public signal as a sum of many, over as many copies of its point: more than are added at
 * once, and fewer; with points that are known to be good, and not. */
static void check_many(const struct subject *s, size_t copies)
{
    static const uint8_t one[KRN_FR_BYTES] = {1};
    const size_t g1 = 2 * s->curve->fq_bytes, n = s->n * copies;
    uint8_t *ic = malloc((n + 1) * g1);
    struct subject many = *s;
    many.n = n;
    many.publics = malloc(n * KRN_FR_BYTES);
    many.key.vk.n_public = (uint32_t)n;
    many.key.vk.ic = ic;
    memcpy(ic, s->key.vk.ic, g1);
    for (size_t i = 0; i < n; i++)
        memcpy(ic + (i + 1) * g1, s->key.vk.ic + (i % s->n + 1) * g1, g1);
    for (size_t i = 0; i < s->n; i++)
        split(s, s->publics + i * KRN_FR_BYTES, many.publics + i * KRN_FR_BYTES, copies, s->n * KRN_FR_BYTES);

    for (int known = 0; known < 2; known++) {
        expect(&many, KRN_OK, "many publics");
        for (size_t at = 0; at < n; at += n - 1) {
            uint8_t *x = many.publics + at * KRN_FR_BYTES, kept[KRN_FR_BYTES];
            memcpy(kept, x, sizeof kept);
            add_bytes(x, one, KRN_FR_BYTES);
            expect(&many, KRN_INVALID, "another of many");
            memcpy(x, s->curve->r, KRN_FR_BYTES);
            expect(&many, KRN_BAD_SCALAR, "one of many is r");
            memcpy(x, kept, sizeof kept);
        }
        check(krn_vk_check(&many.key.vk) == KRN_OK && many.key.vk.checked, "%s: a good key is found bad", s->name);
    }
    ic[n * g1] ^= 1;
    check(krn_vk_check(&many.key.vk) == KRN_BAD_POINT && !many.key.vk.checked, "%s: a bad key is found good", s->name);
    expect(&many, KRN_BAD_POINT, "the last point of many is bad");
    free(ic);
    free(many.publics);
}

/* ---- points ---- */

/* Points outside the subgroup, by curve and group: at[KRN_BN254][0] has none. */
static struct {
    uint8_t points[16][KRN_G2_MAX];
    size_t n;
} outside[KRN_CURVES][2];

static void read_outside(void)
{
    struct vectors v;
    const char *name;
    vectors_open(&v, "tests/data/subgroup.txt");
    while ((name = vectors_next(&v)) != NULL) {
        enum krn_curve_id curve = strncmp(name, "bn254", 5) == 0 ? KRN_BN254 : KRN_BLS12_381;
        size_t g2 = strstr(name, "g2") != NULL, bytes = krn_curve(curve)->fq_bytes;
        if (strcmp(vectors_word(&v), "out") != 0)
            continue;
        uint8_t *point = outside[curve][g2].points[outside[curve][g2].n++];
        for (size_t i = 0; i < (g2 ? 4 : 2); i++)
            vectors_number(&v, point + i * bytes, bytes);
    }
}

/* Every way in which the bytes of one point can be none. */
static void check_point(struct subject *s, uint8_t *point, size_t coordinates, const char *where)
{
    static const uint8_t one[KRN_FQ_MAX] = {1};
    size_t bytes = s->curve->fq_bytes, size = 2 * coordinates * bytes;
    uint8_t kept[KRN_G2_MAX];
    char what[128];
    memcpy(kept, point, size);

    for (size_t i = 0; i < 2 * coordinates; i++) {
        uint8_t *value = point + i * bytes;
        snprintf(what, sizeof what, "%s, coordinate %zu", where, i);
        check(add_bytes(value, s->curve->q, bytes), "%s: %s + q does not fit", s->name, what);
        expect(s, KRN_BAD_POINT, what);
        memcpy(value, s->curve->q, bytes);
        expect(s, KRN_BAD_POINT, what);
        memset(value, 0xff, bytes);
        expect(s, KRN_BAD_POINT, what);
        memcpy(point, kept, size);
        add_bytes(value, one, bytes);
        expect(s, KRN_BAD_POINT, what);
        memset(value, 0, bytes);
        expect(s, is_zero(kept + i * bytes, bytes) ? KRN_OK : KRN_BAD_POINT, what);
        memcpy(point, kept, size);
    }
    move_to_another_curve(s, point, coordinates);
    snprintf(what, sizeof what, "%s on another curve", where);
    expect(s, is_zero(kept, size) ? KRN_OK : KRN_BAD_POINT, what);
    memcpy(point, kept, size);
    snprintf(what, sizeof what, "%s outside the subgroup", where);
    size_t g2 = coordinates == 2;
    for (size_t i = 0; i < outside[s->curve->id][g2].n; i++) {
        memcpy(point, outside[s->curve->id][g2].points[i], size);
        expect(s, KRN_BAD_POINT, what);
    }
    memcpy(point, kept, size);
    expect(s, KRN_OK, "put right again");
}

/* Right points that are the wrong ones. */
static void check_swaps(struct subject *s, uint8_t *point, size_t coordinates, const char *where)
{
    size_t size = 2 * coordinates * s->curve->fq_bytes;
    uint8_t kept[KRN_G2_MAX];
    memcpy(kept, point, size);
    negate(s, point, coordinates);
    expect(s, KRN_INVALID, where);
    memset(point, 0, size);
    expect(s, KRN_INVALID, where);
    memcpy(point, kept, size);
}

static void check_points(struct subject *s)
{
    size_t g1 = 2 * s->curve->fq_bytes;
    struct krn_vk *vk = &s->key.vk;

    check_point(s, s->proof.a, 1, "A");
    check_point(s, s->proof.b, 2, "B");
    check_point(s, s->proof.c, 1, "C");
    check_point(s, vk->alpha1, 1, "alpha");
    check_point(s, vk->beta2, 2, "beta");
    check_point(s, vk->gamma2, 2, "gamma");
    check_point(s, vk->delta2, 2, "delta");
    for (size_t i = 0; i <= s->n; i++)
        check_point(s, s->key.ic + i * g1, 1, "IC");

    check_swaps(s, s->proof.a, 1, "another A");
    check_swaps(s, s->proof.b, 2, "another B");
    check_swaps(s, s->proof.c, 1, "another C");
    check_swaps(s, vk->alpha1, 1, "another alpha");
    check_swaps(s, vk->beta2, 2, "another beta");
    check_swaps(s, vk->gamma2, 2, "another gamma");
    check_swaps(s, vk->delta2, 2, "another delta");
    check_swaps(s, s->key.ic, 1, "another IC");

    struct krn_proof kept = s->proof;
    memcpy(s->proof.a, kept.c, g1);
    memcpy(s->proof.c, kept.a, g1);
    expect(s, KRN_INVALID, "A and C exchanged");
    s->proof = kept;
    negate(s, s->proof.a, 1);
    negate(s, s->proof.b, 2);
    expect(s, KRN_OK, "-A and -B, which prove the same");
    s->proof = kept;
}

/* Under valgrind and the sanitizers two cases a curve are enough, one of them without publics. */
static int is_left_out(const char *name)
{
    return getenv("PINWHEEL_TEST_SHORT") && strncmp(name, "mul2", 4) != 0 && strncmp(name, "nopub2", 6) != 0;
}

static void open_subject(struct subject *s, const char *name)
{
    struct fmt_error err;
    s->name = name;
    if (fmt_vk_read(case_path(name, "vk.json"), &s->key, &err) != 0) {
        puts(err.text);
        exit(1);
    }
    s->curve = krn_curve(s->key.vk.curve);
    if (fmt_public_read(case_path(name, "public.json"), s->curve, &s->publics, &s->n, &err) != 0 ||
        fmt_proof_read(case_path(name, "proof.json"), s->curve, &s->proof, &err) != 0) {
        puts(err.text);
        exit(1);
    }
}

static void close_subject(struct subject *s)
{
    fmt_vk_free(&s->key);
    free(s->publics);
}

static int many_done[KRN_CURVES];      /* the first case with publics is enough */

/* All of it for one case. last: the proofs of the cases before, of which there were `seen`, by curve. */
static void check_case(const char *name, struct krn_proof last[KRN_CURVES], int seen[KRN_CURVES])
{
    struct subject s;
    open_subject(&s, name);
    check_publics(&s);
    expect(&s, KRN_OK, "snarkjs's proof");
    if (s.n > 0 && !many_done[s.curve->id]++) {
        check_many(&s, 300 / s.n + 1);
        check_many(&s, 2148 / s.n + 1);
    }
    check_points(&s);
    if (seen[s.curve->id]++ > 0) {
        struct krn_proof own = s.proof;
        s.proof = last[s.curve->id];
        expect(&s, KRN_INVALID, "another key's proof");
        s.proof = own;
    }
    last[s.curve->id] = s.proof;
    close_subject(&s);
}

int main(void)
{
    struct krn_proof last[KRN_CURVES];
    int seen[KRN_CURVES] = {0};

    read_outside();
    for (int i = 0; i < KRN_CURVES; i++)
        check(outside[i][1].n > 0, "%s: no points outside G2", krn_curve((enum krn_curve_id)i)->name);
    check(outside[KRN_BLS12_381][0].n > 0, "no points outside G1");
    for (size_t i = 0; i < ALL_CASES; i++) {
        if (!is_left_out(all_cases[i]))
            check_case(all_cases[i], last, seen);
    }
    /* the other twin, where the first was the one with ADX */
    setenv("PINWHEEL_CPU_ISA", "portable", 1);
    check_case("mul2_bn128", last, seen);
    check_case("mul2_bls12381", last, seen);
    printf("%d cases, %d failures\n", seen[KRN_BN254] + seen[KRN_BLS12_381], failures);
    return failures != 0;
}
