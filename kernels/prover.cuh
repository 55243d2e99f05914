/*
 * kernels/prover.cuh: a Groth16 key on one device, and proofs made with it: six transforms and five sums.
 *
 * All device and page-locked memory is taken in prover_open. Inputs lie in PROVER_SLOTS sets of buffers, so that the
 * next proof's upload can run while this one computes; the rest of the workspace is for one proof at a time.
 */
#ifndef KERNELS_PROVER_CUH
#define KERNELS_PROVER_CUH

#include "kernels/assemble.h"
#include "kernels/msm.cuh"
#include "kernels/ntt.cuh"

enum { PROVER_SLOTS = 2 };

enum prover_set { PROVER_A, PROVER_B1, PROVER_L, PROVER_B2, PROVER_H, PROVER_SETS };

/* Where a key's points are, from the fastest to the one that takes the least memory. */
enum prover_mode {
    PROVER_EXPANDED,        /* on the device, and their multiples by powers of two too: one bucket set for all digits */
    PROVER_H_EXPANDED,      /* on the device, h so: its scalars are always of full length */
    PROVER_RESIDENT,        /* on the device */
    PROVER_STREAMED,        /* on the host; they come in tiles for every proof */
    PROVER_MODES,
};

/* Inputs of one proof on the device. */
struct prover_slot {
    uint8_t *w, *a, *b;
    cudaEvent_t begun, uploaded;
};

struct prover {
    enum krn_curve_id curve;
    uint32_t n_vars, n_public;
    int log_n;
    enum prover_mode mode;
    struct krn_key key;                     /* borrowed; its vectors are read again only where they are streamed */
    void *memory, *pinned;
    size_t bytes;
    uint8_t *bases[PROVER_SETS];            /* as many as scalars; L has n_public + 1 infinities in front */
    struct msm_shape expanded[PROVER_SETS]; /* bits = 0 where bases are in one copy */
    uint8_t *stage[2];                      /* for streamed bases */
    size_t tile;                            /* scalars at once */
    cudaStream_t feed;                      /* fills a stage, */
    cudaEvent_t full[2], empty[2];          /* which is full, or used up */
    int turn;
    bool registered[PROVER_SETS];           /* host memory that we page-locked */
    struct ntt_tables tables;
    uint8_t *work, *h;                      /* transforms of a and b; h, and c before it */
    unsigned long long *row;                /* first row where c differs from a * b */
    unsigned long long *row_seen;           /* page-locked */
    struct msm_sorter sorter;
    struct msm_sums sums[PROVER_SETS];
    void *sorter_memory, *sums_memory[PROVER_SETS], *scratch;
    size_t scratch_bytes;
    struct msm_shape shape[PROVER_SETS];
    struct prover_slot slots[PROVER_SLOTS];
    cudaEvent_t marks[PROVER_SETS + 2];     /* begin, after the transforms, after each sum */
};

/*
 * Device bytes that prover_open takes for a key: bases, tables, workspace and inputs. With n the larger of rows and
 * variables, W digits a scalar, B buckets, t = min(n, 2^26) scalars at once:
 *   bases     (n_vars (3 G1 + G2) + rows G1) times their copies, or two stages of 2^22 G2
 *   tables    48 rows                      transforms  96 rows          inputs  2 (32 n_vars + 64 rows)
 *   sorter    16 W t + about 24 B          sums        XYZZ (2 B + leaves) for each of five
 *   scratch   up to 202,752 threads of 128 (3 / 2 points)
 */
size_t prover_bytes(const struct krn_key *key, enum prover_mode mode);

/* The fastest mode that takes no more than half of the room, or resident, or streamed where it must be. */
enum prover_mode prover_choose(const struct krn_key *key, size_t room);

/* Makes the key ready on the current device in a mode, with at most `tile` scalars at once (0: as many as is good).
 * -ENOMEM with both numbers where it does not fit. *p is set on success. */
int prover_open_as(struct prover **p, const struct krn_key *key, enum prover_mode mode, size_t tile,
                   cudaStream_t stream, char err[KRN_ERR_TEXT]);
void prover_close(struct prover *p);

/* Queues the copy of w, a and b into a slot, and records its events. */
int prover_upload(struct prover *p, int slot, const struct krn_vectors *v, cudaStream_t stream, char err[KRN_ERR_TEXT]);

/* Where c was sent: copies it, waits, and checks it against a * b. KRN_OK, KRN_ROW_DIFFERS with *row, or -errno. */
int prover_check_c(struct prover *p, int slot, const uint8_t *c, uint64_t *row, cudaStream_t stream,
                   char err[KRN_ERR_TEXT]);

/* Makes the proof of an uploaded slot; waits for it. times->upload is the slot's. */
int prover_run(struct prover *p, int slot, const uint8_t r[KRN_FR_BYTES], const uint8_t s[KRN_FR_BYTES],
               struct krn_proof *proof, struct krn_times *times, cudaStream_t stream, char err[KRN_ERR_TEXT]);

#endif
