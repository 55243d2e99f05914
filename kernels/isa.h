/*
 * kernels/isa.h: which of the arithmetic's twins runs here.
 */
#ifndef KERNELS_ISA_H
#define KERNELS_ISA_H

enum krn_isa { KRN_ISA_PORTABLE = 0, KRN_ISA_IFMA = 1 };

/* The best that processor and system offer. The environment variable PINWHEEL_CPU_ISA=portable, for tests, forbids the
 * rest; results are the same bytes. Asked anew at each call. */
enum krn_isa krn_cpu_isa(void);

/* Whether files compiled for BMI2 and ADX may run; under the same variable. */
int krn_cpu_has_adx(void);

#endif
