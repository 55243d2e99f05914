/*
 * synth/shim/circom.c: the side of circom.h that is compiled together with circuit.c, the program as wasm2c of wabt
 * 1.0.32 has written it (module name "circuit"), and the little of wasm2c's run-time library that such a program uses.
 */
#include "circom.h"

#include <stdarg.h>
#include <string.h>

#include "circuit.h"

typedef Z_circuit_instance_t circuit;

enum { MAX_TYPES = 512, MAX_PARAMS = 30, MAX_MESSAGE = 512 };

static const struct program_host *host;     /* one per process; every instance is given the same */

/* ---- what the generated code calls ---- */

void wasm_rt_trap(wasm_rt_trap_t why)
{
    switch (why) {
    case WASM_RT_TRAP_INT_OVERFLOW:
    case WASM_RT_TRAP_DIV_BY_ZERO:
    case WASM_RT_TRAP_INVALID_CONVERSION:
        host->trap(PROGRAM_TRAP_ARITHMETIC);
    case WASM_RT_TRAP_CALL_INDIRECT:
        host->trap(PROGRAM_TRAP_CALL);
    case WASM_RT_TRAP_OOB:
        host->trap(PROGRAM_TRAP_BOUNDS);
    default:
        host->trap(PROGRAM_TRAP_UNREACHABLE);
    }
}

bool wasm_rt_is_initialized(void)
{
    return true;
}

/* The same signature gets the same number: indirect calls compare them. */
uint32_t wasm_rt_register_func_type(uint32_t params, uint32_t results, ...)
{
    static struct { uint32_t params, results; uint8_t type[MAX_PARAMS]; } types[MAX_TYPES];
    static uint32_t n_types;
    uint8_t type[MAX_PARAMS] = {0};
    va_list args;
    uint32_t i;

    if (n_types == MAX_TYPES || params + results > MAX_PARAMS)
        host->trap(PROGRAM_TRAP_CALL);
    va_start(args, results);
    for (i = 0; i < params + results; i++)
        type[i] = (uint8_t)va_arg(args, wasm_rt_type_t);
    va_end(args);
    for (i = 0; i < n_types; i++) {
        if (types[i].params == params && types[i].results == results && memcmp(types[i].type, type, sizeof type) == 0)
            return i + 1;
    }
    types[i].params = params;
    types[i].results = results;
    memcpy(types[i].type, type, sizeof type);
    return ++n_types;
}

void wasm_rt_allocate_memory(wasm_rt_memory_t *m, uint32_t pages, uint32_t max_pages)
{
    m->data = host->memory_new(pages);
    if (!m->data)
        host->trap(PROGRAM_TRAP_MEMORY);
    m->pages = pages;
    m->max_pages = max_pages;
    m->size = pages * 65536;
}

uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *m, uint32_t more)
{
    uint32_t old = m->pages;
    if (more > m->max_pages - old || more > 65535 - old || host->memory_grow(m->data, old, old + more) != 0)
        return UINT32_MAX;
    m->pages = old + more;
    m->size = m->pages * 65536;
    return old;
}

void wasm_rt_free_memory(wasm_rt_memory_t *m)
{
    host->memory_free(m->data);
    m->data = NULL;
}

void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *t, uint32_t n, uint32_t max)
{
    t->data = calloc(n ? n : 1, sizeof *t->data);
    if (!t->data)
        host->trap(PROGRAM_TRAP_MEMORY);
    t->size = n;
    t->max_size = max;
}

void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *t)
{
    free(t->data);
    t->data = NULL;
}

/* ---- what the program imports; its "runtime" is the instance itself ---- */

static void get_message(circuit *c, char out[MAX_MESSAGE])
{
    size_t n = 0;
    for (uint32_t ch; (ch = Z_circuitZ_getMessageChar(c)) != 0;) {
        if (n < MAX_MESSAGE - 1)
            out[n++] = (char)ch;
    }
    out[n] = '\0';
}

void Z_runtimeZ_exceptionHandler(struct Z_runtime_instance_t *r, u32 code)
{
    (void)r;
    host->exception(code);
}

void Z_runtimeZ_printErrorMessage(struct Z_runtime_instance_t *r)
{
    char text[MAX_MESSAGE];
    get_message((circuit *)r, text);
    host->message(text);
}

void Z_runtimeZ_writeBufferMessage(struct Z_runtime_instance_t *r)
{
    char text[MAX_MESSAGE];
    get_message((circuit *)r, text);
    host->log(text);
}

static void read_shared(circuit *c, uint32_t out[PROGRAM_LIMBS])
{
    for (u32 i = 0; i < PROGRAM_LIMBS; i++)
        out[i] = Z_circuitZ_readSharedRWMemory(c, i);
}

void Z_runtimeZ_showSharedRWMemory(struct Z_runtime_instance_t *r)
{
    uint32_t value[PROGRAM_LIMBS];
    read_shared((circuit *)r, value);
    host->log_value(value);
}

/* ---- the table ---- */

/* Older programs do not tell; a weak symbol that is not there is NULL. */
extern u32 Z_circuitZ_getVersion(circuit *) __attribute__((weak));
extern u32 Z_circuitZ_getMinorVersion(circuit *) __attribute__((weak));
extern u32 Z_circuitZ_getPatchVersion(circuit *) __attribute__((weak));

static void instantiate(void *c, const struct program_host *h)
{
    host = h;
    Z_circuit_init_module();
    Z_circuit_instantiate(c, (struct Z_runtime_instance_t *)c);
}

static void discard(void *c)
{
    Z_circuit_free(c);
}

static void init(void *c)
{
    Z_circuitZ_init(c, 0);
}

static void version(void *c, uint32_t out[3])
{
    out[0] = Z_circuitZ_getVersion ? Z_circuitZ_getVersion(c) : 0;
    out[1] = Z_circuitZ_getMinorVersion ? Z_circuitZ_getMinorVersion(c) : 0;
    out[2] = Z_circuitZ_getPatchVersion ? Z_circuitZ_getPatchVersion(c) : 0;
}

static uint32_t field_limbs(void *c)
{
    return Z_circuitZ_getFieldNumLen32(c);
}

static void prime(void *c, uint32_t out[PROGRAM_LIMBS])
{
    Z_circuitZ_getRawPrime(c);
    read_shared(c, out);
}

static uint32_t input_size(void *c)
{
    return Z_circuitZ_getInputSize(c);
}

static uint32_t witness_size(void *c)
{
    return Z_circuitZ_getWitnessSize(c);
}

static int32_t signal_size(void *c, uint64_t hash)
{
    return (int32_t)Z_circuitZ_getInputSignalSize(c, (u32)(hash >> 32), (u32)hash);
}

static void set_signal(void *c, uint64_t hash, uint32_t index, const uint8_t value[4 * PROGRAM_LIMBS])
{
    for (u32 i = 0; i < PROGRAM_LIMBS; i++) {
        u32 limb;
        memcpy(&limb, value + 4 * i, 4);
        Z_circuitZ_writeSharedRWMemory(c, i, limb);
    }
    Z_circuitZ_setInputSignal(c, (u32)(hash >> 32), (u32)hash, index);
}

static void witness(void *c, uint32_t n, uint8_t *out)
{
    for (u32 i = 0; i < n; i++, out += 4 * PROGRAM_LIMBS) {
        uint32_t value[PROGRAM_LIMBS];
        Z_circuitZ_getWitness(c, i);
        read_shared(c, value);
        memcpy(out, value, sizeof value);
    }
}

__attribute__((visibility("default"))) const struct program_table pinwheel_program = {
    .abi = PROGRAM_ABI, .instance_bytes = sizeof(circuit), .instantiate = instantiate, .discard = discard, .init = init,
    .version = version, .field_limbs = field_limbs, .prime = prime, .input_size = input_size,
    .witness_size = witness_size,
    .signal_size = signal_size, .set_signal = set_signal, .witness = witness,
};
