/* formats/json: values built, dumped, parsed and looked into. RUN_VALGRIND */
#include "tests/files.h"

#include "formats/json.h"

static int parse(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_json *j = fmt_json_parse(name, bytes, len, err);
    fmt_json_free(j);
    return j ? 0 : -1;
}

static void bad_texts(void)
{
    static const char *const texts[] = {
        "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":1}", "[1] 2", "nul", "\"\xff\"", "\"a\\u0000b\"",
        "{1:2}", "[1e999]", "99999999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused(texts[i], parse, texts[i], strlen(texts[i]), "not JSON", NULL);
    refused("a NUL after the value", parse, "{}\0", 3, "not JSON", NULL);
    char deep[100001];
    memset(deep, '[', sizeof deep);
    refused("100,001 brackets", parse, deep, sizeof deep, "not JSON", NULL);
}

static void getters(void)
{
    static const char text[] = "{\"s\":\"x\",\"i\":-7,\"big\":9223372036854775807,\"r\":1.5,\"b\":true,\"n\":null,"
                               "\"o\":{\"k\":1},\"a\":[\"p\",2]}";
    static const char *const keys[] = {"s", "i", "big", "r", "b", "n", "o", "a"};
    struct fmt_error err = {.text = ""};
    struct fmt_json *j = fmt_json_parse("text", text, strlen(text), &err);
    const struct fmt_json *inner = NULL;
    const char *s = "default";
    int64_t i = 5;
    bool b = false;

    if (!check(j != NULL, "%s", err.text))
        return;
    check(fmt_json_is_object(j) && !fmt_json_is_array(j), "kind");
    check(fmt_json_get_string(j, "s", &s, &err) == 1 && strcmp(s, "x") == 0, "string");
    check(fmt_json_get_int(j, "i", -10, 10, &i, &err) == 1 && i == -7, "int");
    check(fmt_json_get_int(j, "big", 0, INT64_MAX, &i, &err) == 1 && i == INT64_MAX, "a large int");
    check(fmt_json_get_bool(j, "b", &b, &err) == 1 && b, "bool");
    check(fmt_json_get_object(j, "o", &inner, &err) == 1 && fmt_json_field(inner, "k") != NULL, "object");
    check(fmt_json_get_array(j, "a", &inner, &err) == 1 && fmt_json_length(inner) == 2 &&
          strcmp(fmt_json_as_string(fmt_json_at(inner, 0)), "p") == 0 &&
          fmt_json_as_string(fmt_json_at(inner, 1)) == NULL && fmt_json_at(inner, 2) == NULL, "array");

    s = "default";
    i = 5;
    check(fmt_json_get_string(j, "none", &s, &err) == 0 && strcmp(s, "default") == 0, "an absent string");
    check(fmt_json_get_int(j, "none", 0, 9, &i, &err) == 0 && i == 5, "an absent int");
    check(fmt_json_get_string(j, "i", &s, &err) == -1 && strstr(err.text, "\"i\" is a number"), "%s", err.text);
    check(fmt_json_get_int(j, "s", 0, 9, &i, &err) == -1 && strstr(err.text, "\"s\" is a string"), "%s", err.text);
    check(fmt_json_get_int(j, "r", 0, 9, &i, &err) == -1, "1.5 is taken for an int");
    check(fmt_json_get_int(j, "b", 0, 9, &i, &err) == -1, "true is taken for an int");
    check(fmt_json_get_int(j, "i", 0, 9, &i, &err) == -1 && strstr(err.text, "\"i\" is -7, where 0 to 9"), "%s",
          err.text);
    check(fmt_json_get_bool(j, "i", &b, &err) == -1 && fmt_json_get_bool(j, "n", &b, &err) == -1, "bools");
    check(fmt_json_get_object(j, "a", &inner, &err) == -1 && strstr(err.text, "an array"), "%s", err.text);
    check(fmt_json_get_array(j, "o", &inner, &err) == -1 && strstr(err.text, "an object"), "%s", err.text);
    check(fmt_json_get_string(inner, "s", &s, &err) == -1 && fmt_json_get_string(NULL, "s", &s, &err) == -1,
          "a field of no object");
    check(fmt_json_only(j, keys, 8, &err) == 0, "%s", err.text);
    check(fmt_json_only(j, keys, 7, &err) == -1 && strstr(err.text, "\"a\""), "%s", err.text);
    fmt_json_free(j);
}

static void building(void)
{
    static const char want[] = "{\"text\":\"a\\\"b\\u0001\",\"n\":-1,\"x\":0.5,\"yes\":true,\"list\":[\"p\",{}]}";
    size_t len;
    struct fmt_json *j = fmt_json_object(), *list = fmt_json_array();
    int rc = fmt_json_set_string(j, "text", "a\"b\x01") | fmt_json_set_int(j, "n", -1) | fmt_json_set_real(j, "x",
                                                                                                           0.5) |
             fmt_json_set_bool(j, "yes", true) | fmt_json_append(list, fmt_json_string("p")) |
             fmt_json_append(list, fmt_json_object()) | fmt_json_set(j, "list", list);
    char *text = fmt_json_dump(j, &len);

    check(rc == 0 && text && len == strlen(want) && strcmp(text, want) == 0, "%s where %s is wanted", text, want);
    free(text);
    check(fmt_json_set_string(j, "bad", "\xff") == -1 && fmt_json_set(j, "null", NULL) == -1 &&
          fmt_json_append(j, fmt_json_int(1)) == -1 && fmt_json_set_int(NULL, "n", 1) == -1, "what cannot be built");
    fmt_json_free(j);
    fmt_json_free(NULL);
}

int main(void)
{
    bad_texts();
    getters();
    building();
    return failures != 0;
}
