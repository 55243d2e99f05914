/*
 * kernels/prover_key.cu: a key's points on their way to the device: through page-locked buffers by turns, so that one
 * is filled while the other one travels; or made there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "kernels/prover.cuh"
#include "kernels/ranges.cuh"

enum { MAKE_POINTS = 1 << 22 };     /* made at a time */

/* ---- the host's points ---- */

/* The host's points of a set, and how many infinities stand for before them. */
static const uint8_t *host_points(const struct prover_key *k, int set, size_t *gap)
{
    const uint8_t *const from[PROVER_SETS] = {k->key.a, k->key.b1, k->key.l, k->key.b2, k->key.h};
    *gap = set == KRN_SET_L ? (size_t)k->shape.n_public + 1 : 0;
    return from[set];
}

static size_t point_bytes(const struct prover_key *k, int set)
{
    return msm_group_of(k->shape.curve, prover_is_g2(set))->affine_bytes;
}

/* Points of a set as the host has them. */
static size_t host_count(const struct prover_key *k, int set)
{
    if (set == KRN_SET_H)
        return (size_t)1 << k->shape.log_n;
    return set == KRN_SET_L ? (size_t)k->shape.n_vars - k->shape.n_public - 1 : k->shape.n_vars;
}

int prover_copy_points(const struct prover_key *k, int set, size_t at, size_t count, uint8_t *to, cudaStream_t stream,
                       char err[KRN_ERR_TEXT])
{
    const size_t point = point_bytes(k, set);
    size_t gap;
    const uint8_t *from = host_points(k, set, &gap);
    const size_t missing = at >= gap ? 0 : gap - at < count ? gap - at : count;
    if (missing)
        DEVICE_TRY(cudaMemsetAsync(to, 0, missing * point, stream));
    if (count > missing)
        DEVICE_TRY(cudaMemcpyAsync(to + missing * point, from + (at + missing - gap) * point, (count - missing) * point,
                                   cudaMemcpyHostToDevice, stream));
    return 0;
}

/* ---- through the staging buffers ---- */

/* One vector on its way. */
struct passage {
    struct prover_device *dev;
    const struct krn_source *source;
    int turn;
};

static int copy_mapped(void *ctx, const void *from, size_t bytes, void *to)
{
    (void)ctx;
    memcpy(to, from, bytes);
    return 0;
}

/* The next buffer, empty, then filled with the host's bytes. */
static int fill_stage(struct passage *p, const uint8_t *from, size_t bytes, uint8_t **stage, char err[KRN_ERR_TEXT])
{
    p->turn ^= 1;
    *stage = p->dev->staging[p->turn];
    DEVICE_TRY(cudaEventSynchronize(p->dev->staged[p->turn]));
    const int status = p->source->fill(p->source->ctx, from, bytes, *stage);
    if (status)
        snprintf(err, KRN_ERR_TEXT, "reading %zu bytes of a key: %s", bytes, strerror(-status));
    return status;
}

static int send_stage(struct passage *p, uint8_t *to, size_t bytes, char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaMemcpyAsync(to, p->dev->staging[p->turn], bytes, cudaMemcpyHostToDevice, p->dev->loads));
    DEVICE_TRY(cudaEventRecord(p->dev->staged[p->turn], p->dev->loads));
    return 0;
}

static int load_whole(const struct prover_key *k, int set, struct passage *p, char err[KRN_ERR_TEXT])
{
    size_t gap;
    const uint8_t *from = host_points(k, set, &gap);
    const size_t bytes = host_count(k, set) * point_bytes(k, set);
    uint8_t *to = k->at.bases[set], *stage;
    DEVICE_TRY(cudaMemsetAsync(to, 0, gap * point_bytes(k, set), p->dev->loads));
    to += gap * point_bytes(k, set);
    for (size_t at = 0; at < bytes; at += PROVER_STAGING_BYTES) {
        const size_t piece = bytes - at < PROVER_STAGING_BYTES ? bytes - at : (size_t)PROVER_STAGING_BYTES;
        int status = fill_stage(p, from + at, piece, &stage, err);
        if (status == 0)
            status = send_stage(p, to + at, piece, err);
        if (status)
            return status;
    }
    return 0;
}

/* ---- finite points alone ---- */

static bool is_finite(const uint8_t *point, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word;
        memcpy(&word, point + i, 8);
        if (word)
            return true;
    }
    return false;
}

/* Moves the finite ones of `count` points, of variables first .. , to the front; returns how many. list: their
 * variables, written where `write`, else compared; count + 1 where they differ or exceed the room. */
static size_t squeeze(uint8_t *points, size_t bytes, size_t first, size_t count, uint32_t *list, size_t room,
                      bool write)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = points + i * bytes;
        if (!is_finite(p, bytes))
            continue;
        if (kept == room || (!write && list[kept] != first + i))
            return count + 1;
        list[kept] = (uint32_t)(first + i);
        if (kept != i)
            memmove(points + kept * bytes, p, bytes);
        kept++;
    }
    return kept;
}

/* B1 or B2 (compact); list: n_b variables, written with B1 and compared with B2. */
static int load_compact(const struct prover_key *k, int set, uint32_t *list, struct passage *p, char err[KRN_ERR_TEXT])
{
    const size_t point = point_bytes(k, set), n = k->shape.n_vars, most = PROVER_STAGING_BYTES / point;
    size_t gap, found = 0;
    const uint8_t *from = host_points(k, set, &gap);
    uint8_t *stage;
    for (size_t at = 0; at < n; at += most) {
        const size_t count = n - at < most ? n - at : most;
        int status = fill_stage(p, from + at * point, count * point, &stage, err);
        if (status)
            return status;
        const size_t kept = squeeze(stage, point, at, count, list + found, k->shape.n_b - found, set == KRN_SET_B1);
        if (kept > count) {
            found = n + 1;
            break;
        }
        status = send_stage(p, k->at.bases[set] + found * point, kept * point, err);
        if (status)
            return status;
        found += kept;
    }
    if (found == k->shape.n_b)
        return 0;
    snprintf(err, KRN_ERR_TEXT, "finite points of %s are not those of the %u variables that the key says",
             set == KRN_SET_B1 ? "b1" : "b2", k->shape.n_b);
    return -EINVAL;
}

static int load_b(const struct prover_key *k, struct passage *p, char err[KRN_ERR_TEXT])
{
    const size_t bytes = sizeof(uint32_t) * k->shape.n_b;
    uint32_t *list = (uint32_t *)malloc(bytes);
    if (!list) {
        snprintf(err, KRN_ERR_TEXT, "no memory for a list of %u variables", k->shape.n_b);
        return -ENOMEM;
    }
    int status = load_compact(k, KRN_SET_B1, list, p, err);
    if (status == 0)
        status = load_compact(k, KRN_SET_B2, list, p, err);
    if (status == 0)
        status = device_status(cudaMemcpyAsync(k->at.b_index, list, bytes, cudaMemcpyHostToDevice, k->dev->loads),
                               "copying the variables of B", err);
    cudaStreamSynchronize(k->dev->loads);
    free(list);
    return status;
}

/* ---- made on the device ---- */

static int make_set(const struct prover_key *k, enum krn_set set, size_t element, size_t count, uint8_t *to,
                    const struct krn_source *source, char err[KRN_ERR_TEXT])
{
    for (size_t at = 0; at < count; at += MAKE_POINTS) {
        const size_t piece = count - at < MAKE_POINTS ? count - at : (size_t)MAKE_POINTS;
        const int status = source->make(source->ctx, set, at, piece, to + at * element, k->dev->loads);
        if (status) {
            snprintf(err, KRN_ERR_TEXT, "points %zu to %zu of set %d of a key were not made: %s", at, at + piece - 1,
                     (int)set, strerror(-status));
            return status;
        }
    }
    return 0;
}

static int make_all(const struct prover_key *k, const struct krn_source *source, char err[KRN_ERR_TEXT])
{
    int status = 0;
    if (k->shape.compact)
        status = make_set(k, KRN_SET_B_INDEX, sizeof(uint32_t), k->shape.n_b, (uint8_t *)k->at.b_index, source, err);
    for (int set = 0; set < PROVER_SETS && status == 0; set++) {
        const size_t point = point_bytes(k, set);
        const size_t gap = set == KRN_SET_L ? (size_t)k->shape.n_public + 1 : 0;
        DEVICE_TRY(cudaMemsetAsync(k->at.bases[set], 0, gap * point, k->dev->loads));
        status = make_set(k, (enum krn_set)set, point, prover_points(&k->shape, set) - gap,
                          k->at.bases[set] + gap * point, source, err);
    }
    return status;
}

/* ---- all of it ---- */

static int bring_points(const struct prover_key *k, const struct krn_source *source, char err[KRN_ERR_TEXT])
{
    static const struct krn_source mapped = {NULL, copy_mapped, NULL};
    if (source && source->make)
        return make_all(k, source, err);
    struct passage p = {k->dev, source ? source : &mapped, 0};
    int status = 0;
    for (int set = 0; set < PROVER_SETS && status == 0; set++)
        if (!k->shape.compact || (set != KRN_SET_B1 && set != KRN_SET_B2))
            status = load_whole(k, set, &p, err);
    return status || !k->shape.compact ? status : load_b(k, &p, err);
}

static int expand_points(const struct prover_key *k, char err[KRN_ERR_TEXT])
{
    for (int set = 0; set < PROVER_SETS; set++) {
        const struct msm_shape *e = &k->shape.largest[set];
        const struct msm_group *g = msm_group_of(k->shape.curve, prover_is_g2(set));
        if (k->shape.copies[set] == 1)
            continue;
        const int status = g->expand(k->at.bases[set], prover_points(&k->shape, set), k->shape.copies[set],
                                     e->bits * e->sets, k->dev->load, k->dev->plan.load, k->dev->loads, err);
        if (status)
            return status;
    }
    return 0;
}

static struct prover_range range_of(const struct prover_key *k, int set)
{
    size_t gap;
    const uint8_t *from = host_points(k, set, &gap);
    return {(uint8_t *)from, host_count(k, set) * point_bytes(k, set)};
}

/* Sets that share a page, as neighbours in a file do, make one range: a page is locked once, and a copy must lie within
 * one registration or outside all of them. So ranges end where points end: what else is in a page stays outside. */
static int collect_ranges(const struct prover_key *k, struct prover_range out[PROVER_SETS])
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct prover_range all[PROVER_SETS];
    int n = 0;
    for (int set = 0; set < PROVER_SETS; set++)
        all[set] = range_of(k, set);
    std::sort(all, all + PROVER_SETS,
              [](const struct prover_range &a, const struct prover_range &b) { return a.base < b.base; });
    for (const struct prover_range &r : all) {
        struct prover_range *last = n ? &out[n - 1] : NULL;
        const uint8_t *end = last ? last->base + last->bytes : NULL;
        if (r.bytes == 0)
            continue;
        if (last && (uintptr_t)r.base / page <= (uintptr_t)(end - 1) / page) {
            if (r.base + r.bytes > end)
                last->bytes = (size_t)(r.base + r.bytes - last->base);
        } else {
            out[n++] = r;
        }
    }
    return n;
}

/* Streamed points are read at bus speed where their memory can be page-locked, else as fast as it goes. */
static int lock_points(struct prover_key *k, const struct krn_source *source, char err[KRN_ERR_TEXT])
{
    struct prover_range ranges[PROVER_SETS];
    if (source && source->make) {
        snprintf(err, KRN_ERR_TEXT, "a key whose points are made on the device cannot be streamed, and it has more "
                 "bytes than the %llu that there are for keys", (unsigned long long)k->dev->plan.whole);
        return -ENOMEM;
    }
    const int n = collect_ranges(k, ranges);
    for (int i = 0; i < n; i++)
        if (prover_register(k->dev, ranges[i].base, ranges[i].bytes, cudaHostRegisterReadOnly) == 0)
            k->locked[k->n_locked++] = ranges[i];
    return 0;
}

static int place(struct prover_key *k, char err[KRN_ERR_TEXT])
{
    struct prover_device *d = k->dev;
    const struct prover_shape *s = &k->shape;
    struct prover_inputs inputs;
    const size_t work = prover_place_work(s, d->work, &k->work), slot = prover_place_inputs(s, NULL, &inputs);
    const size_t load = prover_load_bytes(s);
    if (work > d->plan.work || slot > d->plan.slot || load > d->plan.load) {
        snprintf(err, KRN_ERR_TEXT, "proofs with a %s key of 2^%d rows need %zu, %zu and %zu bytes of workspace; the "
                 "plan has %llu, %llu and %llu", krn_curve(s->curve)->name, s->log_n, work, slot, load,
                 (unsigned long long)d->plan.work, (unsigned long long)d->plan.slot, (unsigned long long)d->plan.load);
        return -EINVAL;
    }
    for (int set = 0; set < PROVER_SETS; set++) {
        const struct msm_group *g = msm_group_of(s->curve, prover_is_g2(set));
        struct msm_sums *m = &k->sums[set];
        msm_sums_place(m, g, s->tile, &s->largest[set], k->work.buckets[set], k->work.sums, NULL);
        m->side = d->side.side;
        m->fork = d->side.fork;
        m->join = d->side.join;
        if (g->affine_min != SIZE_MAX) {
            m->scratch = k->work.scratch;
            m->scratch_bytes = k->work.scratch_bytes;
        }
    }
    return msm_sorter_init(&k->sorter, s->curve, s->tile, k->work.windows, k->work.n_buckets, k->work.sorter, d->seen,
                           err);
}

static int take_bytes(struct prover_key *k, char err[KRN_ERR_TEXT])
{
    struct prover_device *d = k->dev;
    const uint64_t used = d->key_used;
    char what[96];
    k->bytes = prover_place_key(&k->shape, NULL, &k->at);
    snprintf(what, sizeof what, "a %s key of 2^%d rows and %u variables", krn_curve(k->shape.curve)->name,
             k->shape.log_n, k->shape.n_vars);
    if (used + k->bytes > d->plan.room) {
        snprintf(err, KRN_ERR_TEXT, "%s needs %zu bytes of device memory; of the %llu for keys %llu are taken", what,
                 k->bytes, (unsigned long long)d->plan.room, (unsigned long long)used);
        return -ENOMEM;
    }
    const int status = device_alloc(&k->memory, k->bytes, what, err);
    if (status)
        return status;
    d->key_used += k->bytes;
    d->allocations++;
    prover_place_key(&k->shape, k->memory, &k->at);
    return 0;
}

static int bring(struct prover_key *k, const struct krn_source *source, char err[KRN_ERR_TEXT])
{
    const bool streamed = k->shape.mode == KRN_CUDA_STREAMED;
    int status = place(k, err);
    if (status == 0 && streamed)
        status = lock_points(k, source, err);
    if (status == 0)
        status = take_bytes(k, err);
    if (status == 0)
        status = ntt_tables_init(&k->tables, k->shape.curve, k->shape.log_n, k->at.tables, k->dev->loads, err);
    if (status == 0 && !streamed)
        status = bring_points(k, source, err);
    if (status == 0 && !streamed)
        status = expand_points(k, err);
    const int waited = device_status(cudaStreamSynchronize(k->dev->loads), "loading a key", err);
    return status ? status : waited;
}

int prover_load(struct prover_device *d, const struct krn_key *key, const struct krn_source *source,
                struct prover_key **loaded, char err[KRN_ERR_TEXT])
{
    const struct range range("load a key");
    struct prover_shape shape;
    int status = prover_shape_of(&shape, key, krn_cuda_key_mode(&d->plan, key), d->plan.tile, err);
    if (status)
        return status;
    struct prover_key *k = new (std::nothrow) struct prover_key();
    if (!k) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return -ENOMEM;
    }
    k->dev = d;
    k->shape = shape;
    k->key = *key;
    status = bring(k, source, err);
    if (status == 0)
        *loaded = k;
    else
        prover_unload(k);
    return status;
}

void prover_unload(struct prover_key *k)
{
    for (int i = 0; i < k->n_locked; i++)
        prover_unregister(k->dev, k->locked[i].base, k->locked[i].bytes);
    if (k->memory) {
        cudaFree(k->memory);
        k->dev->key_used -= k->bytes;
    }
    delete k;
}
