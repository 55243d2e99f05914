#include "kernels/isa.h"

#include <stdlib.h>
#include <string.h>

enum krn_isa krn_cpu_isa(void)
{
    const char *forced = getenv("PINWHEEL_CPU_ISA");
    if (forced != NULL && strcmp(forced, "portable") == 0)
        return KRN_ISA_PORTABLE;
#ifdef __x86_64__
    /* What the Makefile's ISA_ifma lets the compiler use. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("adx"))
        return KRN_ISA_IFMA;
#endif
    return KRN_ISA_PORTABLE;
}
