#include "kernels/sum.h"

#include <string.h>

#define SUM_TWIN sum_ops_portable
#include "kernels/sum_words.h"

const struct sum_ops *sum_ops(enum krn_curve_id curve, int group, enum krn_isa isa)
{
#ifdef __x86_64__
    if (isa == KRN_ISA_IFMA)
        return sum_ops_ifma[curve][group - 1];
    if (isa == KRN_ISA_ADX)
        return sum_ops_adx[curve][group - 1];
#endif
    return sum_ops_portable[curve][group - 1];
}

static size_t aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t sum_space_bytes(uint32_t scratch_bytes)
{
    return aligned((size_t)scratch_bytes * (SUM_CHUNK / 2 + SUM_PAD)) +
           aligned(sizeof(struct sum_pair) * (SUM_CHUNK / 2 + SUM_PAD)) +
           aligned(sizeof(struct sum_pair) * (SUM_CHUNK + SUM_PAD)) + aligned(sizeof(struct sum_tree) * SUM_CHUNK) +
           aligned(sizeof(uint32_t) * SUM_CHUNK);
}

void sum_space_init(struct sum_space *space, uint8_t *memory, uint32_t slots)
{
    space->slots = slots;
    space->pairs = (void *)memory;
    memory += aligned(sizeof(struct sum_pair) * (SUM_CHUNK / 2 + SUM_PAD));
    space->singles = (void *)memory;
    memory += aligned(sizeof(struct sum_pair) * (SUM_CHUNK + SUM_PAD));
    space->trees = (void *)memory;
    memory += aligned(sizeof(struct sum_tree) * SUM_CHUNK);
    space->live = (void *)memory;
    memory += aligned(sizeof(uint32_t) * SUM_CHUNK);
    space->scratch = memory;
}

/* The terms that are not skipped. Without a branch on the bit, which is as good as random. */
static uint32_t live_terms(uint32_t *live, const struct sum_source *src, const uint32_t *terms, uint32_t n)
{
    if (src == NULL || src->skip == NULL) {
        memcpy(live, terms, n * sizeof *terms);
        return n;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = terms[i] >> 1;
        live[kept] = terms[i];
        kept += ~(src->skip[index / 64] >> (index % 64)) & 1;
    }
    return kept;
}

struct batch {
    uint32_t pairs, singles, trees, slot;
};

/* The lowest level of one group's tree. Its sums lie in a row, so that level k of a tree steps by 2^k. */
static void plant(const struct sum_ops *ops, uint8_t *arena, struct sum_space *s, struct batch *b,
                  const struct sum_groups *groups, uint32_t lo, uint32_t hi, uint32_t to)
{
    uint32_t n = live_terms(s->live, groups->src, groups->terms + lo, hi - lo);
    uint32_t size = (n + 1) / 2;
    if (n == 0) {
        memset(arena + (size_t)to * ops->point_bytes, 0, ops->point_bytes);
        return;
    }
    for (uint32_t i = 0; i < n / 2; i++)
        s->pairs[b->pairs++] = (struct sum_pair){s->live[2 * i], s->live[2 * i + 1], b->slot + i};
    if (n % 2 == 1)
        s->singles[b->singles++] = (struct sum_pair){s->live[n - 1], 0, n == 1 ? to : b->slot + size - 1};
    if (n > 1)
        s->trees[b->trees++] = (struct sum_tree){b->slot, size, to};
    b->slot += size;
}

/* One level up in all trees; the finished ones leave. */
static void grow(const struct sum_ops *ops, uint8_t *arena, struct sum_space *s, struct batch *b, uint32_t stride)
{
    uint32_t left = 0;
    b->pairs = 0;
    for (uint32_t i = 0; i < b->trees; i++) {
        struct sum_tree t = s->trees[i];
        if (t.size == 1) {
            memcpy(arena + (size_t)t.to * ops->point_bytes, arena + (size_t)t.slot * ops->point_bytes,
                   ops->point_bytes);
            continue;
        }
        for (uint32_t k = 0; k + 1 < t.size; k += 2) {
            uint32_t a = t.slot + k * stride;
            s->pairs[b->pairs++] = (struct sum_pair){a, a + stride, a};
        }
        t.size = (t.size + 1) / 2;
        s->trees[left++] = t;
    }
    b->trees = left;
    if (b->pairs > 0)
        ops->add(arena, NULL, s->pairs, b->pairs, s->scratch);
}

/* The first group that starts at or after term `at`. */
static uint32_t group_at(const struct sum_groups *groups, uint32_t at)
{
    uint32_t lo = 0, hi = groups->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (groups->starts[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint32_t sum_chunk(const struct sum_ops *ops, uint8_t *arena, struct sum_space *s, const struct sum_groups *groups,
                   uint32_t lo, uint32_t hi, uint32_t to, uint32_t head)
{
    const uint32_t *starts = groups->starts;
    uint32_t first = group_at(groups, lo), end = hi == starts[groups->n] ? groups->n : group_at(groups, hi);
    uint32_t begun = groups->n;
    struct batch b = {.slot = s->slots};

    if (first > 0 && starts[first] > lo) {
        begun = first - 1;
        plant(ops, arena, s, &b, groups, lo, starts[first] < hi ? starts[first] : hi, head);
    }
    for (uint32_t g = first; g < end; g++)
        plant(ops, arena, s, &b, groups, starts[g], starts[g + 1] < hi ? starts[g + 1] : hi, to + g);
    if (b.singles > 0)
        ops->take(arena, groups->src, s->singles, b.singles);
    if (b.pairs > 0)
        ops->add(arena, groups->src, s->pairs, b.pairs, s->scratch);
    for (uint32_t stride = 1; b.trees > 0; stride *= 2)
        grow(ops, arena, s, &b, stride);
    return begun;
}

void sum_all(const struct sum_ops *ops, uint8_t *arena, struct sum_space *s, const struct sum_groups *groups,
             uint32_t to, uint32_t head)
{
    uint32_t lo = 0, hi, n = groups->starts[groups->n];
    do {
        hi = n - lo > SUM_CHUNK ? lo + SUM_CHUNK : n;
        uint32_t begun = sum_chunk(ops, arena, s, groups, lo, hi, to, head);
        if (begun < groups->n) {
            s->pairs[0] = (struct sum_pair){to + begun, head, to + begun};
            ops->add(arena, NULL, s->pairs, 1, s->scratch);
        }
        lo = hi;
    } while (lo < n);
}
