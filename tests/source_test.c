/* synth/recipe, synth/source, synth/external, synth/broken and synth/circuit: the same payload from an input, by
 * program or by command, as from snarkjs's witness; what goes wrong, said in words. */
#include "tests/files.h"

#include <sys/stat.h>

#include "formats/wtns.h"
#include "synth/broken.h"
#include "synth/build.h"
#include "synth/circuit.h"
#include "synth/external.h"

static struct fmt_error err;

static uint8_t *filled(struct synth_circuit *c, const char *file)
{
    uint8_t *payload = aligned_alloc(FMT_PAYLOAD_ALIGN, c->place.bytes);
    memset(payload, 0xa5, c->place.bytes);
    if (synth_circuit_fill(c, file, payload, 1, &err) == 0)
        return payload;
    free(payload);
    return NULL;
}

static void same_payload(const char *what, const struct synth_circuit *c, const uint8_t *want, const uint8_t *got)
{
    size_t rows = (size_t)c->zkey.domain_size * KRN_FR_BYTES;
    if (check(want && got, "%s: %s", what, err.text))
        check(memcmp(want + c->place.w, got + c->place.w, (size_t)c->zkey.n_vars * KRN_FR_BYTES) == 0 &&
              memcmp(want + c->place.a, got + c->place.a, rows) == 0 &&
                  memcmp(want + c->place.b, got + c->place.b, rows) == 0,
              "%s: another payload than from snarkjs's witness", what);
}

static void open_case(struct synth_circuit *c, const char *name, const struct synth_recipe *r)
{
    char zkey[256], r1cs[256];
    snprintf(zkey, sizeof zkey, "%s", circuit_path(name, "_final.zkey"));
    snprintf(r1cs, sizeof r1cs, "%s", circuit_path(name, ".r1cs"));
    check(synth_circuit_open(c, zkey, r1cs, r, &err) == 0, "%s: %s", name, err.text);
}

static void by_program_and_command(const char *name)
{
    struct synth_circuit plain, by_program, by_command;
    struct synth_recipe program = {.seconds = 20}, command = {.seconds = 20, .memory_mib = 512};
    struct synth_build b;
    char input[256], wtns[256];

    snprintf(input, sizeof input, "%s", circuit_path(name, ".json"));
    snprintf(wtns, sizeof wtns, "%s", circuit_path(name, ".wtns"));
    if (!check(synth_build_program(circuit_path(name, ".wasm"), "build/test-cache", &b, &err) == 0, "%s", err.text))
        return;
    snprintf(program.program, sizeof program.program, "%s", b.path);
    /* a generator that looks at its input and then knows the answer */
    snprintf(command.command, sizeof command.command, "grep -q '{' {input} && cat %s >{output} #", wtns);
    check(getcwd(command.folder, sizeof command.folder) != NULL, "no folder");
    open_case(&plain, name, NULL);
    open_case(&by_program, name, &program);
    open_case(&by_command, name, &command);
    uint8_t *want = filled(&plain, wtns), *got = filled(&by_program, input);
    same_payload("by program", &plain, want, got);
    free(got);
    same_payload("a witness file all the same", &plain, want, got = filled(&by_program, wtns));
    free(got);
    same_payload("by command", &plain, want, got = filled(&by_command, input));
    free(got);
    check(!filled(&plain, input) && strstr(err.text, "wtns"), "an input without a program: %s", err.text);
    free(want);
    synth_circuit_close(&plain);
    synth_circuit_close(&by_program);
    synth_circuit_close(&by_command);
}

static void command_says(const char *command, const char *words)
{
    static uint8_t w[208 * KRN_FR_BYTES];
    struct synth_external x = {.command = command, .folder = ".", .seconds = 1, .memory = 64 << 20};
    char input[256];
    snprintf(input, sizeof input, "%s", circuit_path("range_bn128", ".json"));
    err.text[0] = '\0';
    int rc = synth_external_run(&x, input, krn_curve(KRN_BN254), 208, w, &err);
    check(words ? rc == -1 && strstr(err.text, words) : rc == 0 && w[0] == 1, "%s: %s", command, err.text);
}

static void commands(void)
{
    command_says("cat tests/data/cases/range_bn128/range.wtns > {output}", NULL);
    command_says("sh -c 'cat tests/data/cases/range_bn128/range.wtns > $1' sh {output}", NULL);
    command_says("sh -c 'test -s \"$1\" && cp tests/data/cases/range_bn128/range.wtns \"$2\"' generator", NULL);
    command_says("true", "wrote nothing");
    command_says("echo 'Not all inputs have been set' >&2; exit 134 #", "exit 134: Not all inputs have been set");
    command_says("kill -ABRT $$ #", "ended by signal 6 (Aborted)");
    command_says("while :; do :; done #", "killed after its limit of 1 s");
    command_says("cat tests/data/cases/mul2_bn128/mul2.wtns > {output}", "4");
    command_says("cat tests/data/cases/range_bls12381/range.wtns > {output}", "the witness program's output");
    command_says("echo nonsense > {output}", "the witness program's output");
    command_says("head -c 100000000 /dev/zero > {output}", "File size limit exceeded");
    check(synth_external_check(" \t", &err) == -1, "an empty command is taken");
}

/* The registry: what was written is read; what is bent is refused. */
static void recipes(void)
{
    struct synth_recipe r = {.name = "a-b.c_1", .zkey = "/x/y.zkey", .r1cs = "/x/y.r1cs",
                             .command = "c {input} \"{output}\"",
                             .folder = "/x", .reduce = true, .seconds = 7, .memory_mib = 99}, back;
    static const char *const bad[] = {"", ".", "..", "-x", "_x", "a/b", "a b", "a\nb", "\xc3\xa9",
                                      "1234567890123456789012345678901234567890123456789012345678901234"};

    setenv("PINWHEEL_REGISTRY", scratch_path("deep/er"), 1);
    check(synth_recipe_read(&back, "a-b.c_1", &err) == 1, "a name that nobody registered");
    check(synth_recipe_write(&r, &err) == 0, "%s", err.text);
    check(synth_recipe_read(&back, "a-b.c_1", &err) == 0 && memcmp(&r, &back, sizeof r) == 0,
          "not what was written: %s", err.text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(synth_recipe_check_name(bad[i], &err) == -1 && synth_recipe_read(&back, bad[i], &err) == -1,
              "name '%s' is taken", bad[i]);
    scratch_write("deep/er/bent.json", "{\"zkey\":\"/x\",\"color\":1}", 23);
    check(synth_recipe_read(&back, "bent", &err) == -1 && strstr(err.text, "color"), "%s", err.text);
    check(synth_recipe_remove("a-b.c_1", &err) == 0 && synth_recipe_remove("a-b.c_1", &err) == 1, "removal");
    unlink(scratch_path("deep/er/bent.json"));
    rmdir(scratch_path("deep/er"));
    rmdir(scratch_path("deep"));
}

/* A witness with one value changed: constraint, wires and names are told. */
static void broken(void)
{
    static const char names[] = "1,1,0,main.c\n2,2,0,main.a\n3,3,0,main.b\n";
    struct fmt_r1cs r;
    struct fmt_r1cs_broken b;
    struct fmt_sym sym;
    uint8_t w[4 * KRN_FR_BYTES];

    if (!check(fmt_r1cs_open(&r, circuit_path("mul2_bn128", ".r1cs"), &err) == 0 &&
               fmt_wtns_read(circuit_path("mul2_bn128", ".wtns"), r.curve, 4, w, &err) == 0 &&
               fmt_sym_parse(&sym, "sym", names, strlen(names), 4, &err) == 0, "%s", err.text))
        return;
    w[2 * KRN_FR_BYTES] ^= 1;
    check(fmt_r1cs_check(&r, w, 1, &b, &err) == 1, "a changed witness holds");
    check(synth_broken_fail(&r, &b, &sym, &err) == -1 && strstr(err.text, "constraint 0 of") &&
          strstr(err.text, "1 (main.c)") &&
          strstr(err.text, "2 (main.a)") && strstr(err.text, "3 (main.b)"), "%s", err.text);
    check(synth_broken_fail(&r, &b, NULL, &err) == -1 && strstr(err.text, "over wires ") && !strstr(err.text, "main"),
          "%s", err.text);
    fmt_sym_close(&sym);
    fmt_r1cs_close(&r);
}

/* A program and a key of different circuits. */
static void mismatch(void)
{
    struct synth_recipe r = {.name = "x"};
    struct synth_circuit c;
    struct synth_build b;
    char zkey[256];
    if (!check(synth_build_program(circuit_path("mul2_bn128", ".wasm"), "build/test-cache", &b, &err) == 0, "%s",
               err.text))
        return;
    snprintf(r.program, sizeof r.program, "%s", b.path);
    snprintf(zkey, sizeof zkey, "%s", circuit_path("range_bn128", "_final.zkey"));
    check(synth_circuit_open(&c, zkey, NULL, &r, &err) == -1 && strstr(err.text, "4 values") &&
          strstr(err.text, "208"), "%s", err.text);
    snprintf(zkey, sizeof zkey, "%s", circuit_path("mul2_bls12381", "_final.zkey"));
    check(synth_circuit_open(&c, zkey, NULL, &r, &err) == -1 && strstr(err.text, "BLS12-381"), "%s", err.text);
    snprintf(r.program, sizeof r.program, "/nowhere/x.so");
    check(synth_circuit_open(&c, zkey, NULL, &r, &err) == -1 && strstr(err.text, "add` it again"), "%s", err.text);
}

int main(void)
{
    by_program_and_command("range_bn128");
    by_program_and_command("sorted16_bls12381");
    commands();
    recipes();
    broken();
    mismatch();
    rmdir(scratch());
    return failures != 0;
}
