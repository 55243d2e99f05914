#include "formats/zkey.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "formats/container.h"
#include "formats/decimal.h"
#include "kernels/parallel.h"

enum { VERSION = 1, GROTH16 = 1, PLONK = 2, FFLONK = 10 };

enum section_id {
    PROTOCOL = 1, HEADER = 2, IC = 3, COEFS = 4, POINTS_A = 5, POINTS_B1 = 6, POINTS_B2 = 7, POINTS_L = 8, POINTS_H = 9,
};

/* ---- header ---- */

/* Section 2: n8q u32 | q | n8r u32 | r | nVars, nPublic, domainSize u32 | alpha1 beta1 beta2 gamma2 delta1 delta2 */
static uint64_t header_bytes(uint64_t n8q)
{
    return 4 + n8q + 4 + KRN_FR_BYTES + 12 + 3 * 2 * n8q + 3 * 4 * n8q;
}

static uint32_t take_u32(const uint8_t **p)
{
    uint32_t v;
    memcpy(&v, *p, sizeof v);
    *p += sizeof v;
    return v;
}

static const uint8_t *take(const uint8_t **p, size_t n)
{
    const uint8_t *at = *p;
    *p += n;
    return at;
}

static int check_protocol(const struct fmt_zkey *z, const struct fmt_section *s, struct fmt_error *err)
{
    uint32_t protocol;

    if (s->size != 4)
        return fmt_fail(err, "%s: section 1 at byte %" PRIu64 " has %" PRIu64 " bytes, where a protocol number takes 4",
                        z->file.name, s->offset, s->size);
    memcpy(&protocol, z->file.bytes + s->offset, 4);
    if (protocol != GROTH16)
        return fmt_fail(err, "%s: section 1 names protocol %u%s, where only %d (Groth16) is supported",
                        z->file.name, protocol, protocol == PLONK ? " (PLONK)" : protocol == FFLONK ? " (fflonk)" : "",
                        GROTH16);
    return 0;
}

static int unknown_prime(const struct fmt_zkey *z, const char *which, const uint8_t *prime, size_t n,
                         struct fmt_error *err)
{
    char text[FMT_DECIMAL_MAX];
    fmt_decimal_write(text, prime, n);
    return fmt_fail(err, "%s: section 2 names the %s prime %s, which is neither BN254's nor BLS12-381's", z->file.name,
                    which, text);
}

/* Finds the curve; both primes must be its own, and the section of the size that it has for it. */
static int read_curve(struct fmt_zkey *z, const struct fmt_section *s, const uint8_t **p, struct fmt_error *err)
{
    if (s->size < header_bytes(0))
        return fmt_fail(err, "%s: section 2 at byte %" PRIu64 " has %" PRIu64 " bytes, too few for any header",
                        z->file.name, s->offset, s->size);
    uint32_t n8q = take_u32(p);
    if ((n8q != 32 && n8q != 48) || s->size != header_bytes(n8q))
        return fmt_fail(err, "%s: section 2 at byte %" PRIu64 " has %" PRIu64 " bytes and says %u bytes a "
                        "coordinate, where BN254 takes %" PRIu64 " and 32, BLS12-381 %" PRIu64 " and 48", z->file.name,
                        s->offset, s->size, n8q, header_bytes(32), header_bytes(48));
    const uint8_t *q = take(p, n8q);
    z->curve = krn_curve_by_q(q, n8q);
    if (!z->curve)
        return unknown_prime(z, "base-field", q, n8q, err);
    uint32_t n8r = take_u32(p);
    if (n8r != KRN_FR_BYTES)
        return fmt_fail(err, "%s: section 2 says %u bytes a scalar, where %s takes %d", z->file.name, n8r,
                        z->curve->name, KRN_FR_BYTES);
    const uint8_t *r = take(p, n8r);
    const struct krn_curve *by_r = krn_curve_by_r(r, n8r);
    if (!by_r)
        return unknown_prime(z, "scalar", r, n8r, err);
    if (by_r != z->curve)
        return fmt_fail(err, "%s: section 2 has the base-field prime of %s and the scalar prime of %s", z->file.name,
                        z->curve->name, by_r->name);
    return 0;
}

static int read_counts(struct fmt_zkey *z, const uint8_t **p, struct fmt_error *err)
{
    z->n_vars = take_u32(p);
    z->n_public = take_u32(p);
    z->domain_size = take_u32(p);
    if (z->n_public >= z->n_vars)
        return fmt_fail(err, "%s: section 2 says %u variables and %u publics, where there is one variable "
                        "more than publics at least", z->file.name, z->n_vars, z->n_public);
    if (z->domain_size == 0 || (z->domain_size & (z->domain_size - 1)) != 0 ||
        z->domain_size > 1u << KRN_MAX_LOG_DOMAIN)
        return fmt_fail(err, "%s: section 2 says a domain of %u, which is not a power of two up to 2^%d",
                        z->file.name, z->domain_size, KRN_MAX_LOG_DOMAIN);
    z->log_domain = (uint32_t)__builtin_ctz(z->domain_size);
    return 0;
}

static int read_header(struct fmt_zkey *z, const struct fmt_section *s, struct fmt_error *err)
{
    const uint8_t *p = z->file.bytes + s->offset;

    if (read_curve(z, s, &p, err) != 0 || read_counts(z, &p, err) != 0)
        return -1;
    const uint32_t g1 = 2 * z->curve->fq_bytes, g2 = 2 * g1;
    z->key = (struct krn_key){
        .curve = z->curve->id,
        .n_vars = z->n_vars,
        .n_public = z->n_public,
        .log_domain = z->log_domain,
    };
    z->key.alpha1 = take(&p, g1);
    z->key.beta1 = take(&p, g1);
    z->key.beta2 = take(&p, g2);
    z->gamma2 = take(&p, g2);
    z->key.delta1 = take(&p, g1);
    z->key.delta2 = take(&p, g2);
    return 0;
}

/* ---- the large sections ---- */

/* The section that holds exactly n items of `each` bytes after `before` bytes, or NULL with err. */
static const uint8_t *need_items(const struct fmt_zkey *z, const struct fmt_container *c, enum section_id id,
                                 uint64_t before, uint64_t n, uint64_t each, struct fmt_error *err)
{
    const struct fmt_section *s = fmt_container_need(c, &z->file, id, err);
    if (!s)
        return NULL;
    if (s->size != before + n * each) {
        fmt_fail(err, "%s: section %d at byte %" PRIu64 " has %" PRIu64 " bytes, where %" PRIu64 " entries take "
                 "%" PRIu64, z->file.name, id, s->offset, s->size, n, before + n * each);
        return NULL;
    }
    return z->file.bytes + s->offset;
}

static int read_points(struct fmt_zkey *z, const struct fmt_container *c, struct fmt_error *err)
{
    const uint64_t g1 = 2 * z->curve->fq_bytes, g2 = 2 * g1;
    struct krn_key *k = &z->key;

    return (z->ic = need_items(z, c, IC, 0, z->n_public + 1ull, g1, err)) &&
           (k->a = need_items(z, c, POINTS_A, 0, z->n_vars, g1, err)) &&
           (k->b1 = need_items(z, c, POINTS_B1, 0, z->n_vars, g1, err)) &&
           (k->b2 = need_items(z, c, POINTS_B2, 0, z->n_vars, g2, err)) &&
           (k->l = need_items(z, c, POINTS_L, 0, z->n_vars - z->n_public - 1, g1, err)) &&
           (k->h = need_items(z, c, POINTS_H, 0, z->domain_size, g1, err)) ? 0 : -1;
}

struct coef {
    uint32_t matrix, constraint, signal;
};

static struct coef coef_at(const struct fmt_zkey *z, size_t i)
{
    struct coef c;
    memcpy(&c, z->coefs + i * FMT_ZKEY_COEF_BYTES, sizeof c);
    return c;
}

/* The rows in use are known from the last entry: entries are sorted, and the last rows are those that bind the
 * publics, which no key lacks. */
static int read_rows(struct fmt_zkey *z, struct fmt_error *err)
{
    if (z->n_coefs <= z->n_public)
        return fmt_fail(err, "%s: section 4 has %u coefficients, where the rows that bind %u"
                        " publics alone take %" PRIu64, z->file.name, z->n_coefs, z->n_public,
                        z->n_public + (uint64_t)1);
    uint32_t last = coef_at(z, z->n_coefs - 1).constraint;
    if (last >= z->domain_size)
        return fmt_fail(err, "%s: section 4, coefficient %u: row %u, where the domain has %u",
                        z->file.name, z->n_coefs - 1, last, z->domain_size);
    z->n_rows = last + 1;
    if (z->n_rows <= z->n_public)
        return fmt_fail(err, "%s: section 4 ends at row %u, where the rows that bind %u publics alone "
                        "are %" PRIu64, z->file.name, last, z->n_public, z->n_public + (uint64_t)1);
    z->n_constraints = z->n_rows - z->n_public - 1;
    /* setups give a domain of 2 to a single row */
    if (z->domain_size > 2 && z->n_rows <= z->domain_size / 2)
        return fmt_fail(err, "%s: section 2 says a domain of %u, where %u rows fit in %u",
                        z->file.name, z->domain_size, z->n_rows, z->domain_size / 2);
    return 0;
}

static int read_coefs(struct fmt_zkey *z, const struct fmt_container *c, struct fmt_error *err)
{
    const struct fmt_section *s = fmt_container_need(c, &z->file, COEFS, err);
    if (!s)
        return -1;
    if (s->size < 4)
        return fmt_fail(err, "%s: section 4 at byte %" PRIu64 " has %" PRIu64 " bytes, where its count takes 4",
                        z->file.name, s->offset, s->size);
    memcpy(&z->n_coefs, z->file.bytes + s->offset, 4);
    const uint8_t *section = need_items(z, c, COEFS, 4, z->n_coefs, FMT_ZKEY_COEF_BYTES, err);
    if (!section)
        return -1;
    z->coefs = section + 4;
    return read_rows(z, err);
}

/* ---- digest ---- */

enum { DIGEST_BLOCK = 4096, DIGEST_BLOCKS = 64 };

/* Multiply and fold, eight bytes at a time: fast and well mixed, and no more than that. */
static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, p + i, n - i < 8 ? n - i : 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static uint64_t mix_section(uint64_t h, const uint8_t *bytes, uint64_t size)
{
    if (size <= DIGEST_BLOCK * DIGEST_BLOCKS)
        return mix(h, bytes, size);
    uint64_t last = size - DIGEST_BLOCK;    /* block 0 is the first of the section, the last one its end */
    for (uint64_t i = 0; i < DIGEST_BLOCKS; i++)
        h = mix(h, bytes + last / (DIGEST_BLOCKS - 1) * i + last % (DIGEST_BLOCKS - 1) * i / (DIGEST_BLOCKS - 1),
                DIGEST_BLOCK);
    return h;
}

/* In the order of the ids, so that a file whose sections were put into another order is the same key. */
static uint64_t digest(const struct fmt_zkey *z, const struct fmt_container *c)
{
    uint64_t h = 0x50696e776865656cu;
    for (uint32_t id = HEADER; id <= POINTS_H; id++) {
        const struct fmt_section *s = fmt_container_find(c, id);
        uint64_t head[2] = {id, s->size};
        h = mix_section(mix(h, head, sizeof head), z->file.bytes + s->offset, s->size);
    }
    return h;
}

/* ---- life ---- */

static int read_structure(struct fmt_zkey *z, struct fmt_error *err)
{
    struct fmt_container c;
    const struct fmt_section *protocol, *header;

    if (fmt_container_read(&c, &z->file, "zkey", VERSION, err) != 0 ||
        !(protocol = fmt_container_need(&c, &z->file, PROTOCOL, err)) || check_protocol(z, protocol, err) != 0 ||
        !(header = fmt_container_need(&c, &z->file, HEADER, err)) || read_header(z, header, err) != 0 ||
        read_points(z, &c, err) != 0 || read_coefs(z, &c, err) != 0)
        return -1;
    z->digest = digest(z, &c);
    return 0;
}

static int finish_open(struct fmt_zkey *z, struct fmt_error *err)
{
    if (read_structure(z, err) == 0)
        return 0;
    fmt_zkey_close(z);
    return -1;
}

int fmt_zkey_open(struct fmt_zkey *z, const char *path, struct fmt_error *err)
{
    *z = (struct fmt_zkey){0};
    if (fmt_file_map(&z->file, path, err) != 0)
        return -1;
    return finish_open(z, err);
}

int fmt_zkey_parse(struct fmt_zkey *z, const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    *z = (struct fmt_zkey){0};
    fmt_file_lend(&z->file, name, bytes, len);
    return finish_open(z, err);
}

void fmt_zkey_close(struct fmt_zkey *z)
{
    fmt_file_close(&z->file);
}

void fmt_zkey_vk(const struct fmt_zkey *z, struct krn_vk *vk, uint8_t *ic)
{
    *vk = (struct krn_vk){.curve = z->curve->id, .n_public = z->n_public, .ic = ic};
    krn_fq_to_plain(z->curve, vk->alpha1, z->key.alpha1, 2);
    krn_fq_to_plain(z->curve, vk->beta2, z->key.beta2, 4);
    krn_fq_to_plain(z->curve, vk->gamma2, z->gamma2, 4);
    krn_fq_to_plain(z->curve, vk->delta2, z->key.delta2, 4);
    krn_fq_to_plain(z->curve, ic, z->ic, 2 * (z->n_public + (size_t)1));
}

/* ---- checks that read whole sections ---- */

static int coef_is_good(const struct fmt_zkey *z, size_t i)
{
    struct coef c = coef_at(z, i);
    if (c.matrix > 1 || c.constraint >= z->n_rows || c.signal >= z->n_vars ||
        !fmt_below(z->coefs + i * FMT_ZKEY_COEF_BYTES + sizeof c, z->curve->r, KRN_FR_BYTES))
        return 0;
    if (i == 0)
        return 1;
    struct coef before = coef_at(z, i - 1);
    return before.constraint < c.constraint || (before.constraint == c.constraint && before.matrix <= c.matrix);
}

static int coef_refused(const struct fmt_zkey *z, size_t i, struct fmt_error *err)
{
    const char *name = z->file.name;
    struct coef c = coef_at(z, i);

    if (c.matrix > 1)
        return fmt_fail(err, "%s: section 4, coefficient %zu: matrix %u, where there are 0 (A) and 1 (B)", name, i,
                        c.matrix);
    if (c.constraint >= z->n_rows)
        return fmt_fail(err, "%s: section 4, coefficient %zu: row %u, where the last entry makes %u"
                        " of them", name, i, c.constraint, z->n_rows);
    if (c.signal >= z->n_vars)
        return fmt_fail(err, "%s: section 4, coefficient %zu: signal %u, where there are %u", name, i,
                        c.signal, z->n_vars);
    const uint8_t *value = z->coefs + i * FMT_ZKEY_COEF_BYTES + sizeof c;
    if (!fmt_below(value, z->curve->r, KRN_FR_BYTES)) {
        char is[FMT_DECIMAL_MAX], order[FMT_DECIMAL_MAX];
        fmt_decimal_write(is, value, KRN_FR_BYTES);
        fmt_decimal_write(order, z->curve->r, KRN_FR_BYTES);
        return fmt_fail(err, "%s: section 4, coefficient %zu: the stored value %s is not below the group order %s",
                        name, i, is, order);
    }
    struct coef before = coef_at(z, i - 1);
    return fmt_fail(err, "%s: section 4, coefficient %zu: row %u of %c after row %u of %c: not sorted",
                    name, i, c.constraint, "AB"[c.matrix], before.constraint, "AB"[before.matrix & 1]);
}

struct coef_scan {
    const struct fmt_zkey *z;
    _Atomic size_t first_bad;   /* the smallest found so far; n_coefs: none */
};

static void scan_coefs(void *arg, unsigned part, unsigned parts)
{
    struct coef_scan *scan = arg;
    size_t n = scan->z->n_coefs, end = krn_part(n, part + 1, parts);
    size_t i = krn_part(n, part, parts);

    while (i < end && coef_is_good(scan->z, i))
        i++;
    size_t known = atomic_load(&scan->first_bad);
    while (i < end && i < known && !atomic_compare_exchange_weak(&scan->first_bad, &known, i))
        ;
}

int fmt_zkey_check_coefficients(const struct fmt_zkey *z, unsigned threads, struct fmt_error *err)
{
    struct coef_scan scan = {.z = z, .first_bad = z->n_coefs};

    krn_parallel(threads, scan_coefs, &scan);
    return scan.first_bad == z->n_coefs ? 0 : coef_refused(z, scan.first_bad, err);
}

static int is_zero(const uint8_t *p, size_t n)
{
    while (n > 0 && p[n - 1] == 0)
        n--;
    return n == 0;
}

/* Points of one group that lie together: a section, or one of the header's. */
struct points {
    enum section_id section;
    const char *name;           /* of a header's point */
    int g2;
    const uint8_t *at;
    size_t n;
};

static int check_points(const struct fmt_zkey *z, const struct points *p, unsigned threads, struct fmt_error *err)
{
    const size_t each = (p->g2 ? 4 : 2) * z->curve->fq_bytes;
    size_t bad = p->g2 ? krn_g2_first_bad(z->curve, p->at, p->n, threads)
                       : krn_g1_first_bad(z->curve, p->at, p->n, threads);
    size_t byte = (size_t)(p->at - z->file.bytes) + bad * each;

    if (bad != p->n)
        return fmt_fail(err, "%s: section %d, %s %zu of %zu at byte %zu is not on %s's %s", z->file.name, p->section,
                        p->name, bad, p->n, byte, z->curve->name, p->g2 ? "G2" : "G1");
    if (p->section == HEADER && is_zero(p->at, each))
        return fmt_fail(err, "%s: section %d at byte %zu: %s is the point at infinity, with which no proof holds",
                        z->file.name, p->section, byte - each, p->name);
    return 0;
}

int fmt_zkey_check_points(const struct fmt_zkey *z, unsigned threads, struct fmt_error *err)
{
    const struct krn_key *k = &z->key;
    const struct points all[] = {
        {HEADER, "alpha1", 0, k->alpha1, 1},
        {HEADER, "beta1", 0, k->beta1, 1},
        {HEADER, "beta2", 1, k->beta2, 1},
        {HEADER, "gamma2", 1, z->gamma2, 1},
        {HEADER, "delta1", 0, k->delta1, 1},
        {HEADER, "delta2", 1, k->delta2, 1},
        {IC, "point", 0, z->ic, z->n_public + (size_t)1},
        {POINTS_A, "point", 0, k->a, z->n_vars},
        {POINTS_B1, "point", 0, k->b1, z->n_vars},
        {POINTS_B2, "point", 1, k->b2, z->n_vars},
        {POINTS_L, "point", 0, k->l, z->n_vars - z->n_public - 1},
        {POINTS_H, "point", 0, k->h, z->domain_size},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (check_points(z, &all[i], threads, err) != 0)
            return -1;
    }
    return 0;
}
