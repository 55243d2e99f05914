#include "formats/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* struct fmt_json is jansson's json_t under a name that does not need its header. */
static json_t *raw(const struct fmt_json *j)
{
    return (json_t *)(uintptr_t)j;
}

static struct fmt_json *wrap(json_t *j)
{
    return (struct fmt_json *)j;
}

struct fmt_json *fmt_json_parse(const char *name, const char *text, size_t len, struct fmt_error *err)
{
    json_error_t e;
    json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (!j)
        fmt_fail(err, "%s: not JSON at line %d, column %d (byte %d of %zu): %s", name, e.line, e.column, e.position,
                 len, e.text);
    return wrap(j);
}

struct fmt_json *fmt_json_object(void)
{
    return wrap(json_object());
}

struct fmt_json *fmt_json_array(void)
{
    return wrap(json_array());
}

struct fmt_json *fmt_json_string(const char *value)
{
    return wrap(json_string(value));
}

struct fmt_json *fmt_json_int(int64_t value)
{
    return wrap(json_integer(value));
}

void fmt_json_free(struct fmt_json *j)
{
    json_decref(raw(j));
}

bool fmt_json_is_object(const struct fmt_json *j)
{
    return json_is_object(raw(j));
}

bool fmt_json_is_array(const struct fmt_json *j)
{
    return json_is_array(raw(j));
}

const char *fmt_json_kind(const struct fmt_json *j)
{
    if (!j)
        return "nothing";
    switch (json_typeof(raw(j))) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    default: return "null";
    }
}

const struct fmt_json *fmt_json_field(const struct fmt_json *j, const char *key)
{
    return wrap(json_object_get(raw(j), key));
}

enum {
    STRING = 1 << JSON_STRING,
    WHOLE = 1 << JSON_INTEGER,
    NUMBER = WHOLE | 1 << JSON_REAL,
    BOOL = 1 << JSON_TRUE | 1 << JSON_FALSE,
    OBJECT = 1 << JSON_OBJECT,
    ARRAY = 1 << JSON_ARRAY,
};

/* The field of one of these types: 1, 0 or -1 as the getters return; *value is NULL but for 1. */
static int get(const struct fmt_json *j, const char *key, unsigned types, const char *wanted, const json_t **value,
               struct fmt_error *err)
{
    *value = NULL;
    if (!json_is_object(raw(j)))
        return fmt_fail(err, "\"%s\" is looked for in %s, where an object is wanted", key, fmt_json_kind(j));
    json_t *f = json_object_get(raw(j), key);
    if (!f)
        return 0;
    if (!(1u << json_typeof(f) & types))
        return fmt_fail(err, "\"%s\" is %s, where %s is wanted", key, fmt_json_kind(wrap(f)), wanted);
    *value = f;
    return 1;
}

int fmt_json_get_string(const struct fmt_json *j, const char *key, const char **value, struct fmt_error *err)
{
    const json_t *f;
    int rc = get(j, key, STRING, "a string", &f, err);
    if (rc == 1)
        *value = json_string_value(f);
    return rc;
}

int fmt_json_get_int(const struct fmt_json *j, const char *key, int64_t min, int64_t max, int64_t *value,
                     struct fmt_error *err)
{
    const json_t *f;
    int rc = get(j, key, WHOLE, "a whole number", &f, err);
    if (rc != 1)
        return rc;
    int64_t v = json_integer_value(f);
    if (v < min || v > max)
        return fmt_fail(err, "\"%s\" is %" PRId64 ", where %" PRId64 " to %" PRId64 " are taken", key, v, min, max);
    *value = v;
    return 1;
}

int fmt_json_get_real(const struct fmt_json *j, const char *key, double *value, struct fmt_error *err)
{
    const json_t *f;
    int rc = get(j, key, NUMBER, "a number", &f, err);
    if (rc == 1)
        *value = json_number_value(f);
    return rc;
}

int fmt_json_get_bool(const struct fmt_json *j, const char *key, bool *value, struct fmt_error *err)
{
    const json_t *f;
    int rc = get(j, key, BOOL, "true or false", &f, err);
    if (rc == 1)
        *value = json_is_true(f);
    return rc;
}

int fmt_json_get_object(const struct fmt_json *j, const char *key, const struct fmt_json **value,
                        struct fmt_error *err)
{
    const json_t *f;
    int rc = get(j, key, OBJECT, "an object", &f, err);
    if (rc == 1)
        *value = (const struct fmt_json *)f;
    return rc;
}

int fmt_json_get_array(const struct fmt_json *j, const char *key, const struct fmt_json **value,
                       struct fmt_error *err)
{
    const json_t *f;
    int rc = get(j, key, ARRAY, "an array", &f, err);
    if (rc == 1)
        *value = (const struct fmt_json *)f;
    return rc;
}

int fmt_json_only(const struct fmt_json *j, const char *const *keys, size_t n, struct fmt_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(raw(j), key, value) {
        size_t i = 0;
        while (i < n && strcmp(keys[i], key) != 0)
            i++;
        if (i == n)
            return fmt_fail(err, "\"%.60s\" is not known here", key);
    }
    return 0;
}

size_t fmt_json_length(const struct fmt_json *j)
{
    return json_array_size(raw(j));
}

const struct fmt_json *fmt_json_at(const struct fmt_json *j, size_t i)
{
    return wrap(json_array_get(raw(j), i));
}

const char *fmt_json_as_string(const struct fmt_json *j)
{
    return json_string_value(raw(j));
}

int fmt_json_set(struct fmt_json *j, const char *key, struct fmt_json *child)
{
    return json_object_set_new(raw(j), key, raw(child));
}

int fmt_json_set_string(struct fmt_json *j, const char *key, const char *value)
{
    return json_object_set_new(raw(j), key, json_string(value));
}

int fmt_json_set_int(struct fmt_json *j, const char *key, int64_t value)
{
    return json_object_set_new(raw(j), key, json_integer(value));
}

int fmt_json_set_count(struct fmt_json *j, const char *key, uint64_t value)
{
    return fmt_json_set_int(j, key, (int64_t)(value & INT64_MAX));
}

int fmt_json_set_real(struct fmt_json *j, const char *key, double value)
{
    return json_object_set_new(raw(j), key, json_real(value));
}

int fmt_json_set_bool(struct fmt_json *j, const char *key, bool value)
{
    return json_object_set_new(raw(j), key, json_boolean(value));
}

int fmt_json_append(struct fmt_json *j, struct fmt_json *child)
{
    return json_array_append_new(raw(j), raw(child));
}

static char *dump(const struct fmt_json *j, size_t flags, size_t *len)
{
    char *text = json_dumps(raw(j), flags | JSON_ENCODE_ANY);
    if (text)
        *len = strlen(text);
    return text;
}

char *fmt_json_dump(const struct fmt_json *j, size_t *len)
{
    return dump(j, JSON_COMPACT, len);
}

char *fmt_json_dump_indented(const struct fmt_json *j, size_t *len)
{
    return dump(j, JSON_INDENT(1), len);
}
