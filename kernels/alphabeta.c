#include <string.h>

#include "kernels/krn.h"
#include "kernels/pairing.h"

/* For one curve: of plain coordinates, to plain coefficients. */
#define ALPHABETA(C) \
    static void C##_alphabeta(const struct krn_vk *vk, uint8_t *out) \
    { \
        C##_g1_affine alpha; \
        C##_g2_affine beta; \
        C##_fq12 value; \
        memcpy(&alpha, vk->alpha1, sizeof alpha); \
        memcpy(&beta, vk->beta2, sizeof beta); \
        C##_g1_affine_to_mont(&alpha, &alpha); \
        C##_g2_affine_to_mont(&beta, &beta); \
        C##_pairing(&value, &alpha, &beta, 1); \
        krn_fq_to_plain(krn_curve(vk->curve), out, (const uint8_t *)&value, KRN_GT_COEFFICIENTS); \
    }
ALPHABETA(bn254)
ALPHABETA(bls381)

void krn_alphabeta(const struct krn_vk *vk, uint8_t out[KRN_GT_COEFFICIENTS * KRN_FQ_MAX])
{
    vk->curve == KRN_BN254 ? bn254_alphabeta(vk, out) : bls381_alphabeta(vk, out);
}
