/*
 * tests/gpu/prover_gputest.cu: whole proofs, the GPU's bytes against the CPU's.
 *
 * The keys are random points: the arithmetic does not ask whether a proof would verify. Arguments: sizes of further
 * domains as powers of two (by default small ones only).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/backend.h"
#include "kernels/prover.cuh"
#include "tests/gpu/generate.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

static int failures;

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

static bytes some_points(enum krn_curve_id curve, int g2, uint64_t seed, size_t n, bool holes)
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
    for (size_t i = 0; holes && i < n; i += 3)
        memset(v.data() + i * point, 0, point);     /* infinity, as a third of real keys' points are */
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

static void make(struct setting *s, enum krn_curve_id curve, uint32_t log_n, uint32_t n_vars, uint32_t n_public,
                 enum scalar_kind kind)
{
    const size_t n = (size_t)1 << log_n;
    snprintf(s->name, sizeof s->name, "%s 2^%u, %u variables, %u public", krn_curve(curve)->name, log_n, n_vars,
             n_public);
    s->a = some_points(curve, 0, 10, n_vars, true);
    s->b1 = some_points(curve, 0, 20, n_vars, true);
    s->b2 = some_points(curve, 1, 20, n_vars, true);
    s->l = some_points(curve, 0, 30, n_vars - n_public - 1, false);
    s->h = some_points(curve, 0, 40, n, false);
    s->points1 = some_points(curve, 0, 50, 3, false);
    s->points2 = some_points(curve, 1, 60, 2, false);
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

static struct krn_dev_key *load(const struct krn_backend *backend, struct krn_device *dev, const struct setting *s)
{
    char err[KRN_ERR_TEXT] = "";
    struct krn_dev_key *key;
    const struct krn_key *keys[1] = {&s->key};
    if ((backend->plan && backend->plan(dev, keys, 1, 0, err)) || backend->key_load(dev, &s->key, NULL, &key, err)) {
        printf("%s %s: %s\n", backend->name, s->name, err);
        exit(1);
    }
    return key;
}

static struct krn_job *begin(const struct krn_backend *backend, struct krn_dev_key *key, const struct setting *s,
                             bool c)
{
    char err[KRN_ERR_TEXT] = "";
    const struct krn_vectors v = {s->w.data(), s->va.data(), s->vb.data(), c ? s->vc.data() : NULL};
    struct krn_job *job;
    if (backend->begin(key, &v, s->r, s->s, &job, err)) {
        printf("%s %s: %s\n", backend->name, s->name, err);
        exit(1);
    }
    return job;
}

static void finish(const struct krn_backend *backend, struct krn_job *job, struct outcome *o)
{
    memset(o, 0, sizeof *o);
    o->result = backend->finish(job, &o->proof, &o->times, &o->row, o->err);
    if (o->result < 0) {
        printf("%s: %s\n", backend->name, o->err);
        exit(1);
    }
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
    if (!dev) {
        printf("%s: %s\n", backend->name, err);
        exit(1);
    }
    return dev;
}

static const struct krn_backend *const cpu = &krn_cpu_backend, *const gpu = &krn_cuda_backend;

/* Wherever the bases are, and in however many tiles the scalars come: one proof. */
static void all_modes(const struct setting *s, const struct outcome *want)
{
    const size_t tiles[] = {0, 1 + s->key.n_vars / 3};
    for (int mode = 0; mode < PROVER_MODES; mode++)
        for (size_t tile : tiles) {
            char err[KRN_ERR_TEXT] = "", what[64];
            struct prover *p;
            struct outcome got;
            const struct krn_vectors v = {s->w.data(), s->va.data(), s->vb.data(), NULL};
            int status = prover_open_as(&p, &s->key, (enum prover_mode)mode, tile, 0, err);
            if (status == 0) {
                status = prover_upload(p, 1, &v, 0, err);
                if (status == 0)
                    status = prover_run(p, 1, s->r, s->s, &got.proof, &got.times, 0, err);
                prover_close(p);
            }
            snprintf(what, sizeof what, "mode %d, tile %zu", mode, tile);
            if (status)
                fail(err, s->name);
            else if (memcmp(&got.proof, &want->proof, sizeof got.proof))
                fail(what, s->name);
        }
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
    for (int i = 0; i < 20; i++) {
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

/* A key too large for any device: a clear refusal with both numbers. */
static void too_large(struct krn_device *dev)
{
    char err[KRN_ERR_TEXT] = "";
    struct krn_key key = {};
    key.curve = KRN_BLS12_381;
    key.n_vars = 1u << 30;
    key.log_domain = 28;
    struct krn_dev_key *loaded;
    if (gpu->key_load(dev, &key, NULL, &loaded, err) != -ENOMEM || !strstr(err, "bytes of device memory"))
        fail(err, "a key too large");
}

int main(int argc, char **argv)
{
    char err[KRN_ERR_TEXT] = "";
    if (gpu->count(err) == 0) {
        printf("%s\n", err);
        return 77;
    }
    struct krn_device *cpu_dev = open_device(cpu), *gpu_dev = open_device(gpu);
    const struct {
        uint32_t log_n, n_vars, n_public;
        enum scalar_kind kind;
    } shapes[] = {{0, 1, 0, SCALARS_RANDOM}, {1, 2, 0, SCALARS_RANDOM}, {1, 3, 2, SCALARS_RANDOM},
                  {2, 5, 1, SCALARS_RANDOM}, {5, 40, 3, SCALARS_RANDOM}, {8, 200, 0, SCALARS_BITS},
                  {10, 1023, 7, SCALARS_RANDOM},
                  {13, 9000, 1, SCALARS_BITS}, {15, 32000, 100, SCALARS_MOST_BITS}};
    for (int curve = 0; curve < KRN_CURVES; curve++) {
        for (auto &shape : shapes) {
            struct setting s;
            make(&s, (enum krn_curve_id)curve, shape.log_n, shape.n_vars, shape.n_public, shape.kind);
            compare(cpu_dev, gpu_dev, &s);
        }
        for (int i = 1; i < argc; i++) {
            struct setting s;
            const uint32_t log_n = (uint32_t)atoi(argv[i]);
            make(&s, (enum krn_curve_id)curve, log_n, (1u << log_n) - 5, 2, SCALARS_BITS);
            compare(cpu_dev, gpu_dev, &s);
        }
    }
    two_at_once(cpu_dev);
    too_large(gpu_dev);
    cpu->close(cpu_dev);
    gpu->close(gpu_dev);
    printf("prover: %s\n", failures ? "failed" : "all proofs equal");
    return failures != 0;
}
