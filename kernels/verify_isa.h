/*
 * kernels/verify_isa.h: the verifier, compiled once for each instruction set by a file that includes this one after
 * #define KRN_VERIFY and KRN_VK_CHECK, the names it gets; kernels/verify.c chooses. No include guard.
 */
#include <string.h>

#include "kernels/krn.h"
#include "kernels/pairing.h"

enum {
    PUBLICS_AT_ONCE = 2048,
    PUBLICS_FEW = 192,          /* up to here doublings are shared; above, a bucket for each value of a byte pays */
};

#define VERIFY bn254
#define VERIFY_FR bn254_fr
#include "kernels/verify_tmpl.h"

#define VERIFY bls381
#define VERIFY_FR bls381_fr
#include "kernels/verify_tmpl.h"

enum krn_result KRN_VERIFY(const struct krn_vk *vk, const uint8_t *publics, const struct krn_proof *proof);

enum krn_result KRN_VK_CHECK(const struct krn_vk *vk);

enum krn_result KRN_VK_CHECK(const struct krn_vk *vk)
{
    return vk->curve == KRN_BN254 ? bn254_vk_check(vk) : bls381_vk_check(vk);
}

/* As many publics as the key asks for. */
enum krn_result KRN_VERIFY(const struct krn_vk *vk, const uint8_t *publics, const struct krn_proof *proof)
{
    return vk->curve == KRN_BN254 ? bn254_verify(vk, publics, proof) : bls381_verify(vk, publics, proof);
}
