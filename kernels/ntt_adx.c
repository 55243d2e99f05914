/* The portable twin of kernels/ntt.h, compiled for processors that have MULX and ADX. */
#ifdef __x86_64__
#define NTT_TWIN ntt_twin_adx
#include "kernels/ntt_words.h"
#endif
