#include "formats/wtns.h"

#include <inttypes.h>
#include <string.h>

#include "formats/container.h"
#include "formats/decimal.h"

enum {
    VERSION = 2,
    SECTION_HEADER = 1,
    SECTION_VALUES = 2,
    HEADER_BYTES = 4 + KRN_FR_BYTES + 4,
    READ_AT_ONCE = 1 << 20,     /* checked while it still lies in the cache */
};

static int read_header(struct fmt_wtns *w, const struct fmt_section *s, struct fmt_error *err)
{
    uint8_t head[HEADER_BYTES];
    uint32_t n8;

    if (s->size != HEADER_BYTES)
        return fmt_fail(err, "%s: section 1 at byte %" PRIu64 " has %" PRIu64 " bytes, where a 32-byte field takes %d",
                        w->file.name, s->offset, s->size, HEADER_BYTES);
    if (fmt_file_read(&w->file, s->offset, head, HEADER_BYTES, err) != 0)
        return -1;
    memcpy(&n8, head, 4);
    if (n8 != KRN_FR_BYTES)
        return fmt_fail(err, "%s: section 1 says %u bytes a value, where the known fields take %d", w->file.name,
                        n8, KRN_FR_BYTES);
    w->curve = krn_curve_by_r(head + 4, KRN_FR_BYTES);
    if (!w->curve) {
        char prime[FMT_DECIMAL_MAX];
        fmt_decimal_write(prime, head + 4, KRN_FR_BYTES);
        return fmt_fail(err, "%s: section 1 names the prime %s, which is no known curve's group order", w->file.name,
                        prime);
    }
    memcpy(&w->n_witness, head + 4 + KRN_FR_BYTES, 4);
    if (w->n_witness == 0)
        return fmt_fail(err, "%s: section 1 says 0 values, where entry 0 is always there", w->file.name);
    return 0;
}

static int read_structure(struct fmt_wtns *w, struct fmt_error *err)
{
    struct fmt_container c;
    const struct fmt_section *head, *values;

    if (fmt_container_read(&c, &w->file, "wtns", VERSION, err) != 0 ||
        !(head = fmt_container_need(&c, &w->file, SECTION_HEADER, err)) ||
        !(values = fmt_container_need(&c, &w->file, SECTION_VALUES, err)) || read_header(w, head, err) != 0)
        return -1;
    uint64_t bytes = (uint64_t)w->n_witness * KRN_FR_BYTES;
    if (values->size != bytes)
        return fmt_fail(err, "%s: section 2 at byte %" PRIu64 " has %" PRIu64 " bytes, where the header's %u"
                        " values take %" PRIu64, w->file.name, values->offset, values->size, w->n_witness, bytes);
    w->values = values->offset;
    return 0;
}

static int finish_open(struct fmt_wtns *w, struct fmt_error *err)
{
    if (read_structure(w, err) == 0)
        return 0;
    fmt_wtns_close(w);
    return -1;
}

int fmt_wtns_open(struct fmt_wtns *w, const char *path, struct fmt_error *err)
{
    *w = (struct fmt_wtns){0};
    if (fmt_file_open(&w->file, path, err) != 0)
        return -1;
    return finish_open(w, err);
}

int fmt_wtns_parse(struct fmt_wtns *w, const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    *w = (struct fmt_wtns){0};
    fmt_file_lend(&w->file, name, bytes, len);
    return finish_open(w, err);
}

int fmt_wtns_expect(const struct fmt_wtns *w, const struct krn_curve *curve, uint32_t n_vars, struct fmt_error *err)
{
    if (w->curve != curve)
        return fmt_fail(err, "%s: a witness over %s, where the circuit is over %s", w->file.name, w->curve->name,
                        curve->name);
    if (w->n_witness != n_vars)
        return fmt_fail(err, "%s: %u values, where the circuit has %u: a witness of another circuit or "
                        "optimisation level", w->file.name, w->n_witness, n_vars);
    return 0;
}

static int above(const struct fmt_wtns *w, size_t index, const uint8_t *value, struct fmt_error *err)
{
    char is[FMT_DECIMAL_MAX], order[FMT_DECIMAL_MAX];
    fmt_decimal_write(is, value, KRN_FR_BYTES);
    fmt_decimal_write(order, w->curve->r, KRN_FR_BYTES);
    return fmt_fail(err, "%s: value %zu is %s, not below the group order %s", w->file.name, index, is, order);
}

int fmt_wtns_values(const struct fmt_wtns *w, void *dst, struct fmt_error *err)
{
    static const uint8_t one[KRN_FR_BYTES] = {1};
    const size_t step = READ_AT_ONCE / KRN_FR_BYTES;
    uint8_t *values = dst;

    for (size_t i = 0; i < w->n_witness; i += step) {
        size_t n = w->n_witness - i < step ? w->n_witness - i : step;
        uint8_t *part = values + i * KRN_FR_BYTES;
        if (fmt_file_read(&w->file, w->values + i * KRN_FR_BYTES, part, n * KRN_FR_BYTES, err) != 0)
            return -1;
        size_t bad = krn_fr_first_above(w->curve, part, n);
        if (bad != n)
            return above(w, i + bad, part + bad * KRN_FR_BYTES, err);
    }
    if (memcmp(values, one, KRN_FR_BYTES) != 0) {
        char is[FMT_DECIMAL_MAX];
        fmt_decimal_write(is, values, KRN_FR_BYTES);
        return fmt_fail(err, "%s: value 0 is %s, where it must be 1", w->file.name, is);
    }
    return 0;
}

void fmt_wtns_close(struct fmt_wtns *w)
{
    fmt_file_close(&w->file);
}

int fmt_wtns_read(const char *path, const struct krn_curve *curve, uint32_t n_vars, void *dst, struct fmt_error *err)
{
    struct fmt_wtns w;

    if (fmt_wtns_open(&w, path, err) != 0)
        return -1;
    int rc = fmt_wtns_expect(&w, curve, n_vars, err);
    if (rc == 0)
        rc = fmt_wtns_values(&w, dst, err);
    fmt_wtns_close(&w);
    return rc;
}
