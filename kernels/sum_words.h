/*
 * kernels/sum_words.h: the twins of kernels/sum.h that work on one number at a time, for all four groups. Included by
 * kernels/sum.c and kernels/sum_adx.c, which are compiled for different processors, with SUM_TWIN, the table's name.
 * No include guard.
 */
#include "kernels/ec.h"
#include "kernels/sum.h"

#define EC bn254_g1
#define EC_FIELD bn254_fq
#include "kernels/sum_tmpl.h"

#define EC bn254_g2
#define EC_FIELD bn254_fq2
#include "kernels/sum_tmpl.h"

#define EC bls381_g1
#define EC_FIELD bls381_fq
#include "kernels/sum_tmpl.h"

#define EC bls381_g2
#define EC_FIELD bls381_fq2
#include "kernels/sum_tmpl.h"

const struct sum_ops *const SUM_TWIN[KRN_CURVES][2] = {
    [KRN_BN254] = {&bn254_g1_sum_table, &bn254_g2_sum_table},
    [KRN_BLS12_381] = {&bls381_g1_sum_table, &bls381_g2_sum_table},
};
