/* formats/wtns: witnesses go where they are wanted, bent ones are refused. RUN_VALGRIND */
#include "tests/files.h"

#include "formats/wtns.h"
#include "formats/zkey.h"

static int parse(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_wtns w;
    if (fmt_wtns_parse(&w, name, bytes, len, err) != 0)
        return -1;
    uint8_t *values = malloc((size_t)w.n_witness * KRN_FR_BYTES);
    int rc = fmt_wtns_values(&w, values, err);
    free(values);
    fmt_wtns_close(&w);
    return rc;
}

static int open_path(const char *path, struct fmt_error *err)
{
    struct fmt_wtns w;
    if (fmt_wtns_open(&w, path, err) != 0)
        return -1;
    fmt_wtns_close(&w);
    return 0;
}

/* Reads a witness between two guards, which must stay as they are. */
static int read_guarded(const char *path, const struct krn_curve *curve, uint32_t n, uint8_t **values,
                        struct fmt_error *err)
{
    size_t len = (size_t)n * KRN_FR_BYTES;
    uint8_t *all = malloc(len + 128), guard[64];
    memset(guard, 0xa5, sizeof guard);
    memcpy(all, guard, 64);
    memcpy(all + 64 + len, guard, 64);
    int rc = fmt_wtns_read(path, curve, n, all + 64, err);
    check(memcmp(all, guard, 64) == 0 && memcmp(all + 64 + len, guard, 64) == 0, "%s: written outside", path);
    *values = bytes_copy(all + 64, len).at;
    free(all);
    return rc;
}

static void good(const char *name)
{
    struct fmt_error err;
    struct fmt_zkey z;
    struct bytes b = bytes_load(circuit_path(name, ".wtns"));
    struct fmt_container c = sections_of(&b, "wtns", 2);
    uint8_t *values;

    if (!check(fmt_zkey_open(&z, circuit_path(name, "_final.zkey"), &err) == 0, "%s", err.text))
        return;
    if (check(read_guarded(circuit_path(name, ".wtns"), z.curve, z.n_vars, &values, &err) == 0, "%s", err.text))
        check(memcmp(values, section_at(&b, &c, 2), (size_t)z.n_vars * KRN_FR_BYTES) == 0, "%s: other values", name);
    free(values);

    /* values first, header after */
    static const size_t swapped[] = {1, 0};
    struct bytes other = reordered(&b, &c, swapped, 2);
    check(parse(name, other.at, other.len, &err) == 0, "%s", err.text);
    bytes_free(&other);
    bytes_free(&b);
    fmt_zkey_close(&z);
}

static void expectations(void)
{
    struct fmt_error err;
    uint8_t *values;
    const char *path = circuit_path("mul2_bn128", ".wtns");

    check(read_guarded(path, krn_curve(KRN_BLS12_381), 4, &values, &err) == -1 && strstr(err.text, path) &&
          strstr(err.text, "BN254") && strstr(err.text, "BLS12-381"), "another curve: %s", err.text);
    free(values);
    check(read_guarded(path, krn_curve(KRN_BN254), 208, &values, &err) == -1 && strstr(err.text, path) &&
          strstr(err.text, " 4 values") && strstr(err.text, " 208"), "another circuit: %s", err.text);
    free(values);
    check(read_guarded(path, krn_curve(KRN_BN254), 3, &values, &err) == -1 && strstr(err.text, " 4 values"),
          "a shorter slot: %s", err.text);
    free(values);
}

static void bent(const char *name, uint64_t *state)
{
    struct bytes b = bytes_load(circuit_path(name, ".wtns"));
    struct fmt_container c = sections_of(&b, "wtns", 2);
    uint8_t *head = section_at(&b, &c, 1), *values = section_at(&b, &c, 2);
    const struct krn_curve *curve = krn_curve_by_r(head + 4, 32);
    struct fmt_error err;

    cuts_refused(name, parse, &b, &c, state);
    container_refused(name, parse, &b, &c);
    missing_refused(parse, &b, &c, 2);
    put_u32(head, 31);
    refused("31 bytes a value", parse, b.at, b.len, "31 bytes a value", "32", NULL);
    put_u32(head, 32);
    head[7] ^= 1;
    refused("an unknown prime", parse, b.at, b.len, "no known curve", NULL);
    head[7] ^= 1;
    put_u32(head + 36, 5);
    refused("a value more", parse, b.at, b.len, "section 2", "128 bytes", "5 values take 160", NULL);
    put_u32(head + 36, 0);
    refused("no value", parse, b.at, b.len, "0 values", NULL);
    put_u32(head + 36, ~0u);
    refused("2^32 - 1 values", parse, b.at, b.len, "4294967295 values take 137438953440", NULL);
    put_u32(head + 36, 4);

    uint8_t old[32];
    memcpy(old, values + 3 * 32, 32);
    memcpy(values + 3 * 32, curve->r, 32);
    refused("a value of r", parse, b.at, b.len, "value 3", "group order", NULL);
    values[3 * 32]--;
    check(parse("r - 1", b.at, b.len, &err) == 0, "%s", err.text);
    memset(values + 3 * 32, 0xff, 32);
    refused("a value of 2^256 - 1", parse, b.at, b.len, "value 3", NULL);
    memcpy(values + 3 * 32, old, 32);
    values[0] = 2;
    refused("entry 0 is 2", parse, b.at, b.len, "value 0 is 2", "must be 1", NULL);
    values[0] = 1;
    values[31] = 1;
    refused("entry 0 is 1 + 2^248", parse, b.at, b.len, "value 0", "must be 1", NULL);
    values[31] = 0;
    check(parse(name, b.at, b.len, &err) == 0, "%s is not what it was: %s", name, err.text);
    bytes_free(&b);
}

/* A witness of several reads, from a file: its one bad value is named wherever it stands. */
static void large(uint64_t *state)
{
    const uint32_t n = 100003;
    const struct krn_curve *curve = krn_curve(KRN_BLS12_381);
    const size_t head = 12 + 12 + 40 + 12, len = head + (size_t)n * 32;
    struct bytes b = {calloc(len, 1), len};
    struct fmt_error err;
    uint8_t *values;

    memcpy(b.at, "wtns", 4);
    put_u32(b.at + 4, 2);
    put_u32(b.at + 8, 2);
    put_u32(b.at + 12, 1);
    put_u64(b.at + 16, 40);
    put_u32(b.at + 24, 32);
    memcpy(b.at + 28, curve->r, 32);
    put_u32(b.at + 60, n);
    put_u32(b.at + 64, 2);
    put_u64(b.at + 68, (uint64_t)n * 32);
    for (size_t i = head; i < len; i++)
        b.at[i] = i % 32 == (head + 31) % 32 ? (uint8_t)(rnd(state) % 0x70) : (uint8_t)rnd(state);
    memset(b.at + head, 0, 32);
    b.at[head] = 1;
    scratch_write("large.wtns", b.at, len);
    check(read_guarded(scratch_path("large.wtns"), curve, n, &values, &err) == 0, "%s", err.text);
    check(memcmp(values, b.at + head, len - head) == 0, "a large witness comes otherwise");
    free(values);

    static const size_t at[] = {1, 32767, 32768, 65535, 99999, 100002};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        char where[32];
        uint8_t *bad = b.at + head + at[i] * 32, old = bad[31];
        bad[31] = 0xff;
        snprintf(where, sizeof where, "value %zu is", at[i]);
        scratch_write("large.wtns", b.at, len);
        check(read_guarded(scratch_path("large.wtns"), curve, n, &values, &err) == -1 && strstr(err.text, where),
              "%s: %s", where, err.text);
        free(values);
        bad[31] = old;
    }

    /* cut between opening and reading */
    struct fmt_wtns w;
    values = malloc(len);
    check(fmt_wtns_open(&w, scratch_path("large.wtns"), &err) == 0, "%s", err.text);
    check(truncate(scratch_path("large.wtns"), 1000000) == 0 && fmt_wtns_values(&w, values, &err) == -1 &&
          strstr(err.text, "cut to 1000000 bytes"), "cut while it is read: %s", err.text);
    fmt_wtns_close(&w);
    free(values);
    bytes_free(&b);
    unlink(scratch_path("large.wtns"));
}

int main(void)
{
    uint64_t state = test_seed();

    bent("mul2_bn128", &state);
    bent("mul2_bls12381", &state);
    expectations();
    paths_refused(open_path);
    large(&state);
    rmdir(scratch());
    for (int i = 0; i < ALL_CASES; i++)
        good(all_cases[i]);
    return failures != 0;
}
