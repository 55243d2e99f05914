/* kernels/msm_bn254_g2.cu: multi-scalar multiplication in bn254_g2 (kernels/msm_group.cuh). */
#define GROUP bn254_g2
#define GROUP_BLOCKS 2
#define AFFINE_BLOCKS 3
#define AFFINE_MIN (1u << 22)
#include "kernels/msm_group.cuh"
