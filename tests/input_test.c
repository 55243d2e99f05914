/* synth/number and synth/input: numbers against big integers (tests/data/numbers.txt), names, shapes and refusals.
 * RUN_VALGRIND */
#include "synth/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth/number.h"

static int failed;

static void expect(int ok, const char *what, const char *detail)
{
    if (!ok) {
        printf("%s: %s\n", what, detail);
        failed = 1;
    }
}

static void from_hex(uint8_t out[32], const char *hex)
{
    for (int i = 0; i < 32; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        out[31 - i] = (uint8_t)byte;
    }
}

static void check_number(char *text, const char *hex, const char *above, const struct krn_curve *curve)
{
    uint8_t got[32], want[32];
    size_t bad, len = strlen(text);

    for (char *p = text; *p; p++)
        *p = *p == '~' ? ' ' : *p;      /* the file's columns are separated by spaces */
    if (hex[0] == '-') {
        expect(synth_number_read(got, text, len, curve->r, true, &bad) == -EINVAL, "taken", text);
        return;
    }
    from_hex(want, hex);
    expect(synth_number_read(got, text, len, curve->r, true, &bad) == 0 && memcmp(got, want, 32) == 0, "reduced", text);
    int rc = synth_number_read(got, text, len, curve->r, false, &bad);
    expect(above[0] == '1' ? rc == -ERANGE : rc == 0 && memcmp(got, want, 32) == 0, "plain", text);
}

static void numbers(void)
{
    static char text[8192], hex[2][80], above[2][4];
    FILE *f = fopen("tests/data/numbers.txt", "r");
    uint8_t out[32];
    size_t bad;
    int lines = 0;

    while (f && fscanf(f, "%8191s %79s %3s %79s %3s", text, hex[0], above[0], hex[1], above[1]) == 5) {
        for (int c = 0; c < KRN_CURVES; c++)
            check_number(text, hex[c], above[c], krn_curve(c));
        lines++;
    }
    if (f)
        fclose(f);
    expect(lines > 300, "tests/data/numbers.txt", "missing or short");
    expect(synth_number_read(out, "", 0, krn_curve(0)->r, true, &bad) == -EINVAL, "taken", "no text");
}

static void hashes(void)
{
    /* from the reference tables of the hash's authors */
    expect(synth_input_hash("", 0) == 0xcbf29ce484222325u, "hash", "empty");
    expect(synth_input_hash("a", 1) == 0xaf63dc4c8601ec8cu, "hash", "a");
    expect(synth_input_hash("foobar", 6) == 0x85944171f73967e8u, "hash", "foobar");
}

/* What was read as one line: NAME=v,v;NAME=v; small values in decimal, others as '#'. */
static void describe(const struct synth_input *in, char *out, size_t max)
{
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t s = 0; s < in->n_signals; s++) {
        n += (size_t)snprintf(out + n, max - n, "%s=", synth_input_name(in, s));
        for (uint32_t i = 0; i < in->signals[s].n; i++) {
            const uint8_t *v = in->values + (size_t)(in->signals[s].first + i) * 32;
            uint64_t low;
            bool small = true;
            memcpy(&low, v, 8);
            for (int k = 8; k < 32; k++)
                small &= v[k] == 0;
            if (small)
                n += (size_t)snprintf(out + n, max - n, "%s%llu", i ? "," : "", (unsigned long long)low);
            else
                n += (size_t)snprintf(out + n, max - n, "%s#", i ? "," : "");
        }
        n += (size_t)snprintf(out + n, max - n, ";");
    }
}

static void good(const char *text, unsigned flags, const char *want)
{
    struct synth_input in;
    struct fmt_error err;
    char got[1024];
    if (synth_input_parse(&in, "in", text, strlen(text), krn_curve(KRN_BN254), flags, &err) != 0) {
        expect(0, text, err.text);
        return;
    }
    describe(&in, got, sizeof got);
    if (strcmp(got, want) != 0) {
        expect(0, text, got);
    }
    for (uint32_t s = 0; s < in.n_signals; s++) {
        const char *name = synth_input_name(&in, s);
        expect(in.signals[s].hash == synth_input_hash(name, strlen(name)), "hash of", name);
    }
    synth_input_free(&in);
    synth_input_free(&in);
}

static void bad(const char *text, const char *want)
{
    struct synth_input in;
    struct fmt_error err = {""};
    int rc = synth_input_parse(&in, "in", text, strlen(text), krn_curve(KRN_BN254), 0, &err);
    expect(rc == -1 && strstr(err.text, want) && !in.values && !in.signals && !in.names, text, rc ? err.text : "taken");
    synth_input_free(&in);
}

#define P "21888242871839275222246405745257275088548364400416034343698204186575808495617"
#define P_LESS_1 "21888242871839275222246405745257275088548364400416034343698204186575808495616"

static void shapes(void)
{
    good("{}", 0, "");
    good("{\"a\":3,\"b\":\"11\"}", 0, "a=3;b=11;");
    good("{\"a\":[1,\"0x10\",3]}", 0, "a=1,16,3;");
    good("{\"m\":[[1,2],[3,4],[5,6]]}", 0, "m=1,2,3,4,5,6;");
    good("{\"t\":[[[1],[2]],[[3],[4]]]}", 0, "t=1,2,3,4;");
    good("{\"e\":[],\"f\":[[],[]]}", 0, "e=;f=;");
    good("{\"p\":{\"x\":1,\"y\":[2,3]},\"q\":[{\"x\":4},{\"x\":5}]}", 0, "p.x=1;p.y=2,3;q[0].x=4;q[1].x=5;");
    good("{\"q\":[[{\"x\":[7]}],[{\"x\":[8]}]]}", 0, "q[0][0].x=7;q[1][0].x=8;");
    good("{\"\\u0061\\u00e9\":1}", 0, "a\xc3\xa9=1;");
    good("{\"big\":9007199254740993,\"max\":18446744073709551615}", 0,
         "big=9007199254740993;max=18446744073709551615;");
    good("{\"a\":-1,\"b\":\"-" P_LESS_1 "\",\"c\":\"" P_LESS_1 "\",\"d\":-0}", 0, "a=#;b=1;c=#;d=0;");
    good("{\"a\":" P ",\"b\":\"-" P "\"}", SYNTH_INPUT_REDUCE, "a=0;b=0;");

    bad("", "value is due");
    bad("[1]", "an array where an object of signals is due");
    bad("{\"a\":1} x", "more after the value");
    bad("{\"a\":[1,2", "line 1");
    bad("{\"a\":" P "}", "signal 'a': the value is not below the field's prime");
    bad("{\"a\":[1,[2]]}", "signal 'a[1]': an array among values");
    bad("{\"a\":[[1],2]}", "signal 'a[1]': a number among arrays");
    bad("{\"a\":[[1,2],[3]]}", "signal 'a[1]': 1 items where the array before it has 2");
    bad("{\"a\":[[[1]],[2]]}", "signal 'a[1][0]': a number among arrays");
    bad("{\"a\":[[1],[[2]]]}", "signal 'a[1][0]': an array among values");
    bad("{\"a\":[1,{\"x\":1}]}", "signal 'a[1]': an object where a number is due");
    bad("{\"a\":[{\"x\":1},2]}", "signal 'a[1]': a number among objects");
    bad("{\"a\":[0,\"0x1g\"]}", "signal 'a[1]': a string that is no number: character 4 of 4 is no digit");
    bad("{\"a\":\"\"}", "signal 'a': a string of 0 characters that is no number");
    bad("{\"a\":[[0,1],[0,1.5]]}", "signal 'a[1][1]': the number is not written as an integer");
    bad("{\"a\":1e21}", "signal 'a': the number is not written as an integer");
    bad("{\"a\":true}", "signal 'a': true where a number is due");
    bad("{\"a\":null}", "signal 'a': null where a number is due");
    bad("{\"a\":1,\"b\":2,\"a\":3}", "signal 'a' is given twice");
    bad("{\"a\":{\"x\":1},\"a.x\":3}", "signal 'a.x' is given twice");
    bad("{\"a\":{}}", "signal 'a': an object without members");
    bad("{\"\":1}", "name is empty");
    bad("{\"a\\u0000b\":1}", "NUL");
}

/* A refusal says where, never what: the text of a witness may be a secret. */
static void secrets(void)
{
    struct synth_input in;
    struct fmt_error err;
    const char *text = "{\"key\":\"hunter2hunter2\"}";
    synth_input_parse(&in, "in", text, strlen(text), krn_curve(KRN_BN254), 0, &err);
    expect(!strstr(err.text, "hunter"), "a message shows a value", err.text);
}

static void long_names(void)
{
    char text[4 * SYNTH_INPUT_MAX_NAME];
    for (int n = SYNTH_INPUT_MAX_NAME - 2; n <= SYNTH_INPUT_MAX_NAME; n++) {
        struct synth_input in;
        struct fmt_error err;
        int len = snprintf(text, sizeof text, "{\"%0*d\":1}", n, 0);
        int rc = synth_input_parse(&in, "in", text, (size_t)len, krn_curve(KRN_BN254), 0, &err);
        expect((rc == 0) == (n < SYNTH_INPUT_MAX_NAME), "length of names", "limit");
        synth_input_free(&in);
    }
}

int main(void)
{
    numbers();
    hashes();
    shapes();
    secrets();
    long_names();
    return failed;
}
