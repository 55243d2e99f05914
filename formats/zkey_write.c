#include "formats/zkey_write.h"

#include <string.h>

#include "kernels/scalar.h"

enum { VERSION = 1, SECTIONS = 10, GROTH16 = 1, CIRCUIT_HASH_BYTES = 64 };

int fmt_zkey_write_open(struct fmt_writer *w, const char *path, const struct fmt_zkey_header *h, struct fmt_error *err)
{
    const size_t n8q = h->curve->fq_bytes;

    if (fmt_writer_open(w, path, "zkey", VERSION, SECTIONS, err) != 0)
        return -1;
    fmt_writer_begin(w, 1);
    fmt_writer_u32(w, GROTH16);
    fmt_writer_end(w);

    fmt_writer_begin(w, 2);
    fmt_writer_u32(w, (uint32_t)n8q);
    fmt_writer_put(w, h->curve->q, n8q);
    fmt_writer_u32(w, KRN_FR_BYTES);
    fmt_writer_put(w, h->curve->r, KRN_FR_BYTES);
    fmt_writer_u32(w, h->n_vars);
    fmt_writer_u32(w, h->n_public);
    fmt_writer_u32(w, 1u << h->log_domain);
    fmt_writer_put(w, h->alpha1, 2 * n8q);
    fmt_writer_put(w, h->beta1, 2 * n8q);
    fmt_writer_put(w, h->beta2, 4 * n8q);
    fmt_writer_put(w, h->gamma2, 4 * n8q);
    fmt_writer_put(w, h->delta1, 2 * n8q);
    fmt_writer_put(w, h->delta2, 4 * n8q);
    fmt_writer_end(w);
    return 0;
}

uint64_t fmt_zkey_count_coefs(const struct fmt_r1cs *r)
{
    uint64_t n = r->n_public + 1ull, at = r->blocks[0];

    for (uint32_t i = 0; i < r->n_constraints; i++) {
        struct fmt_r1cs_constraint c = fmt_r1cs_next(r, &at);
        n += (uint64_t)c.a.n + c.b.n;
    }
    return n;
}

static void put_coef(struct fmt_writer *w, uint32_t matrix, uint32_t row, uint32_t signal, const struct krn_scalar *v)
{
    fmt_writer_u32(w, matrix);
    fmt_writer_u32(w, row);
    fmt_writer_u32(w, signal);
    fmt_writer_put(w, v, KRN_FR_BYTES);
}

/* R^3: by it a product, which divides by R, makes v to v R^2. */
static struct krn_scalar r3(const struct krn_scalar_field *f)
{
    struct krn_scalar r;

    krn_scalar_to_mont(f, &r, &f->r2);
    return r;
}

static void put_sum(struct fmt_writer *w, const struct krn_scalar_field *f, const struct krn_scalar *factor,
                    uint32_t matrix, uint32_t row, const struct fmt_r1cs_sum *sum)
{
    for (const uint8_t *t = sum->terms, *end = t + (size_t)sum->n * FMT_R1CS_TERM_BYTES; t < end;
         t += FMT_R1CS_TERM_BYTES) {
        uint32_t signal;
        struct krn_scalar v;
        memcpy(&signal, t, sizeof signal);
        memcpy(&v, t + sizeof signal, sizeof v);
        krn_scalar_mul(f, &v, &v, factor);
        put_coef(w, matrix, row, signal, &v);
    }
}

void fmt_zkey_write_coefs(struct fmt_writer *w, const struct fmt_r1cs *r, uint64_t n)
{
    const struct krn_scalar_field f = krn_scalar_field(r->curve->id);
    const struct krn_scalar factor = r3(&f);
    uint64_t at = r->blocks[0];

    fmt_writer_begin(w, 4);
    fmt_writer_u32(w, (uint32_t)n);
    for (uint32_t i = 0; i < r->n_constraints; i++) {
        struct fmt_r1cs_constraint c = fmt_r1cs_next(r, &at);
        put_sum(w, &f, &factor, 0, i, &c.a);
        put_sum(w, &f, &factor, 1, i, &c.b);
    }
    for (uint32_t s = 0; s <= r->n_public; s++)
        put_coef(w, 0, r->n_constraints + s, s, &f.r2);
    fmt_writer_end(w);
}

void fmt_zkey_write_contributions(struct fmt_writer *w)
{
    const uint8_t none[CIRCUIT_HASH_BYTES] = {0};

    fmt_writer_begin(w, 10);
    fmt_writer_put(w, none, sizeof none);
    fmt_writer_u32(w, 0);
    fmt_writer_end(w);
}
