/* kernels/dot: sums of products against arithmetic by hand, every twin. RUN_VALGRIND */
#include "tests/files.h"

#include "kernels/dot.h"
#include "tests/naive.h"

enum { INDICES = 50, MAX_ROWS = 600, STRIDE = 44, MAX_TERMS = 6000 };

typedef void (*twin)(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows);

struct matrix {
    struct naive p;
    size_t n_rows, n_terms;
    uint32_t lengths[MAX_ROWS];
    uint8_t *terms, *w;     /* of the very size: sanitizers see what is read beyond */
};

/* 0, 1, one word, p - 1, p - 1 but for its low word, anything */
static struct naive a_value(struct naive p, uint64_t *state)
{
    struct naive v = {{rnd(state), rnd(state), rnd(state), rnd(state) >> 4}};
    switch (rnd(state) % 6) {
    case 0: return (struct naive){{0}};
    case 1: return (struct naive){{1}};
    case 2: return (struct naive){{v.l[0]}};
    case 3: p.l[0]--; return p;
    case 4: p.l[0] = 0; return p;
    default: return v;
    }
}

/* largest: every value is p - 1, which no sum may overflow. */
static struct matrix matrix_new(enum krn_curve_id curve, const uint32_t *lengths, size_t n_rows, int largest,
                                uint64_t *state)
{
    struct matrix m = {.p = naive_load(krn_curve(curve)->r), .n_rows = n_rows};
    struct naive minus_one = m.p;
    minus_one.l[0]--;
    for (size_t i = 0; i < n_rows; i++)
        m.n_terms += m.lengths[i] = lengths[i];
    m.terms = malloc(m.n_terms * STRIDE + 1);
    m.w = malloc(INDICES * 32);
    for (size_t i = 0; i < INDICES; i++) {
        struct naive v = largest ? minus_one : a_value(m.p, state);
        memcpy(m.w + i * 32, v.l, 32);
    }
    for (size_t i = 0; i < m.n_terms; i++) {
        struct naive v = largest ? minus_one : a_value(m.p, state);
        put_u32(m.terms + i * STRIDE, (uint32_t)(rnd(state) % INDICES));
        memcpy(m.terms + i * STRIDE + 4, v.l, 32);
        memset(m.terms + i * STRIDE + 36, 0xee, STRIDE - 36);
    }
    return m;
}

static void compare(const char *what, enum krn_curve_id curve, twin rows_of, const struct matrix *m)
{
    const struct krn_dot d = {.curve = curve, .isa = krn_cpu_isa(), .stride = STRIDE, .w = m->w};
    struct krn_row *rows = malloc(m->n_rows * sizeof *rows + 1);
    uint8_t *out = malloc(m->n_rows * 33 + 1);      /* 33: results at every alignment, and a guard behind each */
    const uint8_t *term = m->terms;

    memset(out, 0xa5, m->n_rows * 33 + 1);
    for (size_t i = 0; i < m->n_rows; i++) {
        rows[i] = (struct krn_row){.terms = term, .out = out + i * 33, .n = m->lengths[i]};
        term += m->lengths[i] * (size_t)STRIDE;
    }
    rows_of(&d, rows, m->n_rows);
    for (size_t i = 0; i < m->n_rows; i++) {
        struct naive want = {{0}}, got = naive_load(out + i * 33);
        int borrow;
        for (uint32_t k = 0; k < rows[i].n; k++) {
            uint32_t index;
            memcpy(&index, rows[i].terms + k * STRIDE, 4);
            want = naive_add(want, naive_mul(naive_load(rows[i].terms + k * STRIDE + 4),
                                             naive_load(m->w + (size_t)index * 32), m->p), m->p);
        }
        naive_minus(got, m->p, &borrow);
        check(borrow && naive_equal(naive_shift(got, 256, m->p), want), "%s, %s: row %zu of %u terms",
              krn_curve(curve)->name, what, i, rows[i].n);
        check(out[i * 33 + 32] == 0xa5, "%s: written behind row %zu", what, i);
    }
    free(rows);
    free(out);
}

static void all_twins(enum krn_curve_id curve, const uint32_t *lengths, size_t n_rows, int largest, uint64_t *state)
{
    struct matrix m = matrix_new(curve, lengths, n_rows, largest, state);
    compare("portable", curve, krn_dot_rows_portable, &m);
    if (krn_cpu_isa() == KRN_ISA_IFMA)
        compare("IFMA", curve, krn_dot_rows_ifma, &m);
    compare("as chosen", curve, krn_dot_rows, &m);
    free(m.terms);
    free(m.w);
}

int main(void)
{
    uint64_t state = test_seed();
    uint32_t lengths[MAX_ROWS];

    if (krn_cpu_isa() != KRN_ISA_IFMA)
        puts("no AVX-512 IFMA here: its twin is not tested");
    for (int id = 0; id < KRN_CURVES; id++) {
        for (size_t i = 0; i < 320; i++)
            lengths[i] = (uint32_t)i / 8;   /* eight of every length, from nothing past the longest that IFMA takes */
        all_twins((enum krn_curve_id)id, lengths, 320, 0, &state);
        all_twins((enum krn_curve_id)id, lengths, 320, 1, &state);
        static const size_t counts[] = {0, 1, 7, 8, 9, 255, 256, 257, MAX_ROWS};
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (size_t i = 0; i < counts[c]; i++)
                lengths[i] = (uint32_t)(rnd(&state) % 5);
            all_twins((enum krn_curve_id)id, lengths, counts[c], 0, &state);
        }
    }
    uint32_t longest[] = {MAX_TERMS};
    all_twins(KRN_BLS12_381, longest, 1, 1, &state);
    return failures != 0;
}
