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

/* What became of the region, as one line; its size is st's. */
static void describe_loss(const struct shm_region *r, const char *instance, const struct stat *st,
                          struct gpud_error *err) {
    if (st->st_nlink == 0)
        gpud_fail(err, "/dev/shm/pinwheel-%s was removed by somebody else; its jobs are lost", instance);
    else if ((uint64_t)st->st_size < r->bytes)
        gpud_fail(err, "/dev/shm/pinwheel-%s was cut short: %lld bytes are left of %llu; it is removed, its jobs are "
                  "lost", instance, (long long)st->st_size, (unsigned long long)r->bytes);
    else
        gpud_fail(err, "/dev/shm/pinwheel-%s: a page cannot be touched any more: memory failed, or somebody cut the "
                  "region or punched a hole into it; it is removed, its jobs are lost", instance);
}

bool gpud_repair_is_lost(struct shm_region *r, const char *instance, struct gpud_error *err) {
    struct shm_error ignored;
    struct stat st = {.st_nlink = 1};
    bool removed = fstat(r->fd, &st) == 0 && st.st_nlink == 0;
    if (!removed && !shm_guard_is_cut(r)) return false;
    describe_loss(r, instance, &st, err);
    if (!removed) shm_region_unlink(instance, &ignored);
    return true;
}
