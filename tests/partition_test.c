/*
 * The circuit of synth/partition.h: its witness satisfies every row, a filled slot holds the rows' values, no sum
 * names a wire twice, every wire is used, B touches the wires that it says and a quarter of all, and 98 % of the
 * witness are bits. RUN_VALGRIND RUN_TSAN
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/payload.h"
#include "kernels/scalar.h"
#include "synth/partition.h"

static int failures;

static void expect(int good, const char *what, const struct partition *p, uint32_t i)
{
    if (good)
        return;
    if (failures++ < 20)
        printf("%s: 2^%u, %u constraints, %u public: %u\n", what, p->log_domain, p->n_constraints, p->n_public, i);
}

struct uses {
    uint8_t *any, *b;           /* by wire */
};

/* A sum at the witness, in Montgomery form; by other means than partition.c's. */
static struct krn_scalar evaluate(const struct krn_scalar_field *f, const struct partition_term *terms, uint32_t n,
                                  const struct krn_scalar *w, uint8_t *used)
{
    struct krn_scalar sum = {{0}};

    for (uint32_t i = 0; i < n; i++) {
        struct krn_scalar value, coef;
        krn_scalar_set_u64(f, &coef, (uint64_t)(terms[i].coef < 0 ? -terms[i].coef : terms[i].coef));
        krn_scalar_to_mont(f, &value, &w[terms[i].wire]);
        krn_scalar_mul(f, &value, &value, &coef);
        if (terms[i].coef < 0)
            krn_scalar_sub(f, &sum, &sum, &value);
        else
            krn_scalar_add(f, &sum, &sum, &value);
        used[terms[i].wire] = 1;
    }
    return sum;
}

static int twice(const struct partition_term *terms, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (terms[i].wire == terms[j].wire)
                return 1;
    return 0;
}

static void check_rows(const struct partition *p, const uint8_t *payload, const struct uses *used)
{
    const struct fmt_payload at = fmt_payload_of(p->n_wires, p->log_domain);
    const struct krn_scalar_field f = krn_scalar_field(p->curve);
    const struct krn_scalar *w = (const void *)(payload + at.w), *a = (const void *)(payload + at.a),
                            *b = (const void *)(payload + at.b);

    for (uint32_t i = 0; i < p->n_constraints; i++) {
        struct partition_row row;
        partition_row(p, i, &row);
        const struct krn_scalar x = evaluate(&f, row.a, row.n_a, w, used->any),
                                y = evaluate(&f, row.b, row.n_b, w, used->b),
                                z = evaluate(&f, row.c, row.n_c, w, used->any);
        struct krn_scalar xy;
        krn_scalar_mul(&f, &xy, &x, &y);
        expect(krn_scalar_eq(&xy, &z), "not satisfied", p, i);
        expect(krn_scalar_eq(&x, &a[i]) && krn_scalar_eq(&y, &b[i]), "the slot's row differs", p, i);
        expect(!twice(row.a, row.n_a) && !twice(row.b, row.n_b) && !twice(row.c, row.n_c), "a wire twice", p, i);
    }
    for (size_t i = p->n_constraints; i < (size_t)1 << p->log_domain; i++) {
        struct krn_scalar want = {{0}}, zero = {{0}};
        if (i - p->n_constraints <= p->n_public)
            krn_scalar_to_mont(&f, &want, &w[i - p->n_constraints]);
        expect(krn_scalar_eq(&a[i], &want) && krn_scalar_eq(&b[i], &zero), "a row behind the constraints", p,
               (uint32_t)i);
    }
}

static void check_wires(const struct partition *p, const struct krn_scalar *w, const struct uses *used)
{
    const struct krn_scalar_field f = krn_scalar_field(p->curve);
    uint32_t n_b = 0, bits = 0;

    for (uint32_t j = 0; j < p->n_wires; j++) {
        expect(j == 0 || used->any[j], "unused wire", p, j);
        expect(krn_scalar_is_reduced(&f, &w[j]), "a value that is not below the order", p, j);
        if (used->b[j])
            expect(n_b < partition_n_b(p) && partition_b_wire(p, n_b) == j, "a wire in B", p, j);
        n_b += used->b[j];
        bits += (w[j].l[0] <= 1) & !(w[j].l[1] | w[j].l[2] | w[j].l[3]);
    }
    expect(n_b == partition_n_b(p), "wires in B", p, n_b);
    if (p->log_domain >= 16) {
        expect(n_b > p->n_wires * 0.245 && n_b < p->n_wires * 0.265, "a quarter in B", p, n_b);
        expect(bits > p->n_wires * 0.97 && bits < p->n_wires * 0.985, "bits", p, bits);
    }
}

static void check(const struct partition *p, unsigned threads)
{
    const struct fmt_payload at = fmt_payload_of(p->n_wires, p->log_domain);
    uint8_t *payload = aligned_alloc(FMT_PAYLOAD_ALIGN, at.bytes), *w = malloc((size_t)p->n_wires * KRN_FR_BYTES);
    struct uses used = {.any = calloc(p->n_wires, 1), .b = calloc(p->n_wires, 1)};

    if (!payload || !w || !used.any || !used.b) {
        printf("out of memory\n");
        exit(1);
    }
    memset(payload, 0xee, at.bytes);
    partition_fill(p, payload, threads);
    partition_witness(p, w, 1);
    expect(memcmp(w, payload + at.w, (size_t)p->n_wires * KRN_FR_BYTES) == 0, "two witnesses", p, threads);
    check_rows(p, payload, &used);
    check_wires(p, (const void *)(payload + at.w), &used);
    free(payload);
    free(w);
    free(used.any);
    free(used.b);
}

int main(void)
{
    const int quick = getenv("PINWHEEL_TEST_SHORT") != NULL;
    const uint32_t logs[] = {10, 12, 13, 16};
    struct partition p;

    for (int c = 0; c < KRN_CURVES; c++) {
        const enum krn_curve_id curve = (enum krn_curve_id)c;
        for (int i = 0; i < (quick ? 2 : 4); i++) {
            const uint32_t log = logs[i];
            const int rc = partition_scaled(&p, curve, log, 7 + log);
            expect(rc == 0 && p.log_domain == log, "scaled", &p, log);
            check(&p, 1 + log % 4);
        }
        /* no publics; more checks and publics than blocks; nothing that fills up; two blocks, the fewest */
        const uint32_t shapes[][3] = {{3000, 0, 2999}, {3000, 40, 600}, {398, 0, 400}, {420, 1, 417}};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            expect(partition_init(&p, curve, shapes[i][0], shapes[i][1], shapes[i][2], i) == 0, "shape", &p,
                   (uint32_t)i);
            check(&p, 2);
        }
        expect(partition_init(&p, curve, 5000, 0, 399, 0) != 0, "fewer than two blocks", &p, 0);
        expect(partition_init(&p, curve, 397, 0, 400, 0) != 0, "too few rows", &p, 0);
    }
    expect(partition_scaled(&p, KRN_BLS12_381, PARTITION_FULL_LOG, 1) == 0, "full", &p, 0);
    expect(p.n_constraints == 130278541 && p.n_public == 327 && p.n_wires == 130169893 + 328 &&
               p.log_domain == PARTITION_FULL_LOG, "the full shape", &p, p.n_wires);
    printf("partition: %s\n", failures ? "failed" : "satisfied");
    return failures != 0;
}
