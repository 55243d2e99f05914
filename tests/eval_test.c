/* synth/eval: a and b are A.w and B.w of the circuit's own constraints, computed by hand. RUN_VALGRIND RUN_TSAN */
#include "tests/files.h"

#include "formats/r1cs.h"
#include "formats/wtns.h"
#include "synth/eval.h"
#include "tests/naive.h"

/* a and b in one block with guards around and between them, filled with rubbish. */
struct rows {
    uint8_t *block, *a, *b;
    size_t bytes;
};

enum { GUARD = 64 };

static int brief;   /* under valgrind and the like: fewer rounds */

static struct rows rows_new(const struct fmt_zkey *z)
{
    struct rows r = {.bytes = (size_t)z->domain_size * 32};
    r.block = malloc(2 * r.bytes + 3 * GUARD);
    memset(r.block, 0xa5, 2 * r.bytes + 3 * GUARD);
    r.a = r.block + GUARD;
    r.b = r.a + r.bytes + GUARD;
    return r;
}

static void rows_free(struct rows *r, const char *what)
{
    for (size_t i = 0; i < GUARD; i++)
        check(r->block[i] == 0xa5 && r->a[r->bytes + i] == 0xa5 && r->b[r->bytes + i] == 0xa5, "%s: written outside",
              what);
    free(r->block);
}

static void random_witness(uint8_t *w, uint32_t n, const struct naive p, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++) {
        struct naive v = {{rnd(state), rnd(state), rnd(state), rnd(state) >> 4}}, minus_one = p;
        minus_one.l[0]--;
        switch (rnd(state) % 6) {
        case 0: v = (struct naive){{0}}; break;
        case 1: v = (struct naive){{1}}; break;
        case 2: v = (struct naive){{v.l[0]}}; break;
        case 3: v = minus_one; break;
        case 4: v.l[0] = 0; break;
        default: break;
        }
        memcpy(w + (size_t)i * 32, v.l, 32);
    }
}

/* ---- real circuits ---- */

/* Whether the row holds value * 2^256, the Montgomery form. */
static int row_is(const uint8_t *rows, size_t row, struct naive value, struct naive p)
{
    return naive_equal(naive_load(rows + row * 32), naive_shift(value, 256, p));
}

struct circuit {
    struct fmt_zkey z;
    struct fmt_r1cs r;
};

/* Rows of constraints, then those that bind the publics, then zeros; c = a * b where the witness is a good one. */
static void compare(const char *name, const struct circuit *c, const uint8_t *w, const struct rows *v, int satisfied)
{
    const struct naive p = naive_load(c->z.curve->r), zero = {{0}};
    uint64_t at = c->r.blocks[0];

    for (uint32_t row = 0; row < c->r.n_constraints; row++) {
        struct fmt_r1cs_constraint k = fmt_r1cs_next(&c->r, &at);
        struct naive a = naive_sum(&k.a, w, p), b = naive_sum(&k.b, w, p);
        check(row_is(v->a, row, a, p) && row_is(v->b, row, b, p), "%s: row %u", name, row);
        if (satisfied)
            check(naive_equal(naive_mul(a, b, p), naive_sum(&k.c, w, p)), "%s: a * b is not c in row %u", name, row);
    }
    for (uint32_t s = 0; s <= c->r.n_public; s++)
        check(row_is(v->a, c->r.n_constraints + s, naive_load(w + s * 32), p) &&
              row_is(v->b, c->r.n_constraints + s, zero, p), "%s: the row of public %u", name, s);
    for (uint32_t row = c->z.n_rows; row < c->z.domain_size; row++)
        check(row_is(v->a, row, zero, p) && row_is(v->b, row, zero, p), "%s: row %u is not zero", name, row);
}

static void eval_and_compare(const char *name, const struct circuit *c, const uint8_t *w, int satisfied)
{
    static const unsigned threads[] = {0, 2, 3, 7, 256, 1000};     /* the last two: more than rows, more than allowed */
    const size_t n = brief || c->z.domain_size > 16 ? 4 : sizeof threads / sizeof *threads;
    struct fmt_error err;
    struct rows one = rows_new(&c->z);

    if (check(synth_eval(&c->z, w, one.a, one.b, 1, &err) == 0, "%s: %s", name, err.text))
        compare(name, c, w, &one, satisfied);
    for (size_t i = 0; i < n; i++) {
        struct rows many = rows_new(&c->z);
        check(synth_eval(&c->z, w, many.a, many.b, threads[i], &err) == 0, "%s: %s", name, err.text);
        check(memcmp(one.a, many.a, one.bytes) == 0 && memcmp(one.b, many.b, one.bytes) == 0,
              "%s: %u threads give another result than one", name, threads[i]);
        rows_free(&many, name);
    }
    struct rows portable = rows_new(&c->z);
    setenv("PINWHEEL_CPU_ISA", "portable", 1);
    check(synth_eval(&c->z, w, portable.a, portable.b, 2, &err) == 0, "%s: %s", name, err.text);
    unsetenv("PINWHEEL_CPU_ISA");
    check(memcmp(one.a, portable.a, one.bytes) == 0 && memcmp(one.b, portable.b, one.bytes) == 0,
          "%s: the portable twin gives another result", name);
    rows_free(&portable, name);
    rows_free(&one, name);
}

static void real_circuit(const char *name, uint64_t *state)
{
    struct fmt_error err;
    struct circuit c;

    if (!check(fmt_zkey_open(&c.z, circuit_path(name, "_final.zkey"), &err) == 0 &&
               fmt_r1cs_open(&c.r, circuit_path(name, ".r1cs"), &err) == 0, "%s", err.text))
        return;
    uint8_t *w = malloc((size_t)c.z.n_vars * 32);
    check(fmt_wtns_read(circuit_path(name, ".wtns"), c.z.curve, c.z.n_vars, w, &err) == 0, "%s", err.text);
    eval_and_compare(name, &c, w, 1);
    random_witness(w, c.z.n_vars, naive_load(c.z.curve->r), state);
    eval_and_compare(name, &c, w, 0);
    free(w);
    fmt_r1cs_close(&c.r);
    fmt_zkey_close(&c.z);
}

/* ---- made-up matrices: empty rows, long rows, every kind of value; entries that are wrong ---- */

enum { ROWS = 64, SIGNALS = 300, MAX_ENTRIES = 4000 };

static uint8_t entries[MAX_ENTRIES * FMT_ZKEY_COEF_BYTES];

static void add_entry(struct fmt_zkey *z, uint32_t matrix, uint32_t row, uint32_t signal, struct naive value)
{
    uint8_t *e = entries + (size_t)z->n_coefs++ * FMT_ZKEY_COEF_BYTES;
    put_u32(e, matrix);
    put_u32(e + 4, row);
    put_u32(e + 8, signal);
    memcpy(e + 12, value.l, 32);
}

/* Only what synth_eval reads of a key. */
static struct fmt_zkey made_up(enum krn_curve_id id, uint64_t *state)
{
    struct fmt_zkey z = {.curve = krn_curve(id), .n_vars = SIGNALS, .log_domain = 6, .domain_size = ROWS,
                         .n_rows = ROWS - 3, .coefs = entries};
    struct naive minus_one = naive_load(z.curve->r);
    minus_one.l[0]--;

    strcpy(z.file.name, "made-up");
    for (uint32_t row = 0; row < z.n_rows; row++) {
        for (uint32_t matrix = 0; matrix < 2; matrix++) {
            static const uint32_t lengths[] = {0, 0, 1, 1, 2, 3, 5, 200};
            uint32_t n = lengths[rnd(state) % 8];
            for (uint32_t i = 0; i < n && z.n_coefs < MAX_ENTRIES; i++) {
                struct naive value = {{rnd(state), rnd(state), rnd(state), rnd(state) >> 4}};
                add_entry(&z, matrix, row, (uint32_t)(rnd(state) % SIGNALS), rnd(state) % 4 ? value : minus_one);
            }
        }
    }
    return z;
}

static void made_up_matrices(enum krn_curve_id id, uint64_t *state)
{
    struct fmt_zkey z = made_up(id, state);
    const struct naive p = naive_load(z.curve->r);
    struct naive want[2][ROWS] = {{{{0}}}};
    static uint8_t w[SIGNALS * 32];
    struct fmt_error err;

    random_witness(w, SIGNALS, p, state);
    for (uint32_t i = 0; i < z.n_coefs; i++) {
        uint32_t head[3];
        memcpy(head, entries + (size_t)i * FMT_ZKEY_COEF_BYTES, 12);
        struct naive *sum = &want[head[0]][head[1]];
        struct naive value = naive_load(entries + (size_t)i * FMT_ZKEY_COEF_BYTES + 12);
        *sum = naive_add(*sum, naive_mul(value, naive_load(w + head[2] * 32), p), p);
    }
    for (unsigned threads = 1; threads < (brief ? 4 : 9); threads++) {
        struct rows v = rows_new(&z);
        check(synth_eval(&z, w, v.a, v.b, threads, &err) == 0, "%s", err.text);
        for (size_t row = 0; row < ROWS; row++) {   /* the product over R: what is there times R is the sum */
            check(naive_equal(naive_shift(naive_load(v.a + row * 32), 256, p), want[0][row]) &&
                  naive_equal(naive_shift(naive_load(v.b + row * 32), 256, p), want[1][row]),
                  "made-up matrix over %s, %u threads, row %zu", z.curve->name, threads, row);
        }
        rows_free(&v, "made-up matrix");
    }
}

/* One field of one entry set to a wrong value: refused by every number of threads, and nothing written outside. */
static void wrong_entries(uint64_t *state)
{
    static const struct {
        const char *what;
        size_t field;
        uint32_t value;
    } wrong[] = {
        {"matrix 2", 0, 2}, {"matrix 2^32 - 1", 0, ~0u}, {"a row at the domain", 4, ROWS}, {"row 2^32 - 1", 4, ~0u},
        {"signal at the end", 8, SIGNALS}, {"signal 2^32 - 1", 8, ~0u}, {"row 0", 4, 0},
    };
    struct fmt_zkey z = made_up(KRN_BN254, state);
    static uint8_t w[SIGNALS * 32];
    const uint32_t at[] = {1, z.n_coefs / 2, z.n_coefs / 3, z.n_coefs - 1};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            uint8_t *field = entries + at[k] * (size_t)FMT_ZKEY_COEF_BYTES + wrong[i].field, old[4];
            uint32_t row;
            memcpy(&row, entries + at[k] * (size_t)FMT_ZKEY_COEF_BYTES + 4, 4);
            if (wrong[i].field == 4 && wrong[i].value == 0 && row == 0)
                continue;
            memcpy(old, field, 4);
            put_u32(field, wrong[i].value);
            for (unsigned threads = 1; threads < (brief ? 3 : 6); threads++) {
                struct fmt_error err = {.text = ""};
                struct rows v = rows_new(&z);
                check(synth_eval(&z, w, v.a, v.b, threads, &err) == -1, "%s in entry %u, %u threads: taken",
                      wrong[i].what,
                      at[k], threads);
                check(strstr(err.text, "made-up: section 4, coefficient") != NULL, "%s: %s", wrong[i].what, err.text);
                rows_free(&v, wrong[i].what);
            }
            memcpy(field, old, 4);
        }
    }
}

int main(void)
{
    uint64_t state = test_seed();
    brief = getenv("PINWHEEL_TEST_SHORT") != NULL;
    int n = brief ? ALL_CASES - 3 : ALL_CASES;      /* the last three are the long ones */

    wrong_entries(&state);
    for (int round = 0; round < (brief ? 1 : 5); round++) {
        made_up_matrices(KRN_BN254, &state);
        made_up_matrices(KRN_BLS12_381, &state);
    }
    for (int i = 0; i < n; i++)
        real_circuit(all_cases[i], &state);
    return failures != 0;
}
