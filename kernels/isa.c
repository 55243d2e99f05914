#include "kernels/isa.h"

#include <stdlib.h>
#include <string.h>

static int is_portable_forced(void)
{
    const char *forced = getenv("PINWHEEL_CPU_ISA");
    return forced != NULL && strcmp(forced, "portable") == 0;
}

int krn_cpu_has_adx(void)
{
#ifdef __x86_64__
    return !is_portable_forced() && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("adx");
#else
    return 0;
#endif
}

static enum krn_isa offered(void)
{
#ifdef __x86_64__
    /* What the Makefile's ISA_adx and ISA_ifma let the compiler use. */
    if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("adx"))
        return KRN_ISA_PORTABLE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512ifma"))
        return KRN_ISA_IFMA;
    return KRN_ISA_ADX;
#else
    return KRN_ISA_PORTABLE;
#endif
}

enum krn_isa krn_cpu_isa(void)
{
    const char *most = getenv("PINWHEEL_CPU_ISA");
    const enum krn_isa isa = offered();
    if (most != NULL && strcmp(most, "portable") == 0)
        return KRN_ISA_PORTABLE;
    if (most != NULL && strcmp(most, "adx") == 0 && isa > KRN_ISA_ADX)
        return KRN_ISA_ADX;
    return isa;
}
