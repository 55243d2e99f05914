#define KRN_VERIFY krn_verify_portable
#define KRN_VK_CHECK krn_vk_check_portable
#include "kernels/verify_isa.h"

#include "kernels/isa.h"

enum krn_result krn_verify_adx(const struct krn_vk *vk, const uint8_t *publics, const struct krn_proof *proof);

enum krn_result krn_vk_check_adx(const struct krn_vk *vk);

enum krn_result krn_vk_check(struct krn_vk *vk)
{
    enum krn_result rc = krn_cpu_has_adx() ? krn_vk_check_adx(vk) : krn_vk_check_portable(vk);
    vk->checked = rc == KRN_OK;
    return rc;
}

enum krn_result krn_verify(const struct krn_vk *vk, const uint8_t *publics, size_t n, const struct krn_proof *proof)
{
    if (n != vk->n_public)
        return KRN_BAD_COUNT;
    return krn_cpu_has_adx() ? krn_verify_adx(vk, publics, proof) : krn_verify_portable(vk, publics, proof);
}
