/*
 * shm/mix.h: a 64-bit hash of words for the layout and the seal. It finds stray writes and foreign builds; it is no
 * defence against someone who may write the region anyway.
 */
#ifndef SHM_MIX_H
#define SHM_MIX_H

#include <stddef.h>
#include <stdint.h>

/* One step: xor, then the finaliser of MurmurHash3 (a bijection of 64 bits in which every input bit reaches all). */
static inline uint64_t shm_mix(uint64_t h, uint64_t word) {
    h = (h ^ word) + 0x9e3779b97f4a7c15ull;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return h ^ (h >> 33);
}

static inline uint64_t shm_mix_words(uint64_t h, const uint64_t *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        h = shm_mix(h, words[i]);
    return h;
}

#endif
