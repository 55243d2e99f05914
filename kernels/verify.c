#define KRN_VERIFY krn_verify_portable
#include "kernels/verify_isa.h"

#include "kernels/isa.h"

enum krn_result krn_verify_adx(const struct krn_vk *vk, const uint8_t *publics, const struct krn_proof *proof);

enum krn_result krn_verify(const struct krn_vk *vk, const uint8_t *publics, size_t n, const struct krn_proof *proof)
{
    if (n != vk->n_public)
        return KRN_BAD_COUNT;
    return krn_cpu_has_adx() ? krn_verify_adx(vk, publics, proof) : krn_verify_portable(vk, publics, proof);
}
