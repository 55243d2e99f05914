/*
 * The four fields against vectors from Python's integers (tests/data/gen_field.py), every operation also with its
 * result in an operand's place; then what vectors do not say: unaligned bytes and batch inversion. RUN_VALGRIND
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/field.h"

enum { MAX_COLUMNS = 6, MAX_BYTES = 48, BATCH = 9 };

/* One field behind pointers, elements as bytes. */
struct field {
    const char *name;
    size_t bytes;
    void (*add)(uint8_t *r, const uint8_t *a, const uint8_t *b);
    void (*sub)(uint8_t *r, const uint8_t *a, const uint8_t *b);
    void (*mul)(uint8_t *r, const uint8_t *a, const uint8_t *b);
    void (*dbl)(uint8_t *r, const uint8_t *a);
    void (*neg)(uint8_t *r, const uint8_t *a);
    void (*sqr)(uint8_t *r, const uint8_t *a);
    void (*to_mont)(uint8_t *r, const uint8_t *a);
    void (*from_mont)(uint8_t *r, const uint8_t *a);
    void (*inv)(uint8_t *r, const uint8_t *a);
    void (*pow)(uint8_t *r, const uint8_t *a, const uint8_t *e);
    int (*is_reduced)(const uint8_t *a);
    int (*is_zero)(const uint8_t *a);
    int (*eq)(const uint8_t *a, const uint8_t *b);
    void (*set_u64)(uint8_t *r, uint64_t x);
    int (*batch_is_right)(const uint8_t *a);
};

#define UNARY(F, op)                                                                                                 \
    static void F##_##op##_bytes(uint8_t *r, const uint8_t *a)                                                       \
    {                                                                                                                \
        F x;                                                                                                         \
        F##_load(&x, a);                                                                                             \
        F##_##op(&x, &x);                                                                                            \
        F##_store(r, &x);                                                                                            \
    }
/* The result goes to a third place, over the first and over the second operand: all must agree. */
#define BINARY(F, op)                                                                                                \
    static void F##_##op##_bytes(uint8_t *r, const uint8_t *a, const uint8_t *b)                                     \
    {                                                                                                                \
        F x, y, z;                                                                                                   \
        F##_load(&x, a);                                                                                             \
        F##_load(&y, b);                                                                                             \
        F##_##op(&z, &x, &y);                                                                                        \
        F##_store(r, &z);                                                                                            \
        F##_##op(&x, &x, &y);                                                                                        \
        int same = F##_eq(&x, &z);                                                                                   \
        F##_load(&x, a);                                                                                             \
        F##_##op(&y, &x, &y);                                                                                        \
        if (!same || !F##_eq(&y, &z))                                                                                \
            memset(r, 0xff, F##_bytes);                                                                              \
    }
#define ADAPT(F)                                                                                                     \
    BINARY(F, add) BINARY(F, sub) BINARY(F, mul)                                                                     \
    UNARY(F, dbl) UNARY(F, neg) UNARY(F, sqr) UNARY(F, to_mont) UNARY(F, from_mont) UNARY(F, inv)                    \
    static void F##_pow_bytes(uint8_t *r, const uint8_t *a, const uint8_t *e)                                        \
    {                                                                                                                \
        F x, exponent;                                                                                               \
        F##_load(&x, a);                                                                                             \
        F##_load(&exponent, e);                                                                                      \
        F##_pow(&x, &x, exponent.l, F##_limbs);                                                                      \
        F##_store(r, &x);                                                                                            \
    }                                                                                                                \
    static int F##_is_reduced_bytes(const uint8_t *a)                                                                \
    {                                                                                                                \
        F x;                                                                                                         \
        F##_load(&x, a);                                                                                             \
        return F##_is_reduced(&x);                                                                                   \
    }                                                                                                                \
    static int F##_is_zero_bytes(const uint8_t *a)                                                                   \
    {                                                                                                                \
        F x;                                                                                                         \
        F##_load(&x, a);                                                                                             \
        return F##_is_zero(&x);                                                                                      \
    }                                                                                                                \
    static int F##_eq_bytes(const uint8_t *a, const uint8_t *b)                                                      \
    {                                                                                                                \
        F x, y;                                                                                                      \
        F##_load(&x, a);                                                                                             \
        F##_load(&y, b);                                                                                             \
        return F##_eq(&x, &y);                                                                                       \
    }                                                                                                                \
    static void F##_set_u64_bytes(uint8_t *r, uint64_t x)                                                            \
    {                                                                                                                \
        F y;                                                                                                         \
        F##_set_u64(&y, x);                                                                                          \
        F##_store(r, &y);                                                                                            \
    }                                                                                                                \
    /* Powers of a with zeros at both ends and between. */                                                           \
    static int F##_batch_is_right(const uint8_t *a)                                                                  \
    {                                                                                                                \
        F x, v[BATCH], expected[BATCH], scratch[BATCH];                                                              \
        F##_load(&x, a);                                                                                             \
        for (int i = 0; i < BATCH; i++) {                                                                            \
            if (i % 4 == 0)                                                                                          \
                v[i] = F##_zero();                                                                                   \
            else                                                                                                     \
                F##_mul(&v[i], &x, i % 4 == 1 ? &x : &v[i - 1]);                                                     \
            F##_inv(&expected[i], &v[i]);                                                                            \
        }                                                                                                            \
        F##_batch_inv(v, scratch, BATCH);                                                                            \
        F##_batch_inv(v, scratch, 0);                                                                                \
        return memcmp(v, expected, sizeof v) == 0;                                                                   \
    }
#define FIELD_ROW(F)                                                                                                 \
    {                                                                                                                \
        #F, F##_bytes, F##_add_bytes, F##_sub_bytes, F##_mul_bytes, F##_dbl_bytes, F##_neg_bytes, F##_sqr_bytes,     \
            F##_to_mont_bytes, F##_from_mont_bytes, F##_inv_bytes, F##_pow_bytes, F##_is_reduced_bytes,              \
            F##_is_zero_bytes, F##_eq_bytes, F##_set_u64_bytes, F##_batch_is_right                                   \
    }

ADAPT(bn254_fr)
ADAPT(bn254_fq)
ADAPT(bls381_fr)
ADAPT(bls381_fq)

static const struct field fields[] = {FIELD_ROW(bn254_fr), FIELD_ROW(bn254_fq), FIELD_ROW(bls381_fr),
                                      FIELD_ROW(bls381_fq)};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static int failures;

static void check(int ok, const struct field *f, const char *what, int line)
{
    if (ok)
        return;
    failures++;
    printf("field.txt:%d: %s: %s is wrong\n", line, f->name, what);
}

static void expect(const struct field *f, const char *what, int line, const uint8_t *got, const uint8_t *want)
{
    check(memcmp(got, want, f->bytes) == 0, f, what, line);
}

/* Hexadecimal digits to little-endian bytes; false where they do not fit. */
static int parse_hex(uint8_t out[MAX_BYTES], const char *text)
{
    size_t digits = strlen(text);
    memset(out, 0, MAX_BYTES);
    if (digits == 0 || digits > 2 * MAX_BYTES)
        return 0;
    for (size_t i = 0; i < digits; i++) {
        char c = text[digits - 1 - i];
        int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (value < 0)
            return 0;
        out[i / 2] |= (uint8_t)(value << (i % 2 * 4));
    }
    return 1;
}

static void check_unary(const struct field *f, int line, uint8_t v[][MAX_BYTES])
{
    uint8_t got[MAX_BYTES + 1], zero[MAX_BYTES] = {0}, small[MAX_BYTES];
    uint64_t low;
    int is_zero = memcmp(v[0], zero, f->bytes) == 0;

    f->neg(got, v[0]), expect(f, "neg", line, got, v[1]);
    f->sqr(got, v[0]), expect(f, "sqr", line, got, v[2]);
    f->to_mont(got + 1, v[0]), expect(f, "to_mont, unaligned", line, got + 1, v[3]);
    f->from_mont(got, v[0]), expect(f, "from_mont", line, got, v[4]);
    f->inv(got, v[0]), expect(f, "inv", line, got, v[5]);
    f->add(got, v[0], v[1]), expect(f, "a + -a", line, got, zero);
    check(f->is_zero(v[0]) == is_zero, f, "is_zero", line);
    check(f->is_reduced(v[0]), f, "is_reduced", line);
    check(f->batch_is_right(v[0]), f, "batch_inv", line);
    memcpy(&low, v[0], sizeof low);
    memcpy(small, zero, sizeof small);
    memcpy(small, &low, sizeof low);
    f->to_mont(small, small);
    f->set_u64(got, low), expect(f, "set_u64", line, got, small);
}

static void check_binary(const struct field *f, int line, uint8_t v[][MAX_BYTES])
{
    uint8_t got[MAX_BYTES];
    int same = memcmp(v[0], v[1], f->bytes) == 0;

    f->add(got, v[0], v[1]), expect(f, "add", line, got, v[2]);
    f->sub(got, v[0], v[1]), expect(f, "sub", line, got, v[3]);
    f->mul(got, v[0], v[1]), expect(f, "mul", line, got, v[4]);
    check(f->eq(v[0], v[1]) == same, f, "eq", line);
    if (same)
        f->dbl(got, v[0]), expect(f, "dbl", line, got, v[2]);
}

static void check_line(const struct field *f, int line, char kind, uint8_t v[][MAX_BYTES])
{
    uint8_t got[MAX_BYTES];
    if (kind == 'u') {
        check_unary(f, line, v);
    } else if (kind == 'b') {
        check_binary(f, line, v);
    } else if (kind == 'p') {
        f->pow(got, v[0], v[1]);
        expect(f, "pow", line, got, v[2]);
    } else {
        check(f->is_reduced(v[0]) == v[1][0], f, "is_reduced", line);
    }
}

static const struct field *find_field(const char *name)
{
    for (int i = 0; name != NULL && i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

int main(void)
{
    static const char kinds[] = "ubpr";
    static const int columns[] = {6, 5, 3, 2};
    int seen[FIELDS][sizeof kinds - 1] = {{0}};
    char text[1024];
    int line = 0;
    FILE *file = fopen("tests/data/field.txt", "r");
    if (file == NULL) {
        perror("tests/data/field.txt");
        return 1;
    }
    while (fgets(text, sizeof text, file) != NULL) {
        uint8_t v[MAX_COLUMNS][MAX_BYTES];
        char *save;
        line++;
        const struct field *f = find_field(strtok_r(text, " \n", &save));
        const char *kind = strtok_r(NULL, " \n", &save);
        const char *at = kind != NULL ? strchr(kinds, *kind) : NULL;
        if (f == NULL || at == NULL) {
            printf("field.txt:%d: no such line\n", line);
            return 1;
        }
        for (int i = 0; i < columns[at - kinds]; i++) {
            const char *column = strtok_r(NULL, " \n", &save);
            if (column == NULL || !parse_hex(v[i], column)) {
                printf("field.txt:%d: column %d is no number\n", line, i + 1);
                return 1;
            }
        }
        seen[f - fields][at - kinds]++;
        check_line(f, line, *kind, v);
    }
    fclose(file);
    for (int i = 0; i < FIELDS; i++)
        for (size_t k = 0; k < sizeof kinds - 1; k++)
            check(seen[i][k] > 0, &fields[i], "the count of vectors", line);
    if (failures == 0)
        printf("%d vectors right\n", line);
    return failures != 0;
}
