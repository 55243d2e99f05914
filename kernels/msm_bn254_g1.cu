/* kernels/msm_bn254_g1.cu: multi-scalar multiplication in bn254_g1 (kernels/msm_group.cuh). */
#define GROUP bn254_g1
#define GROUP_BLOCKS 4
#define AFFINE_BLOCKS 5
#define AFFINE_MIN SIZE_MAX
#include "kernels/msm_group.cuh"
