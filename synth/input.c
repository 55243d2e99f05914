#include "synth/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/file.h"
#include "formats/jsontext.h"
#include "synth/number.h"

enum { UNKNOWN = UINT32_MAX };

struct reader {
    struct fmt_jsontext json;
    struct synth_input *in;
    const struct krn_curve *curve;
    bool reduce;
    char path[SYNTH_INPUT_MAX_NAME];        /* qualified name of what is being read */
    size_t path_len;
    /* of the signal being read: */
    uint32_t index[FMT_JSONTEXT_DEPTH];     /* of the item at each depth of its arrays */
    uint32_t dims[FMT_JSONTEXT_DEPTH];      /* items of every array at that depth, or UNKNOWN */
    unsigned leaf_depth;                    /* at which the values stand, or UNKNOWN */
    struct fmt_error *err;
};

uint64_t synth_input_hash(const char *name, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Makes room for one more item of `size` bytes in *array. */
static int grow(void **array, uint32_t *room, uint32_t used, uint32_t more, size_t size)
{
    if (more <= *room - used)
        return 0;
    uint64_t want = *room ? (uint64_t)*room * 2 : 64;
    while (want < (uint64_t)used + more)
        want *= 2;
    void *p = want <= UINT32_MAX ? realloc(*array, want * size) : NULL;
    if (!p)
        return -1;
    *array = p;
    *room = (uint32_t)want;
    return 0;
}

static int fail_memory(struct reader *r)
{
    return fmt_fail(r->err, "%s: out of memory after %u values", r->json.name, r->in->n_values);
}

/* One line about the place that is being read: the signal, and the index of the item at each depth below `depths`. */
static int fail_here(struct reader *r, unsigned depths, const char *what)
{
    char where[SYNTH_INPUT_MAX_NAME + 128];
    size_t n = (size_t)snprintf(where, sizeof where, "%.*s", (int)r->path_len, r->path);
    for (unsigned d = 0; d < depths && n + 16 < sizeof where; d++)
        n += (size_t)snprintf(where + n, sizeof where - n, "[%u]", r->index[d]);
    return fmt_fail(r->err, "%s: signal '%s': %s", r->json.name, where, what);
}

static int push_path(struct reader *r, const char *text, size_t len)
{
    if (r->path_len + len >= sizeof r->path)
        return fmt_fail(r->err, "%s: a signal's name is longer than %zu bytes", r->json.name, sizeof r->path - 1);
    memcpy(r->path + r->path_len, text, len);
    r->path_len += len;
    return 0;
}

/* Starts a signal under the present path. */
static int begin_signal(struct reader *r)
{
    struct synth_input *in = r->in;
    uint32_t bytes = (uint32_t)r->path_len + 1;

    if (grow((void **)&in->signals, &in->room_signals, in->n_signals, 1, sizeof *in->signals) != 0 ||
        grow((void **)&in->names, &in->room_names, in->names_bytes, bytes, 1) != 0)
        return fail_memory(r);
    in->signals[in->n_signals++] = (struct synth_input_signal){
        .hash = synth_input_hash(r->path, r->path_len), .name = in->names_bytes, .first = in->n_values};
    memcpy(in->names + in->names_bytes, r->path, r->path_len);
    in->names[in->names_bytes + r->path_len] = '\0';
    in->names_bytes += bytes;
    r->leaf_depth = UNKNOWN;
    for (unsigned d = 0; d < FMT_JSONTEXT_DEPTH; d++)
        r->dims[d] = UNKNOWN;
    return 0;
}

static int fail_value(struct reader *r, unsigned depth, const struct fmt_jsontext_token *t, int rc, size_t bad)
{
    char what[128];
    if (rc == -ERANGE)
        snprintf(what, sizeof what, "the value is not below the field's prime (--reduce takes it modulo the prime)");
    else if (t->kind == FMT_JT_NUMBER)
        snprintf(what, sizeof what, "the number is not written as an integer of at most %d digits",
                 SYNTH_NUMBER_DIGITS);
    else if (bad == t->len)
        snprintf(what, sizeof what, "a string of %zu characters that is no number", t->len);
    else
        snprintf(what, sizeof what, "a string that is no number: character %zu of %zu is no digit", bad + 1, t->len);
    return fail_here(r, depth, what);
}

/* A value inside `depth` arrays. */
static int read_scalar(struct reader *r, unsigned depth, const struct fmt_jsontext_token *t)
{
    struct synth_input *in = r->in;
    size_t bad;

    if (t->kind != FMT_JT_NUMBER && t->kind != FMT_JT_STRING) {
        char what[64];
        snprintf(what, sizeof what, "%s where a number is due", fmt_jsontext_kind_name(t->kind));
        return fail_here(r, depth, what);
    }
    if (in->n_values == in->room_values)
        return fmt_fail(r->err, "%s: more than %d values", r->json.name, SYNTH_INPUT_MAX_VALUES);
    uint8_t *value = in->values + (size_t)in->n_values * KRN_FR_BYTES;
    int rc = synth_number_read(value, t->text, t->len, r->curve->r, r->reduce, &bad);
    if (rc != 0)
        return fail_value(r, depth, t, rc, bad);
    in->n_values++;
    in->signals[in->n_signals - 1].n++;
    return 0;
}

static int next(struct reader *r, struct fmt_jsontext_token *t)
{
    return fmt_jsontext_next(&r->json, t, r->err);
}

/* The items of an array of values or of arrays of values, whose '[' has been read; depth: arrays around the items. */
static int read_items(struct reader *r, unsigned depth)
{
    struct fmt_jsontext_token t;
    uint32_t count = 0;
    char what[96];

    for (;; count++) {
        if (next(r, &t) != 0)
            return -1;
        if (t.kind == FMT_JT_ARRAY_END)
            break;
        r->index[depth - 1] = count;
        bool value = t.kind != FMT_JT_ARRAY;
        if (value ? r->leaf_depth != UNKNOWN && r->leaf_depth != depth : r->leaf_depth <= depth) {
            snprintf(what, sizeof what, "%s among %s", fmt_jsontext_kind_name(t.kind), value ? "arrays" : "values");
            return fail_here(r, depth, what);
        }
        if (value)
            r->leaf_depth = depth;
        if (value ? read_scalar(r, depth, &t) : read_items(r, depth + 1))
            return -1;
    }
    if (r->dims[depth - 1] != UNKNOWN && r->dims[depth - 1] != count) {
        snprintf(what, sizeof what, "%u items where the array before it has %u", count, r->dims[depth - 1]);
        return fail_here(r, depth - 1, what);
    }
    r->dims[depth - 1] = count;
    return 0;
}

static int read_named(struct reader *r, const struct fmt_jsontext_token *t);

/* The items of an array of objects, or of arrays of them: each item is named PATH[i]. */
static int read_objects(struct reader *r)
{
    struct fmt_jsontext_token t;
    size_t path_len = r->path_len;

    for (uint32_t i = 0;; i++, r->path_len = path_len) {
        char index[16];
        if (next(r, &t) != 0)
            return -1;
        if (t.kind == FMT_JT_ARRAY_END)
            return 0;
        if (push_path(r, index, (size_t)snprintf(index, sizeof index, "[%u]", i)) != 0)
            return -1;
        if (t.kind != FMT_JT_OBJECT && t.kind != FMT_JT_ARRAY) {
            char what[64];
            snprintf(what, sizeof what, "%s among objects", fmt_jsontext_kind_name(t.kind));
            return fail_here(r, 0, what);
        }
        if (read_named(r, &t) != 0)
            return -1;
    }
}

/* The members of an object whose '{' has been read; those of the outermost have bare names. */
static int read_members(struct reader *r, bool outermost)
{
    struct fmt_jsontext_token t;
    size_t path_len = r->path_len;
    bool any = false;

    for (;; any = true, r->path_len = path_len) {
        char name[SYNTH_INPUT_MAX_NAME];
        if (next(r, &t) != 0)
            return -1;
        if (t.kind == FMT_JT_OBJECT_END)
            return any || outermost ? 0 : fail_here(r, 0, "an object without members");
        long len = fmt_jsontext_unescape(&t, name, sizeof name);
        if (len <= 0)
            return fmt_fail(r->err, "%s: a signal's name is empty, has a NUL or more than %zu bytes", r->json.name,
                            sizeof name - 1);
        if ((!outermost && push_path(r, ".", 1) != 0) || push_path(r, name, (size_t)len) != 0)
            return -1;
        if (next(r, &t) != 0 || read_named(r, &t) != 0)
            return -1;
    }
}

/* Whether the array whose '[' has been read holds objects, at whatever depth. */
static bool holds_objects(const struct reader *r)
{
    struct fmt_jsontext ahead = r->json;
    struct fmt_jsontext_token t = {.kind = FMT_JT_ARRAY};
    struct fmt_error ignored;       /* it will be met again, by the one who reads in earnest */
    while (t.kind == FMT_JT_ARRAY) {
        if (fmt_jsontext_next(&ahead, &t, &ignored) != 0)
            return false;
    }
    return t.kind == FMT_JT_OBJECT;
}

/* A value whose first token is t, under the present path. */
static int read_named(struct reader *r, const struct fmt_jsontext_token *t)
{
    if (t->kind == FMT_JT_OBJECT)
        return read_members(r, false);
    if (t->kind == FMT_JT_ARRAY && holds_objects(r))
        return read_objects(r);
    if (begin_signal(r) != 0)
        return -1;
    return t->kind == FMT_JT_ARRAY ? read_items(r, 1) : read_scalar(r, 0, t);
}

struct hashed {
    uint64_t hash;
    uint32_t signal;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : (x->signal > y->signal) - (x->signal < y->signal);
}

static int check_twice(struct reader *r)
{
    const struct synth_input *in = r->in;
    struct hashed *h = malloc((in->n_signals + 1) * sizeof *h);
    int rc = 0;

    if (!h)
        return fail_memory(r);
    for (uint32_t i = 0; i < in->n_signals; i++)
        h[i] = (struct hashed){in->signals[i].hash, i};
    qsort(h, in->n_signals, sizeof *h, by_hash);
    for (uint32_t i = 1; i < in->n_signals && rc == 0; i++) {
        if (h[i].hash == h[i - 1].hash)
            rc = fmt_fail(r->err, "%s: signal '%s' is given twice", r->json.name, synth_input_name(in, h[i].signal));
    }
    free(h);
    return rc;
}

/* Room for as many values as the text can hold at most, so that they need not move (and leave copies of secrets). */
static int make_room(struct reader *r)
{
    struct synth_input *in = r->in;
    const char *p = r->json.text, *end = p + r->json.len;

    in->room_values = 1;
    while (in->room_values < SYNTH_INPUT_MAX_VALUES && (p = memchr(p, ',', (size_t)(end - p)))) {
        in->room_values++;
        p++;
    }
    in->values = malloc((size_t)in->room_values * KRN_FR_BYTES);
    return in->values ? 0 : fail_memory(r);
}

static int read_all(struct reader *r)
{
    struct fmt_jsontext_token t;
    if (make_room(r) != 0 || next(r, &t) != 0)
        return -1;
    if (t.kind != FMT_JT_OBJECT)
        return fmt_fail(r->err, "%s: %s where an object of signals is due", r->json.name,
                        fmt_jsontext_kind_name(t.kind));
    if (read_members(r, true) != 0 || next(r, &t) != 0)
        return -1;
    return check_twice(r);
}

int synth_input_parse(struct synth_input *in, const char *name, const char *text, size_t len,
                      const struct krn_curve *curve, unsigned flags, struct fmt_error *err)
{
    struct reader r = {.in = in, .curve = curve, .reduce = flags & SYNTH_INPUT_REDUCE, .err = err};
    *in = (struct synth_input){0};
    fmt_jsontext_begin(&r.json, name, text, len);
    int rc = read_all(&r);
    if (rc != 0)
        synth_input_free(in);
    return rc;
}

int synth_input_read(struct synth_input *in, const char *path, const struct krn_curve *curve, unsigned flags,
                     struct fmt_error *err)
{
    char *text;
    size_t len;
    *in = (struct synth_input){0};
    if (fmt_file_read_whole(path, SYNTH_INPUT_MAX_FILE, &text, &len, err) != 0)
        return -1;
    int rc = synth_input_parse(in, path, text, len, curve, flags, err);
    explicit_bzero(text, len);
    free(text);
    return rc;
}

void synth_input_free(struct synth_input *in)
{
    if (in->values)
        explicit_bzero(in->values, (size_t)in->n_values * KRN_FR_BYTES);
    free(in->values);
    free(in->signals);
    free(in->names);
    *in = (struct synth_input){0};
}
