#define KRN_VERIFY krn_verify_adx
#define KRN_VK_CHECK krn_vk_check_adx
#include "kernels/verify_isa.h"
