/*
 * kernels/memory.h: large workspaces.
 */
#ifndef KERNELS_MEMORY_H
#define KERNELS_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

/* Zeroed pages, large ones where the system has them: they cost a fraction of the faults. NULL where there is no
 * memory; krn_memory_unmap takes NULL. bytes may be 0. */
static inline void *krn_memory_map(size_t bytes)
{
    void *p = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes + 1, MADV_HUGEPAGE);
    return p;
}

static inline void krn_memory_unmap(void *p, size_t bytes)
{
    if (p != NULL)
        munmap(p, bytes + 1);
}

#endif
