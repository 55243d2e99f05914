#include "kernels/krn.h"

#include <string.h>

#include "kernels/pairing.h"

enum { PUBLICS_AT_ONCE = 32 };

#define VERIFY bn254
#define VERIFY_FR bn254_fr
#include "kernels/verify_tmpl.h"

#define VERIFY bls381
#define VERIFY_FR bls381_fr
#include "kernels/verify_tmpl.h"

enum krn_result krn_verify(const struct krn_vk *vk, const uint8_t *publics, size_t n, const struct krn_proof *proof)
{
    if (n != vk->n_public)
        return KRN_BAD_COUNT;
    return vk->curve == KRN_BN254 ? bn254_verify(vk, publics, proof) : bls381_verify(vk, publics, proof);
}
