/*
 * shm/slot.h: the hand-off ring. The control words are the queue; every signal is only a hint.
 *
 *   FREE(g) -> CLAIMED(g+1, w) -> FILLING -> READY     worker w; READY is the commit point
 *   CLAIMED | FILLING -> FREE                          worker w gives up; or the daemon, when w is dead
 *   READY -> UPLOADING -> UPLOADED -> FREE             daemon
 *   READY -> FREE                                      daemon; the job was cancelled or is over
 *   UPLOADED -> CLAIMED(g+1, w)                        worker, only when no slot is FREE
 *   UPLOADING | UPLOADED -> READY                      a restarted daemon
 *   READY -> QUARANTINE                                daemon; bad seal
 *   what becomes FREE by the daemon's hand in a region with wipe: -> WIPING -> FREE
 *
 * A reference to a slot is (index, generation): a move with another generation is refused (-ESTALE). The daemon's
 * functions may be called by several of its threads; each move is one compare-and-swap.
 */
#ifndef SHM_SLOT_H
#define SHM_SLOT_H

#include "shm/region.h"

struct shm_slot_ref {
    uint32_t index;
    uint64_t gen;
};

static inline shm_ctl shm_ctl_make(unsigned state, unsigned owner, uint64_t gen) {
    return (gen << 16) | ((shm_ctl)(owner & 0xfffu) << 4) | (state & 0xfu);
}
static inline unsigned shm_ctl_state(shm_ctl c) { return (unsigned)(c & 0xf); }
static inline unsigned shm_ctl_owner(shm_ctl c) { return (unsigned)(c >> 4) & 0xfff; }
static inline uint64_t shm_ctl_gen(shm_ctl c) { return c >> 16; }
/* The next generation: after the last of 48 bits comes 0. */
static inline uint64_t shm_ctl_next_gen(shm_ctl c) { return (shm_ctl_gen(c) + 1) & (UINT64_MAX >> 16); }

/* ---- worker ---- */

/* Claims a slot of the smallest size that holds `bytes`, and of no larger one, so that small circuits do not starve
 * large ones: FREE of the own node, FREE of others (counted in slots_other_node), then the oldest UPLOADED.
 * 0 with *ref; -EAGAIN none now: wait for the own bell; -EFBIG no slot of the region is large enough. */
int shm_slot_claim(struct shm_region *r, uint32_t peer, uint32_t node, uint64_t bytes, struct shm_slot_ref *ref);
/* CLAIMED -> FILLING. */
int shm_slot_fill(struct shm_region *r, uint32_t peer, struct shm_slot_ref ref);
/* Writes desc and seal, then FILLING -> READY (release). The caller then rings the daemon's bell. -ESTALE: lost. */
int shm_slot_commit(struct shm_region *r, uint32_t peer, struct shm_slot_ref ref, const struct shm_slot_desc *desc);
/* CLAIMED | FILLING -> FREE by its own worker, wiped if asked. The caller rings the daemon's bell. */
int shm_slot_abandon(struct shm_region *r, uint32_t peer, struct shm_slot_ref ref);

/* ---- daemon ---- */

/* The best READY slot by priority, then ticket, that `want` (may be NULL) accepts; moves it to UPLOADING and copies its
 * descriptor once. 0; -EAGAIN none; -EBADMSG a slot had a bad seal and is in QUARANTINE now (*ref names it, *desc is
 * what it holds, not to be believed; the caller logs it, calls shm_job_sweep and asks again).
 * `want` sees a copy whose seal was good; it may refuse for a while (device busy), not for ever. */
int shm_slot_take(struct shm_region *r, bool (*want)(void *ctx, uint32_t slot, const struct shm_slot_desc *d),
                  void *ctx, struct shm_slot_ref *ref, struct shm_slot_desc *desc);
int shm_slot_uploaded(struct shm_region *r, struct shm_slot_ref ref);      /* UPLOADING -> UPLOADED */
/* UPLOADING | UPLOADED | READY -> FREE; -ESTALE where a worker has it already (that is normal). Wipes first if asked
 * (a memset of the payload in the caller's thread). Only when the job is over: see shm_job_settle. */
int shm_slot_release(struct shm_region *r, struct shm_slot_ref ref);
/* UPLOADING | UPLOADED -> READY, for a second try or after a daemon's death. */
int shm_slot_requeue(struct shm_region *r, struct shm_slot_ref ref);
/* Frees every CLAIMED | FILLING slot of a dead peer; returns how many. */
uint32_t shm_slot_reap(struct shm_region *r, uint32_t peer);
/* After adopting, before anything else: UPLOADING | UPLOADED become READY, QUARANTINE and WIPING become FREE.
 * Returns how many slots are READY then. */
uint32_t shm_slot_recover(struct shm_region *r);
/* One slot whose control word nobody can have written by the rules, if there is any: a state that does not exist, or a
 * claim of an entry of the peer table that nobody has. It becomes FREE, of a new generation (wiped first if asked).
 * False: none. Needed after stray or hostile writes only; may be called at any time. */
bool shm_slot_repair(struct shm_region *r, uint32_t *slot, shm_ctl *was);
/* Whether a slot in READY, UPLOADING or UPLOADED holds this job. */
bool shm_slot_holds(struct shm_region *r, uint64_t job, struct shm_slot_ref *ref);

/* Counts by state, for status. */
void shm_slot_count(struct shm_region *r, uint32_t counts[SHM_SLOT_STATES]);

#endif
