#include <stdio.h>

#include "launcher/commands.h"
#include "shm/job.h"
#include "shm/peer.h"

/* One line for each slot that is not FREE, each job that is live, each peer: what is true, whoever runs. */
static void print_slots(struct shm_region *r) {
    static const char *const names[] = {"FREE",      "CLAIMED",  "FILLING",    "READY",
                                        "UPLOADING", "UPLOADED", "QUARANTINE", "WIPING"};
    for (uint32_t i = 0; i < r->n_slots; i++) {
        shm_ctl ctl = atomic_load(&r->slots[i].ctl);
        unsigned state = shm_ctl_state(ctl);
        printf("slot %u %s owner %u generation %llu bytes %llu\n", i, state < SHM_SLOT_STATES ? names[state] : "?",
               shm_ctl_owner(ctl), (unsigned long long)shm_ctl_gen(ctl), (unsigned long long)r->slot_bytes[i]);
    }
}

static void print_jobs(struct shm_region *r) {
    static const char *const names[] = {"FREE", "FILLING", "QUEUED",    "SYNTHESIS", "PROVING",
                                        "DONE", "FAILED",  "CANCELLED", "FAILING"};
    for (uint32_t i = 0; i < r->n_jobs; i++) {
        shm_ctl ctl = atomic_load(&r->jobs[i].ctl);
        unsigned state = shm_ctl_state(ctl);
        if (state == SHM_JOB_FREE) continue;
        printf("job %llu %s owner %u attempts %u\n", (unsigned long long)r->jobs[i].id,
               state < SHM_JOB_STATES ? names[state] : "?", shm_ctl_owner(ctl), atomic_load(&r->jobs[i].attempts));
    }
}

static void print_peers(struct shm_region *r) {
    for (uint32_t i = 0; i < r->n_peers; i++) {
        int pid;
        if (shm_peer_look(r, i, &pid) == SHM_PEER_FREE) continue;
        printf("peer %u pid %d %s job %llu done %llu\n", i, pid, shm_peer_lives(r, i) == 1 ? "alive" : "dead",
               (unsigned long long)atomic_load(&r->peers[i].job),
               (unsigned long long)atomic_load(&r->peers[i].jobs_done));
    }
}

enum launcher_exit launcher_region(const struct launcher_options *o, struct gpud_error *err) {
    struct shm_region r;
    struct shm_error why;
    if (shm_region_open(&r, o->instance, &why)) {
        gpud_fail(err, "%s", why.text);
        return LAUNCHER_UNREACHABLE;
    }
    printf("region /pinwheel-%s bytes %llu daemon %s\n", o->instance, (unsigned long long)r.bytes,
           shm_region_daemon_lives(o->instance) == 1 ? "alive" : "dead");
    print_slots(&r);
    print_jobs(&r);
    print_peers(&r);
    shm_region_close(&r);
    return LAUNCHER_OK;
}
