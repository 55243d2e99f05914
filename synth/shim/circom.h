/*
 * synth/shim/circom.h: between a process and a witness program that wasm2c has translated into a shared object.
 *
 * This file and circom.c beside it are compiled with every translated program, on the machine that uses it; both are
 * carried inside our own programs as text. A change here changes PROGRAM_ABI.
 */
#ifndef SYNTH_SHIM_CIRCOM_H
#define SYNTH_SHIM_CIRCOM_H

#include <stddef.h>
#include <stdint.h>

#define PROGRAM_ABI 1u
#define PROGRAM_SYMBOL "pinwheel_program"      /* the one symbol that the shared object exports */

enum { PROGRAM_LIMBS = 8 };     /* 32-bit limbs of a value, least significant first: both curves */

/* Why the code stopped, beyond what circom itself reports. */
enum program_trap {
    PROGRAM_TRAP_BOUNDS = 1, PROGRAM_TRAP_ARITHMETIC, PROGRAM_TRAP_UNREACHABLE, PROGRAM_TRAP_CALL, PROGRAM_TRAP_MEMORY,
};

/* What the program asks of its host. A memory is zeroed, reserves all that 32-bit addresses and offsets can reach, and
 * faults beyond its pages of 64 KiB. */
struct program_host {
    uint8_t *(*memory_new)(uint32_t pages);                                     /* NULL: refused */
    int (*memory_grow)(uint8_t *memory, uint32_t old_pages, uint32_t new_pages);    /* 0: done */
    void (*memory_free)(uint8_t *memory);
    void (*trap)(enum program_trap why) __attribute__((noreturn));
    void (*exception)(uint32_t code) __attribute__((noreturn));                 /* circom's exceptionHandler */
    void (*message)(const char *text);                                          /* a line about the exception to come */
    void (*log)(const char *text);                                              /* log() in the circuit: a text */
    void (*log_value)(const uint32_t value[PROGRAM_LIMBS]);                     /* log() in the circuit: a value */
};

/* What the program offers. `instance` is instance_bytes of the host's memory. Everything but instance_bytes may call
 * the host's trap or exception and so not return. */
struct program_table {
    uint32_t abi;
    uint32_t instance_bytes;
    void (*instantiate)(void *instance, const struct program_host *host);
    void (*discard)(void *instance);
    void (*init)(void *instance);
    void (*version)(void *instance, uint32_t out[3]);       /* of circom; zeros where the program does not tell */
    uint32_t (*field_limbs)(void *instance);
    void (*prime)(void *instance, uint32_t out[PROGRAM_LIMBS]);
    uint32_t (*input_size)(void *instance);                 /* values that all inputs together have */
    uint32_t (*witness_size)(void *instance);
    int32_t (*signal_size)(void *instance, uint64_t hash);  /* values of an input signal; 0 or less: no such input */
    void (*set_signal)(void *instance, uint64_t hash, uint32_t index, const uint8_t value[4 * PROGRAM_LIMBS]);
    void (*witness)(void *instance, uint32_t n, uint8_t *out);     /* the first n values, 32 bytes each */
};

#endif
