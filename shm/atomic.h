/*
 * shm/atomic.h: the only way in which this code touches memory that two processes may touch at once.
 *
 * Three orders are enough. "acq" pairs with a "rel" of the same word: what was written before the one is seen after the
 * other. "cas" is both. "seq" takes part in one order of all seq operations; only the bell needs it (add, then look at
 * asleep, against set asleep, then look at the value). "lax" promises nothing but a whole word.
 *
 * Records that can be overwritten while someone reads them (a slot's descriptor, a job's head) are copied word by word:
 * stores "rel", loads "acq", and the reader looks at the control word again afterwards. A reader that saw a new word
 * then also sees the control word that was set before it was written, and drops its copy.
 */
#ifndef SHM_ATOMIC_H
#define SHM_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define shm_load_acq(p) atomic_load_explicit((p), memory_order_acquire)
#define shm_load_lax(p) atomic_load_explicit((p), memory_order_relaxed)
#define shm_load_seq(p) atomic_load_explicit((p), memory_order_seq_cst)
#define shm_store_rel(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define shm_store_lax(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define shm_store_seq(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)
#define shm_add_seq(p, v) atomic_fetch_add_explicit((p), (v), memory_order_seq_cst)
#define shm_add_lax(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)

/* One compare-and-swap, never spuriously failing. */
#define shm_cas(p, from, to)                                                                                          \
    atomic_compare_exchange_strong_explicit((p), (from), (to), memory_order_acq_rel, memory_order_acquire)

typedef uint64_t shm_word __attribute__((may_alias));

/* n 64-bit words; both sides 8-byte aligned. */
static inline void shm_words_store_rel(void *shared, const void *local, size_t n) {
    shm_word *to = shared;
    const shm_word *from = local;
    for (size_t i = 0; i < n; i++)
        __atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
}

static inline void shm_words_load_acq(void *local, const void *shared, size_t n) {
    shm_word *to = local;
    const shm_word *from = shared;
    for (size_t i = 0; i < n; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

/* Makes a worker's non-temporal stores visible before what follows; ordinary stores do not need it. */
static inline void shm_stream_fence(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#else
    atomic_thread_fence(memory_order_release);
#endif
}

static inline void shm_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
