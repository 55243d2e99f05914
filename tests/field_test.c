/*
 * The four fields against vectors from Python's integers (tests/data/gen_field.py). RUN_VALGRIND
 */
#include <stdio.h>
#include <string.h>

#include "kernels/field.h"
#include "tests/vectors.h"

static const char kinds[] = "ubpr";
enum { KINDS = sizeof kinds - 1 };

/* What checks a line of each kind. */
struct checks {
    const char *field;
    void (*check[KINDS])(struct vectors *v);
};

#define FIELD bn254_fr
#include "tests/field_test_tmpl.h"
#define FIELD bn254_fq
#include "tests/field_test_tmpl.h"
#define FIELD bls381_fr
#include "tests/field_test_tmpl.h"
#define FIELD bls381_fq
#include "tests/field_test_tmpl.h"

int main(void)
{
    const struct checks *all[] = {&bn254_fr_checks, &bn254_fq_checks, &bls381_fr_checks, &bls381_fq_checks};
    enum { FIELDS = sizeof all / sizeof all[0] };
    int seen[FIELDS][KINDS] = {{0}};
    struct vectors v;
    const char *name;

#ifdef __ADX__
    if (!__builtin_cpu_supports("adx") || !__builtin_cpu_supports("bmi2")) {
        puts("this processor has no ADX");
        return 77;
    }
#endif
    vectors_open(&v, "tests/data/field.txt");
    while ((name = vectors_next(&v)) != NULL) {
        const char *kind = strchr(kinds, *vectors_word(&v));
        int i = 0;
        while (i < FIELDS && strcmp(all[i]->field, name) != 0)
            i++;
        if (i == FIELDS || kind == NULL) {
            vectors_check(&v, 0, name, "the kind of line");
            continue;
        }
        seen[i][kind - kinds]++;
        all[i]->check[kind - kinds](&v);
    }
    for (int i = 0; i < FIELDS; i++)
        for (int k = 0; k < KINDS; k++)
            vectors_check(&v, seen[i][k] > 0, all[i]->field, "the count of vectors");
    printf("%d vectors, %d failures\n", v.line, v.failures);
    return v.failures != 0;
}
