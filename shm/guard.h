/*
 * shm/guard.h: a region that somebody cuts short must not kill those who have it mapped.
 *
 * A touch beyond the end of the file is SIGBUS. tmpfs files in /dev/shm cannot be sealed against that (only memfds can,
 * and those die with their last holder, which the region must not). So the handler puts private zero pages in place of
 * all that lies behind the touch, and says so: the toucher goes on, reads zeros, and ends its use of the region at its
 * next look. Any other SIGBUS is what it was before.
 */
#ifndef SHM_GUARD_H
#define SHM_GUARD_H

#include "shm/region.h"

/* Guards this mapping from now on; one at a time in a process. 0 or -errno. Removed after shm_region_close, which
 * writes into it. */
int shm_guard_install(const struct shm_region *r);
void shm_guard_remove(void);

/* Whether the file is not what was mapped any more: a touch failed, or it is shorter now. */
bool shm_guard_is_cut(const struct shm_region *r);

#endif
