/*
 * The shared layout, byte for byte. A change here is a change of the format between processes: it needs a new
 * SHM_LAYOUT_VERSION and its line in docs/PROTOCOL.md. RUN_VALGRIND
 */
#include "tests/shm_world.h"

#define AT(type, field) {#type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field)}

struct place {
    const char *name;
    size_t offset, bytes;
};

struct golden {
    size_t offset, bytes;
};

static const struct place places[] = {
    AT(shm_super, magic), AT(shm_super, layout_hash), AT(shm_super, boot_id), AT(shm_super, bytes),
    AT(shm_super, instance), AT(shm_super, n_slots), AT(shm_super, n_peers), AT(shm_super, n_jobs),
    AT(shm_super, n_circuits), AT(shm_super, n_nodes), AT(shm_super, wipe), AT(shm_super, slots_at),
    AT(shm_super, peers_at), AT(shm_super, jobs_at), AT(shm_super, circuits_at), AT(shm_super, results_at),
    AT(shm_super, payload_at), AT(shm_super, result_bytes), AT(shm_super, next_ticket), AT(shm_super, starts),
    AT(shm_super, daemon_pid), AT(shm_super, stopping), AT(shm_super, bell),
    AT(shm_bell, value), AT(shm_bell, asleep),
    AT(shm_slot_line, ctl), AT(shm_slot_line, desc), AT(shm_slot_line, seal), AT(shm_slot_line, offset),
    AT(shm_slot_line, bytes), AT(shm_slot_line, node), AT(shm_slot_line, klass),
    AT(shm_slot_desc, job), AT(shm_slot_desc, ticket), AT(shm_slot_desc, circuit), AT(shm_slot_desc, priority),
    AT(shm_slot_desc, n_vars), AT(shm_slot_desc, n_rows), AT(shm_slot_desc, flags), AT(shm_slot_desc, attempt),
    AT(shm_slot_desc, started_ns), AT(shm_slot_desc, committed_ns), AT(shm_slot_desc, peer),
    AT(shm_slot_desc, slot_wait_us),
    AT(shm_peer, word), AT(shm_peer, node), AT(shm_peer, kind), AT(shm_peer, epoch), AT(shm_peer, jobs_done),
    AT(shm_peer, slots_other_node), AT(shm_peer, job), AT(shm_peer, bell),
    AT(shm_job, ctl), AT(shm_job, id), AT(shm_job, ticket), AT(shm_job, circuit), AT(shm_job, priority),
    AT(shm_job, attempts), AT(shm_job, fetched), AT(shm_job, n_public), AT(shm_job, uid), AT(shm_job, times),
    AT(shm_job, witness), AT(shm_job, error),
    AT(shm_job_times, submitted_ns), AT(shm_job_times, done_ns), AT(shm_job_times, upload_ns),
    AT(shm_job_times, verify_ns), AT(shm_job_times, upload_us), AT(shm_job_times, verify_us), AT(shm_job_times, peer),
    AT(shm_job_times, pid),
    AT(shm_circuit, state), AT(shm_circuit, slot_class), AT(shm_circuit, slot_bytes), AT(shm_circuit, digest),
    AT(shm_circuit, name), AT(shm_circuit, zkey), AT(shm_circuit, r1cs),
};

static const struct golden golden[] = {
    {0, 8}, {8, 8}, {16, 16}, {32, 8}, {40, 32}, {72, 4}, {76, 4}, {80, 4}, {84, 4}, {88, 4}, {92, 4}, {96, 8},
    {104, 8}, {112, 8}, {120, 8}, {128, 8}, {136, 8}, {144, 8}, {256, 8}, {264, 8}, {272, 4}, {276, 4}, {384, 128},
    {0, 4}, {4, 4},
    {0, 8}, {8, 64}, {72, 8}, {80, 8}, {88, 8}, {96, 4}, {100, 4},
    {0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 8}, {48, 8}, {56, 4}, {60, 4},
    {0, 8}, {8, 4}, {12, 4}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {128, 128},
    {0, 8}, {8, 8}, {16, 8}, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 120}, {168, 1024}, {1192, 472},
    {0, 8}, {32, 8}, {40, 8}, {56, 8}, {64, 4}, {96, 4}, {112, 4}, {116, 4},
    {0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 64}, {88, 1024}, {1112, 1024},
};
static_assert(sizeof places / sizeof *places == sizeof golden / sizeof *golden, "one golden line a field");

static void check_places(void) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        check(places[i].offset == golden[i].offset && places[i].bytes == golden[i].bytes,
              "%s: offset %zu, %zu bytes; the layout says %zu, %zu", places[i].name, places[i].offset, places[i].bytes,
              golden[i].offset, golden[i].bytes);
    check(sizeof(struct shm_super) == 512, "struct shm_super");
    check(sizeof(struct shm_slot_line) == 128, "struct shm_slot_line");
    check(sizeof(struct shm_peer) == 256, "struct shm_peer");
    check(sizeof(struct shm_job) == 1664, "struct shm_job");
    check(sizeof(struct shm_circuit) == 2176, "struct shm_circuit");
}

static void check_numbers(void) {
    check(SHM_SLOT_FREE == 0 && SHM_SLOT_CLAIMED == 1 && SHM_SLOT_FILLING == 2 && SHM_SLOT_READY == 3 &&
          SHM_SLOT_UPLOADING == 4 && SHM_SLOT_UPLOADED == 5 && SHM_SLOT_QUARANTINE == 6 && SHM_SLOT_WIPING == 7 &&
          SHM_SLOT_STATES == 8, "slot states");
    check(SHM_JOB_FREE == 0 && SHM_JOB_FILLING == 1 && SHM_JOB_QUEUED == 2 && SHM_JOB_SYNTHESIS == 3 &&
          SHM_JOB_PROVING == 4 && SHM_JOB_DONE == 5 && SHM_JOB_FAILED == 6 && SHM_JOB_CANCELLED == 7 &&
          SHM_JOB_FAILING == 8 && SHM_JOB_STATES == 9, "job states");
    check(SHM_PEER_FREE == 0 && SHM_PEER_JOINING == 1 && SHM_PEER_LIVE == 2 && SHM_PEER_REAPING == 3, "peer states");
    check(SHM_BELL_AWAKE == 0 && SHM_BELL_FUTEX == 1 && SHM_BELL_EVENTFD == 2, "bell");
    check(SHM_LAYOUT_VERSION == 2, "layout version");
    check(shm_ctl_make(SHM_SLOT_READY, 0xabc, 0x123456789abcull) == 0x123456789abcabc3ull, "control word");
}

int main(void) {
    check_places();
    check_numbers();
    return finish("layout as written down");
}
