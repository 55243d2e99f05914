#include "gpud/repair.h"

#include <sys/stat.h>

#include "gpud/log.h"
#include "shm/guard.h"
#include "shm/job.h"

enum { LOG_LINES = 8 };     /* of one look; a storm of garbage must not fill the disk */

uint32_t gpud_repair_states(struct shm_region *r) {
    uint32_t n = 0, index;
    shm_ctl was;
    for (uint32_t i = 0; i < r->n_slots && shm_slot_repair(r, &index, &was); i++)
        if (n++ < LOG_LINES)
            gpud_log("slot %u: control word %016llx cannot be; it is FREE now: something writes astray", index,
                     (unsigned long long)was);
    for (uint32_t i = 0; i < r->n_jobs && shm_job_repair(r, &index, &was); i++)
        if (n++ < LOG_LINES)
            gpud_log("job record %u: control word %016llx cannot be; it is FREE now: something writes astray", index,
                     (unsigned long long)was);
    if (n > LOG_LINES) gpud_log("%u control words in all could not be", n);
    return n;
}

bool gpud_repair_flag(struct shm_region *r) {
    return atomic_exchange(&r->super->stopping, 0) != 0;
}

bool gpud_repair_is_lost(struct shm_region *r, const char *instance, struct gpud_error *err) {
    struct shm_error ignored;
    struct stat st;
    bool known = fstat(r->fd, &st) == 0, removed = known && st.st_nlink == 0;
    if (!removed && !shm_guard_is_cut(r)) return false;
    if (removed)
        gpud_fail(err, "/dev/shm/pinwheel-%s was removed by somebody else; its jobs are lost", instance);
    else
        gpud_fail(err,
                  "/dev/shm/pinwheel-%s was cut short: %lld bytes are left of %llu; it is removed, its jobs are lost",
                  instance, known ? (long long)st.st_size : -1, (unsigned long long)r->bytes);
    if (!removed) shm_region_unlink(instance, &ignored);
    return true;
}
