#include "formats/snarkjs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/decimal.h"
#include "formats/file.h"

/* ---- reading ---- */

enum { MAX_PLACE = 96 };

/* What is being read, for messages; `place` is a path such as "pi_b[0][1]". */
struct reader {
    const char *name;
    const struct krn_curve *curve;
    struct fmt_error *err;
    char place[MAX_PLACE];
};

static int wrong_kind(const struct reader *r, const char *wanted, const struct fmt_json *got)
{
    return fmt_fail(r->err, "%s: %s is %s, where %s is wanted", r->name, r->place, fmt_json_kind(got), wanted);
}

/* Goes to an element of the array at r->place; returns what step_out needs to come back. */
static size_t step_into(struct reader *r, size_t i)
{
    size_t back = strlen(r->place);
    snprintf(r->place + back, sizeof r->place - back, "[%zu]", i);
    return back;
}

static void step_out(struct reader *r, size_t back)
{
    r->place[back] = '\0';
}

static const struct fmt_json *field(struct reader *r, const struct fmt_json *object, const char *key)
{
    snprintf(r->place, sizeof r->place, "%s", key);
    return fmt_json_field(object, key);
}

static int need_array(const struct reader *r, const struct fmt_json *j, size_t n)
{
    if (!fmt_json_is_array(j))
        return wrong_kind(r, "an array", j);
    if (fmt_json_length(j) != n)
        return fmt_fail(r->err, "%s: %s has %zu elements, where %zu are wanted", r->name, r->place,
                        fmt_json_length(j), n);
    return 0;
}

static int need_object(struct reader *r, const struct fmt_json *j)
{
    snprintf(r->place, sizeof r->place, "the value");
    return fmt_json_is_object(j) ? 0 : wrong_kind(r, "an object", j);
}

/* A decimal string below `bound`, into n bytes. */
static int read_number(const struct reader *r, const struct fmt_json *j, uint8_t *value, const uint8_t *bound, size_t n,
                       const char *bound_name)
{
    const char *text = fmt_json_as_string(j);
    if (!text)
        return wrong_kind(r, "a string of decimal digits", j);
    int rc = fmt_decimal_read(value, n, text, strlen(text));
    if (rc == -EINVAL)
        return fmt_fail(r->err, "%s: %s is \"%.40s\", where a decimal number without leading zeros is wanted", r->name,
                        r->place, text);
    if (rc != 0 || !fmt_below(value, bound, n)) {
        char limit[FMT_DECIMAL_MAX];
        fmt_decimal_write(limit, bound, n);
        return fmt_fail(r->err, "%s: %s is %.*s, not below %s's %s %s", r->name, r->place, FMT_DECIMAL_MAX, text,
                        r->curve->name, bound_name, limit);
    }
    return 0;
}

static int read_scalar(const struct reader *r, const struct fmt_json *j, uint8_t *value)
{
    return read_number(r, j, value, r->curve->r, KRN_FR_BYTES, "group order");
}

static int read_coordinate(const struct reader *r, const struct fmt_json *j, uint8_t *value)
{
    return read_number(r, j, value, r->curve->q, r->curve->fq_bytes, "base-field prime");
}

/* An element of Fq (degree 1: a string) or Fq2 (degree 2: an array of two). */
static int read_element(struct reader *r, const struct fmt_json *j, size_t degree, uint8_t *value)
{
    if (degree == 1)
        return read_coordinate(r, j, value);
    if (need_array(r, j, degree) != 0)
        return -1;
    for (size_t i = 0; i < degree; i++) {
        size_t back = step_into(r, i);
        if (read_coordinate(r, fmt_json_at(j, i), value + i * r->curve->fq_bytes) != 0)
            return -1;
        step_out(r, back);
    }
    return 0;
}

/* Whether the n-byte integer is the small number. */
static int is_small(const uint8_t *v, size_t n, uint8_t small)
{
    uint8_t differs = v[0] ^ small;
    for (size_t i = 1; i < n; i++)
        differs |= v[i];
    return differs == 0;
}

/* A point of G1 (degree 1) or G2 (degree 2): [x, y, 1], or [0, 1, 0] for infinity, which becomes zeros. */
static int read_point(struct reader *r, const struct fmt_json *j, size_t degree, uint8_t *point)
{
    const size_t element = degree * r->curve->fq_bytes;
    uint8_t xyz[3][2 * KRN_FQ_MAX];

    if (need_array(r, j, 3) != 0)
        return -1;
    for (size_t i = 0; i < 3; i++) {
        size_t back = step_into(r, i);
        if (read_element(r, fmt_json_at(j, i), degree, xyz[i]) != 0)
            return -1;
        step_out(r, back);
    }
    if (is_small(xyz[2], element, 1)) {
        memcpy(point, xyz[0], element);
        memcpy(point + element, xyz[1], element);
        return 0;
    }
    if (is_small(xyz[0], element, 0) && is_small(xyz[1], element, 1) && is_small(xyz[2], element, 0)) {
        memset(point, 0, 2 * element);
        return 0;
    }
    return fmt_fail(r->err, "%s: %s has a third coordinate other than 1 and is not infinity (0, 1, 0)", r->name,
                    r->place);
}

static int read_point_field(struct reader *r, const struct fmt_json *object, const char *key, size_t degree,
                            uint8_t *point)
{
    return read_point(r, field(r, object, key), degree, point);
}

static int need_protocol(struct reader *r, const struct fmt_json *object)
{
    const struct fmt_json *j = field(r, object, "protocol");
    const char *text = fmt_json_as_string(j);
    if (!text)
        return wrong_kind(r, "\"groth16\"", j);
    if (strcmp(text, "groth16") != 0)
        return fmt_fail(r->err, "%s: protocol is \"%.40s\", where only \"groth16\" is supported", r->name, text);
    return 0;
}

/* The curve that the object names; NULL with err. */
static const struct krn_curve *named_curve(struct reader *r, const struct fmt_json *object)
{
    const struct fmt_json *j = field(r, object, "curve");
    const char *text = fmt_json_as_string(j);

    for (int id = 0; text && id < KRN_CURVES; id++) {
        const struct krn_curve *c = krn_curve((enum krn_curve_id)id);
        if (strcmp(text, c->snarkjs_name) == 0)
            return c;
    }
    if (text)
        fmt_fail(r->err, "%s: curve is \"%.40s\", where \"bn128\" and \"bls12381\" are known", r->name, text);
    else
        wrong_kind(r, "\"bn128\" or \"bls12381\"", j);
    return NULL;
}

/* ---- from values ---- */

int fmt_json_to_proof(const struct fmt_json *j, const char *name, const struct krn_curve *curve,
                      struct krn_proof *proof, struct fmt_error *err)
{
    struct reader r = {.name = name, .curve = curve, .err = err};

    if (need_object(&r, j) != 0 || need_protocol(&r, j) != 0)
        return -1;
    const struct krn_curve *its = named_curve(&r, j);
    if (!its)
        return -1;
    if (its != curve)
        return fmt_fail(err, "%s: a proof over \"%s\", where one over \"%s\" is wanted", name, its->snarkjs_name,
                        curve->snarkjs_name);
    *proof = (struct krn_proof){0};
    return read_point_field(&r, j, "pi_a", 1, proof->a) == 0 && read_point_field(&r, j, "pi_b", 2, proof->b) == 0 &&
           read_point_field(&r, j, "pi_c", 1, proof->c) == 0 ? 0 : -1;
}

static int read_publics(struct reader *r, const struct fmt_json *j, uint8_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        snprintf(r->place, sizeof r->place, "public %zu of %zu", i, n);
        if (read_scalar(r, fmt_json_at(j, i), values + i * KRN_FR_BYTES) != 0)
            return -1;
    }
    return 0;
}

int fmt_json_to_public(const struct fmt_json *j, const char *name, const struct krn_curve *curve, uint8_t **values,
                       size_t *n, struct fmt_error *err)
{
    struct reader r = {.name = name, .curve = curve, .err = err, .place = "the list of publics"};
    const size_t count = fmt_json_length(j);

    if (!fmt_json_is_array(j))
        return wrong_kind(&r, "an array", j);
    if (count > FMT_SNARKJS_MAX_PUBLIC)
        return fmt_fail(err, "%s: %zu publics, where at most %d are taken", name, count, FMT_SNARKJS_MAX_PUBLIC);
    uint8_t *v = malloc((count + 1) * KRN_FR_BYTES);
    if (!v)
        return fmt_fail(err, "%s: out of memory", name);
    if (read_publics(&r, j, v, count) != 0) {
        free(v);
        return -1;
    }
    *values = v;
    *n = count;
    return 0;
}

static int read_n_public(const struct reader *r, const struct fmt_json *object, uint32_t *n)
{
    int64_t value;
    struct fmt_error why;
    int rc = fmt_json_get_int(object, "nPublic", 0, FMT_SNARKJS_MAX_PUBLIC, &value, &why);

    if (rc == 0)
        return fmt_fail(r->err, "%s: nPublic is nothing, where a whole number is wanted", r->name);
    if (rc < 0)
        return fmt_fail(r->err, "%s: %.400s", r->name, why.text);
    *n = (uint32_t)value;
    return 0;
}

static int read_ic(struct reader *r, const struct fmt_json *object, struct fmt_vk *vk)
{
    const struct fmt_json *ic = field(r, object, "IC");
    const size_t n = (size_t)vk->vk.n_public + 1, each = 2 * r->curve->fq_bytes;

    if (need_array(r, ic, n) != 0)
        return -1;
    vk->ic = malloc(n * each);
    if (!vk->ic)
        return fmt_fail(r->err, "%s: out of memory", r->name);
    vk->vk.ic = vk->ic;
    for (size_t i = 0; i < n; i++) {
        size_t back = step_into(r, i);
        if (read_point(r, fmt_json_at(ic, i), 1, vk->ic + i * each) != 0)
            return -1;
        step_out(r, back);
    }
    return 0;
}

static int read_vk(const struct fmt_json *j, const char *name, struct fmt_vk *vk, struct fmt_error *err)
{
    struct reader r = {.name = name, .err = err};
    struct krn_vk *k = &vk->vk;

    if (need_object(&r, j) != 0 || need_protocol(&r, j) != 0 || !(r.curve = named_curve(&r, j)) ||
        read_n_public(&r, j, &k->n_public) != 0)
        return -1;
    k->curve = r.curve->id;
    return read_point_field(&r, j, "vk_alpha_1", 1, k->alpha1) == 0 &&
           read_point_field(&r, j, "vk_beta_2", 2, k->beta2) == 0 &&
           read_point_field(&r, j, "vk_gamma_2", 2, k->gamma2) == 0 &&
           read_point_field(&r, j, "vk_delta_2", 2, k->delta2) == 0 && read_ic(&r, j, vk) == 0 ? 0 : -1;
}

/* ---- from text ---- */

int fmt_proof_parse(const char *name, const char *text, size_t len, const struct krn_curve *curve,
                    struct krn_proof *proof, struct fmt_error *err)
{
    struct fmt_json *j = fmt_json_parse(name, text, len, err);
    int rc = j ? fmt_json_to_proof(j, name, curve, proof, err) : -1;
    fmt_json_free(j);
    return rc;
}

int fmt_public_parse(const char *name, const char *text, size_t len, const struct krn_curve *curve, uint8_t **values,
                     size_t *n, struct fmt_error *err)
{
    struct fmt_json *j = fmt_json_parse(name, text, len, err);
    int rc = j ? fmt_json_to_public(j, name, curve, values, n, err) : -1;
    fmt_json_free(j);
    return rc;
}

int fmt_vk_parse(const char *name, const char *text, size_t len, struct fmt_vk *vk, struct fmt_error *err)
{
    *vk = (struct fmt_vk){.ic = NULL};
    struct fmt_json *j = fmt_json_parse(name, text, len, err);
    int rc = j ? read_vk(j, name, vk, err) : -1;
    fmt_json_free(j);
    if (rc != 0)
        fmt_vk_free(vk);
    return rc;
}

void fmt_vk_free(struct fmt_vk *vk)
{
    free(vk->ic);
    vk->ic = NULL;
    vk->vk.ic = NULL;
}

/* ---- from files ---- */

/* The file's text, malloc'd; NULL with err. */
static char *slurp(const char *path, size_t *len, struct fmt_error *err)
{
    char *text;
    return fmt_file_read_whole(path, FMT_SNARKJS_MAX_FILE, &text, len, err) == 0 ? text : NULL;
}

int fmt_vk_read(const char *path, struct fmt_vk *vk, struct fmt_error *err)
{
    size_t len;
    char *text = slurp(path, &len, err);
    int rc = text ? fmt_vk_parse(path, text, len, vk, err) : -1;
    free(text);
    return rc;
}

int fmt_proof_read(const char *path, const struct krn_curve *curve, struct krn_proof *proof, struct fmt_error *err)
{
    size_t len;
    char *text = slurp(path, &len, err);
    int rc = text ? fmt_proof_parse(path, text, len, curve, proof, err) : -1;
    free(text);
    return rc;
}

int fmt_public_read(const char *path, const struct krn_curve *curve, uint8_t **values, size_t *n,
                    struct fmt_error *err)
{
    size_t len;
    char *text = slurp(path, &len, err);
    int rc = text ? fmt_public_parse(path, text, len, curve, values, n, err) : -1;
    free(text);
    return rc;
}

/* ---- to values ---- */

/* The value, or NULL with the value freed where building it failed. */
static struct fmt_json *built(struct fmt_json *j, int rc)
{
    if (rc == 0)
        return j;
    fmt_json_free(j);
    return NULL;
}

/* Adds an element of Fq or Fq2 to an array. */
static int append_element(struct fmt_json *array, const struct krn_curve *curve, const uint8_t *value, size_t degree)
{
    char text[FMT_DECIMAL_MAX];

    if (degree == 1) {
        fmt_decimal_write(text, value, curve->fq_bytes);
        return fmt_json_append(array, fmt_json_string(text));
    }
    struct fmt_json *pair = fmt_json_array();
    int rc = append_element(pair, curve, value, 1) | append_element(pair, curve, value + curve->fq_bytes, 1);
    return rc | fmt_json_append(array, pair);
}

/* [x, y, 1], or [0, 1, 0] for infinity; NULL where memory is short. */
static struct fmt_json *point_value(const struct krn_curve *curve, const uint8_t *point, size_t degree)
{
    static const uint8_t zero[2 * KRN_FQ_MAX], one[2 * KRN_FQ_MAX] = {1};
    const size_t element = degree * curve->fq_bytes;
    const int infinity = is_small(point, 2 * element, 0);
    struct fmt_json *xyz = fmt_json_array();

    int rc = append_element(xyz, curve, point, degree) |
             append_element(xyz, curve, infinity ? one : point + element, degree) |
             append_element(xyz, curve, infinity ? zero : one, degree);
    return built(xyz, rc);
}

static int set_point(struct fmt_json *object, const char *key, const struct krn_curve *curve, const uint8_t *point,
                     size_t degree)
{
    return fmt_json_set(object, key, point_value(curve, point, degree));
}

struct fmt_json *fmt_json_from_proof(const struct krn_curve *curve, const struct krn_proof *proof)
{
    struct fmt_json *j = fmt_json_object();
    return built(j, set_point(j, "pi_a", curve, proof->a, 1) | set_point(j, "pi_b", curve, proof->b, 2) |
                        set_point(j, "pi_c", curve, proof->c, 1) | fmt_json_set_string(j, "protocol", "groth16") |
                        fmt_json_set_string(j, "curve", curve->snarkjs_name));
}

struct fmt_json *fmt_json_from_public(const uint8_t *values, size_t n)
{
    struct fmt_json *j = fmt_json_array();
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        char text[FMT_DECIMAL_MAX];
        fmt_decimal_write(text, values + i * KRN_FR_BYTES, KRN_FR_BYTES);
        rc = fmt_json_append(j, fmt_json_string(text));
    }
    return built(j, rc);
}

/* Twelve coefficients, nested 2 x 3 x 2. */
static struct fmt_json *gt_value(const struct krn_curve *curve, const uint8_t *coefficients)
{
    struct fmt_json *value = fmt_json_array();
    int rc = 0;

    for (int i = 0; i < 2; i++) {
        struct fmt_json *half = fmt_json_array();
        for (int j = 0; j < 3 && rc == 0; j++, coefficients += 2 * curve->fq_bytes)
            rc = append_element(half, curve, coefficients, 2);
        rc |= fmt_json_append(value, half);
    }
    return built(value, rc);
}

static struct fmt_json *from_vk(const struct krn_vk *vk)
{
    const struct krn_curve *curve = krn_curve(vk->curve);
    struct fmt_json *j = fmt_json_object(), *ic = fmt_json_array();
    uint8_t alphabeta[KRN_GT_COEFFICIENTS * KRN_FQ_MAX];

    krn_alphabeta(vk, alphabeta);
    int rc = fmt_json_set_string(j, "protocol", "groth16") | fmt_json_set_string(j, "curve", curve->snarkjs_name) |
             fmt_json_set_int(j, "nPublic", vk->n_public) | set_point(j, "vk_alpha_1", curve, vk->alpha1, 1) |
             set_point(j, "vk_beta_2", curve, vk->beta2, 2) | set_point(j, "vk_gamma_2", curve, vk->gamma2, 2) |
             set_point(j, "vk_delta_2", curve, vk->delta2, 2) |
             fmt_json_set(j, "vk_alphabeta_12", gt_value(curve, alphabeta));

    for (uint32_t i = 0; i <= vk->n_public && rc == 0; i++)
        rc = fmt_json_append(ic, point_value(curve, vk->ic + (size_t)i * 2 * curve->fq_bytes, 1));
    return built(j, rc | fmt_json_set(j, "IC", ic));
}

/* ---- to text and files ---- */

/* Frees j. */
static char *dump_and_free(struct fmt_json *j, size_t *len)
{
    char *text = j ? fmt_json_dump_indented(j, len) : NULL;
    fmt_json_free(j);
    return text;
}

char *fmt_proof_text(const struct krn_curve *curve, const struct krn_proof *proof, size_t *len)
{
    return dump_and_free(fmt_json_from_proof(curve, proof), len);
}

char *fmt_public_text(const uint8_t *values, size_t n, size_t *len)
{
    if (n == 0) {       /* snarkjs's writer breaks the line in an empty array too */
        *len = 3;
        return strdup("[\n]");
    }
    return dump_and_free(fmt_json_from_public(values, n), len);
}

/* Frees text. */
static int write_text(const char *path, char *text, size_t len, struct fmt_error *err)
{
    int rc = text ? fmt_file_write_whole(path, text, len, err) : fmt_fail(err, "%s: out of memory", path);
    free(text);
    return rc;
}

int fmt_proof_write(const char *path, const struct krn_curve *curve, const struct krn_proof *proof,
                    struct fmt_error *err)
{
    size_t len = 0;
    char *text = fmt_proof_text(curve, proof, &len);
    return write_text(path, text, len, err);
}

int fmt_public_write(const char *path, const uint8_t *values, size_t n, struct fmt_error *err)
{
    size_t len = 0;
    char *text = fmt_public_text(values, n, &len);
    return write_text(path, text, len, err);
}

int fmt_vk_write(const char *path, const struct krn_vk *vk, struct fmt_error *err)
{
    size_t len = 0;
    char *text = dump_and_free(from_vk(vk), &len);
    return write_text(path, text, len, err);
}
