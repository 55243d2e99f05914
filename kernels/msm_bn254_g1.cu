/* kernels/msm_bn254_g1.cu: multi-scalar multiplication in bn254_g1 (kernels/msm_group.cuh). */
#define GROUP bn254_g1
#define GROUP_BLOCKS 4
#include "kernels/msm_group.cuh"
