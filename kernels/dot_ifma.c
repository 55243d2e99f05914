/*
 * Rows times a vector, eight rows at a time in the lanes of AVX-512 IFMA (kernels/lanes.h). Entered only where
 * krn_cpu_isa() says so.
 *
 * Products there divide by S = 2^260 in place of R = 2^256, so w enters as 16 w: value * 16 w / S = value * w / R.
 * Rows are taken in the order of their lengths, so that the eight of a group end together or nearly so; a row that has
 * ended goes on with zeros. The products of a row are added up unreduced, then reduced once.
 *
 * Cost of a group of rows of n terms: 50 n + 55 multiply-adds and about 70 n + 60 other instructions: for n = 1, 15
 * cycles a row at two a cycle, where the portable twin takes 60 and more.
 */
#include "kernels/dot.h"

#include <string.h>

#include "kernels/field.h"
#include "kernels/lanes.h"

#ifdef __x86_64__

enum {
    LIMBS = 5,
    WORDS = KRN_FR_BYTES / 8,
    /* 32 products leave limbs below 32 * 10 * 2^52 and a sum below 32 * 16 p / S + 1 < 16 multiples of p; longer rows
     * are the portable twin's. */
    MAX_TERMS = 32,
    CHUNK = 256,                /* rows that are ordered at a time */
};

static const uint8_t no_term[4 + KRN_FR_BYTES];     /* index 0, value 0: adds nothing */

/* Limbs of 16 x for 64-bit words of x. */
KRN_FN void limbs_of_16(lanes_v *r, const lanes_v *words)
{
    r[0] = _mm512_and_si512(_mm512_slli_epi64(words[0], 4), lanes_set(LANES_MASK));
    KRN_UNROLL
    for (int j = 1; j < LIMBS; j++) {
        const int word = (LANES_BITS * j - 4) / 64, shift = (LANES_BITS * j - 4) % 64;
        lanes_v limb = _mm512_srli_epi64(words[word], shift);
        if (shift > 64 - LANES_BITS && word + 1 < WORDS)
            limb = _mm512_or_si512(limb, _mm512_slli_epi64(words[word + 1], 64 - shift));
        r[j] = _mm512_and_si512(limb, lanes_set(LANES_MASK));
    }
}

/* sum += value * 16 w, unreduced, for the k-th term of each of eight rows. */
KRN_FN void add_terms(lanes_v *sum, const struct krn_dot *d, const struct krn_row *const *rows, uint32_t k)
{
    const uint8_t *values[LANES], *ws[LANES];
    lanes_v words[WORDS], v[LIMBS], w[LIMBS];

    KRN_UNROLL
    for (int i = 0; i < LANES; i++) {
        const uint8_t *term = k < rows[i]->n ? rows[i]->terms + k * d->stride : no_term;
        uint32_t index;
        memcpy(&index, term, sizeof index);
        values[i] = term + sizeof index;
        ws[i] = d->w + (size_t)index * KRN_FR_BYTES;
    }
    lanes_gather_4(words, values);
    lanes_from_words(v, words, WORDS, LIMBS);
    lanes_gather_4(words, ws);
    limbs_of_16(w, words);
    KRN_UNROLL
    for (int i = 0; i < LIMBS; i++) {
        KRN_UNROLL
        for (int j = 0; j < LIMBS; j++) {
            sum[i + j] = _mm512_madd52lo_epu64(sum[i + j], v[j], w[i]);
            sum[i + j + 1] = _mm512_madd52hi_epu64(sum[i + j + 1], v[j], w[i]);
        }
    }
}

/* The sums of eight rows, none of more than n terms. */
KRN_FN void eight_rows(const struct krn_dot *d, const struct lanes_prime *p, const struct krn_row *const *rows,
                       uint32_t n)
{
    lanes_v sum[2 * LIMBS], r[LIMBS], words[WORDS];
    uint8_t *out[LANES];

    KRN_UNROLL
    for (int i = 0; i < 2 * LIMBS; i++)
        sum[i] = _mm512_setzero_si512();
    for (uint32_t k = 0; k < n; k++)
        add_terms(sum, d, rows, k);
    lanes_redc(r, sum, p, LIMBS);
    if (n > 6) {        /* 6 * 16 p / S + 1 is below 4 for both curves */
        lanes_reduce_by(r, r, 8, p, LIMBS);
        lanes_reduce_by(r, r, 4, p, LIMBS);
    }
    lanes_reduce(r, r, p, LIMBS);
    lanes_to_words(words, r, WORDS, LIMBS);
    KRN_UNROLL
    for (int i = 0; i < LANES; i++)
        out[i] = rows[i]->out;
    lanes_scatter(out, words, WORDS);
}

/* Rows in the order of their lengths: of no term, of 1 .. MAX_TERMS, longer ones. */
struct order {
    const struct krn_row *rows[CHUNK + LANES];
    uint32_t end[MAX_TERMS + 2];        /* where the rows of each length end */
};

static void order_rows(struct order *o, const struct krn_row *rows, size_t n)
{
    uint32_t start = 0;

    memset(o->end, 0, sizeof o->end);
    for (size_t i = 0; i < n; i++)
        o->end[rows[i].n <= MAX_TERMS ? rows[i].n : MAX_TERMS + 1]++;
    for (uint32_t k = 0; k <= MAX_TERMS + 1; k++) {
        start += o->end[k];
        o->end[k] = start - o->end[k];      /* for now where they begin */
    }
    for (size_t i = 0; i < n; i++)
        o->rows[o->end[rows[i].n <= MAX_TERMS ? rows[i].n : MAX_TERMS + 1]++] = &rows[i];
}

KRN_FN void chunk_rows(const struct krn_dot *d, const struct lanes_prime *p, struct order *o, const size_t n)
{
    uint8_t nowhere[KRN_FR_BYTES];
    const struct krn_row nothing = {.terms = no_term, .out = nowhere};
    const size_t end = o->end[MAX_TERMS];

    for (size_t i = 0; i < o->end[0]; i++)
        memset(o->rows[i]->out, 0, KRN_FR_BYTES);
    for (size_t i = end; i < n; i++)
        krn_dot_rows_portable(d, o->rows[i], 1);
    for (size_t i = o->end[0]; i < end; i += LANES) {
        const uint32_t longest = o->rows[i + LANES < end ? i + LANES - 1 : end - 1]->n;
        for (size_t k = end; k < i + LANES; k++)
            o->rows[k] = &nothing;      /* over the longer rows, which are done */
        eight_rows(d, p, o->rows + i, longest);
    }
}

KRN_FN void all_rows(const struct krn_dot *d, const struct lanes_prime *p, const struct krn_row *rows, size_t n_rows)
{
    struct order o;

    for (size_t from = 0; from < n_rows; from += CHUNK) {
        const size_t n = n_rows - from < CHUNK ? n_rows - from : CHUNK;
        order_rows(&o, rows + from, n);
        chunk_rows(d, p, &o, n);
    }
}

static void bn254_rows(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows)
{
    const bn254_fr words = bn254_fr_modulus();
    const struct lanes_prime p = lanes_prime_of(words.l, WORDS, bn254_fr_np0(), LIMBS);
    all_rows(d, &p, rows, n_rows);
}

static void bls381_rows(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows)
{
    const bls381_fr words = bls381_fr_modulus();
    const struct lanes_prime p = lanes_prime_of(words.l, WORDS, bls381_fr_np0(), LIMBS);
    all_rows(d, &p, rows, n_rows);
}

void krn_dot_rows_ifma(const struct krn_dot *d, const struct krn_row *rows, size_t n_rows)
{
    if (d->curve == KRN_BN254)
        bn254_rows(d, rows, n_rows);
    else
        bls381_rows(d, rows, n_rows);
}

#endif
