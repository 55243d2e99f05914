/*
 * kernels/isa.h: which of the arithmetic's twins runs here.
 */
#ifndef KERNELS_ISA_H
#define KERNELS_ISA_H

/* Each can do what those before it can. ADX: MULX and two carry chains, on x86 since 2014. */
enum krn_isa { KRN_ISA_PORTABLE = 0, KRN_ISA_ADX = 1, KRN_ISA_IFMA = 2 };

/* The best that processor and system offer. The environment variable PINWHEEL_CPU_ISA, "portable" or "adx", for tests,
 * forbids what is better; results are the same bytes. Asked anew at each call. */
enum krn_isa krn_cpu_isa(void);

/* Whether files compiled for BMI2 and ADX may run; under the same variable. */
int krn_cpu_has_adx(void);

#endif
