/* The CPU back end of kernels/backend.h: what a proof is, put together from kernels/ntt.h and kernels/msm.h. */
#include "kernels/backend.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/assemble.h"
#include "kernels/clock.h"
#include "kernels/memory.h"
#include "kernels/msm.h"
#include "kernels/ntt.h"

enum { DEPTH = 4 };     /* jobs that may be under way; they are done one after another, in finish */

struct krn_device {
    struct krn_pool *pool;
};

struct krn_job {
    struct krn_dev_key *key;    /* NULL: free */
    struct krn_vectors v;
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
};

struct krn_dev_key {
    struct krn_device *dev;
    struct krn_key key;
    struct krn_ntt *ntt;
    struct krn_msm *msm;
    uint8_t *h;                             /* 2^log_domain scalars */
    void *work;                             /* of the transforms, then of the sums */
    size_t work_bytes;
    uint64_t *skip_a, *skip_b1, *skip_b2, *skip_l;
    struct krn_job jobs[DEPTH];
};

/* Returns its first argument, a negative errno value. */
__attribute__((format(printf, 3, 4))) static int fail(int status, char err[KRN_ERR_TEXT], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err, KRN_ERR_TEXT, format, args);
    va_end(args);
    return status;
}

/* ---- devices ---- */

static int cpu_count(char err[KRN_ERR_TEXT])
{
    (void)err;
    return 1;
}

static struct krn_device *cpu_open(int index, unsigned threads, char err[KRN_ERR_TEXT])
{
    if (index != 0) {
        fail(-EINVAL, err, "the CPU is one device, number 0; there is no number %d", index);
        return NULL;
    }
    struct krn_device *dev = calloc(1, sizeof *dev);
    if (dev != NULL && (dev->pool = krn_pool_new(threads)) != NULL)
        return dev;
    fail(-errno, err, "cannot start %u threads: %s", threads, strerror(errno));
    free(dev);
    return NULL;
}

static void cpu_close(struct krn_device *dev)
{
    if (dev == NULL)
        return;
    krn_pool_free(dev->pool);
    free(dev);
}

static uint64_t cpu_key_bytes(struct krn_device *dev, const struct krn_key *key)
{
    (void)dev;
    (void)key;
    return 0;
}

static const char *cpu_key_form(struct krn_device *dev, const struct krn_key *key)
{
    (void)dev;
    (void)key;
    return "in place";
}

static int cpu_node(int index)
{
    (void)index;
    return -1;      /* its threads are wherever the process may run */
}

static void cpu_memory(struct krn_device *dev, struct krn_memory *m)
{
    (void)dev;
    *m = (struct krn_memory){0};
}

static unsigned cpu_depth(struct krn_device *dev)
{
    (void)dev;
    return DEPTH;
}

/* ---- keys ---- */

static uint32_t point_bytes(const struct krn_key *key, int group)
{
    return group_ops(key->curve, group)->point_bytes;
}

static uint64_t *infinities(const struct krn_dev_key *k, const uint8_t *points, int group)
{
    uint64_t *skip = malloc(((size_t)k->key.n_vars + 63) / 64 * sizeof *skip);
    if (skip != NULL)
        krn_msm_find_infinities(k->dev->pool, skip, points, point_bytes(&k->key, group), k->key.n_vars);
    return skip;
}

/* L begins with the first private signal. */
static uint64_t *public_signals(const struct krn_key *key)
{
    uint64_t *skip = calloc(((size_t)key->n_vars + 63) / 64, sizeof *skip);
    for (uint32_t i = 0; skip != NULL && i <= key->n_public; i++)
        skip[i / 64] |= 1ull << (i % 64);
    return skip;
}

static size_t h_bytes(const struct krn_key *key)
{
    return (size_t)KRN_FR_BYTES << key->log_domain;
}

/* One workspace for what never works at the same time. */
static int lend_work(struct krn_dev_key *k)
{
    if (k->ntt == NULL || k->msm == NULL)
        return 0;
    const size_t ntt = krn_ntt_work_bytes(k->ntt), msm = krn_msm_bytes(k->msm);
    k->work_bytes = ntt > msm ? ntt : msm;
    k->work = krn_memory_map(k->work_bytes);
    if (k->work == NULL)
        return 0;
    krn_ntt_use(k->ntt, k->work);
    krn_msm_use(k->msm, k->work);
    return 1;
}

static void cpu_key_free(struct krn_dev_key *k)
{
    if (k == NULL)
        return;
    krn_ntt_free(k->ntt);
    krn_msm_free(k->msm);
    krn_memory_unmap(k->work, k->work_bytes);
    krn_memory_unmap(k->h, h_bytes(&k->key));
    free(k->skip_a);
    free(k->skip_b1);
    free(k->skip_b2);
    free(k->skip_l);
    free(k);
}

/* 0 or -EINVAL. */
static int check_numbers(const struct krn_key *key, char err[KRN_ERR_TEXT])
{
    const struct krn_curve *c = krn_curve(key->curve);
    if (c == NULL)
        return fail(-EINVAL, err, "no such curve: %d", (int)key->curve);
    if (key->log_domain > KRN_MAX_LOG_DOMAIN || key->log_domain > c->two_adicity)
        return fail(-EINVAL, err, "a domain of 2^%u rows; the limit is 2^%u", key->log_domain,
                    c->two_adicity < KRN_MAX_LOG_DOMAIN ? c->two_adicity : KRN_MAX_LOG_DOMAIN);
    if (key->n_vars >= 1u << 31 || key->n_public >= key->n_vars)
        return fail(-EINVAL, err, "%u variables, %u of them public", key->n_vars, key->n_public);
    return 0;
}

/* The key's bytes are read in place: no source is asked. */
static int cpu_key_load(struct krn_device *dev, const struct krn_key *key, const struct krn_source *source,
                        struct krn_dev_key **loaded, char err[KRN_ERR_TEXT])
{
    (void)source;
    const int status = check_numbers(key, err);
    if (status != 0)
        return status;
    const size_t rows = (size_t)1 << key->log_domain;
    struct krn_dev_key *k = calloc(1, sizeof *k);
    if (k == NULL)
        return fail(-ENOMEM, err, "no memory");
    k->dev = dev;
    k->key = *key;
    k->ntt = krn_ntt_new(key->curve, key->log_domain, dev->pool);
    k->msm = krn_msm_new(key->curve, 2, rows > key->n_vars ? rows : key->n_vars, dev->pool);
    k->h = krn_memory_map(h_bytes(key));
    k->skip_a = infinities(k, key->a, 1);
    k->skip_b1 = infinities(k, key->b1, 1);
    k->skip_b2 = infinities(k, key->b2, 2);
    k->skip_l = public_signals(key);
    if (!lend_work(k) || k->h == NULL || k->skip_a == NULL || k->skip_b1 == NULL || k->skip_b2 == NULL ||
        k->skip_l == NULL) {
        cpu_key_free(k);
        return fail(-ENOMEM, err, "no memory for a key of %u variables and 2^%u rows", key->n_vars, key->log_domain);
    }
    *loaded = k;
    return 0;
}

/* ---- proofs ---- */

static int cpu_begin(struct krn_dev_key *k, const struct krn_vectors *v, const uint8_t r[KRN_FR_BYTES],
                     const uint8_t s[KRN_FR_BYTES], struct krn_job **begun, char err[KRN_ERR_TEXT])
{
    const struct krn_curve *c = krn_curve(k->key.curve);
    if (krn_fr_first_above(c, r, 1) == 0 || krn_fr_first_above(c, s, 1) == 0)
        return fail(-EINVAL, err, "r or s is not below the group order");
    for (int i = 0; i < DEPTH; i++) {
        struct krn_job *job = &k->jobs[i];
        if (job->key != NULL)
            continue;
        job->key = k;
        job->v = *v;
        memcpy(job->r, r, KRN_FR_BYTES);
        memcpy(job->s, s, KRN_FR_BYTES);
        *begun = job;
        return 0;
    }
    return fail(-EBUSY, err, "%d proofs are under way already", DEPTH);
}

static int cpu_uploaded(struct krn_job *job)
{
    (void)job;
    return 0;
}

/* The five sums, over the witness and over h. */
struct sums {
    struct krn_msm_set a, b1, b2, l, h;
};

static void sum_witness(struct krn_dev_key *k, const uint8_t *w, struct sums *sums, struct krn_times *times)
{
    const struct krn_key *key = &k->key;
    struct krn_msm_set sets[KRN_MSM_SETS] = {
        {.group = 1, .src = {.points = key->a, .skip = k->skip_a}},
        {.group = 1, .src = {.points = key->b1, .skip = k->skip_b1}},
        {.group = 2, .src = {.points = key->b2, .skip = k->skip_b2}},
        {.group = 1, .src = {.points = key->l, .first = key->n_public + 1, .skip = k->skip_l}},
    };
    double start = krn_seconds();
    krn_msm_run(k->msm, w, key->n_vars, sets, KRN_MSM_SETS);
    sums->a = sets[0];
    sums->b1 = sets[1];
    sums->b2 = sets[2];
    sums->l = sets[3];
    times->msm_b1 = sets[1].seconds;
    times->msm_b2 = sets[2].seconds;
    times->msm_l = sets[3].seconds;
    times->msm_a = krn_seconds() - start - times->msm_b1 - times->msm_b2 - times->msm_l;   /* and the sorting */
}

static void sum_quotient(struct krn_dev_key *k, struct sums *sums, struct krn_times *times)
{
    double start = krn_seconds();
    sums->h = (struct krn_msm_set){.group = 1, .src = {.points = k->key.h}};
    krn_msm_run(k->msm, k->h, (size_t)1 << k->key.log_domain, &sums->h, 1);
    times->msm_h = krn_seconds() - start;
}

static void put_together(const struct krn_job *job, const struct sums *sums, struct krn_proof *proof)
{
    const struct krn_key *key = &job->key->key;
    const struct group_ops *g1 = group_ops(key->curve, 1), *g2 = group_ops(key->curve, 2);
    struct krn_proof_sums points;
    struct krn_blinds blinds;
    g1->to_affine(points.a, &sums->a.sum);
    g1->to_affine(points.b1, &sums->b1.sum);
    g2->to_affine(points.b2, &sums->b2.sum);
    g1->to_affine(points.l, &sums->l.sum);
    g1->to_affine(points.h, &sums->h.sum);
    krn_blind(key, job->r, job->s, &blinds);
    krn_assemble(key, &points, &blinds, job->r, job->s, proof);
}

static int cpu_finish(struct krn_job *job, struct krn_proof *proof, struct krn_times *times, uint64_t *row,
                      char err[KRN_ERR_TEXT])
{
    struct krn_dev_key *k = job->key;
    const size_t rows = (size_t)1 << k->key.log_domain;
    const double begun = krn_seconds();
    struct krn_times t = {.start_ns = (uint64_t)(1e9 * begun)};
    struct sums sums;
    (void)err;
    double start = begun;
    size_t differs = krn_ntt_quotient(k->ntt, job->v.a, job->v.b, job->v.c, k->h);
    t.ntt = krn_seconds() - start;
    if (differs == rows) {
        sum_quotient(k, &sums, &t);
        sum_witness(k, job->v.w, &sums, &t);
        start = krn_seconds();
        put_together(job, &sums, proof);
        t.finish = krn_seconds() - start;
    }
    t.busy = krn_seconds() - begun;
    if (times != NULL)
        *times = t;
    job->key = NULL;
    if (differs == rows)
        return KRN_OK;
    *row = differs;
    return KRN_ROW_DIFFERS;
}

const struct krn_backend krn_cpu_backend = {
    .name = "cpu",
    .count = cpu_count,
    .open = cpu_open,
    .close = cpu_close,
    .key_bytes = cpu_key_bytes,
    .key_load = cpu_key_load,
    .key_free = cpu_key_free,
    .memory = cpu_memory,
    .depth = cpu_depth,
    .begin = cpu_begin,
    .uploaded = cpu_uploaded,
    .finish = cpu_finish,
    .key_form = cpu_key_form,
    .node = cpu_node,
};
