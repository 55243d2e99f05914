#include "synth/wasm.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* WebAssembly core specification 1.0, section 5.5: numbers of sections, kinds of imports and exports. */
enum { TYPE = 1, IMPORT = 2, FUNCTION = 3, MEMORY = 5, EXPORT = 7, START = 8, SECTIONS = 13 };
enum { KIND_FUNC = 0, KIND_TABLE = 1, KIND_MEMORY = 2, KIND_GLOBAL = 3 };
enum { I32 = 0x7f };
enum { SIGNATURE = SYNTH_WASM_MAX_PARAMS + 2 };

struct bytes {
    const uint8_t *p, *end;
    bool bad;               /* a read went beyond the end, or a number is malformed */
};

struct module {
    const char *name;
    struct bytes section[SECTIONS];     /* empty where there is none */
    char (*types)[SIGNATURE];           /* "iii:i": parameters, results; '?' for what is no i32 */
    uint32_t n_types;
    uint32_t *functions;                /* type of each, imports first */
    uint32_t n_functions, n_imported;
    struct fmt_error *err;
};

/* What circom 2's code generator has exported since its present ABI; getVersion and its like are not needed. */
static const struct { const char *name, *signature; } exports[] = {
    {"init", "i:"}, {"getInputSignalSize", "ii:i"}, {"setInputSignal", "iii:"}, {"writeSharedRWMemory", "ii:"},
    {"readSharedRWMemory", "i:i"}, {"getWitnessSize", ":i"}, {"getWitness", "i:"}, {"getRawPrime", ":"},
    {"getFieldNumLen32", ":i"}, {"getMessageChar", ":i"}, {"getInputSize", ":i"},
};

static const struct { const char *name, *signature; } imports[] = {
    {"exceptionHandler", "i:"}, {"printErrorMessage", ":"}, {"writeBufferMessage", ":"}, {"showSharedRWMemory", ":"},
};

static uint8_t read_byte(struct bytes *b)
{
    if (b->p == b->end) {
        b->bad = true;
        return 0;
    }
    return *b->p++;
}

/* Unsigned LEB128 of at most 32 bits. */
static uint32_t read_u32(struct bytes *b)
{
    uint32_t v = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte = read_byte(b);
        if (shift == 28 && byte > 0x0f)
            break;
        v |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    b->bad = true;
    return 0;
}

static struct bytes read_slice(struct bytes *b, uint32_t n)
{
    if ((size_t)(b->end - b->p) < n) {
        b->bad = true;
        n = 0;
    }
    struct bytes s = {b->p, b->p + n, false};
    b->p += n;
    return s;
}

static struct bytes read_name(struct bytes *b)
{
    return read_slice(b, read_u32(b));
}

static bool name_is(struct bytes name, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(name.end - name.p) == n && memcmp(name.p, text, n) == 0;
}

static int fail(struct module *m, const char *what)
{
    return fmt_fail(m->err, "%s: %s", m->name, what);
}

static int find_sections(struct module *m, const uint8_t *bytes, size_t len)
{
    static const uint8_t head[8] = {0, 'a', 's', 'm', 1, 0, 0, 0};
    struct bytes b = {bytes, bytes + len, false};

    if (len < sizeof head || memcmp(bytes, head, sizeof head) != 0)
        return fail(m, "no WebAssembly program (version 1)");
    b.p += sizeof head;
    while (b.p < b.end) {
        uint8_t id = read_byte(&b);
        struct bytes s = read_slice(&b, read_u32(&b));
        if (b.bad)
            return fail(m, "the file ends within a section");
        if (id >= SECTIONS || (id > 0 && m->section[id].p))
            return fail(m, "an unknown section, or one that is there twice");
        if (id > 0)
            m->section[id] = s;
    }
    if (m->section[START].p)
        return fail(m, "it runs code when it is loaded, which no witness program of circom does");
    return 0;
}

/* The number of items of a section, which take at least one byte each. */
static int read_count(struct module *m, struct bytes *b, uint32_t max, uint32_t *n)
{
    *n = b->p ? read_u32(b) : 0;
    if (b->bad || *n > (size_t)(b->end - b->p) || *n > max)
        return fail(m, "a count that its section cannot hold");
    return 0;
}

static int read_types(struct module *m)
{
    struct bytes b = m->section[TYPE];
    if (read_count(m, &b, SYNTH_WASM_MAX_TYPES, &m->n_types) != 0)
        return -1;
    m->types = calloc(m->n_types + 1, sizeof *m->types);
    if (!m->types)
        return fail(m, "out of memory");
    for (uint32_t t = 0; t < m->n_types; t++) {
        unsigned at = 0;
        uint8_t form = read_byte(&b);
        for (unsigned part = 0; part < 2; part++) {
            uint32_t n = read_u32(&b);
            if (b.bad || form != 0x60 || n > SYNTH_WASM_MAX_PARAMS || n + at > SYNTH_WASM_MAX_PARAMS + part)
                return fail(m, "a function type that is malformed or has too many parameters");
            while (n-- > 0)
                m->types[t][at++] = read_byte(&b) == I32 ? 'i' : '?';
            if (part == 0)
                m->types[t][at++] = ':';
        }
    }
    return b.bad ? fail(m, "the section of types is cut") : 0;
}

static int add_function(struct module *m, uint32_t type)
{
    if (type >= m->n_types)
        return fail(m, "a function of a type that does not exist");
    m->functions[m->n_functions++] = type;
    return 0;
}

static int refuse_import(struct module *m, struct bytes from, struct bytes name)
{
    /* circom 1 let its host hand in the memory, and logged every signal through it */
    if (name_is(from, "env") || name_is(name, "logSetSignal") || name_is(name, "error"))
        return fail(m, "a witness program of circom 1; this needs one of circom 2: compile the circuit with circom "
                       "2.1 or later");
    return fmt_fail(m->err, "%s: imports '%.*s.%.*s', which a witness program of circom 2 with the present ABI does "
                            "not", m->name, (int)(from.end - from.p), (const char *)from.p, (int)(name.end - name.p),
                    (const char *)name.p);
}

static int read_import(struct module *m, struct bytes *b)
{
    struct bytes from = read_name(b), name = read_name(b);
    uint8_t kind = read_byte(b);
    if (b->bad)
        return fail(m, "the section of imports is cut");
    if (kind != KIND_FUNC || !name_is(from, "runtime"))
        return refuse_import(m, from, name);
    uint32_t type = read_u32(b);
    if (b->bad || add_function(m, type) != 0)
        return fail(m, "the section of imports is malformed");
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++) {
        if (name_is(name, imports[i].name) && strcmp(m->types[type], imports[i].signature) == 0)
            return 0;
    }
    return refuse_import(m, from, name);
}

static int read_functions(struct module *m)
{
    struct bytes imported = m->section[IMPORT], own = m->section[FUNCTION];
    uint32_t n_own;
    if (read_count(m, &imported, UINT32_MAX, &m->n_imported) != 0 || read_count(m, &own, UINT32_MAX, &n_own) != 0)
        return -1;
    m->functions = malloc(((size_t)m->n_imported + n_own + 1) * sizeof *m->functions);
    if (!m->functions)
        return fail(m, "out of memory");
    for (uint32_t i = 0; i < m->n_imported; i++) {
        if (read_import(m, &imported) != 0)
            return -1;
    }
    for (uint32_t i = 0; i < n_own; i++) {
        if (add_function(m, read_u32(&own)) != 0)
            return -1;
    }
    return own.bad ? fail(m, "the section of functions is cut") : 0;
}

static int check_memory(struct module *m)
{
    struct bytes b = m->section[MEMORY];
    uint32_t n;
    if (read_count(m, &b, UINT32_MAX, &n) != 0)
        return -1;
    if (n != 1)
        return fail(m, "a witness program has exactly one memory of its own");
    uint8_t flags = read_byte(&b);
    uint32_t pages = read_u32(&b);
    if (b.bad || flags > 1 || pages > 65535)
        return fail(m, "a memory of 4 GiB or more, or of a kind that circom does not make");
    return 0;
}

/* Ticks off one export: found[i] where it is the i-th of those needed, and has its type. */
static int read_export(struct module *m, struct bytes *b, bool *found)
{
    struct bytes name = read_name(b);
    uint8_t kind = read_byte(b);
    uint32_t index = read_u32(b);
    if (b->bad || (kind == KIND_FUNC && index >= m->n_functions))
        return fail(m, "the section of exports is cut or malformed");
    for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
        if (kind == KIND_FUNC && name_is(name, exports[i].name))
            found[i] = strcmp(m->types[m->functions[index]], exports[i].signature) == 0;
    }
    return 0;
}

static int check_exports(struct module *m)
{
    bool found[sizeof exports / sizeof *exports] = {false};
    struct bytes b = m->section[EXPORT];
    uint32_t n;
    if (read_count(m, &b, UINT32_MAX, &n) != 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (read_export(m, &b, found) != 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
        if (!found[i])
            return fmt_fail(m->err, "%s: it exports no function '%s' (%s): no witness program of circom 2, or one by "
                                    "an older circom 2 with another ABI; compile the circuit with circom 2.1 or later",
                            m->name, exports[i].name, exports[i].signature);
    }
    return 0;
}

int synth_wasm_check(const char *name, const uint8_t *bytes, size_t len, struct fmt_error *err)
{
    struct module m = {.name = name, .err = err};
    int rc = -1;
    if (find_sections(&m, bytes, len) == 0 && read_types(&m) == 0 && read_functions(&m) == 0 && check_memory(&m) == 0 &&
        check_exports(&m) == 0)
        rc = 0;
    free(m.types);
    free(m.functions);
    return rc;
}
