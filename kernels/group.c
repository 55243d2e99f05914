#include "kernels/group.h"

#define EC bn254_g1
#include "kernels/group_tmpl.h"

#define EC bn254_g2
#include "kernels/group_tmpl.h"

#define EC bls381_g1
#include "kernels/group_tmpl.h"

#define EC bls381_g2
#include "kernels/group_tmpl.h"

const struct group_ops *group_ops(enum krn_curve_id curve, int number)
{
    static const struct group_ops *const table[KRN_CURVES][2] = {
        [KRN_BN254] = {&bn254_g1_group_table, &bn254_g2_group_table},
        [KRN_BLS12_381] = {&bls381_g1_group_table, &bls381_g2_group_table},
    };
    return table[curve][number - 1];
}
