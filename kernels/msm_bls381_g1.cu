/* kernels/msm_bls381_g1.cu: multi-scalar multiplication in bls381_g1 (kernels/msm_group.cuh). */
#define GROUP bls381_g1
#define GROUP_BLOCKS 4
#define AFFINE_BLOCKS 4
#define AFFINE_MIN (1u << 22)
#include "kernels/msm_group.cuh"
