/* formats/r1cs: constraints are read, checked and matched with keys. RUN_VALGRIND RUN_TSAN */
#include "tests/files.h"

#include "formats/r1cs.h"
#include "formats/wtns.h"
#include "tests/naive.h"

static int parse(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    struct fmt_r1cs r;
    if (fmt_r1cs_parse(&r, name, bytes, len, err) != 0)
        return -1;
    fmt_r1cs_close(&r);
    return 0;
}

static int open_path(const char *path, struct fmt_error *err)
{
    struct fmt_r1cs r;
    if (fmt_r1cs_open(&r, path, err) != 0)
        return -1;
    fmt_r1cs_close(&r);
    return 0;
}

/* ---- the check, against arithmetic by hand ---- */

/* The first constraint that w breaks, and its sums; n_constraints where there is none. */
static uint32_t naive_broken(const struct fmt_r1cs *r, const uint8_t *w, struct naive abc[3])
{
    const struct naive p = naive_load(r->curve->r);
    uint64_t at = r->blocks[0];
    for (uint32_t row = 0; row < r->n_constraints; row++) {
        struct fmt_r1cs_constraint c = fmt_r1cs_next(r, &at);
        abc[0] = naive_sum(&c.a, w, p);
        abc[1] = naive_sum(&c.b, w, p);
        abc[2] = naive_sum(&c.c, w, p);
        if (!naive_equal(naive_mul(abc[0], abc[1], p), abc[2]))
            return row;
    }
    return r->n_constraints;
}

static void compare_check(const char *name, const struct fmt_r1cs *r, const uint8_t *w, unsigned threads)
{
    struct naive abc[3];
    struct fmt_error err;
    struct fmt_r1cs_broken broken;
    const uint32_t row = naive_broken(r, w, abc);
    const int rc = fmt_r1cs_check(r, w, threads, &broken, &err);

    if (!check(rc == (row < r->n_constraints), "%s: check says %d, row %u of %u is broken", name, rc, row,
               r->n_constraints) || rc == 0)
        return;
    const char *text[3] = {broken.a, broken.b, broken.c};
    check(broken.row == row, "%s: row %u is named, row %u is broken", name, broken.row, row);
    for (int i = 0; i < 3; i++) {
        uint8_t value[32];
        check(fmt_decimal_read(value, 32, text[i], strlen(text[i])) == 0 && memcmp(value, abc[i].l, 32) == 0,
              "%s: row %u, value %c is given as %s", name, row, "abc"[i], text[i]);
        check(strstr(err.text, text[i]) != NULL, "%s: %s is not in: %s", name, text[i], err.text);
    }
    check(strstr(err.text, name) != NULL, "%s is not named: %s", name, err.text);
}

static void satisfied_and_broken(const char *name, uint64_t *state)
{
    struct fmt_error err;
    struct fmt_r1cs r;
    if (!check(fmt_r1cs_open(&r, circuit_path(name, ".r1cs"), &err) == 0, "%s", err.text))
        return;
    uint8_t *w = malloc((size_t)r.n_wires * 32);
    if (check(fmt_wtns_read(circuit_path(name, ".wtns"), r.curve, r.n_wires, w, &err) == 0, "%s", err.text)) {
        compare_check(name, &r, w, 1);
        for (int i = 0; i < 6; i++) {       /* one wrong value, now small and now random */
            size_t wire = 1 + rnd(state) % (r.n_wires - 1);
            uint8_t old[32];
            memcpy(old, w + wire * 32, 32);
            if (i % 2)
                w[wire * 32] ^= 1;
            else
                for (int k = 0; k < 31; k++)
                    w[wire * 32 + k] = (uint8_t)rnd(state);
            compare_check(name, &r, w, 1 + (unsigned)i % 4);
            memcpy(w + wire * 32, old, 32);
        }
    }
    free(w);
    fmt_r1cs_close(&r);
}

/* ---- bent files ---- */

static void bent(const char *name, uint64_t *state)
{
    struct bytes b = bytes_load(circuit_path(name, ".r1cs"));
    struct fmt_container c = sections_of(&b, "r1cs", 1);
    uint8_t *head = section_at(&b, &c, 1), *first = section_at(&b, &c, 2), old[36];
    size_t order[FMT_MAX_SECTIONS];
    struct fmt_error err;

    cuts_refused(name, parse, &b, &c, state);
    container_refused(name, parse, &b, &c);
    missing_refused(parse, &b, &c, 2);
    for (int i = 0; i < 4; i++) {
        shuffle(order, c.n_sections, state);
        struct bytes other = reordered(&b, &c, order, c.n_sections);
        check(parse("reordered", other.at, other.len, &err) == 0, "%s", err.text);
        bytes_free(&other);
    }
    put_u32(head, 48);
    refused("48 bytes a value", parse, b.at, b.len, "48 bytes a value", "32", NULL);
    put_u32(head, 32);
    head[4] ^= 1;
    refused("an unknown prime", parse, b.at, b.len, "no known curve", NULL);
    head[4] ^= 1;
    put_u32(head + 40, ~0u);
    refused("2^32 - 1 outputs", parse, b.at, b.len, "4 wires", "4294967298", NULL);
    put_u32(head + 40, 1);
    put_u32(head + 60, 2);
    refused("a constraint more", parse, b.at, b.len, "section 2", "constraint 1 of 2", NULL);
    put_u32(head + 60, 0);
    refused("a constraint less", parse, b.at, b.len, "section 2 ends at byte", NULL);
    put_u32(head + 60, ~0u);
    refused("2^32 - 1 constraints", parse, b.at, b.len, "4294967295 constraints take 51539607540", NULL);
    put_u32(head + 60, 1);

    memcpy(old, first, 36);
    put_u32(first, ~0u);
    refused("2^32 - 1 terms", parse, b.at, b.len, "constraint 0, A: 4294967295 terms", "section ends at byte", NULL);
    put_u32(first, 1);
    put_u32(first + 4, 4);
    refused("wire 4 of 4", parse, b.at, b.len, "constraint 0, A, term 0: wire 4", "are 4", NULL);
    memcpy(first, old, 36);
    memset(first + 8, 0xff, 32);
    refused("a coefficient of 2^256 - 1", parse, b.at, b.len, "constraint 0, A, term 0", "group order", NULL);
    memcpy(first + 8, head + 4, 32);
    refused("a coefficient of r", parse, b.at, b.len, "constraint 0, A, term 0", "group order", NULL);
    memcpy(first, old, 36);
    bytes_free(&b);
}

/* Custom gates: absent, or sections 4 and 5 with nothing in them. */
static void custom_gates(void)
{
    struct bytes b = bytes_load(circuit_path("mul2_bn128", ".r1cs"));
    struct bytes more = bytes_copy(b.at, b.len);
    struct fmt_error err;

    more.at = realloc(more.at, b.len + 16);
    more.len = b.len + 16;
    put_u32(more.at + 8, 4);
    for (uint32_t id = 4; id <= 5; id++) {
        put_u32(more.at + b.len, id);
        put_u64(more.at + b.len + 4, 4);
        put_u32(more.at + b.len + 12, 0);
        check(parse("no gates", more.at, more.len, &err) == 0, "%s", err.text);
        put_u32(more.at + b.len + 12, 1);
        refused("custom gates", parse, more.at, more.len, "custom gates", "section", NULL);
    }
    bytes_free(&more);
    bytes_free(&b);
}

/* Another circuit, curve, or level of optimisation, told by the counts. */
static void matching(void)
{
    static const struct {
        const char *r1cs, *zkey;
        const char *words[2];
    } pairs[] = {
        {"mul2_bn128", "range_bn128", {"1 constraints", "has 207"}},
        {"range_bls12381", "range_bn128", {"BLS12-381", "BN254"}},
        {"allpub_bn128", "mul2_bn128", {"8 wires", "has 4"}},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct fmt_error err = {.text = ""};
        struct fmt_r1cs r;
        struct fmt_zkey z;
        if (!check(fmt_r1cs_open(&r, circuit_path(pairs[i].r1cs, ".r1cs"), &err) == 0 &&
                   fmt_zkey_open(&z, circuit_path(pairs[i].zkey, "_final.zkey"), &err) == 0, "%s", err.text))
            return;
        check(fmt_r1cs_match(&r, &z, &err) == -1 && strstr(err.text, pairs[i].words[0]) &&
              strstr(err.text, pairs[i].words[1]) && strstr(err.text, r.file.name) && strstr(err.text, z.file.name),
              "%s and the key of %s: %s", pairs[i].r1cs, pairs[i].zkey, err.text);
        fmt_r1cs_close(&r);
        fmt_zkey_close(&z);
    }
}

int main(void)
{
    uint64_t state = test_seed();

    bent("mul2_bn128", &state);
    bent("mul2_bls12381", &state);
    custom_gates();
    paths_refused(open_path);
    rmdir(scratch());
    matching();
    int n = getenv("PINWHEEL_TEST_SHORT") ? ALL_CASES - 3 : ALL_CASES;     /* the last three are the long ones */
    for (int i = 0; i < n; i++)
        satisfied_and_broken(all_cases[i], &state);
    return failures != 0;
}
