#include "synth/shim.h"

/* The assembler reads the files as they are; the Makefile knows that this object depends on them. */
#define CARRY(symbol, file)                                                     \
    __asm__(".pushsection .rodata\n"                                            \
            ".global " #symbol "\n.hidden " #symbol "\n"                        \
            ".global " #symbol "_end\n.hidden " #symbol "_end\n"                \
            #symbol ":\n.incbin \"" file "\"\n" #symbol "_end:\n.byte 0\n"      \
            ".popsection\n")

CARRY(synth_shim_header, "synth/shim/circom.h");
CARRY(synth_shim_source, "synth/shim/circom.c");
