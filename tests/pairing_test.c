/*
 * Pairings against values of ffjavascript (tests/data/gen_pairing.mjs) and against those in snarkjs's verification
 * keys; membership in the subgroups against points made for it (tests/data/gen_subgroup.py). RUN_VALGRIND
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/decimal.h"
#include "formats/snarkjs.h"
#include "kernels/pairing.h"
#include "tests/files.h"
#include "tests/vectors.h"

#define CURVE bn254
#include "tests/pairing_test_tmpl.h"
#define CURVE bls381
#include "tests/pairing_test_tmpl.h"

static const struct kind {
    const char *name;
    void (*check)(struct vectors *v);
} values[] = {{"bn254", bn254_check_value}, {"bls381", bls381_check_value}},
  subgroups[] = {{"bn254_g2", bn254_check_g2}, {"bls381_g1", bls381_check_g1}, {"bls381_g2", bls381_check_g2}};

static int check_file(const char *path, const struct kind *kinds, size_t n)
{
    size_t seen[4] = {0};
    struct vectors v;
    const char *name;

    vectors_open(&v, path);
    while ((name = vectors_next(&v)) != NULL) {
        size_t i = 0;
        while (i < n && strcmp(kinds[i].name, name) != 0)
            i++;
        vectors_check(&v, i < n, name, "the name");
        if (i < n) {
            kinds[i].check(&v);
            seen[i]++;
        }
    }
    for (size_t i = 0; i < n; i++)
        vectors_check(&v, seen[i] > 0, kinds[i].name, "the count of vectors");
    printf("%s: %d vectors, %d failures\n", path, v.line, v.failures);
    return v.failures;
}

static int check_key(const char *path)
{
    struct vectors v = {.path = path};
    struct fmt_error err;
    struct fmt_vk vk;
    struct bytes text = bytes_load(path);
    struct fmt_json *json = fmt_json_parse(path, (const char *)text.at, text.len, &err);
    if (json == NULL || fmt_vk_read(path, &vk, &err) != 0) {
        puts(err.text);
        exit(1);
    }
    const struct fmt_json *alphabeta = fmt_json_field(json, "vk_alphabeta_12");
    (vk.vk.curve == KRN_BN254 ? bn254_check_alphabeta : bls381_check_alphabeta)(&v, &vk.vk, alphabeta);
    fmt_json_free(json);
    fmt_vk_free(&vk);
    bytes_free(&text);
    return v.failures;
}

int main(void)
{
    struct vectors products = {.path = "products"};

    failures += check_file("tests/data/pairing.txt", values, sizeof values / sizeof *values);
    failures += check_file("tests/data/subgroup.txt", subgroups, sizeof subgroups / sizeof *subgroups);
    bn254_check_products(&products);
    bls381_check_products(&products);
    failures += products.failures;
    for (size_t i = 0; i < ALL_CASES; i++)
        failures += check_key(case_path(all_cases[i], "vk.json"));
    printf("%d failures\n", failures);
    return failures != 0;
}
