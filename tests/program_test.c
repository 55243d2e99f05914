/* synth/wasm, synth/build and synth/program: circom's witness programs, in process, against witnesses by snarkjs; what
 * is wrong with an input; programs that crash, loop and recurse; the cache under concurrent and interrupted builds. */
#include "tests/files.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "formats/wtns.h"
#include "synth/build.h"
#include "synth/child.h"
#include "synth/program.h"
#include "synth/wasm.h"

/* Objects that tests may share: the cache is one of the things under test, and compiling takes seconds. */
#define CACHE "build/test-cache"

static const struct synth_program_limits limits = {.cpu_seconds = 0.5, .memory_bytes = 256 << 20};

static struct synth_program *open_wasm(const char *wasm, struct synth_build *b)
{
    struct fmt_error err;
    if (!check(synth_build_program(wasm, CACHE, b, &err) == 0, "%s", err.text))
        return NULL;
    struct synth_program *p = synth_program_open(b->path, &limits, &err);
    check(p != NULL, "%s", err.text);
    return p;
}

static int run_text(struct synth_program *p, const char *text, uint8_t *w, struct fmt_error *err)
{
    struct synth_input in;
    if (synth_input_parse(&in, "input", text, strlen(text), synth_program_info(p)->curve, 0, err) != 0)
        return -1;
    int rc = synth_program_run(p, &in, NULL, w, err);
    synth_input_free(&in);
    return rc;
}

/* The same bytes as in the .wtns that snarkjs wrote, at the first run and after others. */
static void same_as_snarkjs(const char *name)
{
    struct synth_build b;
    struct fmt_error err;
    struct synth_input in;
    char input[256];
    struct synth_program *p = open_wasm(circuit_path(name, ".wasm"), &b);
    if (!p)
        return;
    const struct synth_program_info *info = synth_program_info(p);
    size_t bytes = (size_t)info->n_witness * KRN_FR_BYTES;
    uint8_t *want = malloc(bytes), *got = malloc(bytes);

    check(strcmp(info->curve->snarkjs_name, strchr(name, '_') + 1) == 0, "%s: curve %s", name, info->curve->name);
    check(info->circom[0] == 2, "%s: circom %u", name, info->circom[0]);
    snprintf(input, sizeof input, "%s", circuit_path(name, ".json"));
    if (check(fmt_wtns_read(circuit_path(name, ".wtns"), info->curve, info->n_witness, want, &err) == 0, "%s",
              err.text) &&
        check(synth_input_read(&in, input, info->curve, 0, &err) == 0, "%s", err.text)) {
        for (int round = 0; round < 5; round++) {
            memset(got, 0xa5, bytes);
            check(synth_program_run(p, &in, NULL, got, &err) == 0, "%s: %s", name, err.text);
            check(memcmp(got, want, bytes) == 0, "%s: another witness than snarkjs's in round %d", name, round);
            /* in between, jobs that end at every stage */
            uint8_t *w = malloc(bytes);
            const char *wrong = round % 2 ? "{\"no such\":1}" : "{}";
            check(run_text(p, wrong, w, &err) == -1, "%s: %s is taken", name, wrong);
            free(w);
        }
        synth_input_free(&in);
    }
    free(want);
    free(got);
    synth_program_close(p);
}

static void input_refused(struct synth_program *p, const char *text, const char *words)
{
    uint8_t w[512 * KRN_FR_BYTES];
    struct fmt_error err = {""};
    check(run_text(p, text, w, &err) == -1 && strstr(err.text, words), "%s: %s", text, err.text);
}

/* A job with x = 2^65 among ten good ones: it alone fails, with circom's message, and the others' witnesses are
 * right. */
static void bad_among_good(struct synth_program *p)
{
    static uint8_t first[512 * KRN_FR_BYTES], w[512 * KRN_FR_BYTES];
    struct fmt_error err;
    const char *good = "{\"x\":\"123456789\",\"lo\":\"1000\",\"hi\":\"9999999999\"}";

    check(run_text(p, good, first, &err) == 0, "%s", err.text);
    for (int i = 0; i < 10; i++) {
        if (i == 4)
            input_refused(p, "{\"x\":\"36893488147419103232\",\"lo\":1000,\"hi\":9999999999}",
                          "assertion failed in the circuit: Error in template Num2Bits_0 line: 38");
        check(run_text(p, good, w, &err) == 0 && memcmp(w, first, synth_program_info(p)->n_witness * 32) == 0,
              "good job %d after a bad one", i);
    }
}

static void inputs(void)
{
    struct synth_build b;
    struct synth_program *p = open_wasm(circuit_path("range_bn128", ".wasm"), &b);
    struct fmt_sym sym;
    struct fmt_error err;
    struct synth_input in;
    uint8_t w[512 * KRN_FR_BYTES];
    static const char names[] = "1,1,4,main.y\n2,2,4,main.ok\n3,3,4,main.lo\n"
                                "4,4,4,main.hi\n5,5,4,main.x\n6,6,4,main.p[0]\n";

    if (!p)
        return;
    bad_among_good(p);
    input_refused(p, "{\"x\":1,\"lo\":0,\"hi\":2,\"extra\":3}", "input signal 'extra': the circuit has no such input");
    input_refused(p, "{\"x\":1,\"lo\":0}", "2 of 3 values are given, those of 'x' 'lo'");
    input_refused(p, "{\"x\":[1,2],\"lo\":0,\"hi\":2}", "input signal 'x': 2 values, but the circuit takes 1");
    input_refused(p, "{\"x\":[],\"lo\":0,\"hi\":2}", "input signal 'x': 0 values, but the circuit takes 1");
    if (check(fmt_sym_parse(&sym, "sym", names, strlen(names), 208, &err) == 0, "%s", err.text) &&
        check(synth_input_parse(&in, "input", "{\"x\":1}", 7, synth_program_info(p)->curve, 0, &err) == 0, "%s",
              err.text)) {
        check(synth_program_run(p, &in, &sym, w, &err) == -1 && strstr(err.text, "missing: 'lo' (1) 'hi' (1)"), "%s",
              err.text);
        synth_input_free(&in);
        fmt_sym_close(&sym);
    }
    synth_program_close(p);
}

/* The program of tests/data/programs/odd.wat, as .wasm in the scratch folder. */
static int assemble(char path[256])
{
    const char *argv[] = {"wat2wasm", "tests/data/programs/odd.wat", "-o", path, NULL};
    struct synth_child c = {.argv = argv};
    struct synth_child_end end;
    struct fmt_error err;
    snprintf(path, 256, "%s/odd.wasm", scratch());
    return check(synth_child_run(&c, &end, &err) == 0 && synth_child_judge(&c, &end, "wat2wasm", &err) == 0, "%s",
                 err.text);
}

static void odd_programs(void)
{
    static const struct { int mode; const char *words; } cases[] = {
        {1, "stopped after its limit of 0.5 s of CPU time"}, {2, "crashed: an access outside its memory"},
        {3, "crashed: its recursion does not end"}, {4, "crashed: it executed 'unreachable'"},
        {5, "crashed: a division by zero"}, {6, "the program ran out of memory"},
        {7, "a witness whose first value is not 1"},
        {9, "assertion failed in the circuit: Error in template Inner_0 line: 12, Error in template Odd_1 line: 7"},
        {10, "crashed: an indirect call of the wrong type"}, {11, "a value 1 that is not below the field's prime"},
        {12, "an error that we do not know"},
    };
    char wasm[256], text[64];
    struct synth_build b;
    struct fmt_error err;
    uint8_t w[2 * KRN_FR_BYTES];
    struct synth_program *p = assemble(wasm) ? open_wasm(wasm, &b) : NULL;

    for (size_t i = 0; p && i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{\"mode\":%d}", cases[i].mode);
        err.text[0] = '\0';
        check(run_text(p, text, w, &err) == -1 && strstr(err.text, cases[i].words), "mode %d: %s", cases[i].mode,
              err.text);
        check(run_text(p, "{\"mode\":0}", w, &err) == 0 && w[0] == 1 && w[32] == 7, "after mode %d: %s", cases[i].mode,
              err.text);
    }
    if (p) {
        check(run_text(p, "{\"mode\":8}", w, &err) == 0 && strcmp(synth_program_log(p), "mode is 8\n") == 0, "log: %s",
              synth_program_log(p));
        check(run_text(p, "{\"mode\":0}", w, &err) == 0 && !*synth_program_log(p), "log: not emptied");
    }
    synth_program_close(p);
}

/* A fault that is not the program's ends the process by SIGSEGV, as it would have without us. */
static void foreign_fault(void)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct synth_build b;
        struct synth_program *p = open_wasm(circuit_path("mul2_bn128", ".wasm"), &b);
        signal(SIGABRT, SIG_DFL);
        freopen("/dev/null", "w", stderr);      /* the sanitizers would talk */
        freopen("/dev/null", "w", stdout);
        int *volatile nowhere = (int *)8;
        *nowhere = p != NULL;
        _exit(0);
    }
    waitpid(pid, &status, 0);
    check(WIFSIGNALED(status) || WEXITSTATUS(status) != 0, "a fault of our own was swallowed");
}

static int check_bytes(const char *name, const void *bytes, size_t len, struct fmt_error *err)
{
    return synth_wasm_check(name, bytes, len, err);
}

/* Bends the name of an import or export that stands in the file once. */
static struct bytes renamed(const struct bytes *b, const char *from, const char *to)
{
    struct bytes copy = bytes_copy(b->at, b->len);
    uint8_t *at = memmem(copy.at, copy.len, from, strlen(from));
    if (check(at != NULL, "%s is not in the program", from))
        memcpy(at, to, strlen(to));
    return copy;
}

static void foreign_programs(void)
{
    static const uint8_t circom1[] = "\0asm\1\0\0\0\1\4\1\x60\0\0\2\x0f\1\3env\6memory\2\0\1";
    struct bytes b = bytes_load(circuit_path("range_bn128", ".wasm"));
    uint64_t seed = test_seed();
    struct fmt_error err;

    check(synth_wasm_check("range", b.at, b.len, &err) == 0, "%s", err.text);
    refused("text", check_bytes, "(module)", 8, "no WebAssembly", NULL);
    refused("circom 1", check_bytes, circom1, sizeof circom1 - 1, "circom 1", NULL);
    struct bytes bent = renamed(&b, "getInputSize", "getInputSiez");
    refused("older circom 2", check_bytes, bent.at, bent.len, "getInputSize", "older circom 2", NULL);
    bytes_free(&bent);
    bent = renamed(&b, "printErrorMessage", "printErrorMassage");
    refused("another import", check_bytes, bent.at, bent.len, "runtime.printErrorMassage", NULL);
    bytes_free(&bent);
    uint8_t *exports = memmem(b.at, b.len, "getMessageChar", 14);      /* the last one that is needed */
    for (size_t len = 0; b.at + len < exports + 14; len++)
        refused("a cut program", check_bytes, b.at, len, NULL);
    for (int i = 0; i < 20000; i++) {       /* whatever it answers: no crash, no read outside */
        struct bytes c = bytes_copy(b.at, 1500);
        for (int k = 0; k < 3; k++)
            c.at[rnd(&seed) % 1500] = (uint8_t)rnd(&seed);
        synth_wasm_check("bent", c.at, c.len, &err);
        bytes_free(&c);
    }
    bytes_free(&b);
}

static void build_once(const char *wasm, const char *cache, int *built)
{
    struct synth_build b;
    struct fmt_error err;
    struct synth_program *p;
    if (!check(synth_build_program(wasm, cache, &b, &err) == 0, "%s", err.text))
        return;
    *built += !b.cached;
    p = synth_program_open(b.path, &limits, &err);
    check(p != NULL, "%s", err.text);
    synth_program_close(p);
}

/* Builders killed at any moment leave nothing that a later one trips over; four at once build once. */
static void cache(void)
{
    char folder[64], wasm[256];
    int status, built = 0, one;
    uint64_t seed = 7;

    snprintf(wasm, sizeof wasm, "%s", circuit_path("mul2_bn128", ".wasm"));
    snprintf(folder, sizeof folder, "%s/a/cache", scratch());
    for (int i = 0; i < 6; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            build_once(wasm, folder, &one);
            _exit(0);
        }
        usleep((useconds_t)(rnd(&seed) % 400000));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            failures = one = 0;
            build_once(wasm, folder, &one);
            _exit(failures ? 99 : one);
        }
    }
    for (int i = 0; i < 4; i++) {
        waitpid(pids[i], &status, 0);
        check(WIFEXITED(status) && WEXITSTATUS(status) <= 1, "builder %d: status %x", i, status);
        built += WEXITSTATUS(status);
    }
    check(built <= 1, "%d of four builders compiled", built);
    build_once(wasm, folder, &built);
    check(built <= 1, "what was built is not found");
}

static void distrust(void)
{
    char folder[64];
    struct synth_build b;
    struct fmt_error err;
    snprintf(folder, sizeof folder, "%s/open", scratch());
    check(mkdir(folder, 0700) == 0 && chmod(folder, 0777) == 0, "%s", folder);
    check(synth_build_program(circuit_path("mul2_bn128", ".wasm"), folder, &b, &err) == -1 &&
          strstr(err.text, "others may write"),
          "a cache folder open to all: %s", err.text);
}

static void tools_missing(void)
{
    char folder[64], *path = strdup(getenv("PATH"));
    struct synth_build b;
    struct fmt_error err;
    snprintf(folder, sizeof folder, "%s/b", scratch());
    setenv("PATH", "/nowhere", 1);
    check(synth_build_program(circuit_path("mul2_bn128", ".wasm"), folder, &b, &err) == -1 &&
          strstr(err.text, "install wabt"), "%s",
          err.text);
    setenv("PATH", path, 1);
    setenv("PINWHEEL_CC", "no-such-cc", 1);
    check(synth_build_program(circuit_path("mul2_bn128", ".wasm"), folder, &b, &err) == -1 &&
          strstr(err.text, "no-such-cc"), "%s",
          err.text);
    unsetenv("PINWHEEL_CC");
    free(path);
}

int main(void)
{
    foreign_programs();
    for (int i = 0; i < ALL_CASES; i++)
        same_as_snarkjs(all_cases[i]);
    inputs();
    odd_programs();
    foreign_fault();
    cache();
    distrust();
    tools_missing();
    const char *argv[] = {"rm", "-rf", scratch(), NULL};
    struct synth_child_end end;
    struct fmt_error err;
    synth_child_run(&(struct synth_child){.argv = argv}, &end, &err);
    return failures != 0;
}
