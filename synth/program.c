#include "synth/program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "formats/decimal.h"
#include "synth/build.h"
#include "synth/shim/circom.h"

/* 32-bit address + 32-bit offset + the access itself: all that generated code can reach from a memory's start. */
#define REACH ((UINT64_C(1) << 33) + 65536)

enum { WASM_PAGE = 65536, ALT_STACK = 64 << 10, MESSAGES = 384, STACK_GUARD = 1 << 20, TICK = SIGVTALRM };

/* Why a program stopped. */
enum stop { STOP_EXCEPTION = 1, STOP_TRAP, STOP_BOUNDS, STOP_STACK, STOP_TIME };

struct text {
    size_t len;
    char bytes[SYNTH_PROGRAM_LOG];
};

struct synth_program {
    void *object;                       /* dlopen's */
    const struct program_table *table;
    struct synth_program_info info;
    struct synth_program_limits limits;
    void *instance;
    bool begun;                         /* instantiate was called: there is something to discard */
    bool alive;                         /* instantiated, and no failure since */
    uint8_t *memory;                    /* the instance's; REACH bytes reserved */
    void *alt_stack;                    /* for the handler, where the thread has none */
    /* while it runs: */
    sigjmp_buf leave;
    enum stop stop;
    uint32_t code;                      /* of an exception or trap */
    uintptr_t frame, stack_low;         /* the thread's stack, from here down */
    struct text messages, log;
    bool log_mid_line;
};

struct job {
    struct synth_program *program;
    const struct synth_input *in;
    const struct fmt_sym *sym;
    uint8_t *w;
    struct fmt_error *err;
};

/* The program that this thread is inside of; only then may a handler jump. */
static _Thread_local struct synth_program *volatile running;

static void leave(enum stop why, uint32_t code) __attribute__((noreturn));

static void leave(enum stop why, uint32_t code)
{
    struct synth_program *p = running;
    p->stop = why;
    p->code = code;
    siglongjmp(p->leave, 1);
}

/* ---- signals ---- */

static struct sigaction fault_before;

static void on_fault(int sig, siginfo_t *si, void *context)
{
    struct synth_program *p = running;
    uintptr_t at = (uintptr_t)si->si_addr;

    (void)context;
    if (p && si->si_code > 0) {
        if (p->memory && at - (uintptr_t)p->memory < REACH)
            leave(STOP_BOUNDS, 0);
        if (at < p->frame && at >= p->stack_low - STACK_GUARD)
            leave(STOP_STACK, 0);
    }
    sigaction(sig, &fault_before, NULL);    /* not ours: it faults again, as if we had never been there */
}

static void on_tick(int sig)
{
    (void)sig;
    if (running)
        leave(STOP_TIME, 0);
}

static void install_handlers(void)
{
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGSEGV, &fault, &fault_before);
    sigaction(TICK, &tick, NULL);
}

/* The thread's lowest stack address; looked up once a thread, since for the first one libc reads /proc. */
static uintptr_t stack_low(void)
{
    static _Thread_local uintptr_t low;
    pthread_attr_t a;
    void *base;
    size_t size;
    if (low == 0 && pthread_getattr_np(pthread_self(), &a) == 0) {
        pthread_attr_getstack(&a, &base, &size);
        pthread_attr_destroy(&a);
        low = (uintptr_t)base;
    }
    return low;
}

/* What the thread had before, to be given back. */
struct borrowed {
    sigset_t mask;
    stack_t stack;
    timer_t timer;
    bool timed;
};

static int start_timer(struct borrowed *b, double seconds)
{
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK};
    struct itimerspec t = {.it_value = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}};
    e._sigev_un._tid = gettid();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &b->timer) != 0)
        return -1;
    b->timed = true;
    return timer_settime(b->timer, 0, &t, NULL);
}

static void borrow_thread(struct synth_program *p, struct borrowed *b)
{
    stack_t alt = {.ss_sp = p->alt_stack, .ss_size = ALT_STACK};
    sigset_t needed;

    *b = (struct borrowed){.timed = false};
    sigemptyset(&needed);
    sigaddset(&needed, SIGSEGV);
    sigaddset(&needed, TICK);
    pthread_sigmask(SIG_UNBLOCK, &needed, &b->mask);
    sigaltstack(NULL, &b->stack);
    if (b->stack.ss_flags & SS_DISABLE)
        sigaltstack(&alt, NULL);
}

static void return_thread(struct borrowed *b)
{
    if (b->timed)
        timer_delete(b->timer);
    if (b->stack.ss_flags & SS_DISABLE)
        sigaltstack(&b->stack, NULL);
    pthread_sigmask(SIG_SETMASK, &b->mask, NULL);
}

/* ---- what the program asks of us ---- */

static uint64_t memory_limit(const struct synth_program *p)
{
    return p->limits.memory_bytes ? p->limits.memory_bytes : UINT64_C(1) << 32;
}

static int allow_pages(uint8_t *memory, uint32_t old_pages, uint32_t new_pages)
{
    if ((uint64_t)new_pages * WASM_PAGE > memory_limit(running))
        return -1;
    return mprotect(memory + (size_t)old_pages * WASM_PAGE, (size_t)(new_pages - old_pages) * WASM_PAGE,
                    PROT_READ | PROT_WRITE);
}

static void memory_free(uint8_t *memory)
{
    if (memory)
        munmap(memory, REACH);
    running->memory = NULL;
}

static uint8_t *memory_new(uint32_t pages)
{
    void *m = mmap(NULL, REACH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        return NULL;
    /* a witness is a secret: neither in a core dump nor in a child */
    madvise(m, REACH, MADV_DONTDUMP);
    madvise(m, REACH, MADV_DONTFORK);
    running->memory = m;
    if (allow_pages(m, 0, pages) == 0)
        return m;
    memory_free(m);
    return NULL;
}

_Noreturn static void on_trap(enum program_trap why)
{
    leave(STOP_TRAP, why);
}

_Noreturn static void on_exception(uint32_t code)
{
    leave(STOP_EXCEPTION, code);
}

static void text_add(struct text *t, const char *bytes)
{
    for (; *bytes && t->len < sizeof t->bytes - 1; bytes++)
        t->bytes[t->len++] = *bytes;
    t->bytes[t->len] = '\0';
}

/* "Error in template Num2Bits_0 line: 38", innermost component first. */
static void on_message(const char *text)
{
    struct text *t = &running->messages;
    if (t->len > 0)
        text_add(t, ", ");
    text_add(t, text);
    while (t->len > 0 && (t->bytes[t->len - 1] == '\n' || t->bytes[t->len - 1] == ' '))
        t->bytes[--t->len] = '\0';
}

/* One item of a log(): a line's items are separated by blanks, and "\n" ends it. */
static void on_log(const char *text)
{
    struct synth_program *p = running;
    bool ends = strcmp(text, "\n") == 0;
    if (p->log_mid_line && !ends)
        text_add(&p->log, " ");
    text_add(&p->log, text);
    p->log_mid_line = !ends;
}

static void on_log_value(const uint32_t value[PROGRAM_LIMBS])
{
    char digits[FMT_DECIMAL_MAX];
    fmt_decimal_write(digits, (const uint8_t *)value, KRN_FR_BYTES);
    on_log(digits);
}

static const struct program_host host = {
    .memory_new = memory_new, .memory_grow = allow_pages, .memory_free = memory_free, .trap = on_trap,
    .exception = on_exception, .message = on_message, .log = on_log, .log_value = on_log_value,
};

/* ---- running ---- */

/* Runs step inside the program. Its result; -1 where the program was left, with p->stop and p->code. */
static int inside(struct synth_program *p, int (*step)(const struct job *), const struct job *job)
{
    int rc = -1;
    p->stop = 0;
    p->frame = (uintptr_t)__builtin_frame_address(0);
    p->stack_low = stack_low();
    if (sigsetjmp(p->leave, 1) == 0) {
        running = p;
        rc = step(job);
    }
    running = NULL;
    return rc;
}

static const char *exception_text(uint32_t code)
{
    switch (code) {
    case 1: return "the program knows no such input signal";
    case 2: return "more input signals were set than the circuit has";
    case 3: return "an input signal was set twice";
    case 4: return "assertion failed in the circuit";
    case 5: return "the program ran out of memory";
    case 6: return "an index beyond an input signal's size";
    }
    return "the program reports an error that we do not know";
}

static const char *trap_text(uint32_t why)
{
    switch ((enum program_trap)why) {
    case PROGRAM_TRAP_BOUNDS: return "an access outside its memory or table";
    case PROGRAM_TRAP_ARITHMETIC: return "a division by zero or an integer overflow";
    case PROGRAM_TRAP_UNREACHABLE: return "it executed 'unreachable'";
    case PROGRAM_TRAP_CALL: return "an indirect call of the wrong type";
    case PROGRAM_TRAP_MEMORY: return "its memory was refused";
    }
    return "a trap";
}

static int fail_stopped(const struct synth_program *p, struct fmt_error *err)
{
    const char *sep = p->messages.len ? ": " : "";
    switch (p->stop) {
    case STOP_EXCEPTION:
        return fmt_fail(err, "%s%s%.*s", exception_text(p->code), sep, MESSAGES, p->messages.bytes);
    case STOP_TRAP:
        return p->code == PROGRAM_TRAP_MEMORY
            ? fmt_fail(err, "the witness program wants more memory than its limit of %llu bytes",
                       (unsigned long long)memory_limit(p))
            : fmt_fail(err, "the witness program crashed: %s", trap_text(p->code));
    case STOP_BOUNDS:
        return fmt_fail(err, "the witness program crashed: %s", trap_text(PROGRAM_TRAP_BOUNDS));
    case STOP_STACK:
        return fmt_fail(err, "the witness program crashed: its recursion does not end (stack full)");
    case STOP_TIME:
        return fmt_fail(err, "the witness program was stopped after its limit of %g s of CPU time",
                        p->limits.cpu_seconds);
    }
    return -1;      /* the step itself failed and has said why */
}

static int step_discard(const struct job *job)
{
    job->program->table->discard(job->program->instance);
    return 0;
}

static int step_instantiate(const struct job *job)
{
    struct synth_program *p = job->program;
    p->table->instantiate(p->instance, &host);
    return 0;
}

static void discard(struct synth_program *p)
{
    if (p->begun)
        inside(p, step_discard, &(struct job){.program = p});
    p->begun = p->alive = false;
}

/* A new instance, whatever became of the old one. */
static int renew(const struct job *job)
{
    struct synth_program *p = job->program;
    discard(p);
    memset(p->instance, 0, p->table->instance_bytes);
    p->begun = true;
    if (inside(p, step_instantiate, job) != 0)
        return fail_stopped(p, job->err);
    p->alive = true;
    return 0;
}

/* Whether a name of the .sym file is that of an input none of whose values were given: *size values. */
static bool is_missing(const struct job *job, const char *name, size_t len, int32_t *size)
{
    const struct synth_program *p = job->program;
    uint64_t hash = synth_input_hash(name, len);
    *size = p->table->signal_size(p->instance, hash);
    if (*size <= 0)
        return false;
    for (uint32_t s = 0; s < job->in->n_signals; s++) {
        if (job->in->signals[s].hash == hash)
            return false;
    }
    return true;
}

/* "main.a.b[0][1]" -> "a.b", where the name is one of main's. */
static bool signal_of(struct fmt_sym_name *n)
{
    static const char prefix[] = "main.";
    if (n->len < sizeof prefix || memcmp(n->text, prefix, sizeof prefix - 1) != 0)
        return false;
    n->text += sizeof prefix - 1;
    n->len -= sizeof prefix - 1;
    while (n->len > 0 && n->text[n->len - 1] == ']') {
        const char *open = memrchr(n->text, '[', n->len);
        if (!open)
            return false;
        n->len = (size_t)(open - n->text);
    }
    return n->len > 0;
}

static void add_missing(char *text, size_t max, const struct job *job)
{
    struct fmt_sym_name n, last = {"", 0};
    size_t at_text = strlen(text);
    uint64_t at = 0;
    int32_t size;

    while (at_text + SYNTH_INPUT_MAX_NAME / 4 < max && fmt_sym_next(job->sym, &at, &n)) {
        if (!signal_of(&n) || (n.len == last.len && memcmp(n.text, last.text, n.len) == 0))
            continue;
        last = n;
        if (is_missing(job, n.text, n.len, &size))
            at_text += (size_t)snprintf(text + at_text, max - at_text, " '%.*s' (%d)",
                                        (int)(n.len < 100 ? n.len : 100), n.text, size);
    }
}

static int fail_missing(const struct job *job, uint64_t given)
{
    char text[FMT_ERROR_MAX];
    size_t n = (size_t)snprintf(text, sizeof text, "inputs are missing: %llu of %u values are given",
                                (unsigned long long)given, job->program->info.n_inputs);
    if (job->sym) {
        snprintf(text + n, sizeof text - n, "; missing:");
        add_missing(text, sizeof text, job);
        return fmt_fail(job->err, "%s", text);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "%s", job->in->n_signals ? ", those of" : "");
    for (uint32_t s = 0; s < job->in->n_signals && n + 128 < sizeof text; s++)
        n += (size_t)snprintf(text + n, sizeof text - n, " '%.100s'", synth_input_name(job->in, s));
    return fmt_fail(job->err, "%.*s; with a .sym file the missing ones would be named here", (int)sizeof text - 70,
                    text);
}

static int check_shape(const struct job *job)
{
    const struct synth_program *p = job->program;
    uint64_t given = 0;

    for (uint32_t s = 0; s < job->in->n_signals; s++) {
        const struct synth_input_signal *signal = &job->in->signals[s];
        int32_t size = p->table->signal_size(p->instance, signal->hash);
        if (size <= 0 && signal->n > 0)     /* circom 2.2 answers 0 for a name that it does not know */
            return fmt_fail(job->err, "input signal '%.200s': the circuit has no such input",
                            synth_input_name(job->in, s));
        if ((uint32_t)size != signal->n)
            return fmt_fail(job->err, "input signal '%.200s': %u values, but the circuit takes %d",
                            synth_input_name(job->in, s), signal->n, size);
        given += signal->n;
    }
    return given == p->info.n_inputs ? 0 : fail_missing(job, given);
}

/* A program that breaks these is no witness program of its circuit. */
static int check_witness(const struct job *job)
{
    static const uint8_t one[KRN_FR_BYTES] = {1};
    const struct synth_program_info *info = &job->program->info;
    size_t above = krn_fr_first_above(info->curve, job->w, info->n_witness);
    if (memcmp(job->w, one, sizeof one) != 0)
        return fmt_fail(job->err, "the witness program gave a witness whose first value is not 1");
    if (above < info->n_witness)
        return fmt_fail(job->err, "the witness program gave a value %zu that is not below the field's prime", above);
    return 0;
}

static int step_witness(const struct job *job)
{
    struct synth_program *p = job->program;
    const struct program_table *t = p->table;

    t->init(p->instance);
    if (check_shape(job) != 0)
        return -1;
    for (uint32_t s = 0; s < job->in->n_signals; s++) {
        const struct synth_input_signal *signal = &job->in->signals[s];
        for (uint32_t i = 0; i < signal->n; i++)
            t->set_signal(p->instance, signal->hash, i, job->in->values + (size_t)(signal->first + i) * KRN_FR_BYTES);
    }
    t->witness(p->instance, p->info.n_witness, job->w);
    return check_witness(job);
}

int synth_program_run(struct synth_program *p, const struct synth_input *in, const struct fmt_sym *sym, uint8_t *w,
                      struct fmt_error *err)
{
    struct job job = {p, in, sym, w, err};
    struct borrowed thread;
    int rc;

    p->messages.len = p->log.len = 0;
    p->messages.bytes[0] = p->log.bytes[0] = '\0';
    p->log_mid_line = false;
    borrow_thread(p, &thread);
    rc = p->alive ? 0 : renew(&job);
    if (rc == 0 && p->limits.cpu_seconds > 0 && start_timer(&thread, p->limits.cpu_seconds) != 0)
        rc = fmt_fail(err, "no timer for the limit of CPU time");
    if (rc == 0) {
        rc = inside(p, step_witness, &job);
        if (rc != 0)
            fail_stopped(p, err);
        p->alive = rc == 0;
    }
    return_thread(&thread);
    return rc;
}

/* ---- life ---- */

static int step_describe(const struct job *job)
{
    struct synth_program *p = job->program;
    uint32_t prime[PROGRAM_LIMBS], limbs;

    p->table->init(p->instance);
    p->table->version(p->instance, p->info.circom);
    limbs = p->table->field_limbs(p->instance);
    if (limbs != PROGRAM_LIMBS)
        return fmt_fail(job->err, "the program computes with %u limbs of 32 bits; BN254 and BLS12-381 have %d", limbs,
                        PROGRAM_LIMBS);
    p->table->prime(p->instance, prime);
    p->info.curve = krn_curve_by_r((const uint8_t *)prime, sizeof prime);
    if (!p->info.curve)
        return fmt_fail(job->err, "the program computes over a field that is neither BN254's nor BLS12-381's");
    p->info.n_witness = p->table->witness_size(p->instance);
    p->info.n_inputs = p->table->input_size(p->instance);
    if (p->info.n_witness == 0 || p->info.n_witness > UINT32_C(1) << KRN_MAX_LOG_DOMAIN)
        return fmt_fail(job->err, "the program's witness has %u values", p->info.n_witness);
    return 0;
}

static int load(struct synth_program *p, const char *object, struct fmt_error *err)
{
    if (synth_build_trust(object, err) != 0)
        return -1;
    p->object = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!p->object)
        return fmt_fail(err, "%s", dlerror());
    p->table = dlsym(p->object, PROGRAM_SYMBOL);
    if (!p->table || p->table->abi != PROGRAM_ABI)
        return fmt_fail(err, "%s: no translated witness program of this build; add the circuit again", object);
    p->instance = calloc(1, p->table->instance_bytes);
    p->alt_stack = malloc(ALT_STACK);
    return p->instance && p->alt_stack ? 0 : fmt_fail(err, "%s: out of memory", object);
}

static int describe(struct synth_program *p, const char *object, struct fmt_error *err)
{
    struct fmt_error why = {""};
    struct job job = {.program = p, .err = &why};
    struct borrowed thread;

    borrow_thread(p, &thread);
    int rc = renew(&job);
    if (rc == 0) {
        rc = inside(p, step_describe, &job);
        if (rc != 0)
            fail_stopped(p, &why);
    }
    return_thread(&thread);
    return rc == 0 ? 0 : fmt_fail(err, "%s: %.400s", object, why.text);
}

struct synth_program *synth_program_open(const char *object, const struct synth_program_limits *limits,
                                         struct fmt_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct synth_program *p = calloc(1, sizeof *p);
    if (!p) {
        fmt_fail(err, "%s: out of memory", object);
        return NULL;
    }
    pthread_once(&once, install_handlers);
    p->limits = *limits;
    if (load(p, object, err) == 0 && describe(p, object, err) == 0)
        return p;
    synth_program_close(p);
    return NULL;
}

const struct synth_program_info *synth_program_info(const struct synth_program *p)
{
    return &p->info;
}

const char *synth_program_log(const struct synth_program *p)
{
    return p->log.bytes;
}

void synth_program_close(struct synth_program *p)
{
    if (!p)
        return;
    discard(p);
    free(p->instance);
    free(p->alt_stack);
    if (p->object)
        dlclose(p->object);
    free(p);
}
