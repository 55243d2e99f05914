/* formats/jsontext: what RFC 8259 allows and nothing else. RUN_VALGRIND */
#include "formats/jsontext.h"

#include <stdio.h>
#include <string.h>

static int failed;

static void expect(int ok, const char *what, const char *text)
{
    if (!ok) {
        printf("%s: %s\n", what, text);
        failed = 1;
    }
}

/* Runs through the text; 0 where it is JSON. */
static int scan(const char *text, size_t len, struct fmt_error *err)
{
    struct fmt_jsontext j;
    struct fmt_jsontext_token t;
    fmt_jsontext_begin(&j, "text", text, len);
    do {
        if (fmt_jsontext_next(&j, &t, err) != 0)
            return -1;
    } while (t.kind != FMT_JT_END);
    return 0;
}

static void good_and_bad(void)
{
    static const char *good[] = {
        "0", "-0", "1", "-12", "1.5", "1e3", "1E-3", "0.0e+00", "true", "false", "null", "\"\"", "[]", "{}",
            " [ ] \r\n\t",
        "{\"a\":1}", "{\"\":{}}", "[1,[2,[3]],{\"a\":[]}]", "{\"a\":{\"b\":[]},\"c\":2}",
            "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0041\\ud83d\\ude00\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\xed\x9f\xbf\xf4\x8f\xbf\xbf\"",
        "123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890",
    };
    static const char *bad[] = {
        "", " ", "-", "01", "-01", "1.", ".5", "1e", "1e+", "+1", "0x10", "tru", "nul", "True", "NaN", "Infinity",
            "\"", "\"\\",
        "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ud83d\\u0041\"", "\"\\ude00\"",
            "\"\n\"",
        "\"\x1f\"", "\"\x80\"", "\"\xc0\xaf\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"", "\"\xf0\x80\x80\x80\"",
            "\"\xf4\x90\x80\x80\"",
        "\"\xf8\x88\x80\x80\x80\"", "\"\xe2\x82\"", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{", "}",
            "{1:2}",
        "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "{\"a\" 1}", "{\"a\":1]", "{a:1}", "{'a':1}", "1 2",
            "[] []",
        "/* c */ 1", "// c\n1", "1,", "{\"a\":1,,\"b\":2}", "\xef\xbb\xbf{}", "[1,\v2]", "\f1",
    };
    struct fmt_error err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect(scan(good[i], strlen(good[i]), &err) == 0, "refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(scan(bad[i], strlen(bad[i]), &err) != 0, "taken", bad[i]);
    expect(scan("1\0", 2, &err) != 0, "taken", "a NUL after the value");
    expect(scan("\"\\\0\"", 4, &err) != 0, "taken", "an escaped NUL");
}

/* Every prefix of a document is refused, and read no further than it goes (valgrind and ASan watch). */
static void prefixes(void)
{
    static const char doc[] = "{\"a\\u00e9\":[1,-2.5e3,\"x\xe2\x82\xac\\n\",{\"b\":null}],\"c\":[[],{}],\"d\":true}";
    struct fmt_error err;
    char copy[sizeof doc];
    for (size_t n = 0; n < sizeof doc - 1; n++) {
        char *end = copy + sizeof copy - n;
        memcpy(end, doc, n);
        expect(scan(end, n, &err) != 0, "a prefix is taken", doc);
    }
    expect(scan(doc, sizeof doc - 1, &err) == 0, "refused", doc);
}

static void depth(void)
{
    char text[2 * (FMT_JSONTEXT_DEPTH + 1) + 1];
    struct fmt_error err;
    for (int n = FMT_JSONTEXT_DEPTH; n <= FMT_JSONTEXT_DEPTH + 1; n++) {
        memset(text, '[', (size_t)n);
        memset(text + n, ']', (size_t)n);
        expect((scan(text, 2 * (size_t)n, &err) == 0) == (n == FMT_JSONTEXT_DEPTH), "depth", "limit");
    }
}

static void tokens(void)
{
    static const char doc[] = "{ \"k\\u0041\" : [ 90071992547409931234567890 , \"s\" ] }";
    static const struct { enum fmt_jsontext_kind kind; const char *text; } want[] = {
        {FMT_JT_OBJECT, "{"}, {FMT_JT_KEY, "k\\u0041"}, {FMT_JT_ARRAY, "["},
            {FMT_JT_NUMBER, "90071992547409931234567890"},
        {FMT_JT_STRING, "s"}, {FMT_JT_ARRAY_END, "]"}, {FMT_JT_OBJECT_END, "}"}, {FMT_JT_END, ""},
    };
    struct fmt_jsontext j;
    struct fmt_jsontext_token t;
    struct fmt_error err;
    char out[8];

    fmt_jsontext_begin(&j, "text", doc, strlen(doc));
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        expect(fmt_jsontext_next(&j, &t, &err) == 0 && t.kind == want[i].kind && t.len == strlen(want[i].text) &&
               memcmp(t.text, want[i].text, t.len) == 0, "token", want[i].text);
        if (t.kind == FMT_JT_KEY) {
            expect(fmt_jsontext_unescape(&t, out, sizeof out) == 2 && strcmp(out, "kA") == 0, "unescape", out);
            expect(fmt_jsontext_unescape(&t, out, 3) == 2 && fmt_jsontext_unescape(&t, out, 2) == -1, "unescape",
                   "room");
        }
    }
    struct fmt_jsontext_token nul = {.text = "a\\u0000", .len = 7, .escaped = true};
    expect(fmt_jsontext_unescape(&nul, out, sizeof out) == -1, "unescape", "NUL");
    struct fmt_jsontext_token euro = {.text = "\\u20ac\\ud83d\\ude00", .len = 18, .escaped = true};
    expect(fmt_jsontext_unescape(&euro, out, sizeof out) == 7 && strcmp(out, "\xe2\x82\xac\xf0\x9f\x98\x80") == 0,
           "unescape",
           "surrogates");
}

static void messages(void)
{
    struct fmt_error err;
    scan("{\n \"a\": 1,\n \"b\": x}", 20, &err);
    expect(strcmp(err.text, "text: line 3, character 7: no JSON value") == 0, "message", err.text);
}

int main(void)
{
    good_and_bad();
    prefixes();
    depth();
    tokens();
    messages();
    return failed;
}
