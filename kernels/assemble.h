/*
 * kernels/assemble.h: from the five sums of a Groth16 proof to the proof.
 */
#ifndef KERNELS_ASSEMBLE_H
#define KERNELS_ASSEMBLE_H

#include "kernels/krn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Affine points, Montgomery: sums of the key's vectors a, b1, l and h in G1 and b2 in G2. */
struct krn_proof_sums {
    uint8_t a[KRN_G1_MAX], b1[KRN_G1_MAX], l[KRN_G1_MAX], h[KRN_G1_MAX], b2[KRN_G2_MAX];
};

/* What depends on r and s alone, so that it can be had while the sums are computed: G1 r delta1, s delta1,
 * -r s delta1, and s delta2. */
struct krn_blinds {
    uint8_t r_delta1[KRN_G1_MAX], s_delta1[KRN_G1_MAX], minus_rs_delta1[KRN_G1_MAX], s_delta2[KRN_G2_MAX];
};

void krn_blind(const struct krn_key *key, const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES],
               struct krn_blinds *out);

/*
 * A = alpha1 + a + r delta1, B = beta2 + b2 + s delta2, B1 = beta1 + b1 + s delta1,
 * C = l + h + s A + r B1 - r s delta1 (Groth 2016, section 3.2), plain affine.
 */
void krn_assemble(const struct krn_key *key, const struct krn_proof_sums *sums, const struct krn_blinds *blinds,
                  const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES], struct krn_proof *proof);

#ifdef __cplusplus
}
#endif
#endif
