#include "formats/jsontext.h"

#include <string.h>

/* What may come next. */
enum expect { VALUE, FIRST_VALUE_OR_END, FIRST_KEY_OR_END, COMMA_OR_END, NOTHING };

void fmt_jsontext_begin(struct fmt_jsontext *j, const char *name, const char *text, size_t len)
{
    *j = (struct fmt_jsontext){.name = name, .text = text, .len = len, .expect = VALUE};
}

void fmt_jsontext_where(const struct fmt_jsontext *j, const char *place, size_t *line, size_t *column)
{
    const char *start = j->text;
    *line = 1;
    for (const char *p = j->text; p < place; p++) {
        if (*p == '\n') {
            ++*line;
            start = p + 1;
        }
    }
    *column = (size_t)(place - start) + 1;
}

const char *fmt_jsontext_kind_name(enum fmt_jsontext_kind kind)
{
    switch (kind) {
    case FMT_JT_END: return "the end";
    case FMT_JT_OBJECT: return "an object";
    case FMT_JT_OBJECT_END: return "'}'";
    case FMT_JT_ARRAY: return "an array";
    case FMT_JT_ARRAY_END: return "']'";
    case FMT_JT_KEY: return "a name";
    case FMT_JT_STRING: return "a string";
    case FMT_JT_NUMBER: return "a number";
    case FMT_JT_TRUE: return "true";
    case FMT_JT_FALSE: return "false";
    case FMT_JT_NULL: return "null";
    }
    return "?";
}

static int fail_at(const struct fmt_jsontext *j, const char *place, const char *what, struct fmt_error *err)
{
    size_t line, column;
    fmt_jsontext_where(j, place, &line, &column);
    return fmt_fail(err, "%s: line %zu, character %zu: %s", j->name, line, column, what);
}

/* The character at the reading place, -1 at the end. */
static int peek(const struct fmt_jsontext *j)
{
    return j->at < j->len ? (unsigned char)j->text[j->at] : -1;
}

static void skip_space(struct fmt_jsontext *j)
{
    for (int c = peek(j); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(j))
        j->at++;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(int c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits at p (before end), or -1. */
static long hex4(const char *p, const char *end)
{
    long v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit((unsigned char)p[i]);
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

static bool is_high_surrogate(long u) { return u >= 0xd800 && u < 0xdc00; }
static bool is_low_surrogate(long u) { return u >= 0xdc00 && u < 0xe000; }

/* The code point of an escape whose 'u' is before p; *used: characters after the 'u'. -1 where it is none. */
static long unicode_escape(const char *p, const char *end, size_t *used)
{
    long high = hex4(p, end);
    *used = 4;
    if (high < 0 || is_low_surrogate(high))
        return -1;
    if (!is_high_surrogate(high))
        return high;
    if (end - p < 10 || p[4] != '\\' || p[5] != 'u')
        return -1;
    long low = hex4(p + 6, end);
    *used = 10;
    return is_low_surrogate(low) ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : -1;
}

/* Length of the well-formed UTF-8 sequence at p, 0 where it is none (Unicode, table 3-7). */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    unsigned char c = p[0], low = 0x80, high = 0xbf;
    size_t n;

    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        n = 2;
    else if (c >= 0xe0 && c <= 0xef)
        n = 3;
    else if (c >= 0xf0 && c <= 0xf4)
        n = 4;
    else
        return 0;
    if (c == 0xe0)
        low = 0xa0;
    else if (c == 0xed)
        high = 0x9f;
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f;
    if (left < n || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    }
    return n;
}

static int read_escape(struct fmt_jsontext *j, struct fmt_error *err)
{
    const char *p = j->text + j->at, *end = j->text + j->len;
    size_t used = 0;

    if (end - p < 2)
        return fail_at(j, p, "the text ends within a string", err);
    if (p[1] == 'u' ? unicode_escape(p + 2, end, &used) < 0 : !strchr("\"\\/bfnrt", p[1]) || p[1] == '\0')
        return fail_at(j, p, "no such escape", err);
    j->at += 2 + used;
    return 0;
}

static int read_string(struct fmt_jsontext *j, enum fmt_jsontext_kind kind, struct fmt_jsontext_token *t,
                       struct fmt_error *err)
{
    size_t start = ++j->at;
    *t = (struct fmt_jsontext_token){.kind = kind, .text = j->text + start};
    for (;;) {
        int c = peek(j);
        if (c < 0)
            return fail_at(j, j->text + start - 1, "a string without an end", err);
        if (c == '"')
            break;
        if (c < 0x20)
            return fail_at(j, j->text + j->at, "a control character in a string", err);
        if (c == '\\') {
            t->escaped = true;
            if (read_escape(j, err) != 0)
                return -1;
            continue;
        }
        size_t n = utf8_length((const unsigned char *)j->text + j->at, j->len - j->at);
        if (n == 0)
            return fail_at(j, j->text + j->at, "no UTF-8", err);
        j->at += n;
    }
    t->len = j->at - start;
    j->at++;
    return 0;
}

static size_t skip_digits(struct fmt_jsontext *j)
{
    size_t start = j->at;
    while (is_digit(peek(j)))
        j->at++;
    return j->at - start;
}

/* number = [ "-" ] int [ "." digits ] [ ("e" | "E") [ "-" | "+" ] digits ]; int has no leading zero */
static int read_number(struct fmt_jsontext *j, struct fmt_jsontext_token *t, struct fmt_error *err)
{
    const char *start = j->text + j->at;
    if (peek(j) == '-')
        j->at++;
    bool zero = peek(j) == '0';
    size_t digits = skip_digits(j);
    if (digits == 0)
        return fail_at(j, start, "no JSON value", err);
    if (zero && digits > 1)
        return fail_at(j, start, "a number with a leading zero", err);
    if (peek(j) == '.') {
        j->at++;
        if (skip_digits(j) == 0)
            return fail_at(j, start, "a number that ends in '.'", err);
    }
    if (peek(j) == 'e' || peek(j) == 'E') {
        j->at++;
        if (peek(j) == '+' || peek(j) == '-')
            j->at++;
        if (skip_digits(j) == 0)
            return fail_at(j, start, "a number without its exponent", err);
    }
    *t = (struct fmt_jsontext_token){.kind = FMT_JT_NUMBER, .text = start, .len = (size_t)(j->text + j->at - start)};
    return 0;
}

static int read_word(struct fmt_jsontext *j, struct fmt_jsontext_token *t, struct fmt_error *err)
{
    static const struct { const char *word; enum fmt_jsontext_kind kind; } words[] = {
        {"true", FMT_JT_TRUE}, {"false", FMT_JT_FALSE}, {"null", FMT_JT_NULL},
    };
    const char *p = j->text + j->at;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if (j->len - j->at >= n && memcmp(p, words[i].word, n) == 0) {
            *t = (struct fmt_jsontext_token){.kind = words[i].kind, .text = p, .len = n};
            j->at += n;
            return 0;
        }
    }
    return fail_at(j, p, "no JSON value", err);
}

static bool inside_object(const struct fmt_jsontext *j)
{
    return j->depth > 0 && (j->in_object >> (j->depth - 1) & 1);
}

static void after_value(struct fmt_jsontext *j)
{
    j->expect = j->depth == 0 ? NOTHING : COMMA_OR_END;
}

static int open_container(struct fmt_jsontext *j, bool object, struct fmt_jsontext_token *t, struct fmt_error *err)
{
    const char *p = j->text + j->at;
    if (j->depth == FMT_JSONTEXT_DEPTH)
        return fail_at(j, p, "nested too deeply", err);
    uint64_t bit = UINT64_C(1) << j->depth++;
    j->in_object = object ? j->in_object | bit : j->in_object & ~bit;
    j->at++;
    j->expect = object ? FIRST_KEY_OR_END : FIRST_VALUE_OR_END;
    *t = (struct fmt_jsontext_token){.kind = object ? FMT_JT_OBJECT : FMT_JT_ARRAY, .text = p, .len = 1};
    return 0;
}

static int close_container(struct fmt_jsontext *j, struct fmt_jsontext_token *t)
{
    *t = (struct fmt_jsontext_token){.kind = inside_object(j) ? FMT_JT_OBJECT_END : FMT_JT_ARRAY_END,
                                     .text = j->text + j->at, .len = 1};
    j->at++;
    j->depth--;
    after_value(j);
    return 0;
}

static int read_value(struct fmt_jsontext *j, struct fmt_jsontext_token *t, struct fmt_error *err)
{
    int c = peek(j), rc;
    if (c < 0)
        return fail_at(j, j->text + j->at, "the text ends where a value is due", err);
    if (c == '{' || c == '[')
        return open_container(j, c == '{', t, err);
    if (c == '"')
        rc = read_string(j, FMT_JT_STRING, t, err);
    else if (c == '-' || is_digit(c))
        rc = read_number(j, t, err);
    else
        rc = read_word(j, t, err);
    after_value(j);
    return rc;
}

static int read_key(struct fmt_jsontext *j, struct fmt_jsontext_token *t, struct fmt_error *err)
{
    if (peek(j) != '"')
        return fail_at(j, j->text + j->at, "a name in quotes is due", err);
    if (read_string(j, FMT_JT_KEY, t, err) != 0)
        return -1;
    skip_space(j);
    if (peek(j) != ':')
        return fail_at(j, j->text + j->at, "':' is due", err);
    j->at++;
    j->expect = VALUE;
    return 0;
}

int fmt_jsontext_next(struct fmt_jsontext *j, struct fmt_jsontext_token *t, struct fmt_error *err)
{
    skip_space(j);
    int c = peek(j);
    bool closes = inside_object(j) ? c == '}' : c == ']';

    switch ((enum expect)j->expect) {
    case NOTHING:
        if (c >= 0)
            return fail_at(j, j->text + j->at, "more after the value", err);
        *t = (struct fmt_jsontext_token){.kind = FMT_JT_END, .text = j->text + j->at};
        return 0;
    case COMMA_OR_END:
        if (closes)
            return close_container(j, t);
        if (c != ',')
            return fail_at(j, j->text + j->at, inside_object(j) ? "',' or '}' is due" : "',' or ']' is due", err);
        j->at++;
        skip_space(j);
        return inside_object(j) ? read_key(j, t, err) : read_value(j, t, err);
    case FIRST_KEY_OR_END:
        return closes ? close_container(j, t) : read_key(j, t, err);
    case FIRST_VALUE_OR_END:
        return closes ? close_container(j, t) : read_value(j, t, err);
    case VALUE:
        return read_value(j, t, err);
    }
    return fail_at(j, j->text + j->at, "no JSON value", err);
}

/* Writes a code point as UTF-8; returns the bytes. */
static size_t put_utf8(char out[4], unsigned long u)
{
    if (u < 0x80) {
        out[0] = (char)u;
        return 1;
    }
    if (u < 0x800) {
        out[0] = (char)(0xc0 | u >> 6);
        out[1] = (char)(0x80 | (u & 0x3f));
        return 2;
    }
    if (u < 0x10000) {
        out[0] = (char)(0xe0 | u >> 12);
        out[1] = (char)(0x80 | (u >> 6 & 0x3f));
        out[2] = (char)(0x80 | (u & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | u >> 18);
    out[1] = (char)(0x80 | (u >> 12 & 0x3f));
    out[2] = (char)(0x80 | (u >> 6 & 0x3f));
    out[3] = (char)(0x80 | (u & 0x3f));
    return 4;
}

/* The code point of the escape at p ('\\'); *used: its characters. The tokenizer has checked that it is one. */
static unsigned long escape_value(const char *p, const char *end, size_t *used)
{
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    const char *at = strchr(names, p[1]);
    *used = 2;
    if (p[1] == 'u') {
        long u = unicode_escape(p + 2, end, used);
        *used += 2;
        return (unsigned long)u;
    }
    return at ? (unsigned char)values[at - names] : (unsigned char)p[1];
}

long fmt_jsontext_unescape(const struct fmt_jsontext_token *t, char *out, size_t max)
{
    const char *p = t->text, *end = t->text + t->len;
    size_t n = 0;

    while (p < end) {
        char bytes[4] = {*p};
        size_t used = 1, count = 1;
        if (*p == '\\') {
            unsigned long u = escape_value(p, end, &used);
            if (u == 0)
                return -1;
            count = put_utf8(bytes, u);
        }
        if (n + count >= max)
            return -1;
        memcpy(out + n, bytes, count);
        n += count;
        p += used;
    }
    if (max == 0)
        return -1;
    out[n] = '\0';
    return (long)n;
}
