/*
 * kernels/prover_plan.cu: what keys and their proofs take of a device's memory, and how it is divided. Pure numbers.
 */
#include "kernels/prover.cuh"

enum {
    STAGE_POINTS = 1 << 22,     /* of streamed bases: the copy of so many is longer than the work around it */
    EXPAND_COPIES = 16,
    EXPAND_POINTS = 1 << 20,    /* expanded at a time: they fill the device */
};

/* ---- one key ---- */

static bool numbers_fit(const struct krn_key *key)
{
    const struct krn_curve *c = krn_curve(key->curve);
    return c && key->log_domain <= NTT_MAX_LOG && key->log_domain <= c->two_adicity && key->n_vars >> 31 == 0 &&
           key->n_public < key->n_vars && key->n_b <= key->n_vars;
}

static bool is_expanded(enum krn_cuda_mode mode, int set)
{
    return mode == KRN_CUDA_EXPANDED || (mode == KRN_CUDA_H_EXPANDED && set == KRN_SET_H);
}

static void choose_shape(struct prover_shape *s, int set)
{
    const size_t n = prover_points(s, set);
    s->largest[set] = msm_largest(s->curve, n);
    s->copies[set] = 1;
    if (!is_expanded(s->mode, set))
        return;
    const struct msm_shape expanded = msm_expanded(s->curve, n, EXPAND_COPIES);
    if (n * (size_t)msm_copies(&expanded) >> 31)        /* a point's number has 31 bits */
        return;
    s->largest[set] = expanded;
    s->copies[set] = msm_copies(&expanded);
}

int prover_shape_of(struct prover_shape *s, const struct krn_key *key, enum krn_cuda_mode mode, size_t tile,
                    char err[KRN_ERR_TEXT])
{
    if (!numbers_fit(key)) {
        snprintf(err, KRN_ERR_TEXT, "no key: curve %d, 2^%u rows, %u variables, %u public, %u with a point in B",
                 (int)key->curve, key->log_domain, key->n_vars, key->n_public, key->n_b);
        return -EINVAL;
    }
    *s = {};
    s->curve = key->curve;
    s->n_vars = key->n_vars;
    s->n_public = key->n_public;
    s->n_b = key->n_b;
    s->log_n = (int)key->log_domain;
    s->mode = mode;
    /* Compact B costs a list and a second sort; it pays where more than a third is infinite. */
    s->compact = mode != KRN_CUDA_STREAMED && key->n_b && key->n_b < key->n_vars - key->n_vars / 3;
    const size_t rows = (size_t)1 << s->log_n, most = rows > s->n_vars ? rows : s->n_vars;
    if (mode == KRN_CUDA_STREAMED && tile > STAGE_POINTS)
        tile = STAGE_POINTS;
    s->tile = msm_tile(most < tile ? most : tile);
    for (int set = 0; set < PROVER_SETS; set++)
        choose_shape(s, set);
    return 0;
}

size_t prover_place_key(const struct prover_shape *s, void *memory, struct prover_places *p)
{
    size_t used = 0;
    *p = {};
    for (int set = 0; set < PROVER_SETS && s->mode != KRN_CUDA_STREAMED; set++) {
        const size_t point = msm_group_of(s->curve, prover_is_g2(set))->affine_bytes;
        p->bases[set] = (uint8_t *)msm_carve(memory, &used, point * prover_points(s, set) * (size_t)s->copies[set]);
    }
    if (s->compact)
        p->b_index = (uint32_t *)msm_carve(memory, &used, sizeof *p->b_index * s->n_b);
    p->tables = msm_carve(memory, &used, ntt_tables_bytes(s->log_n));
    return used;
}

size_t prover_place_inputs(const struct prover_shape *s, void *memory, struct prover_inputs *p)
{
    size_t used = 0;
    p->w = (uint8_t *)msm_carve(memory, &used, KRN_FR_BYTES * (size_t)s->n_vars);
    p->a = (uint8_t *)msm_carve(memory, &used, (size_t)KRN_FR_BYTES << s->log_n);
    p->b = (uint8_t *)msm_carve(memory, &used, (size_t)KRN_FR_BYTES << s->log_n);
    return used;
}

/* Digits and buckets that the sorter must hold. */
static void sorter_bounds(const struct prover_shape *s, struct prover_work *p)
{
    p->windows = 0;
    p->n_buckets = 0;
    for (int set = 0; set < PROVER_SETS; set++) {
        const struct msm_shape *shape = &s->largest[set];
        p->windows = shape->windows > p->windows ? shape->windows : p->windows;
        p->n_buckets = msm_buckets(shape) > p->n_buckets ? msm_buckets(shape) : p->n_buckets;
    }
}

static size_t place_sums(const struct prover_shape *s, void *memory, struct prover_work *p)
{
    size_t used = 0, sums_bytes = 0;
    sorter_bounds(s, p);
    p->sorter = msm_carve(memory, &used, msm_sorter_bytes(s->curve, s->tile, p->windows, p->n_buckets));
    p->scratch_bytes = 0;
    for (int set = 0; set < PROVER_SETS; set++) {
        const struct msm_group *g = msm_group_of(s->curve, prover_is_g2(set));
        const size_t sums = msm_sums_bytes(g, s->tile, &s->largest[set]);
        const size_t scratch = msm_scratch_bytes(g, s->tile, &s->largest[set]);
        p->buckets[set] = msm_carve(memory, &used, msm_buckets_bytes(g, &s->largest[set]));
        sums_bytes = sums > sums_bytes ? sums : sums_bytes;
        p->scratch_bytes = scratch > p->scratch_bytes ? scratch : p->scratch_bytes;
    }
    p->sums = msm_carve(memory, &used, sums_bytes);
    p->scratch = msm_carve(memory, &used, p->scratch_bytes);
    return used;
}

size_t prover_place_work(const struct prover_shape *s, void *memory, struct prover_work *p)
{
    const size_t rows = (size_t)KRN_FR_BYTES << s->log_n;
    const size_t g2_bytes = msm_group_of(s->curve, 1)->affine_bytes;
    size_t used = 0;
    *p = {};
    p->h = (uint8_t *)msm_carve(memory, &used, rows);
    p->row = (unsigned long long *)msm_carve(memory, &used, sizeof *p->row);
    if (s->compact)
        p->b_scalars = (uint8_t *)msm_carve(memory, &used, (size_t)KRN_FR_BYTES * s->n_b);
    for (int i = 0; i < PROVER_STAGES && s->mode == KRN_CUDA_STREAMED; i++)
        p->stage[i] = (uint8_t *)msm_carve(memory, &used, s->tile * g2_bytes);
    /* The transforms are over when the sums begin: one place for both. */
    p->transforms = memory ? (uint8_t *)memory + used : NULL;
    const size_t sums = place_sums(s, p->transforms, p);
    return used + (sums > 2 * rows ? sums : 2 * rows);
}

size_t prover_load_bytes(const struct prover_shape *s)
{
    size_t most = 0;
    for (int set = 0; set < PROVER_SETS; set++) {
        const size_t n = prover_points(s, set), at_once = n < EXPAND_POINTS ? n : EXPAND_POINTS;
        const size_t bytes = at_once * msm_group_of(s->curve, prover_is_g2(set))->xyzz_bytes;
        if (s->copies[set] > 1 && bytes > most)
            most = bytes;
    }
    return most;
}

/* ---- a device ---- */

static uint64_t rounded(size_t bytes)
{
    return ((uint64_t)bytes + 255) & ~(uint64_t)255;
}

/* What the proofs of a key need beside the others'. */
static void add_workspace(struct krn_cuda_plan *plan, const struct prover_shape *s)
{
    struct prover_inputs inputs;
    struct prover_work work;
    const uint64_t slot = rounded(prover_place_inputs(s, NULL, &inputs));
    const uint64_t bytes = rounded(prover_place_work(s, NULL, &work)), load = rounded(prover_load_bytes(s));
    plan->slot = slot > plan->slot ? slot : plan->slot;
    plan->work = bytes > plan->work ? bytes : plan->work;
    plan->load = load > plan->load ? load : plan->load;
    plan->workspace = plan->slots * plan->slot + plan->work + plan->load;
    plan->room = plan->budget > plan->workspace ? plan->budget - plan->workspace : 0;
}

static uint64_t shape_bytes(const struct prover_shape *s)
{
    struct prover_places places;
    return prover_place_key(s, NULL, &places);
}

static uint64_t bytes_as(const struct krn_cuda_plan *plan, const struct krn_key *key, enum krn_cuda_mode mode)
{
    struct prover_shape s;
    char err[KRN_ERR_TEXT];
    return prover_shape_of(&s, key, mode, plan->tile, err) ? 0 : shape_bytes(&s);
}

int prover_plan_as(const struct krn_key *const keys[], unsigned n, enum krn_cuda_mode mode, unsigned slots, size_t tile,
                   uint64_t budget, struct krn_cuda_plan *plan, char err[KRN_ERR_TEXT])
{
    *plan = {};
    plan->mode = mode;
    plan->slots = slots;
    plan->tile = tile;
    plan->budget = budget;
    plan->whole = UINT64_MAX;
    for (unsigned i = 0; i < n; i++) {
        struct prover_shape s;
        const int status = prover_shape_of(&s, keys[i], mode, tile, err);
        if (status)
            return status;
        add_workspace(plan, &s);
    }
    return 0;
}

/* Whether the room holds each of the keys, or all of them at once. */
static bool holds(const struct krn_cuda_plan *plan, const struct krn_key *const keys[], unsigned n, bool at_once)
{
    uint64_t sum = 0, most = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t bytes = bytes_as(plan, keys[i], plan->mode);
        sum += bytes;
        most = bytes > most ? bytes : most;
    }
    return plan->workspace <= plan->budget && (at_once ? sum : most) <= plan->room;
}

enum krn_cuda_mode krn_cuda_key_mode(const struct krn_cuda_plan *plan, const struct krn_key *key)
{
    return bytes_as(plan, key, plan->mode) <= plan->whole ? plan->mode : KRN_CUDA_STREAMED;
}

uint64_t krn_cuda_key_bytes(const struct krn_cuda_plan *plan, const struct krn_key *key)
{
    return bytes_as(plan, key, krn_cuda_key_mode(plan, key));
}

/* The workspace for keys in the forms that plan->whole gives them. *too_large: bytes of the largest that is kept whole
 * and exceeds the room, or 0. */
static int plan_forms(const struct krn_key *const keys[], unsigned n, struct krn_cuda_plan *plan, uint64_t *too_large,
                      char err[KRN_ERR_TEXT])
{
    plan->slot = plan->work = plan->load = 0;
    for (unsigned i = 0; i < n; i++) {
        struct prover_shape s;
        const int status = prover_shape_of(&s, keys[i], krn_cuda_key_mode(plan, keys[i]), plan->tile, err);
        if (status)
            return status;
        add_workspace(plan, &s);
    }
    *too_large = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t bytes = krn_cuda_key_bytes(plan, keys[i]);
        if (krn_cuda_key_mode(plan, keys[i]) != KRN_CUDA_STREAMED && bytes > plan->room && bytes > *too_large)
            *too_large = bytes;
    }
    return 0;
}

/* Streams the largest key, and the next, until those that are left fit. */
static int plan_streamed(const struct krn_key *const keys[], unsigned n, unsigned slots, size_t tile, uint64_t budget,
                         struct krn_cuda_plan *plan, char err[KRN_ERR_TEXT])
{
    uint64_t too_large = 0;
    *plan = {};
    plan->mode = KRN_CUDA_RESIDENT;
    plan->slots = slots;
    plan->tile = tile;
    plan->budget = plan->room = budget;
    plan->whole = UINT64_MAX;
    do {
        const int status = plan_forms(keys, n, plan, &too_large, err);
        if (status)
            return status;
        if (too_large)
            plan->whole = too_large - 1;
    } while (too_large);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t bytes = krn_cuda_key_bytes(plan, keys[i]);
        if (plan->workspace + bytes > budget) {
            snprintf(err, KRN_ERR_TEXT,
                     "a %s key of 2^%u rows and %u variables needs %llu bytes of device memory even where its points "
                     "stay on the host; there are %llu", krn_curve(keys[i]->curve)->name, keys[i]->log_domain,
                     keys[i]->n_vars, (unsigned long long)(plan->workspace + bytes), (unsigned long long)budget);
            return -ENOMEM;
        }
    }
    return 0;
}

int krn_cuda_plan_make(const struct krn_key *const keys[], unsigned n, uint64_t budget, struct krn_cuda_plan *plan,
                       char err[KRN_ERR_TEXT])
{
    static const struct {
        enum krn_cuda_mode mode;
        unsigned slots;
        size_t tile;
    } choices[] = {
        {KRN_CUDA_EXPANDED, PROVER_SLOTS, 1 << 26}, {KRN_CUDA_H_EXPANDED, PROVER_SLOTS, 1 << 26},
        {KRN_CUDA_RESIDENT, PROVER_SLOTS, 1 << 26}, {KRN_CUDA_RESIDENT, PROVER_SLOTS, 1 << 24},
        {KRN_CUDA_RESIDENT, 1, 1 << 24},
    };
    for (const auto &c : choices) {
        const bool expanded = c.mode < KRN_CUDA_RESIDENT;
        const int status = prover_plan_as(keys, n, c.mode, c.slots, c.tile, expanded ? budget / 2 : budget, plan, err);
        if (status)
            return status;
        if (!holds(plan, keys, n, expanded))
            continue;
        plan->budget = budget;
        plan->room = plan->whole = budget - plan->workspace;
        return 0;
    }
    if (plan_streamed(keys, n, PROVER_SLOTS, 1 << 24, budget, plan, err) == 0)
        return 0;
    return plan_streamed(keys, n, 1, STAGE_POINTS, budget, plan, err);
}

const char *krn_cuda_mode_name(enum krn_cuda_mode mode)
{
    static const char *const names[KRN_CUDA_MODES] = {"expanded", "H expanded", "one copy", "streamed"};
    return names[mode];
}

const char *krn_cuda_plan_text(const struct krn_cuda_plan *plan, const struct krn_key *key, char text[KRN_ERR_TEXT])
{
    const double gib = 1.0 / (1 << 30);
    const uint64_t bytes = krn_cuda_key_bytes(plan, key);
    snprintf(text, KRN_ERR_TEXT,
             "key %.2f GiB (%s), workspace %.2f GiB (%u slots of %.2f, transforms and sums %.2f in tiles of %llu, "
             "loading %.2f), %.2f GiB left", (double)bytes * gib, krn_cuda_mode_name(krn_cuda_key_mode(plan, key)),
             (double)plan->workspace * gib, plan->slots, (double)plan->slot * gib, (double)plan->work * gib,
             (unsigned long long)plan->tile, (double)plan->load * gib,
             ((double)plan->room - (double)bytes) * gib);
    return text;
}
