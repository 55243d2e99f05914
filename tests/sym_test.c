/* formats/sym: names of wires as circom --sym writes them; bent files are refused. RUN_VALGRIND */
#include "tests/files.h"

#include "formats/sym.h"

static const char text[] = "1,1,2,main.y\n2,2,2,main.x\n3,-1,2,main.gone\n"
                           "4,3,1,main.sub.out[0]\n5,1,1,main.sub.y\n6,2,0,main.sub.in";

static int parse(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_sym s;
    if (fmt_sym_parse(&s, name, bytes, len, 4, err) != 0)
        return -1;
    fmt_sym_close(&s);
    return 0;
}

static int is(struct fmt_sym_name n, const char *want)
{
    return want ? n.text && n.len == strlen(want) && memcmp(n.text, want, n.len) == 0 : !n.text;
}

static void names(void)
{
    static const char *const all[] = {"main.y", "main.x", "main.gone", "main.sub.out[0]", "main.sub.y", "main.sub.in"};
    struct fmt_sym s;
    struct fmt_sym_name n;
    struct fmt_error err;
    uint64_t at = 0;
    size_t count = 0;
    struct bytes b = bytes_copy(text, strlen(text));

    if (!check(fmt_sym_parse(&s, "sym", b.at, b.len, 5, &err) == 0, "%s", err.text))
        return;
    check(is(fmt_sym_of(&s, 0), NULL) && is(fmt_sym_of(&s, 4), NULL) && is(fmt_sym_of(&s, 99), NULL),
          "a wire without a name has one");
    check(is(fmt_sym_of(&s, 1), "main.y") && is(fmt_sym_of(&s, 2), "main.x") &&
          is(fmt_sym_of(&s, 3), "main.sub.out[0]"), "names");
    while (fmt_sym_next(&s, &at, &n)) {
        check(count < 6 && is(n, all[count]), "name %zu", count);
        count++;
    }
    check(count == 6, "%zu names of 6", count);
    fmt_sym_close(&s);
    fmt_sym_close(&s);
    bytes_free(&b);
}

int main(void)
{
    names();
    refused("a wire beyond the circuit", parse, "1,4,0,main.x\n", 13, "line 1", "wire 4", "4 wires", NULL);
    refused("no number", parse, "1,1,0,main.x\nx,2,0,main.y\n", 26, "line 2", NULL);
    refused("an empty line", parse, "1,1,0,main.x\n\n", 14, "line 2", NULL);
    refused("no name", parse, "1,1,0,\n", 7, "line 1", NULL);
    refused("a huge number", parse, "1,11111111111111111111111,0,m\n", 30, "line 1", NULL);
    for (size_t len = 1; len < 6; len++)
        refused("a cut line", parse, text, len, "line 1", NULL);
    return failures != 0;
}
