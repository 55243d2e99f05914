#define KRN_VERIFY krn_verify_adx
#include "kernels/verify_isa.h"
