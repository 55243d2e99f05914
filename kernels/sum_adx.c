/* The portable twin of kernels/sum.h, compiled for processors that have MULX and ADX. */
#ifdef __x86_64__
#define SUM_TWIN sum_ops_adx
#include "kernels/sum_words.h"
#endif
