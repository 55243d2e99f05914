/* formats/snarkjs: what snarkjs wrote comes back byte for byte, what it should not take is refused. RUN_VALGRIND */
#include "tests/files.h"

#include <errno.h>

#include "formats/decimal.h"
#include "formats/snarkjs.h"

static const struct krn_curve *curve_of(const char *name)
{
    return krn_curve(strstr(name, "bn128") ? KRN_BN254 : KRN_BLS12_381);
}

static int parse_proof(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct krn_proof proof;
    return fmt_proof_parse(name, bytes, len, krn_curve(KRN_BN254), &proof, err);
}

static int parse_public(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    uint8_t *values;
    size_t n;
    int rc = fmt_public_parse(name, bytes, len, krn_curve(KRN_BN254), &values, &n, err);
    if (rc == 0)
        free(values);
    return rc;
}

static int parse_vk(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_vk vk;
    int rc = fmt_vk_parse(name, bytes, len, &vk, err);
    if (rc == 0)
        fmt_vk_free(&vk);
    return rc;
}

static int open_proof(const char *path, struct fmt_error *err)
{
    struct krn_proof proof;
    return fmt_proof_read(path, krn_curve(KRN_BN254), &proof, err);
}

static int open_public(const char *path, struct fmt_error *err)
{
    uint8_t *values;
    size_t n;
    return fmt_public_read(path, krn_curve(KRN_BN254), &values, &n, err);
}

static int open_vk(const char *path, struct fmt_error *err)
{
    struct fmt_vk vk;
    return fmt_vk_read(path, &vk, err);
}

/* ---- there and back ---- */

static void proof_comes_back(const char *name)
{
    struct bytes b = bytes_load(case_path(name, "proof.json"));
    struct fmt_error err;
    struct krn_proof proof;
    size_t len = 0;

    if (check(fmt_proof_read(case_path(name, "proof.json"), curve_of(name), &proof, &err) == 0, "%s", err.text)) {
        char *text = fmt_proof_text(curve_of(name), &proof, &len);
        check(text && len == b.len && memcmp(text, b.at, len) == 0, "%s: another proof.json:\n%s", name, text);
        free(text);
        check(fmt_proof_write(scratch_path("proof.json"), curve_of(name), &proof, &err) == 0, "%s", err.text);
        struct bytes file = bytes_load(scratch_path("proof.json"));
        check(file.len == b.len && memcmp(file.at, b.at, b.len) == 0, "%s: another file", name);
        bytes_free(&file);
        unlink(scratch_path("proof.json"));
    }
    const struct krn_curve *other = krn_curve(curve_of(name)->id == KRN_BN254 ? KRN_BLS12_381 : KRN_BN254);
    check(fmt_proof_read(case_path(name, "proof.json"), other, &proof, &err) == -1 && strstr(err.text, "bn128") &&
          strstr(err.text, "bls12381"), "%s: %s", name, err.text);
    bytes_free(&b);
}

static void public_comes_back(const char *name)
{
    struct bytes b = bytes_load(case_path(name, "public.json")), wtns = bytes_load(circuit_path(name, ".wtns"));
    struct fmt_container c = sections_of(&wtns, "wtns", 2);
    struct fmt_error err;
    uint8_t *values;
    size_t n, len = 0;

    if (check(fmt_public_read(case_path(name, "public.json"), curve_of(name), &values, &n, &err) == 0, "%s",
              err.text)) {
        check(memcmp(values, section_at(&wtns, &c, 2) + 32, n * 32) == 0, "%s: publics are not the witness' own", name);
        char *text = fmt_public_text(values, n, &len);
        check(text && len == b.len && memcmp(text, b.at, len) == 0, "%s: another public.json: %s", name, text);
        free(text);
        free(values);
    }
    bytes_free(&wtns);
    bytes_free(&b);
}

static void messages(const char *name)
{
    struct fmt_error err;
    struct krn_proof proof, again;
    uint8_t *values, *values_again;
    size_t n, n_again;

    if (!check(fmt_proof_read(case_path(name, "proof.json"), curve_of(name), &proof, &err) == 0 &&
               fmt_public_read(case_path(name, "public.json"), curve_of(name), &values, &n, &err) == 0, "%s", err.text))
        return;
    struct fmt_json *p = fmt_json_from_proof(curve_of(name), &proof), *v = fmt_json_from_public(values, n);
    check(fmt_json_to_proof(p, "message", curve_of(name), &again, &err) == 0 &&
          memcmp(&proof, &again, sizeof proof) == 0, "%s: a proof in a message", name);
    if (check(fmt_json_to_public(v, "message", curve_of(name), &values_again, &n_again, &err) == 0, "%s", err.text)) {
        check(n == n_again && memcmp(values, values_again, n * 32) == 0, "%s: publics in a message", name);
        free(values_again);
    }
    fmt_json_free(p);
    fmt_json_free(v);
    free(values);
}

static void infinity(void)
{
    static const char want[] =
        "{\n \"pi_a\": [\n  \"0\",\n  \"1\",\n  \"0\"\n ],\n"
        " \"pi_b\": [\n  [\n   \"0\",\n   \"0\"\n  ],\n  [\n   \"1\",\n   \"0\"\n  ],\n"
        "  [\n   \"0\",\n   \"0\"\n  ]\n ],\n"
        " \"pi_c\": [\n  \"0\",\n  \"1\",\n  \"0\"\n ],\n \"protocol\": \"groth16\",\n \"curve\": \"bn128\"\n}";
    struct krn_proof zero = {.a = {0}}, back;
    struct fmt_error err;
    size_t len;
    char *text = fmt_proof_text(krn_curve(KRN_BN254), &zero, &len);

    check(text && strcmp(text, want) == 0, "infinity is written as %s", text);
    check(fmt_proof_parse("text", text, len, krn_curve(KRN_BN254), &back, &err) == 0 &&
          memcmp(&zero, &back, sizeof back) == 0, "infinity does not come back");
    free(text);
}

/* ---- bent ---- */

/* The text with one replacement of `from` by `to`; what is not in it is a mistake of the test. */
static struct bytes replaced(const struct bytes *b, const char *from, const char *to)
{
    const char *at = memmem(b->at, b->len, from, strlen(from));
    if (!at) {
        printf("the test data has no %s\n", from);
        exit(1);
    }
    size_t before = (size_t)(at - (const char *)b->at), rest = b->len - before - strlen(from);
    struct bytes out = {malloc(before + strlen(to) + rest + 1), before + strlen(to) + rest};
    memcpy(out.at, b->at, before);
    memcpy(out.at + before, to, strlen(to));
    memcpy(out.at + before + strlen(to), at + strlen(from), rest);
    return out;
}

static void bent(const char *what, parser parse, const struct bytes *b, const char *from, const char *to,
                 const char *word)
{
    struct bytes other = replaced(b, from, to);
    char name[200];
    snprintf(name, sizeof name, "%s: %.60s for %.60s", what, to, from);
    refused(name, parse, other.at, other.len, word, NULL);
    bytes_free(&other);
}

#define Q_BN254 "21888242871839275222246405745257275088696311157297823662689037894645226208583"
#define R_BN254 "21888242871839275222246405745257275088548364400416034343698204186575808495617"
#define TWO_256 "115792089237316195423570985008687907853269984665640564039457584007913129639936"

static void bent_proofs(uint64_t *state)
{
    struct bytes b = bytes_load(case_path("mul2_bn128", "proof.json"));
    static const char x[] = "\"11476126685003375765754659086526362395058341777548552836269397570739532981270\"";
    static const char *const values[][2] = {
        {"114", "a number"}, {"\"\"", "pi_a[0]"}, {"\"0x1f\"", "pi_a[0]"}, {"\"-5\"", "pi_a[0]"},
        {"\"007\"", "leading zeros"},
        {"\" 7\"", "pi_a[0]"}, {"\"7 \"", "pi_a[0]"}, {"\"" Q_BN254 "\"", "base-field prime"},
        {"\"" TWO_256 "\"", "prime"},
        {"null", "null"}, {"[\"1\"]", "an array"}, {"{}", "an object"}, {"true", "true"}, {"1.5", "a number"},
    };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        bent("pi_a's x", parse_proof, &b, x, values[i][0], values[i][1]);
    bent("pi_a", parse_proof, &b, "\"pi_a\"", "\"pi_x\"", "pi_a is nothing");
    bent("pi_b", parse_proof, &b, "\"pi_b\"", "\"pi_x\"", "pi_b is nothing");
    bent("pi_c", parse_proof, &b, "\"pi_c\"", "\"pi_a\"", "not JSON");
    bent("pi_a", parse_proof, &b, "\"1\"\n ]", "\"1\", \"1\"\n ]", "pi_a has 4 elements, where 3");
    bent("pi_a", parse_proof, &b, ",\n  \"1\"\n ]", "\n ]", "pi_a has 2 elements, where 3");
    bent("pi_a's z", parse_proof, &b, "\"1\"\n ]", "\"2\"\n ]", "pi_a has a third coordinate");
    bent("pi_a's z", parse_proof, &b, "\"1\"\n ]", "\"0\"\n ]", "pi_a has a third coordinate");
    bent("pi_b's z", parse_proof, &b, "\"1\",\n   \"0\"", "\"1\",\n   \"1\"", "pi_b has a third coordinate");
    bent("pi_b's z", parse_proof, &b, "\"1\",\n   \"0\"", "\"1\"", "pi_b[2] has 1 elements, where 2");
    bent("protocol", parse_proof, &b, "groth16", "plonk", "plonk");
    bent("protocol", parse_proof, &b, "\"groth16\"", "16", "a number");
    bent("protocol", parse_proof, &b, "\"protocol\"", "\"proto\"", "protocol is nothing");
    bent("curve", parse_proof, &b, "bn128", "bn254", "bn254");
    bent("curve", parse_proof, &b, "bn128", "bls12381", "bls12381");
    bent("curve", parse_proof, &b, "\"curve\"", "\"kurve\"", "curve is nothing");
    refused("an array", parse_proof, "[]", 2, "an array", NULL);
    refused("a string", parse_proof, "\"x\"", 3, "a string", NULL);
    for (int i = 0; i < 100; i++) {
        size_t cut = rnd(state) % b.len;
        refused("a cut proof", parse_proof, b.at, cut, "not JSON", NULL);
    }
    bytes_free(&b);
}

static void bent_publics(void)
{
    static const char *const texts[][2] = {
        {"{}", "an object, where an array"}, {"null", "null"}, {"\"33\"", "a string"},
        {"[33]", "public 0 of 1 is a number"},
        {"[\"1\", 2]", "public 1 of 2"}, {"[\"" R_BN254 "\"]", "group order"},
        {"[\"1\",\"" TWO_256 "\"]", "public 1 of 2"},
        {"[\"-1\"]", "public 0"}, {"[\"\"]", "public 0"}, {"[\"1e3\"]", "public 0"}, {"[[\"1\"]]", "an array"},
        {"[\"1\"]x", "not JSON"}, {"[\"1\",]", "not JSON"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused(texts[i][0], parse_public, texts[i][0], strlen(texts[i][0]), texts[i][1], NULL);

    static const char largest[] = "[\"21888242871839275222246405745257275088548364400416034343698204186575808495616\"]";
    struct fmt_error err;
    check(parse_public("r - 1", largest, strlen(largest), &err) == 0, "%s", err.text);
    check(parse_public("none", " [ ] ", 5, &err) == 0, "%s", err.text);
}

static void bent_vks(void)
{
    struct bytes b = bytes_load(case_path("mul2_bn128", "vk.json"));

    bent("nPublic", parse_vk, &b, "\"nPublic\": 1", "\"nPublic\": 2", "IC has 2 elements, where 3");
    bent("nPublic", parse_vk, &b, "\"nPublic\": 1", "\"nPublic\": 0", "IC has 2 elements, where 1");
    bent("nPublic", parse_vk, &b, "\"nPublic\": 1", "\"nPublic\": -1", "-1");
    bent("nPublic", parse_vk, &b, "\"nPublic\": 1", "\"nPublic\": 4294967296", "4294967296");
    bent("nPublic", parse_vk, &b, "\"nPublic\": 1", "\"nPublic\": \"1\"", "a string");
    bent("nPublic", parse_vk, &b, "\"nPublic\": 1", "\"n\": 1", "nPublic is nothing");
    bent("IC", parse_vk, &b, "\"IC\"", "\"ic\"", "IC is nothing");
    bent("alpha", parse_vk, &b, "\"vk_alpha_1\"", "\"alpha\"", "vk_alpha_1 is nothing");
    bent("gamma", parse_vk, &b, "\"vk_gamma_2\"", "\"gamma\"", "vk_gamma_2 is nothing");
    bent("curve", parse_vk, &b, "\"bn128\"", "\"bls12377\"", "bls12377");
    bent("protocol", parse_vk, &b, "\"groth16\"", "\"fflonk\"", "fflonk");
    refused("a proof for a key", parse_vk, "{\"protocol\":\"groth16\",\"curve\":\"bn128\"}", 38, "nPublic", NULL);
    refused("an array for a key", parse_vk, "[]", 2, "an array", NULL);
    bytes_free(&b);
}

/* A file over the limit is refused by its size, unread. */
static void too_large(void)
{
    struct fmt_error err;
    uint8_t *values;
    size_t n;
    scratch_write("public.json", "[]", 2);
    check(truncate(scratch_path("public.json"), FMT_SNARKJS_MAX_FILE + 1) == 0 &&
          fmt_public_read(scratch_path("public.json"), krn_curve(KRN_BN254), &values, &n, &err) == -1 &&
          strstr(err.text, "67108865 bytes") && strstr(err.text, "67108864"), "a large file: %s", err.text);
    unlink(scratch_path("public.json"));
}

static void unwritable(void)
{
    struct fmt_error err = {.text = ""};
    struct krn_proof zero = {.a = {0}};
    check(fmt_proof_write("/proc/pinwheel/proof.json", krn_curve(KRN_BN254), &zero, &err) == -1 &&
          strstr(err.text, "/proc/pinwheel/proof.json"), "a proof to an unwritable path: %s", err.text);
    check(fmt_public_write(scratch(), NULL, 0, &err) == -1 && strstr(err.text, scratch()), "publics to a folder: %s",
          err.text);
}

int main(void)
{
    uint64_t state = test_seed();

    bent_proofs(&state);
    bent_publics();
    bent_vks();
    paths_refused(open_proof);
    paths_refused(open_public);
    paths_refused(open_vk);
    too_large();
    unwritable();
    infinity();
    for (int i = 0; i < ALL_CASES; i++) {
        proof_comes_back(all_cases[i]);
        public_comes_back(all_cases[i]);
        messages(all_cases[i]);
    }
    rmdir(scratch());
    return failures != 0;
}
