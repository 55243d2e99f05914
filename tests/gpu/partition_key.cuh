/*
 * tests/gpu/partition_key.cuh: the key of synth/partition.h's circuit, made on the device from a trapdoor: of 2^27
 * rows it is 44 GiB, and neither it nor the circuit is ever on the host.
 *
 * All 2^log_domain Lagrange values at tau lie on the device (4 GiB for 2^27). A thread has one wire: it knows the few
 * rows that name it, and adds up their values times their factors. The multiples are kernels/setup.cu's.
 */
#ifndef TESTS_GPU_PARTITION_KEY_CUH
#define TESTS_GPU_PARTITION_KEY_CUH

#include <vector>

#include "kernels/setup.cuh"
#include "setup/trapdoor.h"
#include "synth/partition.h"

struct partition_key {
    const struct partition *p;          /* borrowed */
    struct setup_trapdoor trapdoor;
    struct setup_table g1, g2;
    struct krn_lagrange_terms h;
    void *lagrange, *scalars, *scratch; /* on the device */
    std::vector<uint8_t> points1, points2, ic;
    struct krn_key key;                 /* no vectors: they come from the source */
    struct krn_vk vk;
    struct krn_source source;           /* for key_load; until partition_key_drop */
};

/* The numbers of the key, for planners. */
struct krn_key partition_key_numbers(const struct partition *p);

/* Device bytes that are taken from open to drop. */
size_t partition_key_bytes(const struct partition *p);

/* 0 or -errno with err. */
int partition_key_open(struct partition_key *k, const struct partition *p, const struct setup_trapdoor *t,
                       char err[KRN_ERR_TEXT]);
/* Gives the device's memory back, after which there is no source; key and vk stay. */
void partition_key_drop(struct partition_key *k);

#endif
