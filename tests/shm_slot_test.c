/*
 * Slots, move by move: stale references and foreign owners first, then claims in their order, publishing, taking, and
 * what reaping and recovery make of every state. RUN_VALGRIND
 */
#include "tests/shm_world.h"

static struct shm_region r;

static enum shm_slot_state state_of(uint32_t slot) {
    return (enum shm_slot_state)shm_ctl_state(shm_load_acq(&r.slots[slot].ctl));
}

static uint64_t gen_of(uint32_t slot) {
    return shm_ctl_gen(shm_load_acq(&r.slots[slot].ctl));
}

/* Sets a slot as it stands after a crash. */
static struct shm_slot_ref put(uint32_t slot, enum shm_slot_state state, unsigned owner) {
    uint64_t gen = gen_of(slot) + 1;
    shm_store_rel(&r.slots[slot].ctl, shm_ctl_make(state, owner, gen));
    return (struct shm_slot_ref){slot, gen};
}

static void all_free(void) {
    for (uint32_t i = 0; i < r.n_slots; i++)
        put(i, SHM_SLOT_FREE, SHM_NOBODY);
}

/* Through the front door: READY with a descriptor. */
static struct shm_slot_ref publish(uint32_t peer, uint64_t job, uint64_t ticket, uint32_t priority) {
    struct shm_slot_ref ref = {UINT32_MAX, 0};
    const struct shm_slot_desc desc = {.job = job, .ticket = ticket, .priority = priority};
    check(shm_slot_claim(&r, peer, 0, SHM_PAGE, &ref) == 0 && shm_slot_fill(&r, peer, ref) == 0 &&
          shm_slot_commit(&r, peer, ref, &desc) == 0, "publish job %llu", (unsigned long long)job);
    return ref;
}

enum move { FILL, COMMIT, ABANDON, UPLOADED, RELEASE, REQUEUE, MOVES };
static const char *const move_names[] = {"fill", "commit", "abandon", "uploaded", "release", "requeue"};

static int do_move(enum move move, uint32_t peer, struct shm_slot_ref ref) {
    const struct shm_slot_desc desc = {.job = 9};
    switch (move) {
    case FILL: return shm_slot_fill(&r, peer, ref);
    case COMMIT: return shm_slot_commit(&r, peer, ref, &desc);
    case ABANDON: return shm_slot_abandon(&r, peer, ref);
    case UPLOADED: return shm_slot_uploaded(&r, ref);
    case RELEASE: return shm_slot_release(&r, ref);
    default: return shm_slot_requeue(&r, ref);
    }
}

/* The table of docs/PROTOCOL.md: what each move makes of each state (-1: refused). Owner is peer 1. */
static void check_table(void) {
    enum { X = -1, FR = SHM_SLOT_FREE, FI = SHM_SLOT_FILLING, RE = SHM_SLOT_READY, UD = SHM_SLOT_UPLOADED };
    static const int after[SHM_SLOT_STATES][MOVES] = {
        [SHM_SLOT_FREE]       = {X, X, X, X, X, X},
        [SHM_SLOT_CLAIMED]    = {FI, X, FR, X, X, X},
        [SHM_SLOT_FILLING]    = {X, RE, FR, X, X, X},
        [SHM_SLOT_READY]      = {X, X, X, X, FR, X},
        [SHM_SLOT_UPLOADING]  = {X, X, X, UD, FR, RE},
        [SHM_SLOT_UPLOADED]   = {X, X, X, X, FR, RE},
        [SHM_SLOT_QUARANTINE] = {X, X, X, X, X, X},
        [SHM_SLOT_WIPING]     = {X, X, X, X, X, X},
    };
    for (int s = 0; s < SHM_SLOT_STATES; s++)
        for (int m = 0; m < MOVES; m++) {
            bool owned = s == SHM_SLOT_CLAIMED || s == SHM_SLOT_FILLING;
            struct shm_slot_ref ref = put(0, (enum shm_slot_state)s, owned ? 1 : SHM_NOBODY);
            uint64_t gen = gen_of(0);
            int rc = do_move((enum move)m, 1, ref);
            int want = after[s][m];
            check(rc == (want < 0 ? -ESTALE : 0) && (int)state_of(0) == (want < 0 ? s : want) && gen_of(0) == gen,
                  "%s in state %d: %d, state %d", move_names[m], s, rc, state_of(0));
            if (want < 0)
                continue;
            ref = put(0, (enum shm_slot_state)s, owned ? 1 : SHM_NOBODY);
            const struct shm_slot_ref older = {0, ref.gen - 1}, newer = {0, ref.gen + 1}, beyond = {r.n_slots, ref.gen};
            check(do_move((enum move)m, 1, older) == -ESTALE && do_move((enum move)m, 1, newer) == -ESTALE &&
                  do_move((enum move)m, 1, beyond) == -ESTALE, "%s with a stale reference", move_names[m]);
            if (owned)
                check(do_move((enum move)m, 0, ref) == -ESTALE, "%s by another peer", move_names[m]);
            check((int)state_of(0) == s, "%s that was refused moved the slot", move_names[m]);
        }
    all_free();
}

static bool refuse_all(void *ctx, uint32_t slot, const struct shm_slot_desc *d) {
    (void)slot, (void)d;
    ++*(int *)ctx;
    return false;
}

static void check_nothing_to_take(void) {
    struct shm_slot_ref ref;
    struct shm_slot_desc desc;
    int asked = 0;
    check(shm_slot_take(&r, NULL, NULL, &ref, &desc) == -EAGAIN, "take from an empty ring");
    ref = publish(0, 1, 1, 1);
    check(shm_slot_take(&r, refuse_all, &asked, &ref, &desc) == -EAGAIN && asked == 1, "take what is not wanted");
    check(state_of(ref.index) == SHM_SLOT_READY, "what is not wanted stays");
    all_free();
}

/* A stray write to any word of a READY line, or a seal of another generation, ends in quarantine. */
static void check_seal(void) {
    enum { WORDS = (sizeof(struct shm_slot_desc) + sizeof(uint64_t)) / 8 };
    struct shm_slot_ref ref;
    struct shm_slot_desc desc;
    for (int w = 0; w <= WORDS; w++) {
        struct shm_slot_ref bad = publish(0, 1, 1, 1);
        shm_word *line = (shm_word *)&r.slots[bad.index];
        if (w < WORDS)
            line[1 + w] ^= 1ull << (w * 5);
        else
            shm_store_rel(&r.slots[bad.index].ctl, shm_ctl_make(SHM_SLOT_READY, 0, ++bad.gen));
        struct shm_slot_ref good = publish(0, 2, 2, 1);
        check(shm_slot_take(&r, NULL, NULL, &ref, &desc) == -EBADMSG && ref.index == bad.index && ref.gen == bad.gen,
              "a bad word %d was not noticed", w);
        check(state_of(bad.index) == SHM_SLOT_QUARANTINE, "a bad slot is in state %d", state_of(bad.index));
        check(!shm_slot_holds(&r, 1, NULL), "a slot in quarantine holds a job");
        check(shm_slot_take(&r, NULL, NULL, &ref, &desc) == 0 && ref.index == good.index && desc.job == 2,
              "the good slot beside a bad one");
        check(shm_slot_take(&r, NULL, NULL, &ref, &desc) == -EAGAIN, "quarantine is not taken again");
        all_free();
    }
}

static void check_claims(void) {
    struct shm_slot_ref ref[4], one;
    check(shm_slot_claim(&r, 0, 0, 3 * SHM_PAGE, &one) == -EFBIG, "a claim larger than any slot");
    for (uint32_t i = 0; i < r.n_slots; i++) {
        uint64_t gen = gen_of(i);
        check(shm_slot_claim(&r, 0, 0, 1, &ref[i]) == 0 && ref[i].index == i && ref[i].gen == gen + 1 &&
              state_of(i) == SHM_SLOT_CLAIMED && shm_ctl_owner(shm_load_acq(&r.slots[i].ctl)) == 0, "claim %u", i);
    }
    check(shm_slot_claim(&r, 0, 0, 1, &one) == -EAGAIN, "claim from a full ring");
    for (uint32_t i = 0; i < r.n_slots; i++)
        shm_slot_abandon(&r, 0, ref[i]);

    /* UPLOADED is claimed only when nothing is FREE, the oldest first, and a stale release finds that out. */
    struct shm_slot_desc desc;
    for (uint32_t i = 0; i < r.n_slots; i++) {
        publish(0, 10 + i, 100 - i, 1);
        check(shm_slot_take(&r, NULL, NULL, &ref[i], &desc) == 0 && shm_slot_uploaded(&r, ref[i]) == 0, "to UPLOADED");
        check(shm_slot_holds(&r, 10 + i, &one) && one.index == ref[i].index && one.gen == ref[i].gen, "holds");
        if (i + 1 < r.n_slots)
            check(state_of(i) == SHM_SLOT_UPLOADED && state_of(i + 1) == SHM_SLOT_FREE, "a FREE slot is claimed first");
    }
    check(shm_slot_claim(&r, 1, 0, 1, &one) == 0 && one.index == ref[r.n_slots - 1].index, "the oldest UPLOADED first");
    check(one.gen == ref[r.n_slots - 1].gen + 1, "a claim of UPLOADED is a new generation");
    check(!shm_slot_holds(&r, 10 + r.n_slots - 1, NULL), "a claimed slot still holds the former job");
    check(shm_slot_release(&r, ref[r.n_slots - 1]) == -ESTALE && shm_slot_requeue(&r, ref[r.n_slots - 1]) == -ESTALE,
          "the daemon's reference to a claimed slot");
    all_free();
}

static void check_order(void) {
    static const uint64_t want[] = {3, 4, 2, 1};
    struct shm_slot_ref ref;
    struct shm_slot_desc desc;
    publish(0, 1, 5, 2);
    publish(0, 2, 9, 1);
    publish(0, 3, 7, 0);
    publish(0, 4, 8, 0);
    for (int i = 0; i < 4; i++)
        check(shm_slot_take(&r, NULL, NULL, &ref, &desc) == 0 && desc.job == want[i], "taken as %d: job %llu", i,
              (unsigned long long)desc.job);
    all_free();
}

static void check_reap(void) {
    const struct shm_slot_ref mine = put(0, SHM_SLOT_FILLING, 1), ready = put(2, SHM_SLOT_READY, 1);
    put(1, SHM_SLOT_CLAIMED, 1);
    put(3, SHM_SLOT_FILLING, 0);
    check(shm_slot_reap(&r, 1) == 2, "reaped");
    check(state_of(0) == SHM_SLOT_FREE && state_of(1) == SHM_SLOT_FREE, "the dead's slots");
    check(state_of(2) == SHM_SLOT_READY && gen_of(2) == ready.gen, "READY outlives its maker");
    check(state_of(3) == SHM_SLOT_FILLING, "another's slot");
    check(shm_slot_fill(&r, 1, mine) == -ESTALE && gen_of(0) == mine.gen, "the generation moves at the next claim");
    all_free();
}

static void check_recover(void) {
    put(0, SHM_SLOT_UPLOADING, SHM_NOBODY);
    put(1, SHM_SLOT_UPLOADED, SHM_NOBODY);
    put(2, SHM_SLOT_QUARANTINE, 1);
    put(3, SHM_SLOT_FILLING, 0);
    check(shm_slot_recover(&r) == 2, "READY after recovery");
    check(state_of(0) == SHM_SLOT_READY && state_of(1) == SHM_SLOT_READY && state_of(2) == SHM_SLOT_FREE &&
          state_of(3) == SHM_SLOT_FILLING, "states after recovery");
    put(0, SHM_SLOT_WIPING, SHM_NOBODY);
    put(1, (enum shm_slot_state)15, 3);         /* no state at all: for shm_slot_repair, and no endless loop here */
    shm_slot_recover(&r);
    check(state_of(0) == SHM_SLOT_FREE && (int)state_of(1) == 15, "WIPING and nonsense after recovery");
    check(shm_slot_release(&r, (struct shm_slot_ref){1, gen_of(1)}) == -ESTALE, "release of nonsense");
    all_free();
}

/* Repaired is what nobody can have written by the rules, and nothing else; old references stay stale. */
static void check_repair(void) {
    uint32_t slot;
    shm_ctl was;
    int peer = shm_peer_join(&r, 0, 0);
    for (unsigned s = 0; s < 16; s++)
        /* Peers: the one that joined, a free entry, none such, nobody. */
        for (unsigned owner = 0; owner < 4; owner++) {
            unsigned owners[] = {(unsigned)peer, 1, r.n_peers, SHM_NOBODY};
            bool claimed = s == SHM_SLOT_CLAIMED || s == SHM_SLOT_FILLING;
            bool bad = s >= SHM_SLOT_STATES || (claimed && owner > 0);
            struct shm_slot_ref ref = put(2, (enum shm_slot_state)s, owners[owner]);
            bool found = shm_slot_repair(&r, &slot, &was);
            check(found == bad && (int)state_of(2) == (bad ? (int)SHM_SLOT_FREE : (int)s),
                  "repair of state %u, owner %x: %d", s,
                  owners[owner], found);
            if (bad)
                check(slot == 2 && shm_ctl_state(was) == s && shm_slot_abandon(&r, owners[owner], ref) == -ESTALE &&
                      gen_of(2) == ref.gen + 1, "the reference of before");
            check(!shm_slot_repair(&r, &slot, &was), "repaired twice");
        }
    shm_peer_leave(&r, (uint32_t)peer);
    r.wipe = true;
    memset(shm_region_payload(&r, 0), 0xaa, r.slot_bytes[0]);
    put(0, SHM_SLOT_FILLING, 1);
    check(shm_slot_repair(&r, &slot, &was) && shm_region_payload(&r, 0)[77] == 0, "repaired and not wiped");
    r.wipe = false;
    all_free();
}

/* After the last generation of 48 bits comes 0: moves go on, and references of before are stale. */
static void check_wrap(void) {
    const uint64_t last = UINT64_MAX >> 16;
    struct shm_slot_ref ref, taken;
    struct shm_slot_desc desc = {.job = 3};
    for (int i = -2; i <= 1; i++) {
        uint64_t gen = (last + (uint64_t)i) & last, want = (gen + 1) & last;
        for (uint32_t s = 0; s < r.n_slots; s++)
            shm_store_rel(&r.slots[s].ctl, shm_ctl_make(SHM_SLOT_FREE, SHM_NOBODY, gen));
        check(shm_slot_claim(&r, 0, 0, 1, &ref) == 0 && ref.gen == want && gen_of(ref.index) == want,
              "claim after %llx: %llx",
              (unsigned long long)gen, (unsigned long long)ref.gen);
        const struct shm_slot_ref old = {ref.index, gen};
        check(shm_slot_fill(&r, 0, old) == -ESTALE && shm_slot_fill(&r, 0, ref) == 0 &&
              shm_slot_commit(&r, 0, old, &desc) == -ESTALE && shm_slot_commit(&r, 0, ref, &desc) == 0 &&
              shm_slot_take(&r, NULL, NULL, &taken, &desc) == 0 && taken.gen == want && desc.job == 3 &&
              shm_slot_uploaded(&r, taken) == 0 && shm_slot_release(&r, old) == -ESTALE &&
              shm_slot_release(&r, taken) == 0,
              "a life after generation %llx", (unsigned long long)gen);
    }
    all_free();
}

/* With wipe nothing of a payload is left, whichever way the slot became FREE. */
static bool is_zero(uint32_t slot) {
    const uint8_t *p = shm_region_payload(&r, slot);
    return p[0] == 0 && memcmp(p, p + 1, r.slot_bytes[slot] - 1) == 0;
}

static void check_wiped(void) {
    struct shm_slot_ref ref;
    r.wipe = true;
    for (int way = 0; way < 4; way++) {
        memset(shm_region_payload(&r, 0), 0xaa, r.slot_bytes[0]);
        switch (way) {
        case 0: shm_slot_release(&r, put(0, SHM_SLOT_UPLOADED, SHM_NOBODY)); break;
        case 1: ref = put(0, SHM_SLOT_FILLING, 1); shm_slot_abandon(&r, 1, ref); break;
        case 2: put(0, SHM_SLOT_FILLING, 1); shm_slot_reap(&r, 1); break;
        default: put(0, SHM_SLOT_WIPING, SHM_NOBODY); shm_slot_recover(&r);
        }
        check(state_of(0) == SHM_SLOT_FREE && is_zero(0), "way %d to FREE left the payload", way);
    }
    r.wipe = false;
}

/* Classes and nodes: own node first, then others (counted), never a larger class. */
static void check_nodes_and_classes(void) {
    const struct shm_class classes[] = {{SHM_PAGE, 1}, {2 * SHM_PAGE, 1}};
    const struct shm_spec spec = {.instance = world_instance("slot2"), .n_classes = 2, .classes = classes, .n_jobs = 1,
                                  .n_peers = 1, .n_circuits = 1, .result_bytes = 64, .small_pages = true,
                                  .nodes = (const int[]){0, 0}, .n_nodes = 2};
    struct shm_error err;
    struct shm_slot_ref ref;
    if (shm_region_create(&r, &spec, &err) != 0) {
        check(err.code == EPERM, "create: %s", err.text);
        return;
    }
    r.slot_node[2] = r.slot_node[3] = 1;        /* the handle's own copy: as on a machine with two nodes */
    check(shm_slot_claim(&r, 0, 1, SHM_PAGE, &ref) == 0 && ref.index == 2, "own node first: %u", ref.index);
    check(shm_load_lax(&r.peers[0].slots_other_node) == 0, "own node is not counted");
    check(shm_slot_claim(&r, 0, 1, SHM_PAGE, &ref) == 0 && ref.index == 0, "then the other: %u", ref.index);
    check(shm_load_lax(&r.peers[0].slots_other_node) == 1, "the other is counted");
    check(shm_slot_claim(&r, 0, 1, SHM_PAGE, &ref) == -EAGAIN, "a small payload took a large slot");
    check(shm_slot_claim(&r, 0, 0, SHM_PAGE + 1, &ref) == 0 && ref.index == 1, "the large class: %u", ref.index);
    shm_region_close(&r);
    world_remove();
}

int main(void) {
    world_create(&r, "slot", (struct world_size){4, 1, 2, false});
    check_table();
    check_nothing_to_take();
    check_seal();
    check_claims();
    check_order();
    check_reap();
    check_recover();
    check_wiped();
    check_repair();
    check_wrap();
    world_remove();
    shm_region_close(&r);
    check_nodes_and_classes();
    return finish("slots: every move from every state");
}
