/*
 * tests/gpu/prover_gputest.cu: whole proofs, the GPU's bytes against the CPU's; how a device's memory is divided among
 * keys, and that nothing more of it is taken for proofs; a device that is lost.
 *
 * The keys are random points: the arithmetic does not ask whether a proof would verify. Arguments: sizes of further
 * domains as powers of two (by default small ones only). PINWHEEL_GPU_SMALL=1: few and small cases, for
 * compute-sanitizer.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <string>
#include <vector>

#include "kernels/prover.cuh"
#include "tests/gpu/generate.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

static int failures;
static bool small;

static void fail(const char *what, const char *where)
{
    printf("%s: %s\n", where, what);
    failures++;
}

typedef std::vector<uint8_t> bytes;

/* A key and the inputs of one proof. */
struct setting {
    char name[64];
    struct krn_key key;
    bytes a, b1, b2, l, h, points1, points2;
    bytes w, va, vb, vc;
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
};

enum holes { NO_HOLES, THIRD_INFINITE, MOST_INFINITE };

static bool is_hole(enum holes holes, size_t i)
{
    return (holes == THIRD_INFINITE && i % 3 == 0) || (holes == MOST_INFINITE && i % 5 != 1);
}

static bytes some_points(enum krn_curve_id curve, int g2, uint64_t seed, size_t n, enum holes holes)
{
    const size_t point = reference_point_bytes(curve, g2);
    uint8_t k0[32], k1[32];
    void *device, *scratch;
    bytes v(point * n);
    random_scalar(curve, seed, k0);
    random_scalar(curve, seed + 1, k1);
    CHECK(cudaMalloc(&device, point * n + 1));
    CHECK(cudaMalloc(&scratch, 2 * point * n + 1));
    generate_points(curve, g2, k0, k1, device, scratch, n, 0);
    CHECK(cudaMemcpy(v.data(), device, v.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    CHECK(cudaFree(scratch));
    for (size_t i = 0; i < n; i++)
        if (is_hole(holes, i))
            memset(v.data() + i * point, 0, point);
    return v;
}

static bytes some_scalars(enum krn_curve_id curve, enum scalar_kind kind, uint64_t seed, size_t n)
{
    void *device;
    bytes v(KRN_FR_BYTES * n);
    CHECK(cudaMalloc(&device, v.size()));
    generate_scalars(curve, kind, seed, device, n, 0);
    CHECK(cudaMemcpy(v.data(), device, v.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    return v;
}

/* As real keys' points, a third of A and B are infinite; or most of B. */
static void make(struct setting *s, enum krn_curve_id curve, uint32_t log_n, uint32_t n_vars, uint32_t n_public,
                 enum scalar_kind kind, enum holes of_b = THIRD_INFINITE)
{
    const size_t n = (size_t)1 << log_n;
    snprintf(s->name, sizeof s->name, "%s 2^%u, %u variables, %u public%s", krn_curve(curve)->name, log_n, n_vars,
             n_public, of_b == MOST_INFINITE ? ", few in B" : "");
    s->a = some_points(curve, 0, 10, n_vars, THIRD_INFINITE);
    s->b1 = some_points(curve, 0, 20, n_vars, of_b);
    s->b2 = some_points(curve, 1, 20, n_vars, of_b);
    s->l = some_points(curve, 0, 30, n_vars - n_public - 1, NO_HOLES);
    s->h = some_points(curve, 0, 40, n, NO_HOLES);
    s->points1 = some_points(curve, 0, 50, 3, NO_HOLES);
    s->points2 = some_points(curve, 1, 60, 2, NO_HOLES);
    const size_t g1 = reference_point_bytes(curve, 0), g2 = reference_point_bytes(curve, 1);
    s->key = {};
    s->key.curve = curve;
    s->key.n_vars = n_vars;
    s->key.n_public = n_public;
    s->key.log_domain = log_n;
    s->key.a = s->a.data();
    s->key.b1 = s->b1.data();
    s->key.b2 = s->b2.data();
    s->key.l = s->l.data();
    s->key.h = s->h.data();
    s->key.alpha1 = s->points1.data();
    s->key.beta1 = s->points1.data() + g1;
    s->key.delta1 = s->points1.data() + 2 * g1;
    s->key.beta2 = s->points2.data();
    s->key.delta2 = s->points2.data() + g2;
    s->key.n_b = krn_finite_b(&s->key, 1);
    s->w = some_scalars(curve, kind, 1, n_vars);
    memset(s->w.data(), 0, KRN_FR_BYTES);
    s->w[0] = 1;
    s->va = some_scalars(curve, SCALARS_RANDOM, 2, n);
    s->vb = some_scalars(curve, SCALARS_RANDOM, 3, n);
    s->vc.resize(KRN_FR_BYTES * n);
    reference_mul(curve, s->vc.data(), s->va.data(), s->vb.data(), n);
    random_scalar(curve, 4, s->r);
    random_scalar(curve, 5, s->s);
}

struct outcome {
    int result;
    struct krn_proof proof;
    struct krn_times times;
    uint64_t row;
    char err[KRN_ERR_TEXT];
};

static void stop(const char *what, const char *name, const char *err)
{
    printf("%s %s: %s\n", what, name, err);
    exit(1);
}

static void plan(const struct krn_backend *backend, struct krn_device *dev,
                 const std::vector<const struct krn_key *> &keys, uint64_t budget)
{
    char err[KRN_ERR_TEXT] = "";
    if (backend->plan && backend->plan(dev, keys.data(), (unsigned)keys.size(), budget, err))
        stop(backend->name, "plan", err);
}

static struct krn_dev_key *load_only(const struct krn_backend *backend, struct krn_device *dev, const struct setting *s,
                                     const struct krn_source *source = NULL)
{
    char err[KRN_ERR_TEXT] = "";
    struct krn_dev_key *key;
    if (backend->key_load(dev, &s->key, source, &key, err))
        stop(backend->name, s->name, err);
    return key;
}

static struct krn_dev_key *load(const struct krn_backend *backend, struct krn_device *dev, const struct setting *s)
{
    plan(backend, dev, {&s->key}, 0);
    return load_only(backend, dev, s);
}

static struct krn_job *begin(const struct krn_backend *backend, struct krn_dev_key *key, const struct setting *s,
                             bool c)
{
    char err[KRN_ERR_TEXT] = "";
    const struct krn_vectors v = {s->w.data(), s->va.data(), s->vb.data(), c ? s->vc.data() : NULL};
    struct krn_job *job;
    if (backend->begin(key, &v, s->r, s->s, &job, err))
        stop(backend->name, s->name, err);
    return job;
}

static void finish(const struct krn_backend *backend, struct krn_job *job, struct outcome *o)
{
    memset(o, 0, sizeof *o);
    o->result = backend->finish(job, &o->proof, &o->times, &o->row, o->err);
    if (o->result < 0)
        stop(backend->name, "finish", o->err);
}

static void prove(const struct krn_backend *backend, struct krn_dev_key *key, const struct setting *s, bool c,
                  struct outcome *o)
{
    finish(backend, begin(backend, key, s, c), o);
}

static void same(const struct setting *s, const char *what, const struct outcome *a, const struct outcome *b)
{
    if (a->result != b->result || a->row != b->row)
        fail(what, s->name);
    else if (a->result == KRN_OK && memcmp(&a->proof, &b->proof, sizeof a->proof))
        fail(what, s->name);
}

static struct krn_device *open_device(const struct krn_backend *backend)
{
    char err[KRN_ERR_TEXT] = "";
    struct krn_device *dev = backend->open(0, 0, err);
    if (!dev)
        stop(backend->name, "open", err);
    return dev;
}

static const struct krn_backend *const cpu = &krn_cpu_backend, *const gpu = &krn_cuda_backend;

/* One proof with a key in a given form. */
static int prove_as(const struct setting *s, enum krn_cuda_mode mode, size_t tile, struct krn_proof *proof,
                    char err[KRN_ERR_TEXT])
{
    const struct krn_vectors v = {s->w.data(), s->va.data(), s->vb.data(), NULL};
    const struct krn_key *keys[1] = {&s->key};
    struct krn_cuda_plan plan;
    struct prover_device *d;
    struct prover_key *key = NULL;
    struct prover_job job;
    struct krn_times times;
    int status = prover_open(&d, 0, err);
    if (status)
        return status;
    status = prover_plan_as(keys, 1, mode, 2, tile, 1ull << 33, &plan, err);
    if (mode == KRN_CUDA_STREAMED)
        plan.whole = 0;
    if (status == 0)
        status = prover_take(d, &plan, err);
    if (status == 0)
        status = prover_load(d, &s->key, NULL, &key, err);
    if (status == 0 && key->shape.mode != mode) {
        snprintf(err, KRN_ERR_TEXT, "the key is in form %d", key->shape.mode);
        status = -1;
    }
    if (status == 0)
        status = prover_job_open(&job, d, 1, err);
    if (status == 0)
        status = prover_upload(&job, 1, key, &v, err);
    if (status == 0)
        status = prover_start(&job, err);
    if (status == 0)
        status = prover_launch(&job, err);
    if (status == 0)
        status = prover_finish(&job, s->r, s->s, proof, &times, err);
    if (key) {
        prover_job_close(&job);
        prover_unload(key);
    }
    prover_close(d);
    return status;
}

/* Wherever the bases are, and in however many tiles the scalars come: one proof. */
static void all_modes(const struct setting *s, const struct outcome *want)
{
    const size_t tiles[] = {SIZE_MAX, 1 + s->key.n_vars / 3};
    for (int mode = 0; mode < KRN_CUDA_MODES; mode++)
        for (size_t tile : tiles) {
            char err[KRN_ERR_TEXT] = "", what[64];
            struct krn_proof got;
            const int status = prove_as(s, (enum krn_cuda_mode)mode, tile, &got, err);
            snprintf(what, sizeof what, "mode %d, tile %zu", mode, tile);
            if (status)
                fail(err, s->name);
            else if (memcmp(&got, &want->proof, sizeof got))
                fail(what, s->name);
        }
}

/* A key's vectors one after another with 12 bytes between them, as in a file. */
static bytes packed(const struct setting *s, size_t at[PROVER_SETS])
{
    const bytes *const sets[PROVER_SETS] = {&s->a, &s->b1, &s->l, &s->b2, &s->h};
    bytes all(12);
    for (int set = 0; set < PROVER_SETS; set++) {
        at[set] = all.size();
        all.insert(all.end(), sets[set]->begin(), sets[set]->end());
        all.resize(all.size() + 12);
    }
    return all;
}

static void point_into(struct krn_key *key, const uint8_t *base, const size_t at[PROVER_SETS])
{
    key->a = base + at[KRN_SET_A];
    key->b1 = base + at[KRN_SET_B1];
    key->l = base + at[KRN_SET_L];
    key->b2 = base + at[KRN_SET_B2];
    key->h = base + at[KRN_SET_H];
}

/* From memory where vectors share pages, of our own and of a file. */
static void as_in_files(const struct setting *s, const struct outcome *want)
{
    size_t at[PROVER_SETS];
    const bytes own = packed(s, at);
    FILE *f = tmpfile();
    if (!f || fwrite(own.data(), 1, own.size(), f) != own.size() || fflush(f))
        stop("a temporary file", s->name, strerror(errno));
    void *mapped = mmap(NULL, own.size(), PROT_READ, MAP_SHARED, fileno(f), 0);
    if (mapped == MAP_FAILED)
        stop("a mapping", s->name, strerror(errno));
    const uint8_t *const bases[2] = {own.data(), (const uint8_t *)mapped};
    for (const uint8_t *base : bases)
        for (int mode = KRN_CUDA_RESIDENT; mode <= KRN_CUDA_STREAMED; mode++) {
            char err[KRN_ERR_TEXT] = "";
            struct setting in_file = *s;
            struct krn_proof got;
            point_into(&in_file.key, base, at);
            if (prove_as(&in_file, (enum krn_cuda_mode)mode, 1 + s->key.n_vars / 3, &got, err))
                fail(err, s->name);
            else if (memcmp(&got, &want->proof, sizeof got))
                fail("proof differs where vectors share pages", s->name);
        }
    munmap(mapped, own.size());
    fclose(f);
}

static void compare(struct krn_device *cpu_dev, struct krn_device *gpu_dev, struct setting *s)
{
    struct krn_dev_key *cpu_key = load(cpu, cpu_dev, s), *gpu_key = load(gpu, gpu_dev, s);
    struct outcome want, got, second;
    prove(cpu, cpu_key, s, false, &want);
    prove(gpu, gpu_key, s, false, &got);
    same(s, "proof differs", &want, &got);
    prove(gpu, gpu_key, s, true, &got);
    same(s, "proof differs with c sent", &want, &got);
    all_modes(s, &want);

    /* Two in flight; the vectors may be overwritten after `uploaded`. */
    struct krn_job *one = begin(gpu, gpu_key, s, false);
    if (!gpu->uploaded(one))
        fail("not uploaded", s->name);
    struct krn_job *two = begin(gpu, gpu_key, s, true);
    gpu->uploaded(two);
    const bytes w = s->w, va = s->va;
    memset(s->w.data(), 0xff, s->w.size());
    memset(s->va.data(), 0xff, s->va.size());
    char err[KRN_ERR_TEXT] = "";
    const struct krn_vectors v = {s->w.data(), s->va.data(), s->vb.data(), NULL};
    struct krn_job *job;
    if (gpu->begin(gpu_key, &v, s->r, s->s, &job, err) != -EBUSY || !err[0])
        fail("a third proof was let in", s->name);
    finish(gpu, one, &got);
    finish(gpu, two, &second);
    same(s, "first of two differs", &want, &got);
    same(s, "second of two differs", &want, &second);
    s->w = w;
    s->va = va;

    /* One row of c wrong. */
    const uint64_t row = s->vc.size() / KRN_FR_BYTES * 2 / 3;
    s->vc[row * KRN_FR_BYTES] ^= 1;
    prove(cpu, cpu_key, s, true, &want);
    prove(gpu, gpu_key, s, true, &got);
    same(s, "outcome of a wrong row differs", &want, &got);
    if (got.result != KRN_ROW_DIFFERS || got.row != row)
        fail("a wrong row was not found", s->name);
    s->vc[row * KRN_FR_BYTES] ^= 1;

    /* A scalar that is the group order. */
    memcpy(s->w.data() + s->w.size() - KRN_FR_BYTES, krn_curve(s->key.curve)->r, KRN_FR_BYTES);
    const struct krn_vectors bad = {s->w.data(), s->va.data(), s->vb.data(), NULL};
    uint64_t nowhere;
    if (gpu->begin(gpu_key, &bad, s->r, s->s, &job, err) ||
        gpu->finish(job, &got.proof, &got.times, &nowhere, err) != -ERANGE)
        fail("a scalar not below r was let in", s->name);
    memcpy(s->w.data(), w.data(), w.size());
    if (gpu->begin(gpu_key, &bad, krn_curve(s->key.curve)->r, s->s, &job, err) != -EINVAL)
        fail("r is the group order", s->name);
    cpu->key_free(cpu_key);
    gpu->key_free(gpu_key);
}

/* ---- two curves, two devices' worth of streams, at once ---- */

struct pair_thread {
    struct setting setting;
    struct outcome want;
    int differ;
};

static void *prove_often(void *ctx)
{
    struct pair_thread *t = (struct pair_thread *)ctx;
    struct krn_device *dev = open_device(gpu);
    struct krn_dev_key *key = load(gpu, dev, &t->setting);
    for (int i = 0; i < (small ? 2 : 20); i++) {
        struct outcome got;
        prove(gpu, key, &t->setting, false, &got);
        t->differ += memcmp(&got.proof, &t->want.proof, sizeof got.proof) != 0;
    }
    gpu->key_free(key);
    gpu->close(dev);
    return NULL;
}

static void two_at_once(struct krn_device *cpu_dev)
{
    static struct pair_thread t[2];
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        make(&t[i].setting, (enum krn_curve_id)i, 10, 900, 2, SCALARS_BITS);
        struct krn_dev_key *key = load(cpu, cpu_dev, &t[i].setting);
        prove(cpu, key, &t[i].setting, false, &t[i].want);
        cpu->key_free(key);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, prove_often, &t[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        if (t[i].differ)
            fail("proofs differ with another curve at work", t[i].setting.name);
    }
}

/* ---- memory ---- */

static struct krn_memory memory_of(struct krn_device *dev)
{
    struct krn_memory m;
    gpu->memory(dev, &m);
    return m;
}

static bool has_numbers(const char *text)
{
    const char *first = strpbrk(text, "0123456789");
    return first && strpbrk(first + strspn(first, "0123456789"), "0123456789");
}

/* What becomes of a key under a budget. */
struct form {
    int status;
    enum krn_cuda_mode mode;
    struct krn_cuda_plan plan;
    char err[KRN_ERR_TEXT];
};

static struct form form_of(const struct krn_key *key, uint64_t budget)
{
    struct form f = {};
    const struct krn_key *keys[1] = {key};
    f.status = krn_cuda_plan_make(keys, 1, budget, &f.plan, f.err);
    if (f.status == 0)
        f.mode = krn_cuda_key_mode(&f.plan, key);
    return f;
}

static bool same_form(const struct form &a, const struct form &b)
{
    return a.status == b.status && a.mode == b.mode && a.plan.slots == b.plan.slots && a.plan.tile == b.plan.tile;
}

/* The least budget of those up to this one that give the same form. */
static uint64_t least_budget(const struct krn_key *key, uint64_t budget)
{
    const struct form f = form_of(key, budget);
    uint64_t low = 0;
    while (low + 1 < budget) {
        const uint64_t middle = low + (budget - low) / 2;
        if (same_form(form_of(key, middle), f))
            budget = middle;
        else
            low = middle;
    }
    return budget;
}

static void under_budget(struct krn_device *dev, const struct setting *s, const struct outcome *want, uint64_t budget,
                         unsigned slots)
{
    struct outcome got;
    plan(gpu, dev, {&s->key}, budget);
    const uint64_t bytes = gpu->key_bytes(dev, &s->key);
    struct krn_dev_key *key = load_only(gpu, dev, s);
    const struct krn_memory m = memory_of(dev);
    prove(gpu, key, s, false, &got);
    same(s, "proof differs under a budget", want, &got);
    if (m.key_used != bytes || m.workspace + m.key_used > budget || m.key_used > m.key_room)
        fail("more than the budget was taken", s->name);
    if (gpu->depth(dev) != slots)
        fail("depth is not the plan's", s->name);
    gpu->key_free(key);
}

/* From more than enough to too little: with the least budget for each form, the key keeps to it and gives one proof. */
static void budgets(struct krn_device *dev, const struct setting *s, const struct outcome *want)
{
    const struct krn_key *keys[1] = {&s->key};
    char err[KRN_ERR_TEXT] = "";
    bool met[KRN_CUDA_MODES] = {};
    uint64_t budget = 1ull << 36;
    for (struct form f; (f = form_of(&s->key, budget)).status == 0; budget--) {
        budget = least_budget(&s->key, budget);
        under_budget(dev, s, want, budget, f.plan.slots);
        met[f.mode] = true;
    }
    if (!met[KRN_CUDA_EXPANDED] || !met[KRN_CUDA_RESIDENT] || !met[KRN_CUDA_STREAMED])
        fail("no budget gives a form", s->name);
    if (gpu->plan(dev, keys, 1, budget, err) != -ENOMEM || !has_numbers(err))
        fail(err, "a budget too small");
}

/* A key larger than planned, and more keys than there is room for. */
static void refusals(struct krn_device *dev, const struct setting *s, const struct setting *larger)
{
    char err[KRN_ERR_TEXT] = "";
    struct krn_cuda_plan p;
    const struct krn_key *keys[1] = {&s->key};
    struct krn_dev_key *loaded, *more;
    prover_plan_as(keys, 1, KRN_CUDA_RESIDENT, 2, SIZE_MAX, 0, &p, err);
    const uint64_t one = p.workspace + krn_cuda_key_bytes(&p, &s->key);
    plan(gpu, dev, {&s->key}, one);
    if (gpu->key_load(dev, &larger->key, NULL, &loaded, err) != -EINVAL || !has_numbers(err))
        fail(err, "a key that was not planned");
    loaded = load_only(gpu, dev, s);
    if (gpu->key_load(dev, &s->key, NULL, &more, err) != -ENOMEM || !has_numbers(err))
        fail(err, "a key too many");
    if (gpu->plan(dev, keys, 1, one, err) != -EBUSY)
        fail(err, "a plan while a key is loaded");
    gpu->key_free(loaded);
    struct krn_key giant = s->key;
    giant.n_vars = 1u << 30;
    giant.log_domain = 28;
    keys[0] = &giant;
    if (gpu->plan(dev, keys, 1, 1ull << 36, err) != -ENOMEM || !has_numbers(err))
        fail(err, "a key whose vectors alone are too large");
    giant.log_domain = 29;
    if (gpu->plan(dev, keys, 1, 0, err) != -EINVAL || !strstr(err, "2^29"))
        fail(err, "a domain too large");
}

static bool same_memory(const struct krn_memory *a, const struct krn_memory *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static size_t free_bytes(void)
{
    size_t free_now, total;
    CHECK(cudaMemGetInfo(&free_now, &total));
    return free_now;
}

/* From page-locked vectors: nothing is taken, locked or copied for proofs. */
static void flat(struct krn_device *dev, struct setting *s, const struct outcome *want, int proofs)
{
    struct krn_dev_key *key = load(gpu, dev, s);
    struct outcome got;
    bytes *const vectors[] = {&s->w, &s->va, &s->vb};
    const uint64_t before = memory_of(dev).host_copies;
    prove(gpu, key, s, false, &got);
    if (memory_of(dev).host_copies != before + 3)
        fail("copies of vectors that are not page-locked were not counted", s->name);
    for (bytes *v : vectors)
        if (gpu->host_register(dev, v->data(), v->size()))
            fail("cannot page-lock a vector", s->name);
    const struct krn_memory start = memory_of(dev);
    const size_t start_free = free_bytes();
    struct krn_job *job = begin(gpu, key, s, false);
    for (int i = 1; i < proofs; i++) {
        struct krn_job *next = begin(gpu, key, s, false);
        finish(gpu, job, &got);
        same(s, "one of many proofs differs", want, &got);
        job = next;
    }
    finish(gpu, job, &got);
    const struct krn_memory end = memory_of(dev);
    if (!same_memory(&start, &end) || free_bytes() != start_free)
        fail("memory was taken for proofs", s->name);
    if (got.times.busy <= 0 || got.times.upload_ns == 0 || got.times.start_ns < got.times.upload_ns)
        fail("times of a proof", s->name);
    for (bytes *v : vectors)
        gpu->host_unregister(dev, v->data(), v->size());
    gpu->key_free(key);
}

/* Six keys by turns where three fit; a proof of another key is in flight while one leaves and one comes. */
static void cycle(struct krn_device *cpu_dev, struct krn_device *dev, int rounds)
{
    enum { KEYS = 6, FIT = 3 };
    static struct setting s[KEYS];
    static struct outcome want[KEYS];
    struct krn_dev_key *loaded[KEYS] = {};
    std::vector<const struct krn_key *> keys;
    for (int i = 0; i < KEYS; i++) {
        make(&s[i], (enum krn_curve_id)(i % 2), 9u + (unsigned)i / 2, 700u << i / 2, 2, SCALARS_BITS,
             i % 3 ? THIRD_INFINITE : MOST_INFINITE);
        struct krn_dev_key *key = load(cpu, cpu_dev, &s[i]);
        prove(cpu, key, &s[i], false, &want[i]);
        cpu->key_free(key);
        keys.push_back(&s[i].key);
    }
    struct krn_cuda_plan p;
    char err[KRN_ERR_TEXT] = "";
    uint64_t most = 0;
    prover_plan_as(keys.data(), KEYS, KRN_CUDA_RESIDENT, 2, 1 << 26, 0, &p, err);
    for (const struct krn_key *k : keys) {
        const uint64_t bytes = krn_cuda_key_bytes(&p, k);
        most = bytes > most ? bytes : most;
    }
    plan(gpu, dev, keys, p.workspace + FIT * most);
    struct krn_memory start = {};
    size_t start_free = 0;
    for (int i = 0; i < rounds * KEYS; i++) {
        struct outcome got;
        const int now = i % KEYS, before = (i + KEYS - 1) % KEYS, oldest = (i + KEYS - FIT) % KEYS;
        struct krn_job *job = loaded[before] ? begin(gpu, loaded[before], &s[before], false) : NULL;
        if (loaded[oldest])
            gpu->key_free(loaded[oldest]);
        loaded[oldest] = NULL;
        loaded[now] = load_only(gpu, dev, &s[now]);
        struct krn_job *next = begin(gpu, loaded[now], &s[now], false);
        if (job) {
            finish(gpu, job, &got);
            same(&s[before], "proof differs while keys come and go", &want[before], &got);
        }
        finish(gpu, next, &got);
        same(&s[now], "proof differs after keys came and went", &want[now], &got);
        if (i == 2 * KEYS - 1) {
            start = memory_of(dev);
            start_free = free_bytes();
        }
    }
    struct krn_memory end = memory_of(dev);
    end.allocations = start.allocations;        /* one for each load, */
    end.host_copies = start.host_copies;        /* and the vectors are not page-locked here */
    end.host_copied_bytes = start.host_copied_bytes;
    if (rounds > 2 && (!same_memory(&start, &end) || free_bytes() != start_free))
        fail("memory grows", "six keys by turns");
    for (struct krn_dev_key *key : loaded)
        if (key)
            gpu->key_free(key);
    if (memory_of(dev).key_used != 0)
        fail("bytes of keys are left", "six keys by turns");
}

/* ---- sources ---- */

struct reader {
    size_t bytes, fail_after;
};

static int read_bytes(void *ctx, const void *from, size_t n, void *to)
{
    struct reader *r = (struct reader *)ctx;
    r->bytes += n;
    if (r->bytes > r->fail_after)
        return -EIO;
    memcpy(to, from, n);
    return 0;
}

/* Points that lie on the device, as krn_source.make wants them. */
struct maker {
    void *sets[PROVER_SETS];
    size_t element[PROVER_SETS + 1];
    std::vector<uint32_t> index;
};

static int make_points(void *ctx, enum krn_set set, uint64_t first, uint64_t count, void *to, void *stream)
{
    struct maker *m = (struct maker *)ctx;
    const size_t element = m->element[set];
    const uint8_t *from = set == KRN_SET_B_INDEX ? (const uint8_t *)m->index.data() : (const uint8_t *)m->sets[set];
    return cudaMemcpyAsync(to, from + first * element, count * element, cudaMemcpyDefault, (cudaStream_t)stream) ? -EIO
                                                                                                               : 0;
}

static bytes finite_alone(const bytes &points, size_t point, std::vector<uint32_t> *index)
{
    bytes out;
    const bytes none(point);
    index->clear();
    for (size_t i = 0; i * point < points.size(); i++)
        if (memcmp(points.data() + i * point, none.data(), point)) {
            out.insert(out.end(), points.begin() + (long)(i * point), points.begin() + (long)((i + 1) * point));
            index->push_back((uint32_t)i);
        }
    return out;
}

static void sources(struct krn_device *dev, struct setting *s, const struct outcome *want)
{
    char err[KRN_ERR_TEXT] = "";
    struct outcome got;
    struct reader r = {0, SIZE_MAX};
    const struct krn_source reading = {&r, read_bytes, NULL};
    struct krn_dev_key *key;
    plan(gpu, dev, {&s->key}, 0);
    key = load_only(gpu, dev, s, &reading);
    prove(gpu, key, s, false, &got);
    gpu->key_free(key);
    same(s, "proof differs with a key that was read", want, &got);
    const size_t all = s->a.size() + s->b1.size() + s->b2.size() + s->l.size() + s->h.size();
    if (r.bytes != all)
        fail("not all bytes of a key, or more, were read", s->name);
    r = {0, all - 1};
    if (gpu->key_load(dev, &s->key, &reading, &key, err) != -EIO || memory_of(dev).key_used)
        fail("a key that cannot be read", s->name);

    struct maker m;
    const size_t g1 = reference_point_bytes(s->key.curve, 0), g2 = reference_point_bytes(s->key.curve, 1);
    const bytes b1 = finite_alone(s->b1, g1, &m.index), b2 = finite_alone(s->b2, g2, &m.index);
    const bytes *sets[PROVER_SETS] = {&s->a, &b1, &s->l, &b2, &s->h};
    for (int set = 0; set < PROVER_SETS; set++) {
        m.element[set] = prover_is_g2(set) ? g2 : g1;
        CHECK(cudaMalloc(&m.sets[set], sets[set]->size() + 1));
        CHECK(cudaMemcpy(m.sets[set], sets[set]->data(), sets[set]->size(), cudaMemcpyHostToDevice));
    }
    CHECK(cudaDeviceSynchronize());     /* the copies end on another stream than the one that make is given */
    m.element[KRN_SET_B_INDEX] = sizeof(uint32_t);
    const struct krn_source making = {&m, NULL, make_points};
    struct krn_key made = s->key;
    made.a = made.b1 = made.b2 = made.l = made.h = NULL;
    if (gpu->key_load(dev, &made, &making, &key, err))
        fail(err, s->name);
    prove(gpu, key, s, false, &got);
    gpu->key_free(key);
    same(s, "proof differs with a key that was made on the device", want, &got);
    for (void *set : m.sets)
        CHECK(cudaFree(set));

    /* Points that are not what n_b says. */
    struct krn_key wrong = s->key;
    wrong.n_b--;
    if (gpu->key_load(dev, &wrong, NULL, &key, err) != -EINVAL)
        fail("a key with another number of points in B", s->name);
}

/* ---- a device that is lost ---- */

static __global__ void trap_kernel(void)
{
    __trap();
}

/* In a process of its own; its exit code. */
static int lose_device(void)
{
    char err[KRN_ERR_TEXT] = "";
    struct setting s;
    struct outcome want, got = {};
    if (gpu->count(err) == 0)
        return 77;
    struct krn_device *cpu_dev = open_device(cpu), *dev = open_device(gpu);
    make(&s, KRN_BN254, 10, 1000, 1, SCALARS_BITS);
    struct krn_dev_key *key = load(cpu, cpu_dev, &s), *more;
    prove(cpu, key, &s, false, &want);
    key = load(gpu, dev, &s);
    struct krn_job *job = begin(gpu, key, &s, false);
    trap_kernel<<<1, 1>>>();
    const struct krn_vectors v = {s.w.data(), s.va.data(), s.vb.data(), NULL};
    int status = 0;
    for (int i = 0; i < 1000 && status == 0; i++) {
        status = gpu->finish(job, &got.proof, &got.times, &got.row, got.err);
        if (status == 0 && memcmp(&got.proof, &want.proof, sizeof got.proof))
            fail("a wrong proof", "a device that is being lost");
        if (status == 0)
            status = gpu->begin(key, &v, s.r, s.s, &job, got.err);
    }
    printf("  %s\n", got.err);
    if (status != -ENODEV || !strstr(got.err, "device lost: cudaError"))
        fail("not said to be lost", "a lost device");
    if (gpu->begin(key, &v, s.r, s.s, &job, err) != -ENODEV)
        fail("begin", "a lost device");
    if (gpu->key_load(dev, &s.key, NULL, &more, err) != -ENODEV)
        fail("key_load", "a lost device");
    gpu->key_free(key);
    gpu->close(dev);
    return failures != 0;
}

/* CUDA does not outlive a fork, so this comes before all else. */
static void lost(void)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int code = lose_device();
        fflush(stdout);
        exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 77))
        fail("the process did not end well", "a lost device");
}

/* ---- large keys, in numbers ---- */

/* A partition of a proof of replication: its whole key fits a device of 141 GB, and with B compact two slots do. */
static void large_plan(void)
{
    char err[KRN_ERR_TEXT] = "", text[KRN_ERR_TEXT];
    struct krn_key key = {};
    struct krn_cuda_plan p;
    const struct krn_key *keys[1] = {&key};
    key.curve = KRN_BLS12_381;
    key.n_vars = 130000000;
    key.n_public = 20;
    key.log_domain = 27;
    for (int compact = 0; compact < 2; compact++) {
        key.n_b = compact ? key.n_vars / 4 : 0;
        if (krn_cuda_plan_make(keys, 1, 137ull << 30, &p, err) || krn_cuda_key_mode(&p, &key) > KRN_CUDA_RESIDENT ||
            (compact && p.slots < 2))
            fail(err, "130,000,000 variables");
        printf("  130,000,000 variables%s: %s\n", compact ? ", a quarter in B" : "",
               krn_cuda_plan_text(&p, &key, text));
    }
}

/* ---- all of it ---- */

static void memory_tests(struct krn_device *cpu_dev, struct krn_device *gpu_dev)
{
    for (int curve = 0; curve < (small ? 1 : KRN_CURVES); curve++) {
        struct setting s, larger;
        struct outcome want;
        make(&s, (enum krn_curve_id)curve, 12, 4000, 1, SCALARS_BITS, MOST_INFINITE);
        make(&larger, (enum krn_curve_id)curve, 13, 8000, 1, SCALARS_BITS);
        struct krn_dev_key *key = load(cpu, cpu_dev, &s);
        prove(cpu, key, &s, false, &want);
        cpu->key_free(key);
        budgets(gpu_dev, &s, &want);
        refusals(gpu_dev, &s, &larger);
        sources(gpu_dev, &s, &want);
        as_in_files(&s, &want);
        flat(gpu_dev, &s, &want, small ? 3 : 500);
    }
    cycle(cpu_dev, gpu_dev, small ? 2 : 50);
}

static void proof_tests(struct krn_device *cpu_dev, struct krn_device *gpu_dev, int argc, char **argv)
{
    const struct {
        uint32_t log_n, n_vars, n_public;
        enum scalar_kind kind;
        enum holes of_b;
    } shapes[] = {{0, 1, 0, SCALARS_RANDOM, NO_HOLES}, {1, 2, 0, SCALARS_RANDOM, THIRD_INFINITE},
                  {1, 3, 2, SCALARS_RANDOM, THIRD_INFINITE}, {2, 5, 1, SCALARS_RANDOM, MOST_INFINITE},
                  {8, 200, 0, SCALARS_BITS, MOST_INFINITE}, {5, 40, 3, SCALARS_RANDOM, THIRD_INFINITE},
                  {10, 1023, 7, SCALARS_RANDOM, MOST_INFINITE}, {13, 9000, 1, SCALARS_BITS, THIRD_INFINITE},
                  {15, 32000, 100, SCALARS_MOST_BITS, MOST_INFINITE}};
    const size_t n_shapes = small ? 5 : sizeof shapes / sizeof *shapes;
    for (int curve = 0; curve < KRN_CURVES; curve++) {
        for (size_t i = 0; i < n_shapes; i++) {
            struct setting s;
            make(&s, (enum krn_curve_id)curve, shapes[i].log_n, shapes[i].n_vars, shapes[i].n_public, shapes[i].kind,
                 shapes[i].of_b);
            compare(cpu_dev, gpu_dev, &s);
        }
        for (int i = 1; i < argc; i++) {
            struct setting s;
            const uint32_t log_n = (uint32_t)atoi(argv[i]);
            make(&s, (enum krn_curve_id)curve, log_n, (1u << log_n) - 5, 2, SCALARS_BITS);
            compare(cpu_dev, gpu_dev, &s);
        }
    }
}

int main(int argc, char **argv)
{
    char err[KRN_ERR_TEXT] = "";
    small = small_sizes();
    if (!small)
        lost();
    if (gpu->count(err) == 0) {
        printf("%s\n", err);
        return 77;
    }
    struct krn_device *cpu_dev = open_device(cpu), *gpu_dev = open_device(gpu);
    large_plan();
    proof_tests(cpu_dev, gpu_dev, argc, argv);
    memory_tests(cpu_dev, gpu_dev);
    two_at_once(cpu_dev);
    cpu->close(cpu_dev);
    gpu->close(gpu_dev);
    printf("prover: %s\n", failures ? "failed" : "all proofs equal");
    return failures != 0;
}
