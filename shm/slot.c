#include "shm/slot.h"

#include <errno.h>
#include <string.h>

#include "shm/atomic.h"
#include "shm/mix.h"
#include "shm/mutant.h"
#include "shm/peer.h"

/* ---- the one transition function ---- */

#define TO(state) (1u << SHM_SLOT_##state)

/* The table of docs/PROTOCOL.md; what it does not name cannot happen. */
static const uint16_t allowed[SHM_SLOT_STATES] = {
    [SHM_SLOT_FREE] = TO(CLAIMED),
    [SHM_SLOT_CLAIMED] = TO(FILLING) | TO(FREE) | TO(WIPING),
    [SHM_SLOT_FILLING] = TO(READY) | TO(FREE) | TO(WIPING),
    [SHM_SLOT_READY] = TO(UPLOADING) | TO(QUARANTINE) | TO(FREE) | TO(WIPING),
    [SHM_SLOT_UPLOADING] = TO(UPLOADED) | TO(READY) | TO(FREE) | TO(WIPING),
    [SHM_SLOT_UPLOADED] = TO(CLAIMED) | TO(READY) | TO(FREE) | TO(WIPING),
    [SHM_SLOT_QUARANTINE] = TO(FREE) | TO(WIPING),
    [SHM_SLOT_WIPING] = TO(FREE),
};

static bool is_in(shm_ctl c, unsigned states) {
    return states >> shm_ctl_state(c) & 1;
}

/* Moves the slot if it still is as `from` says. A claim opens a new generation; every other move keeps it. The
 * acquire half sees what the last owner wrote, the release half shows what this one wrote; both pair with the next
 * move of the same word. */
static bool shm_slot_move(struct shm_slot_line *s, shm_ctl from, enum shm_slot_state state, unsigned owner) {
    if (shm_ctl_state(from) >= SHM_SLOT_STATES || !(allowed[shm_ctl_state(from)] >> state & 1))
        return false;
    shm_ctl to = shm_ctl_make(state, owner, state == SHM_SLOT_CLAIMED ? shm_ctl_next_gen(from) : shm_ctl_gen(from));
    if (SHM_MUTANT == SHM_MUTANT_NO_CAS) {
        bool same = shm_load_acq(&s->ctl) == from;
        if (same)
            shm_store_rel(&s->ctl, to);
        return same;
    }
    return shm_cas(&s->ctl, &from, to);
}

/* Moves a slot that a reference names, out of one of `states`, whose owner is `owner` (SHM_NOBODY: whoever). */
static int move_ref(struct shm_region *r, struct shm_slot_ref ref, unsigned states, unsigned owner,
                    enum shm_slot_state to, unsigned new_owner) {
    if (ref.index >= r->n_slots)
        return -ESTALE;
    struct shm_slot_line *s = &r->slots[ref.index];
    for (;;) {
        shm_ctl c = shm_load_acq(&s->ctl);      /* pairs with shm_slot_move */
        if (shm_ctl_gen(c) != ref.gen || !is_in(c, states) || (owner != SHM_NOBODY && shm_ctl_owner(c) != owner))
            return -ESTALE;
        if (shm_slot_move(s, c, to, new_owner))
            return 0;
    }
}

static void wipe(struct shm_region *r, uint32_t slot) {
    memset(shm_region_payload(r, slot), 0, r->slot_bytes[slot]);
}

/* Daemon: a slot seen as `from` becomes FREE, through WIPING where the region wipes: nobody can claim it meanwhile. */
static bool set_free(struct shm_region *r, uint32_t slot, shm_ctl from) {
    struct shm_slot_line *s = &r->slots[slot];
    if (!r->wipe)
        return shm_slot_move(s, from, SHM_SLOT_FREE, SHM_NOBODY);       /* model: free */
    if (shm_ctl_state(from) != SHM_SLOT_WIPING) {
        if (!shm_slot_move(s, from, SHM_SLOT_WIPING, SHM_NOBODY))       /* model: wipe */
            return false;
        from = shm_ctl_make(SHM_SLOT_WIPING, SHM_NOBODY, shm_ctl_gen(from));
    }
    wipe(r, slot);
    return shm_slot_move(s, from, SHM_SLOT_FREE, SHM_NOBODY);           /* model: wiped */
}

/* ---- descriptor and seal ---- */

enum { DESC_WORDS = sizeof(struct shm_slot_desc) / sizeof(uint64_t) };
static_assert(sizeof(struct shm_slot_desc) % sizeof(uint64_t) == 0, "copied by words");

static uint64_t seal_of(const struct shm_slot_desc *desc, uint64_t gen) {
    uint64_t words[DESC_WORDS];
    memcpy(words, desc, sizeof words);
    return shm_mix_words(shm_mix(SHM_MAGIC, gen), words, DESC_WORDS);
}

static void write_desc(struct shm_slot_line *s, const struct shm_slot_desc *desc, uint64_t gen) {
    uint64_t seal = seal_of(desc, gen);
    shm_words_store_rel(&s->desc, desc, DESC_WORDS);
    shm_words_store_rel(&s->seal, &seal, 1);
}

/* A copy of the descriptor of a slot seen as `c`. False where the slot moved while it was read. */
static bool read_desc(const struct shm_slot_line *s, shm_ctl c, struct shm_slot_desc *desc, bool *sealed) {
    uint64_t seal;
    shm_words_load_acq(desc, &s->desc, DESC_WORDS);
    shm_words_load_acq(&seal, &s->seal, 1);
    *sealed = seal == seal_of(desc, shm_ctl_gen(c));
    return shm_load_acq(&s->ctl) == c;          /* pairs with the claim that comes before any write of the line */
}

static uint64_t ticket_of(const struct shm_slot_line *s) {
    uint64_t ticket;
    shm_words_load_acq(&ticket, &s->desc.ticket, 1);    /* only orders claims; a torn view cannot harm */
    return ticket;
}

/* ---- worker ---- */

static uint64_t size_that_fits(const struct shm_region *r, uint64_t bytes) {
    uint64_t fit = 0;
    for (uint32_t i = 0; i < r->n_slots; i++)
        if (r->slot_bytes[i] >= bytes && (!fit || r->slot_bytes[i] < fit))
            fit = r->slot_bytes[i];
    return fit;
}

static bool is_near(const struct shm_region *r, uint32_t slot, uint32_t node) {
    return r->slot_node[slot] == node || r->slot_node[slot] == SHM_ANY_NODE;
}

static bool claim(struct shm_region *r, uint32_t slot, uint32_t peer, shm_ctl from, struct shm_slot_ref *ref) {
    struct shm_slot_line *s = &r->slots[slot];
    bool two_step = SHM_MUTANT == SHM_MUTANT_TWO_STEP;
    if (!shm_slot_move(s, from, SHM_SLOT_CLAIMED, two_step ? SHM_NOBODY : peer))        /* model: claim */
        return false;
    *ref = (struct shm_slot_ref){slot, shm_ctl_next_gen(from)};
    if (two_step)
        shm_store_rel(&s->ctl, shm_ctl_make(SHM_SLOT_CLAIMED, peer, ref->gen));
    return true;
}

static bool claim_free(struct shm_region *r, uint32_t peer, uint32_t node, bool near, uint64_t size,
                       struct shm_slot_ref *ref) {
    for (uint32_t i = 0; i < r->n_slots; i++) {
        if (r->slot_bytes[i] != size || is_near(r, i, node) != near)
            continue;
        shm_ctl c = shm_load_acq(&r->slots[i].ctl);     /* pairs with the move to FREE */
        if (shm_ctl_state(c) == SHM_SLOT_FREE && claim(r, i, peer, c, ref))
            return true;
    }
    return false;
}

/* The oldest UPLOADED slot, whose job is nearest to its end. Loses at most n_slots times, then gives up for now. */
static bool claim_uploaded(struct shm_region *r, uint32_t peer, uint64_t size, struct shm_slot_ref *ref) {
    for (uint32_t tries = 0; tries < r->n_slots; tries++) {
        uint32_t best = r->n_slots;
        uint64_t best_ticket = 0;
        shm_ctl best_ctl = 0;
        for (uint32_t i = 0; i < r->n_slots; i++) {
            shm_ctl c = shm_load_acq(&r->slots[i].ctl); /* pairs with the move to UPLOADED */
            if (r->slot_bytes[i] != size || shm_ctl_state(c) != SHM_SLOT_UPLOADED)
                continue;
            uint64_t ticket = ticket_of(&r->slots[i]);
            if (best == r->n_slots || ticket < best_ticket) {
                best = i;
                best_ticket = ticket;
                best_ctl = c;
            }
        }
        if (best == r->n_slots)
            return false;
        if (claim(r, best, peer, best_ctl, ref))
            return true;
    }
    return false;
}

int shm_slot_claim(struct shm_region *r, uint32_t peer, uint32_t node, uint64_t bytes, struct shm_slot_ref *ref) {
    uint64_t size = size_that_fits(r, bytes);
    if (!size)
        return -EFBIG;
    if (!claim_free(r, peer, node, true, size, ref) && !claim_free(r, peer, node, false, size, ref) &&
        !claim_uploaded(r, peer, size, ref))
        return -EAGAIN;
    if (!is_near(r, ref->index, node))
        shm_add_lax(&r->peers[peer].slots_other_node, 1);
    return 0;
}

int shm_slot_fill(struct shm_region *r, uint32_t peer, struct shm_slot_ref ref) {
    return move_ref(r, ref, TO(CLAIMED), peer, SHM_SLOT_FILLING, peer);         /* model: fill */
}

int shm_slot_commit(struct shm_region *r, uint32_t peer, struct shm_slot_ref ref, const struct shm_slot_desc *desc) {
    if (ref.index >= r->n_slots)
        return -ESTALE;
    struct shm_slot_line *s = &r->slots[ref.index];
    if (shm_load_acq(&s->ctl) != shm_ctl_make(SHM_SLOT_FILLING, peer, ref.gen))         /* the line is written only */
        return -ESTALE;                                                                 /* by who owns it */
    shm_stream_fence();
    if (SHM_MUTANT != SHM_MUTANT_EARLY_READY)
        write_desc(s, desc, ref.gen);                                           /* model: seal */
    int rc = move_ref(r, ref, TO(FILLING), peer, SHM_SLOT_READY, peer);         /* model: ready */
    if (SHM_MUTANT == SHM_MUTANT_EARLY_READY)
        write_desc(s, desc, ref.gen);
    if (rc == 0)
        shm_store_rel(&r->peers[peer].job, 0);          /* pairs with shm_job_sweep: READY is seen before this */
    return rc;
}

int shm_slot_abandon(struct shm_region *r, uint32_t peer, struct shm_slot_ref ref) {
    if (ref.index >= r->n_slots)
        return -ESTALE;
    shm_ctl c = shm_load_acq(&r->slots[ref.index].ctl);
    if (shm_ctl_gen(c) != ref.gen || shm_ctl_owner(c) != peer || !is_in(c, TO(CLAIMED) | TO(FILLING)))
        return -ESTALE;
    if (r->wipe)
        wipe(r, ref.index);
    return move_ref(r, ref, TO(CLAIMED) | TO(FILLING), peer, SHM_SLOT_FREE, SHM_NOBODY);        /* model: abandon */
}

/* ---- daemon ---- */

static bool before(const struct shm_slot_desc *a, const struct shm_slot_desc *b) {
    return a->priority != b->priority ? a->priority < b->priority : a->ticket < b->ticket;
}

/* The best READY slot as it stands now. 0, -EAGAIN, or -EBADMSG with the slot whose seal is bad. */
static int best_ready(struct shm_region *r, bool (*want)(void *ctx, uint32_t slot, const struct shm_slot_desc *d),
                      void *ctx, uint32_t *slot, shm_ctl *ctl, struct shm_slot_desc *desc) {
    bool found = false;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        struct shm_slot_desc d;
        bool sealed;
        shm_ctl c = shm_load_acq(&r->slots[i].ctl);     /* pairs with ready: descriptor, seal and payload are whole */
        if (shm_ctl_state(c) != SHM_SLOT_READY || !read_desc(&r->slots[i], c, &d, &sealed))
            continue;
        if (sealed && ((found && !before(&d, desc)) || (want && !want(ctx, i, &d))))
            continue;
        *slot = i;
        *ctl = c;
        *desc = d;
        if (!sealed)
            return -EBADMSG;
        found = true;
    }
    return found ? 0 : -EAGAIN;
}

int shm_slot_take(struct shm_region *r, bool (*want)(void *ctx, uint32_t slot, const struct shm_slot_desc *d),
                  void *ctx, struct shm_slot_ref *ref, struct shm_slot_desc *desc) {
    for (;;) {
        uint32_t slot;
        shm_ctl c;
        int rc = best_ready(r, want, ctx, &slot, &c, desc);
        if (rc == -EAGAIN)
            return rc;
        *ref = (struct shm_slot_ref){slot, shm_ctl_gen(c)};
        struct shm_slot_line *s = &r->slots[slot];
        if (rc == -EBADMSG ? shm_slot_move(s, c, SHM_SLOT_QUARANTINE, shm_ctl_owner(c))         /* model: quarantine */
                           : shm_slot_move(s, c, SHM_SLOT_UPLOADING, SHM_NOBODY))               /* model: take */
            return rc;
    }
}

int shm_slot_uploaded(struct shm_region *r, struct shm_slot_ref ref) {
    return move_ref(r, ref, TO(UPLOADING), SHM_NOBODY, SHM_SLOT_UPLOADED, SHM_NOBODY);          /* model: uploaded */
}

int shm_slot_release(struct shm_region *r, struct shm_slot_ref ref) {
    if (ref.index >= r->n_slots)
        return -ESTALE;
    for (;;) {
        shm_ctl c = shm_load_acq(&r->slots[ref.index].ctl);     /* pairs with claim: a worker may be faster */
        if (shm_ctl_gen(c) != ref.gen || !is_in(c, TO(READY) | TO(UPLOADING) | TO(UPLOADED)))
            return -ESTALE;
        if (set_free(r, ref.index, c))
            return 0;
    }
}

int shm_slot_requeue(struct shm_region *r, struct shm_slot_ref ref) {
    return move_ref(r, ref, TO(UPLOADING) | TO(UPLOADED), SHM_NOBODY, SHM_SLOT_READY, SHM_NOBODY);  /* model: requeue */
}

uint32_t shm_slot_reap(struct shm_region *r, uint32_t peer) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        shm_ctl c = shm_load_acq(&r->slots[i].ctl);     /* the dead write no more: what is seen now stays */
        if (shm_ctl_owner(c) == peer && is_in(c, TO(CLAIMED) | TO(FILLING)))
            n += set_free(r, i, c);                     /* model: reap */
    }
    return n;
}

static void recover_one(struct shm_region *r, uint32_t slot) {
    for (;;) {
        shm_ctl c = shm_load_acq(&r->slots[slot].ctl);  /* workers go on: an UPLOADED slot may be claimed meanwhile */
        bool done = true;
        if (is_in(c, TO(UPLOADING) | TO(UPLOADED)))
            done = shm_slot_move(&r->slots[slot], c, SHM_SLOT_READY, SHM_NOBODY);       /* model: recover */
        else if (is_in(c, TO(QUARANTINE) | TO(WIPING)))
            done = set_free(r, slot, c);
        if (done)
            return;
    }
}

uint32_t shm_slot_recover(struct shm_region *r) {
    uint32_t counts[SHM_SLOT_STATES];
    for (uint32_t i = 0; i < r->n_slots; i++)
        recover_one(r, i);
    shm_slot_count(r, counts);
    return counts[SHM_SLOT_READY];
}

/* A claim comes after its owner's entry is LIVE, and every way to free an entry frees its slots before. */
static bool is_impossible(struct shm_region *r, shm_ctl c) {
    unsigned owner = shm_ctl_owner(c);
    if (shm_ctl_state(c) >= SHM_SLOT_STATES)
        return true;
    if (!is_in(c, TO(CLAIMED) | TO(FILLING)))
        return false;
    return owner >= r->n_peers || (shm_peer_look(r, owner, NULL) == SHM_PEER_FREE && shm_peer_lives(r, owner) == 0);
}

bool shm_slot_repair(struct shm_region *r, uint32_t *slot, shm_ctl *was) {
    for (*slot = 0; *slot < r->n_slots; ++*slot) {
        struct shm_slot_line *s = &r->slots[*slot];
        shm_ctl c = *was = shm_load_acq(&s->ctl);
        shm_ctl wiping = shm_ctl_make(SHM_SLOT_WIPING, SHM_NOBODY, shm_ctl_next_gen(c));
        if (is_impossible(r, c) && shm_cas(&s->ctl, &c, wiping)) {      /* no move of the table leads out of there */
            if (r->wipe)
                wipe(r, *slot);
            shm_slot_move(s, wiping, SHM_SLOT_FREE, SHM_NOBODY);
            return true;
        }
    }
    return false;
}

static bool slot_holds(struct shm_region *r, uint32_t slot, uint64_t job, uint64_t *gen) {
    for (;;) {
        struct shm_slot_desc d;
        bool sealed;
        shm_ctl c = shm_load_acq(&r->slots[slot].ctl);  /* pairs with ready */
        if (!is_in(c, TO(READY) | TO(UPLOADING) | TO(UPLOADED)))
            return false;
        *gen = shm_ctl_gen(c);
        if (read_desc(&r->slots[slot], c, &d, &sealed))
            return sealed && d.job == job;
    }
}

bool shm_slot_holds(struct shm_region *r, uint64_t job, struct shm_slot_ref *ref) {
    uint64_t gen;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        if (!slot_holds(r, i, job, &gen))
            continue;
        if (ref)
            *ref = (struct shm_slot_ref){i, gen};
        return true;
    }
    return false;
}

void shm_slot_count(struct shm_region *r, uint32_t counts[SHM_SLOT_STATES]) {
    memset(counts, 0, SHM_SLOT_STATES * sizeof *counts);
    for (uint32_t i = 0; i < r->n_slots; i++) {
        unsigned state = shm_ctl_state(shm_load_lax(&r->slots[i].ctl));
        if (state < SHM_SLOT_STATES)
            counts[state]++;
    }
}
