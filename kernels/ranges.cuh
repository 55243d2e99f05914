/*
 * kernels/ranges.cuh: named ranges for Nsight Systems (NVTX, which does nothing where no tool listens). They show when
 * the host queued work and waited.
 */
#ifndef KERNELS_RANGES_CUH
#define KERNELS_RANGES_CUH

#include <nvtx3/nvToolsExt.h>

/* From here to the end of the block. */
struct range {
    explicit range(const char *name) { nvtxRangePushA(name); }
    ~range() { nvtxRangePop(); }
    range(const range &) = delete;
    range &operator=(const range &) = delete;
};

#endif
