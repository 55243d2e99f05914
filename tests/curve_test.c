/*
 * The curves' table, and the four groups against points computed by ffjavascript (tests/data/gen_curve.mjs).
 * RUN_VALGRIND
 */
#include <stdio.h>
#include <string.h>

#include "kernels/ec.h"
#include "kernels/krn.h"
#include "tests/vectors.h"

#define GROUP bn254_g1
#define GROUP_FR bn254_fr
#define GROUP_FIELD bn254_fq
#define GROUP_BASE bn254_fq
#include "tests/curve_test_tmpl.h"

#define GROUP bn254_g2
#define GROUP_FR bn254_fr
#define GROUP_FIELD bn254_fq2
#define GROUP_BASE bn254_fq
#include "tests/curve_test_tmpl.h"

#define GROUP bls381_g1
#define GROUP_FR bls381_fr
#define GROUP_FIELD bls381_fq
#define GROUP_BASE bls381_fq
#include "tests/curve_test_tmpl.h"

#define GROUP bls381_g2
#define GROUP_FR bls381_fr
#define GROUP_FIELD bls381_fq2
#define GROUP_BASE bls381_fq
#include "tests/curve_test_tmpl.h"

static const struct {
    const char *group, *op;
    void (*check)(struct vectors *v);
} checks[] = {
    {"bn254_g1", "mul", bn254_g1_check_mul},   {"bn254_g1", "add", bn254_g1_check_add},
    {"bn254_g2", "mul", bn254_g2_check_mul},   {"bn254_g2", "add", bn254_g2_check_add},
    {"bls381_g1", "mul", bls381_g1_check_mul}, {"bls381_g1", "add", bls381_g1_check_add},
    {"bls381_g2", "mul", bls381_g2_check_mul}, {"bls381_g2", "add", bls381_g2_check_add},
};
enum { CHECKS = sizeof checks / sizeof checks[0] };

/* The table's primes are those of the fields, and are found by them only when whole. */
static void check_table(struct vectors *v)
{
    const bn254_fq bn_q = bn254_fq_modulus();
    const bn254_fr bn_r = bn254_fr_modulus();
    const bls381_fq bls_q = bls381_fq_modulus();
    const bls381_fr bls_r = bls381_fr_modulus();
    const struct krn_curve *bn = krn_curve(KRN_BN254), *bls = krn_curve(KRN_BLS12_381);

    vectors_check(v, bn->id == KRN_BN254 && bn->fq_bytes == sizeof bn_q, bn->name, "fq_bytes");
    vectors_check(v, bls->id == KRN_BLS12_381 && bls->fq_bytes == sizeof bls_q, bls->name, "fq_bytes");
    vectors_check(v, memcmp(bn->q, &bn_q, sizeof bn_q) == 0 && memcmp(bn->r, &bn_r, sizeof bn_r) == 0, bn->name,
                  "q, r");
    vectors_check(v, memcmp(bls->q, &bls_q, sizeof bls_q) == 0 && memcmp(bls->r, &bls_r, sizeof bls_r) == 0, bls->name,
                  "q, r");
    for (int i = 0; i < KRN_CURVES; i++) {
        const struct krn_curve *c = krn_curve((enum krn_curve_id)i);
        vectors_check(v, krn_curve_by_q(c->q, c->fq_bytes) == c && krn_curve_by_r(c->r, KRN_FR_BYTES) == c, c->name,
                      "lookup");
        vectors_check(v, krn_curve_by_q(c->q, c->fq_bytes - 1u) == NULL && krn_curve_by_r(c->q, KRN_FR_BYTES) == NULL &&
                         krn_curve_by_r(c->r, 0) == NULL, c->name, "lookup of something else");
        /* r - 1 = 2^two_adicity times an odd number */
        uint64_t low;
        memcpy(&low, c->r, sizeof low);
        vectors_check(v, (uint32_t)__builtin_ctzll(low - 1) == c->two_adicity, c->name, "two_adicity");
    }
    vectors_check(v, krn_curve(KRN_CURVES) == NULL, "krn_curve", "an id that is none");
}

int main(void)
{
    int seen[CHECKS] = {0};
    struct vectors v;
    const char *group;

    vectors_open(&v, "tests/data/curve.txt");
    check_table(&v);
    while ((group = vectors_next(&v)) != NULL) {
        const char *op = vectors_word(&v);
        int i = 0;
        while (i < CHECKS && (strcmp(checks[i].group, group) != 0 || strcmp(checks[i].op, op) != 0))
            i++;
        if (i == CHECKS) {
            vectors_check(&v, 0, group, op);
            continue;
        }
        seen[i]++;
        checks[i].check(&v);
    }
    for (int i = 0; i < CHECKS; i++)
        vectors_check(&v, seen[i] > 0, checks[i].group, "the count of vectors");
    printf("%d vectors, %d failures\n", v.line, v.failures);
    return v.failures != 0;
}
