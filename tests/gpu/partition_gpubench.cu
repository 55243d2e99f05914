/*
 * One PoRep-shaped partition (synth/partition.h), from a region's slot that another process filled to a verified proof:
 *
 *   partition_gpubench [--log N] [--curve bn254|bls12381] [--seed S] [--runs N] [--threads N] [--trapdoor T]
 *                      [--key K.zkey] [--out PREFIX]
 *
 * --log 27 is PoRep's 32 GiB partition; 20 where nothing is said. The key is made on the device, from a random
 * trapdoor or the given one. --key compares its points with a file's, made by `pinwheel setup` for the same circuit
 * (`pinwheel synthetic --mix partition`) and trapdoor. --out writes the last proof, its publics and the verification
 * key as snarkjs reads them.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>

#include "kernels/cuda.h"
#include "tests/gpu/generate.cuh"
#include "tests/gpu/partition_key.cuh"

extern "C" {
#include "formats/payload.h"
#include "formats/snarkjs.h"
#include "formats/zkey.h"
#include "tests/gpu/partition_feed.h"
}

enum { MAX_RUNS = 99, COMPARE = 1 << 20, QUEUED = 6 };

static const double GIB = 1 << 30;

struct arguments {
    enum krn_curve_id curve;
    uint32_t log;
    uint64_t seed;
    int runs;
    unsigned threads;
    const char *trapdoor, *key, *out;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void end(const char *what, const char *why)
{
    fprintf(stderr, "partition: %s: %s\n", what, why);
    exit(1);
}

/* ---- the key ---- */

/* A set's points as made on the device against those of a file. wires: of B, where the set has those alone. */
static void compare_set(const struct partition_key *k, enum krn_set set, const char *name, size_t n,
                        const uint8_t *file, size_t point, bool compact)
{
    std::vector<uint8_t> got(COMPARE * point);
    uint8_t *device;
    size_t wrong = 0, finite = 0;
    CHECK(cudaMalloc(&device, COMPARE * point));
    for (size_t at = 0, m; at < n; at += m) {
        m = std::min(n - at, (size_t)COMPARE);
        if (k->source.make(k->source.ctx, set, at, m, device, NULL))
            end(name, "not made");
        CHECK(cudaMemcpy(got.data(), device, m * point, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < m; i++) {
            const size_t wire = compact ? partition_b_wire(k->p, (uint32_t)(at + i)) : at + i;
            wrong += memcmp(&got[i * point], file + wire * point, point) != 0;
        }
    }
    CHECK(cudaFree(device));
    const std::vector<uint8_t> infinity(point);
    for (size_t i = 0; compact && i < k->p->n_wires; i++)
        finite += memcmp(file + i * point, infinity.data(), point) != 0;
    if (wrong || (compact && finite != n))
        end(name, wrong ? "points differ from the file's" : "the file has other finite points");
    printf("  %s: %zu points, all as in the file\n", name, n);
}

static void compare_key(const struct partition_key *k, const char *path)
{
    struct fmt_zkey z;
    struct fmt_error err;
    if (fmt_zkey_open(&z, path, &err))
        end("--key", err.text);
    if (z.n_vars != k->p->n_wires || z.n_public != k->p->n_public || z.log_domain != k->p->log_domain)
        end(path, "another circuit");
    const size_t g1 = 2 * z.curve->fq_bytes;
    std::vector<uint8_t> ic(g1 * k->p->first_aux);
    struct krn_vk vk;
    fmt_zkey_vk(&z, &vk, ic.data());
    if (ic != k->ic || memcmp(vk.alpha1, k->vk.alpha1, g1) || memcmp(vk.beta2, k->vk.beta2, 2 * g1) ||
        memcmp(vk.gamma2, k->vk.gamma2, 2 * g1) || memcmp(vk.delta2, k->vk.delta2, 2 * g1))
        end(path, "another verification key");
    compare_set(k, KRN_SET_A, "A", z.n_vars, z.key.a, g1, false);
    compare_set(k, KRN_SET_B1, "B1", partition_n_b(k->p), z.key.b1, g1, true);
    compare_set(k, KRN_SET_B2, "B2", partition_n_b(k->p), z.key.b2, 2 * g1, true);
    compare_set(k, KRN_SET_L, "L", z.n_vars - z.n_public - 1, z.key.l, g1, false);
    compare_set(k, KRN_SET_H, "H", z.domain_size, z.key.h, g1, false);
    fmt_zkey_close(&z);
}

static void make_key(struct partition_key *k, const struct partition *p, const struct arguments *a)
{
    const struct krn_scalar_field f = krn_scalar_field(p->curve);
    struct setup_trapdoor t;
    struct fmt_error why;
    char err[KRN_ERR_TEXT];
    if (a->trapdoor ? setup_trapdoor_read(&f, &t, a->trapdoor, &why) : setup_trapdoor_draw(&f, &t, &why))
        end("trapdoor", why.text);
    if (partition_key_open(k, p, &t, err))
        end("key", err);
}

/* ---- the device ---- */

struct bench {
    const struct krn_backend *gpu;
    struct krn_device *device;
    struct krn_dev_key *loaded;
    struct partition_feed *feed;
    struct krn_proof proof;
};

/* What lies where, said before any of it is taken; returns the budget for workspace and keys, which leaves room for the
 * making of the key and a margin. */
static uint64_t print_plan(const struct partition *p, size_t slot)
{
    const struct krn_key key = partition_key_numbers(p);
    const size_t g1 = 2 * krn_curve(p->curve)->fq_bytes, making = partition_key_bytes(p);
    struct krn_cuda_plan plan;
    const struct krn_key *const keys[] = {&key};
    size_t free_bytes, total;
    char text[KRN_ERR_TEXT];
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    const uint64_t budget = free_bytes - std::min(free_bytes, free_bytes / 32 + making);
    if (krn_cuda_plan_make(keys, 1, budget, &plan, text))
        end("plan", text);
    printf("device: %.2f GiB, %.2f free; %s\n", total / GIB, free_bytes / GIB,
           krn_cuda_plan_text(&plan, &key, text));
    printf("key in one copy, GiB: A %.2f, L %.2f, H %.2f, B1 %.2f, B2 %.2f (B has %u of %u variables); while it is "
           "made %.2f more\n", p->n_wires * g1 / GIB, (p->n_wires - p->n_public - 1.0) * g1 / GIB,
           (g1 << p->log_domain) / GIB, key.n_b * g1 / GIB, key.n_b * 2 * g1 / GIB, key.n_b, p->n_wires, making / GIB);
    printf("host: one slot of %.2f GiB (w, a, b) in shared memory, page-locked\n", slot / GIB);
    return budget;
}

/* Opens the device, plans, makes the key and loads it. */
static void load_key(struct bench *b, const struct partition *p, const struct arguments *a, uint64_t budget,
                     struct partition_key *k)
{
    char err[KRN_ERR_TEXT] = "";
    const struct krn_key numbers = partition_key_numbers(p);
    const struct krn_key *const keys[] = {&numbers};
    b->device = b->gpu->open(0, 0, err);
    if (!b->device)
        end("device", err);
    if (b->gpu->plan(b->device, keys, 1, budget, err))
        end("plan", err);
    const double begin = now();
    make_key(k, p, a);
    if (a->key)
        compare_key(k, a->key);
    const double made = now();
    if (b->gpu->key_load(b->device, &k->key, &k->source, &b->loaded, err))
        end("key", err);
    partition_key_drop(k);
    printf("key: tables and Lagrange values %s%.2f s, points %.2f s\n", a->key ? "and the comparison " : "",
           made - begin, now() - made);
}

static void check_proof(const struct krn_proof *proof, const struct partition_key *k, const uint8_t *w)
{
    const enum krn_result good = krn_verify(&k->vk, w + KRN_FR_BYTES, k->vk.n_public, proof);
    if (good != KRN_OK)
        end("proof", good == KRN_INVALID ? "does not verify" : "is malformed");
}

/* Seconds of one proof: in which its kernels ran, and from its begin, upload included, to its bytes. */
struct taken {
    double busy, whole;
};

/* One proof of a slot that is filled for it. */
static struct taken prove(struct bench *b, const struct partition_key *k, uint64_t seed)
{
    struct partition_filled filled;
    struct fmt_error why;
    struct krn_job *job;
    struct krn_times t;
    uint64_t row;
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
    char err[KRN_ERR_TEXT];
    random_scalar(k->p->curve, seed, r);
    random_scalar(k->p->curve, seed + 1, s);
    if (partition_feed_next(b->feed, &filled, &why))
        end("slot", why.text);
    const double begin = now();
    if (b->gpu->begin(b->loaded, &filled.vectors, r, s, &job, err))
        end("begin", err);
    b->gpu->uploaded(job);
    const double uploaded = now();
    if (b->gpu->finish(job, &b->proof, &t, &row, err))
        end("finish", err);
    const struct taken taken = {t.busy, now() - begin};
    check_proof(&b->proof, k, filled.vectors.w);
    if (partition_feed_done(b->feed))
        end("job", "is not what it should be");
    printf("%7.2f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f %9.1f %9.1f  verified\n", filled.seconds,
           1e3 * (uploaded - begin), 1e3 * t.upload, 1e3 * t.ntt, 1e3 * t.msm_a, 1e3 * t.msm_b1, 1e3 * t.msm_l,
           1e3 * t.msm_b2, 1e3 * t.msm_h, 1e3 * t.finish, 1e3 * taken.busy, 1e3 * taken.whole);
    fflush(stdout);
    return taken;
}

static void print_median(const char *what, double *seconds, int n, const char *wanted)
{
    std::sort(seconds, seconds + n);
    printf("%s: median of %d %.3f s (%.3f to %.3f)%s\n", what, n, seconds[n / 2], seconds[0], seconds[n - 1], wanted);
}

static void prove_all(struct bench *b, const struct partition_key *k, const struct arguments *a)
{
    double busy[MAX_RUNS], whole[MAX_RUNS];
    printf("ms, the fill in s: from the producer's begin to READY; busy: kernels; whole: with upload, to the bytes\n"
           "%7s %8s %8s %8s %8s %8s %8s %8s %8s %8s %9s %9s\n", "fill", "uploaded", "upload", "ntt", "a", "b1", "l",
           "b2", "h", "finish", "busy", "whole");
    for (int i = 0; i < a->runs; i++) {
        const struct taken taken = prove(b, k, a->seed + 100 + 2 * (uint64_t)i);
        busy[i] = taken.busy;
        whole[i] = taken.whole;
    }
    print_median("device", busy, a->runs, "");
    print_median("from slot to proof", whole, a->runs,
                 a->log == PARTITION_FULL_LOG ? "; wanted: 2.0 s, then 1.0" : "");
}

/* The last slot's proofs one after another, each uploaded while the one before computes: what a proof costs the
 * device when slots are always ready. */
static void prove_queued(struct bench *b, const struct partition_key *k, const struct arguments *a)
{
    struct partition_filled filled;
    struct fmt_error why;
    struct krn_job *job[2];
    struct krn_proof proofs[QUEUED];
    struct krn_times t;
    uint64_t row;
    double first = 0, last = 0;
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
    char err[KRN_ERR_TEXT];
    if (b->gpu->depth(b->device) < 2) {
        printf("queued: there is memory for one proof in flight\n");
        return;
    }
    if (partition_feed_next(b->feed, &filled, &why))
        end("slot", why.text);
    for (int i = 0; i <= QUEUED; i++) {
        random_scalar(k->p->curve, a->seed + 500 + 2 * (uint64_t)i, r);
        random_scalar(k->p->curve, a->seed + 501 + 2 * (uint64_t)i, s);
        if (i < QUEUED && b->gpu->begin(b->loaded, &filled.vectors, r, s, &job[i % 2], err))
            end("begin", err);
        if (i == 0)
            continue;
        if (b->gpu->finish(job[(i - 1) % 2], &proofs[i - 1], &t, &row, err))
            end("finish", err);
        last = now();
        first = i == 1 ? last : first;
    }
    for (const struct krn_proof &proof : proofs)
        check_proof(&proof, k, filled.vectors.w);
    printf("queued: %.4f s a proof (%d of one slot)\n", (last - first) / (QUEUED - 1), QUEUED);
    if (partition_feed_done(b->feed))
        end("job", "is not what it should be");
}

static void write_out(const struct bench *b, const struct partition_key *k, const char *prefix)
{
    char path[4096];
    struct fmt_error err;
    const struct partition *p = k->p;
    size_t bytes;
    const uint8_t *w = (const uint8_t *)partition_feed_memory(b->feed, &bytes);     /* the slot begins with w */
    snprintf(path, sizeof path, "%s.proof", prefix);
    if (fmt_proof_write(path, krn_curve(p->curve), &b->proof, &err))
        end("--out", err.text);
    snprintf(path, sizeof path, "%s.vk", prefix);
    if (fmt_vk_write(path, &k->vk, &err))
        end("--out", err.text);
    snprintf(path, sizeof path, "%s.public", prefix);
    if (fmt_public_write(path, w + KRN_FR_BYTES, p->n_public, &err))
        end("--out", err.text);
}

static void run(const struct arguments *a)
{
    struct bench b = {&krn_cuda_backend};
    static struct partition p;
    static struct partition_key k;
    struct fmt_error err;
    size_t slot;
    if (partition_scaled(&p, a->curve, a->log, a->seed))
        end("--log", "10 to 28 are possible");
    printf("%s, domain 2^%u: %u constraints, %u public, %u variables, seed %llu\n", krn_curve(p.curve)->name,
           p.log_domain, p.n_constraints, p.n_public, p.n_wires, (unsigned long long)p.seed);
    const uint64_t budget = print_plan(&p, fmt_payload_of(p.n_wires, p.log_domain).bytes);
    double begin = now();
    b.feed = partition_feed_open(&p, a->threads, &err);
    if (!b.feed)
        end("region", err.text);
    void *memory = partition_feed_memory(b.feed, &slot);
    const double populated = now() - begin;
    load_key(&b, &p, a, budget, &k);
    begin = now();
    if (b.gpu->host_register(b.device, memory, slot))
        end("slot", "cannot be page-locked");
    printf("region populated in %.2f s, page-locked in %.2f s\n", populated, now() - begin);
    prove_all(&b, &k, a);
    prove_queued(&b, &k, a);
    if (a->out)
        write_out(&b, &k, a->out);
    b.gpu->key_free(b.loaded);
    b.gpu->host_unregister(b.device, memory, slot);
    b.gpu->close(b.device);
    partition_feed_close(b.feed);
}

/* 0, or -1 where an argument is not understood. */
static int parse(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"log", required_argument, NULL, 'l'},      {"curve", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},     {"runs", required_argument, NULL, 'r'},
        {"threads", required_argument, NULL, 't'},  {"trapdoor", required_argument, NULL, 'T'},
        {"key", required_argument, NULL, 'k'},      {"out", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'l': a->log = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'c': a->curve = strcmp(optarg, "bn254") ? KRN_BLS12_381 : KRN_BN254; break;
        case 's': a->seed = strtoull(optarg, NULL, 10); break;
        case 'r': a->runs = std::min(std::max(atoi(optarg), 1), (int)MAX_RUNS); break;
        case 't': a->threads = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'T': a->trapdoor = optarg; break;
        case 'k': a->key = optarg; break;
        case 'o': a->out = optarg; break;
        default: return -1;
        }
    }
    return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct arguments a = {KRN_BLS12_381, 20, 1, 3, 0, NULL, NULL, NULL};
    char err[KRN_ERR_TEXT] = "";
    if (argc > 1 && strcmp(argv[1], "--produce") == 0)
        return partition_feed_produce(argc - 2, argv + 2);
    if (parse(&a, argc, argv))
        return 2;
    if (krn_cuda_backend.count(err) == 0) {
        printf("%s\n", err);
        return 77;
    }
    run(&a);
    return 0;
}
