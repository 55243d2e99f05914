/* formats/zkey: keys that others made are read rightly, bent ones refused. RUN_VALGRIND RUN_TSAN */
#include "tests/files.h"

#include "formats/r1cs.h"
#include "formats/snarkjs.h"
#include "formats/zkey.h"

static int parse(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_zkey z;
    if (fmt_zkey_parse(&z, name, bytes, len, err) != 0)
        return -1;
    fmt_zkey_close(&z);
    return 0;
}

static int open_path(const char *path, struct fmt_error *err)
{
    struct fmt_zkey z;
    if (fmt_zkey_open(&z, path, err) != 0)
        return -1;
    fmt_zkey_close(&z);
    return 0;
}

static int parse_coefs(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_zkey z;
    if (fmt_zkey_parse(&z, name, bytes, len, err) != 0)
        return -1;
    int one = fmt_zkey_check_coefficients(&z, 1, err);
    struct fmt_error three;
    check(fmt_zkey_check_coefficients(&z, 3, &three) == one && (one == 0 || strcmp(three.text, err->text) == 0),
          "three threads say another thing: %s", three.text);
    fmt_zkey_close(&z);
    return one;
}

static int parse_points(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_zkey z;
    if (fmt_zkey_parse(&z, name, bytes, len, err) != 0)
        return -1;
    int rc = fmt_zkey_check_points(&z, 2, err);
    fmt_zkey_close(&z);
    return rc;
}

/* ---- good keys ---- */

/* The verification key taken from the proving key is the one that snarkjs exported. */
static void same_vk(const char *name, const struct fmt_zkey *z)
{
    struct fmt_error err;
    struct fmt_vk theirs;
    struct krn_vk ours;
    const size_t g1 = 2 * z->curve->fq_bytes, ic_bytes = (z->n_public + (size_t)1) * g1;
    uint8_t *ic = malloc(ic_bytes);

    fmt_zkey_vk(z, &ours, ic);
    if (check(fmt_vk_read(case_path(name, "vk.json"), &theirs, &err) == 0, "%s", err.text)) {
        check(ours.curve == theirs.vk.curve && ours.n_public == theirs.vk.n_public && ours.ic == ic, "%s: vk", name);
        check(memcmp(ours.alpha1, theirs.vk.alpha1, sizeof ours.alpha1) == 0, "%s: alpha1", name);
        check(memcmp(ours.beta2, theirs.vk.beta2, sizeof ours.beta2) == 0, "%s: beta2", name);
        check(memcmp(ours.gamma2, theirs.vk.gamma2, sizeof ours.gamma2) == 0, "%s: gamma2", name);
        check(memcmp(ours.delta2, theirs.vk.delta2, sizeof ours.delta2) == 0, "%s: delta2", name);
        check(memcmp(ic, theirs.ic, ic_bytes) == 0, "%s: IC", name);
        fmt_vk_free(&theirs);
    }
    free(ic);
}

static void same_counts(const char *name, const struct fmt_zkey *z)
{
    struct fmt_error err;
    struct fmt_r1cs r;
    if (!check(fmt_r1cs_open(&r, circuit_path(name, ".r1cs"), &err) == 0, "%s", err.text))
        return;
    check(z->n_constraints == r.n_constraints && z->n_vars == r.n_wires && z->n_public == r.n_public &&
          z->n_rows == r.n_constraints + r.n_public + 1, "%s: counts differ from the constraints' own", name);
    check(fmt_r1cs_match(&r, z, &err) == 0, "%s", err.text);
    fmt_r1cs_close(&r);
}

static void good_keys(uint64_t digests[ALL_CASES])
{
    for (int i = 0; i < ALL_CASES; i++) {
        const char *name = all_cases[i];
        struct fmt_error err;
        struct fmt_zkey z;
        digests[i] = 0;
        if (!check(fmt_zkey_open(&z, circuit_path(name, "_final.zkey"), &err) == 0, "%s", err.text))
            continue;
        digests[i] = z.digest;
        check(z.domain_size == 1u << z.log_domain && z.key.log_domain == z.log_domain, "%s: domain", name);
        check(strcmp(z.curve->snarkjs_name, strrchr(name, '_') + 1) == 0, "%s: curve %s", name, z.curve->name);
        for (unsigned threads = 1; threads < 4; threads++)
            check(fmt_zkey_check_coefficients(&z, threads, &err) == 0, "%s", err.text);
        if (i < ALL_CASES - 1 || !getenv("PINWHEEL_TEST_SHORT"))
            check(fmt_zkey_check_points(&z, 2, &err) == 0, "%s", err.text);
        same_counts(name, &z);
        same_vk(name, &z);
        fmt_zkey_close(&z);
    }
}

/* Any order of the sections is the same key; one changed byte of any section is another. */
static void orders_and_digests(const char *name, uint64_t digest, uint64_t *state)
{
    struct bytes b = bytes_load(circuit_path(name, "_final.zkey"));
    struct fmt_container c = sections_of(&b, "zkey", 1);
    struct fmt_error err;
    struct fmt_zkey z;
    size_t order[FMT_MAX_SECTIONS];

    for (int i = 0; i < 5; i++) {
        shuffle(order, c.n_sections, state);
        struct bytes other = reordered(&b, &c, order, c.n_sections);
        if (check(fmt_zkey_parse(&z, "reordered", other.at, other.len, &err) == 0, "%s", err.text))
            check(z.digest == digest, "%s: another order has another digest", name);
        bytes_free(&other);
    }
    for (uint32_t id = 3; id <= 9; id++) {
        const struct fmt_section *s = fmt_container_find(&c, id);
        if (s->size == 0)
            continue;
        b.at[s->offset + s->size - 1] ^= 1;
        if (check(fmt_zkey_parse(&z, "changed", b.at, b.len, &err) == 0, "%s", err.text))
            check(z.digest != digest, "%s: section %u does not enter the digest", name, id);
        b.at[s->offset + s->size - 1] ^= 1;
    }
    bytes_free(&b);
}

static void digests_differ(const uint64_t digests[ALL_CASES])
{
    for (int i = 0; i < ALL_CASES; i++) {
        for (int k = 0; k < i; k++)
            check(digests[i] != digests[k], "%s and %s have one digest", all_cases[i], all_cases[k]);
    }
}

/* ---- bent keys ---- */

struct key {
    struct bytes b;
    struct fmt_container c;
    uint32_t n8q;
    uint8_t *header, *counts, *coefs;  /* section 2, its nVars, section 4's first entry */
};

static struct key load(const char *name)
{
    struct key k = {.b = bytes_load(circuit_path(name, "_final.zkey"))};
    k.c = sections_of(&k.b, "zkey", 1);
    k.header = section_at(&k.b, &k.c, 2);
    memcpy(&k.n8q, k.header, 4);
    k.counts = k.header + 8 + k.n8q + 32;
    k.coefs = section_at(&k.b, &k.c, 4) + 4;
    return k;
}

/* Sets a u32, expects a refusal with two words in it, and puts the old value back. */
static void bent_u32(const char *what, const struct key *k, parser how, uint8_t *at, uint32_t value, const char *word1,
                     const char *word2)
{
    uint8_t old[4];
    memcpy(old, at, 4);
    put_u32(at, value);
    refused(what, how, k->b.at, k->b.len, word1, word2, NULL);
    memcpy(at, old, 4);
}

static void bent_headers(struct key *k)
{
    uint8_t *protocol = section_at(&k->b, &k->c, 1), *q = k->header + 4, *r = q + k->n8q + 4;

    bent_u32("PLONK", k, parse, protocol, 2, "protocol 2 (PLONK)", "Groth16");
    bent_u32("fflonk", k, parse, protocol, 10, "protocol 10 (fflonk)", "Groth16");
    bent_u32("protocol 3", k, parse, protocol, 3, "protocol 3,", "Groth16");
    bent_u32("n8q 33", k, parse, k->header, 33, "33 bytes a coordinate", "section 2");
    bent_u32("n8q 80", k, parse, k->header, 80, "80 bytes a coordinate", "section 2");
    bent_u32("n8r 31", k, parse, r - 4, 31, "31 bytes a scalar", "32");
    q[9] ^= 4;
    refused("an unknown q", parse, k->b.at, k->b.len, "base-field prime", "BN254", NULL);
    q[9] ^= 4;
    r[9] ^= 4;
    refused("an unknown r", parse, k->b.at, k->b.len, "scalar prime", "BN254", NULL);
    memcpy(r, krn_curve(k->n8q == 32 ? KRN_BLS12_381 : KRN_BN254)->r, 32);
    refused("primes of two curves", parse, k->b.at, k->b.len, "BN254", "BLS12-381", NULL);
    memcpy(r, krn_curve(k->n8q == 32 ? KRN_BN254 : KRN_BLS12_381)->r, 32);
}

/* mul2: 4 variables, 1 public, 1 constraint, a domain of 4, 3 rows */
static void bent_counts(struct key *k)
{
    uint8_t *n_vars = k->counts, *n_public = k->counts + 4, *domain = k->counts + 8, *n_coefs = k->coefs - 4;
    uint32_t coefs;
    memcpy(&coefs, n_coefs, 4);
    uint8_t *last = k->coefs + (coefs - 1) * (size_t)FMT_ZKEY_COEF_BYTES;

    bent_u32("a variable more", k, parse, n_vars, 5, "section 5", "5 entries");
    bent_u32("no variable", k, parse, n_vars, 0, "0 variables", "1 publics");
    bent_u32("2^32 - 1 variables", k, parse, n_vars, ~0u, "section 5", "4294967295 entries");
    bent_u32("a public more", k, parse, n_public, 2, "section 3", "3 entries");
    bent_u32("as many publics as variables", k, parse, n_public, 4, "4 variables", "4 publics");
    bent_u32("2^32 - 1 publics", k, parse, n_public, ~0u, "4 variables", "4294967295 publics");
    bent_u32("domain 0", k, parse, domain, 0, "domain of 0", "power of two");
    bent_u32("domain 3", k, parse, domain, 3, "domain of 3", "power of two");
    bent_u32("domain 8", k, parse, domain, 8, "section 9", "8 entries");
    bent_u32("domain 2^28", k, parse, domain, 1u << 28, "section 9", "268435456 entries");
    bent_u32("domain 2^29", k, parse, domain, 1u << 29, "domain of 536870912", "2^28");
    bent_u32("a coefficient more", k, parse, n_coefs, coefs + 1, "section 4", "entries");
    bent_u32("2^32 - 1 coefficients", k, parse, n_coefs, ~0u, "section 4", "4294967295 entries");
    bent_u32("no coefficient", k, parse, n_coefs, 0, "section 4", "0 entries");
    bent_u32("a row at the domain's end", k, parse, last + 4, 4, "row 4", "has 4");
    bent_u32("rows for half the domain", k, parse, last + 4, 1, "domain of 4", "2 rows");
}

static void bent_coefs(struct key *k)
{
    uint8_t *second = k->coefs + FMT_ZKEY_COEF_BYTES;

    bent_u32("matrix 2", k, parse_coefs, second, 2, "section 4, coefficient 1", "matrix 2");
    bent_u32("row 3 of 3", k, parse_coefs, second + 4, 3, "section 4, coefficient 1", "row 3");
    bent_u32("signal 4 of 4", k, parse_coefs, second + 8, 4, "section 4, coefficient 1: signal 4", "are 4");
    bent_u32("an unsorted row", k, parse_coefs, k->coefs + 4, 1, "section 4, coefficient 1", "row 0 of B after row 1");
}

static void values_and_order(struct key *k)
{
    uint8_t *second = k->coefs + FMT_ZKEY_COEF_BYTES, *value = second + 12, old[32];
    const struct krn_curve *curve = krn_curve(k->n8q == 32 ? KRN_BN254 : KRN_BLS12_381);
    struct fmt_error err;

    memcpy(old, value, 32);
    memcpy(value, curve->r, 32);
    refused("a value of r", parse_coefs, k->b.at, k->b.len, "section 4, coefficient 1", "not below the group order",
            NULL);
    value[0]--;
    check(parse_coefs("r - 1", k->b.at, k->b.len, &err) == 0, "%s", err.text);
    memset(value, 0xff, 32);
    refused("a value of 2^256 - 1", parse_coefs, k->b.at, k->b.len, "section 4, coefficient 1", NULL);
    memcpy(value, old, 32);
    put_u32(k->coefs, 1);
    put_u32(second, 0);
    refused("B before A", parse_coefs, k->b.at, k->b.len, "coefficient 1: row 0 of A after row 0 of B", NULL);
    put_u32(k->coefs, 0);
    put_u32(second, 1);
}

/* The first of two bad entries is named, whichever thread finds it. */
static void first_bad_coef(void)
{
    struct key k = load("range_bn128");
    uint32_t n;
    memcpy(&n, k.coefs - 4, 4);
    put_u32(k.coefs + (size_t)(n - 5) * FMT_ZKEY_COEF_BYTES, 7);
    put_u32(k.coefs + 100 * FMT_ZKEY_COEF_BYTES, 9);
    refused("two bad entries", parse_coefs, k.b.at, k.b.len, "coefficient 100: matrix 9", NULL);
    bytes_free(&k.b);
}

static void bent_points(struct key *k)
{
    const uint32_t n8q = k->n8q;
    const uint8_t *q = krn_curve(n8q == 32 ? KRN_BN254 : KRN_BLS12_381)->q;
    char where[64];

    for (uint32_t id = 3; id <= 9; id++) {
        if (id == 4)
            continue;
        const struct fmt_section *s = fmt_container_find(&k->c, id);
        const size_t each = (id == 7 ? 4 : 2) * n8q, n = s->size / each;
        uint8_t *last = k->b.at + s->offset + (n - 1) * each, old[192];
        snprintf(where, sizeof where, "section %u, point %zu of %zu", id, n - 1, n);
        memcpy(old, last, each);
        last[0] ^= 1;
        refused("a point off the curve", parse_points, k->b.at, k->b.len, where, "is not on", NULL);
        memcpy(last, old, each);
        memcpy(last, q, n8q);
        memset(last + n8q, 0, each - n8q);
        refused("a coordinate of q", parse_points, k->b.at, k->b.len, where, NULL);
        memcpy(last, old, each);
    }
    static const char *const names[] = {"alpha1", "beta1", "beta2", "gamma2", "delta1", "delta2"};
    uint8_t *p = k->counts + 12;
    for (int i = 0; i < 6; i++) {
        const size_t each = (names[i][strlen(names[i]) - 1] == '2' ? 4 : 2) * n8q;
        uint8_t old[192];
        memcpy(old, p, each);
        p[each - 2] ^= 1;
        refused("a header point off the curve", parse_points, k->b.at, k->b.len, "section 2", names[i], NULL);
        memset(p, 0, each);
        refused("a header point at infinity", parse_points, k->b.at, k->b.len, "section 2", names[i], "infinity", NULL);
        memcpy(p, old, each);
        p += each;
    }
}

static void bent_keys(const char *name, uint64_t *state)
{
    struct key k = load(name);
    struct fmt_error err;

    cuts_refused(name, parse, &k.b, &k.c, state);
    container_refused(name, parse, &k.b, &k.c);
    missing_refused(parse, &k.b, &k.c, 9);
    bent_headers(&k);
    bent_counts(&k);
    bent_coefs(&k);
    values_and_order(&k);
    bent_points(&k);
    check(parse_points(name, k.b.at, k.b.len, &err) == 0 && parse_coefs(name, k.b.at, k.b.len, &err) == 0,
          "%s is not what it was: %s", name, err.text);
    bytes_free(&k.b);
}

int main(void)
{
    uint64_t state = test_seed(), digests[ALL_CASES];

    bent_keys("mul2_bn128", &state);
    bent_keys("mul2_bls12381", &state);
    first_bad_coef();
    paths_refused(open_path);
    rmdir(scratch());
    good_keys(digests);
    digests_differ(digests);
    for (int i = 0; i < ALL_CASES - 1; i++)
        orders_and_digests(all_cases[i], digests[i], &state);
    return failures != 0;
}
