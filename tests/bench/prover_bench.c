/*
 * The CPU prover's phases, in ms and ns for each constraint, on one thread and on all, beside a floor: the field
 * multiplications that the phase needs, at the rate at which this machine multiplies in this run (tests/bench/limit.h).
 *
 *   transforms   six of n/2 log n products, and 5 n for cosets and rows
 *   a sum        an affine addition with a shared inversion, 6 products (17 in G2), for every digit of every scalar
 *                under a point that is not infinity, and for every bucket twice; the best width of digits
 *
 * Circuits and keys are made once, in build/bench-cache. Prints a table; every proof is verified.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/wtns.h"
#include "formats/zkey.h"
#include "kernels/backend.h"
#include "kernels/clock.h"
#include "launcher/synthetic.h"
#include "setup/setup.h"
#include "synth/eval.h"
#include "tests/bench/limit.h"

#define CACHE "build/bench-cache"

enum {
    MAX_RUNS = 5,
    SCALAR_BITS = 255,
    MAX_WIDTH = 20,             /* of a digit */
    PRODUCTS_G1 = 6, PRODUCTS_G2 = 17,
};

static const double enough_seconds = 1.5;   /* no further run after that */

struct setting {
    enum krn_curve_id curve;
    enum synthetic_mix mix;
    uint32_t log;
};

static const struct setting settings[] = {
    {KRN_BN254, SYNTHETIC_UNIFORM, 12},     {KRN_BN254, SYNTHETIC_UNIFORM, 14},
    {KRN_BN254, SYNTHETIC_UNIFORM, 16},     {KRN_BN254, SYNTHETIC_UNIFORM, 18},
    {KRN_BN254, SYNTHETIC_BITS, 12},        {KRN_BN254, SYNTHETIC_BITS, 14},
    {KRN_BN254, SYNTHETIC_BITS, 16},        {KRN_BN254, SYNTHETIC_BITS, 18},
    {KRN_BLS12_381, SYNTHETIC_UNIFORM, 12}, {KRN_BLS12_381, SYNTHETIC_UNIFORM, 14},
    {KRN_BLS12_381, SYNTHETIC_UNIFORM, 16}, {KRN_BLS12_381, SYNTHETIC_BITS, 12},
    {KRN_BLS12_381, SYNTHETIC_BITS, 16},    {KRN_BLS12_381, SYNTHETIC_BITS, 18},
};

static const char *const mix_names[] = {"uniform", "bits"};

/* A circuit, its key, and its vectors. */
struct proving {
    struct fmt_zkey z;
    struct krn_vk vk;
    uint8_t *ic, *w, *a, *b;
};

/* Columns of the table: phases, verification, and the whole proof in processor and in wall time. */
enum { EVAL, NTT, MSM_A, MSM_B1, MSM_B2, MSM_L, MSM_H, FINISH, VERIFY, PROCESSOR, TOTAL, COLUMNS };

static const char *const column_names[COLUMNS] = {
    "eval", "ntt", "a", "b1", "b2", "l", "h", "finish", "verify", "cpu", "proof",
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "prover_bench: %s: %s\n", what, why);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p)
        die("memory", strerror(ENOMEM));
    return p;
}

/* ---- circuits ---- */

/* Makes the files where they are not there yet; a key is written last. */
static void make_files(const struct setting *s, const char *r1cs, const char *wtns, const char *zkey)
{
    /* with one public and the constant the domain is full */
    const struct synthetic circuit = {.curve = s->curve, .mix = s->mix, .n_constraints = (1u << s->log) - 2,
                                      .n_public = 1, .seed = s->log};
    const struct setup_options setup = {.threads = 0};
    struct fmt_error err;

    if (access(zkey, R_OK) == 0)
        return;
    fprintf(stderr, "prover_bench: making %s\n", zkey);
    if (synthetic_write(&circuit, r1cs, wtns, &err) != 0 || setup_write(r1cs, zkey, &setup, &err) != 0)
        die(zkey, err.text);
}

static void load(struct proving *p, const struct setting *s)
{
    char r1cs[128], wtns[128], zkey[128];
    char *const paths[] = {r1cs, wtns, zkey};
    static const char *const endings[] = {"r1cs", "wtns", "zkey"};
    struct fmt_error err;

    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof r1cs, CACHE "/%s-%s-%u.%s", krn_curve(s->curve)->snarkjs_name, mix_names[s->mix],
                 s->log, endings[i]);
    make_files(s, r1cs, wtns, zkey);
    if (fmt_zkey_open(&p->z, zkey, &err) != 0)
        die(zkey, err.text);
    p->ic = allocate((p->z.n_public + (size_t)1) * KRN_G1_MAX);
    fmt_zkey_vk(&p->z, &p->vk, p->ic);
    p->w = allocate((size_t)p->z.n_vars * KRN_FR_BYTES);
    p->a = allocate((size_t)p->z.domain_size * KRN_FR_BYTES);
    p->b = allocate((size_t)p->z.domain_size * KRN_FR_BYTES);
    if (fmt_wtns_read(wtns, p->z.curve, p->z.n_vars, p->w, &err) != 0)
        die(wtns, err.text);
}

static void unload(struct proving *p)
{
    free(p->ic);
    free(p->w);
    free(p->a);
    free(p->b);
    fmt_zkey_close(&p->z);
}

/* ---- measuring ---- */

/* Of all threads; it hardly depends on what else the machine does. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One proof; the seconds of each column. */
static void prove(struct proving *p, struct krn_dev_key *key, unsigned threads, double row[COLUMNS])
{
    const struct krn_backend *cpu = &krn_cpu_backend;
    const struct krn_vectors v = {.w = p->w, .a = p->a, .b = p->b};
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
    struct krn_proof proof;
    struct krn_times t;
    struct fmt_error err;
    char text[KRN_ERR_TEXT];
    uint64_t differs;

    memset(r, 0x12, sizeof r);
    memset(s, 0x21, sizeof s);
    double start = krn_seconds();
    if (synth_eval(&p->z, p->w, p->a, p->b, threads, &err) != 0)
        die("eval", err.text);
    double evaluated = krn_seconds(), processor = processor_seconds();
    struct krn_job *job;
    if (cpu->begin(key, &v, r, s, &job, text) || cpu->finish(job, &proof, &t, &differs, text) != KRN_OK)
        die("proof", text);
    double proved = krn_seconds(), used = processor_seconds() - processor;
    if (krn_verify(&p->vk, p->w + KRN_FR_BYTES, p->z.n_public, &proof) != KRN_OK)
        die("proof", "it does not verify");
    const double seconds[COLUMNS] = {
        evaluated - start, t.ntt, t.msm_a, t.msm_b1, t.msm_b2, t.msm_l, t.msm_h, t.finish, krn_seconds() - proved,
        used, proved - evaluated,
    };
    memcpy(row, seconds, sizeof seconds);
}

static int by_total(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (x[TOTAL] > y[TOTAL]) - (x[TOTAL] < y[TOTAL]);
}

/* The run of median total time among up to MAX_RUNS. */
static void measure(struct proving *p, unsigned threads, double row[COLUMNS])
{
    const struct krn_backend *cpu = &krn_cpu_backend;
    double rows[MAX_RUNS][COLUMNS], start = krn_seconds();
    char text[KRN_ERR_TEXT];
    int n = 0;

    struct krn_device *device = cpu->open(0, threads, text);
    if (!device)
        die("device", text);
    struct krn_dev_key *key;
    if (cpu->key_load(device, &p->z.key, NULL, &key, text))
        die("key", text);
    do
        prove(p, key, threads, rows[n++]);
    while (n < MAX_RUNS && (n < 2 || krn_seconds() - start < enough_seconds));
    cpu->key_free(key);
    cpu->close(device);
    qsort(rows, (size_t)n, sizeof rows[0], by_total);
    memcpy(row, rows[n / 2], sizeof rows[0]);
}

/* ---- floors ---- */

/* Bits of min(s, r - s); 0 for zero. */
static unsigned length(const uint8_t *scalar, const uint8_t *order)
{
    unsigned plain = 0, negative = 0, borrow = 0;

    for (unsigned i = 0; i < KRN_FR_BYTES; i++) {
        unsigned d = order[i] - scalar[i] - borrow;
        borrow = d >> 8 & 1;
        d &= 0xff;
        if (scalar[i])
            plain = 8 * i + 32 - (unsigned)__builtin_clz(scalar[i]);
        if (d)
            negative = 8 * i + 32 - (unsigned)__builtin_clz(d);
    }
    return plain < negative ? plain : negative;
}

static int is_infinity(const uint8_t *point, size_t bytes)
{
    uint8_t any = 0;
    for (size_t i = 0; i < bytes; i++)
        any |= point[i];
    return any == 0;
}

/* Least additions for a sum whose scalars are so distributed: lengths[b] of b bits. */
static double additions(const size_t lengths[SCALAR_BITS + 1])
{
    double least = 0;

    for (unsigned width = 1; width <= MAX_WIDTH; width++) {
        double n = 0;
        unsigned windows = 0;
        for (unsigned bits = 1; bits <= SCALAR_BITS; bits++) {
            if (lengths[bits] == 0)
                continue;
            windows = (bits + width - 1) / width;
            n += (double)lengths[bits] * windows;
        }
        n += 2.0 * windows * (1u << (width - 1));
        if (width == 1 || n < least)
            least = n;
    }
    return least;
}

static double sum_floor(const struct proving *p, const uint8_t *points, size_t bytes, uint32_t first, double product)
{
    size_t lengths[SCALAR_BITS + 1] = {0};

    for (size_t i = first; i < p->z.n_vars; i++) {
        if (!is_infinity(points + (i - first) * bytes, bytes))
            lengths[length(p->w + i * KRN_FR_BYTES, p->z.curve->r)]++;
    }
    return additions(lengths) * product;
}

static void floors(const struct proving *p, unsigned threads, const struct limit *limit, double row[COLUMNS])
{
    const size_t g1 = 2 * p->z.curve->fq_bytes;
    const double n = p->z.domain_size, fr = limit_product(limit, SCALAR_BITS);
    const double fq = limit_product(limit, p->z.curve->id == KRN_BN254 ? 254 : 381);
    const double add1 = PRODUCTS_G1 * fq, add2 = PRODUCTS_G2 * fq;
    size_t all[SCALAR_BITS + 1] = {0};

    all[SCALAR_BITS - 1] = p->z.domain_size;
    memset(row, 0, COLUMNS * sizeof *row);
    row[NTT] = (6 * n / 2 * p->z.log_domain + 5 * n) * fr;
    row[MSM_A] = sum_floor(p, p->z.key.a, g1, 0, add1);
    row[MSM_B1] = sum_floor(p, p->z.key.b1, g1, 0, add1);
    row[MSM_B2] = sum_floor(p, p->z.key.b2, 2 * g1, 0, add2);
    row[MSM_L] = sum_floor(p, p->z.key.l, g1, p->z.n_public + 1, add1);
    row[MSM_H] = additions(all) * add1;
    for (int i = NTT; i <= MSM_H; i++)
        row[TOTAL] += row[i];
    row[PROCESSOR] = row[TOTAL] * threads;
}

/* ---- the table ---- */

static void print_row(const char *what, const double row[COLUMNS], double scale)
{
    printf("  %-22s", what);
    for (int i = 0; i < COLUMNS; i++) {
        if (row[i] > 0)
            printf(" %8.*f", scale * row[TOTAL] < 1000 ? 2 : 1, scale * row[i]);
        else
            printf(" %8s", "-");
    }
    printf("\n");
}

static void report(struct proving *p, const struct setting *s, unsigned threads, const struct limit *limit)
{
    double row[COLUMNS], least[COLUMNS];
    char what[64];

    measure(p, threads, row);
    floors(p, threads, limit, least);
    printf("%s, %s, 2^%u constraints, %u thread%s: %.2f times the floor, in processor time %.2f\n", p->z.curve->name,
           mix_names[s->mix], s->log, threads, threads == 1 ? "" : "s", row[TOTAL] / least[TOTAL],
           row[PROCESSOR] / least[PROCESSOR]);
    snprintf(what, sizeof what, "ms");
    print_row(what, row, 1e3);
    print_row("floor, ms", least, 1e3);
    print_row("ns for each constraint", row, 1e9 / p->z.n_constraints);
    fflush(stdout);
}

int main(void)
{
    const unsigned threads[] = {1, krn_cpus()};
    const int n_threads = krn_cpus() > 1 ? 2 : 1;
    struct limit limits[2];

    if (mkdir("build", 0777) != 0 && errno != EEXIST)
        die("build", strerror(errno));
    if (mkdir(CACHE, 0777) != 0 && errno != EEXIST)
        die(CACHE, strerror(errno));
    for (int i = 0; i < n_threads; i++) {
        limits[i] = limit_measure(threads[i]);
        printf("%u thread%s: %.2f G mul/s", threads[i], threads[i] == 1 ? "" : "s", 1e-9 * limits[i].mul64);
        if (limits[i].madd52 > 0)
            printf(", %.2f G vpmadd52/s", 1e-9 * limits[i].madd52);
        printf("; a product of 254 bits takes %.2f ns at least, of 381 bits %.2f ns\n",
               1e9 * limit_product(&limits[i], 254), 1e9 * limit_product(&limits[i], 381));
    }
    printf("  %-22s", "");
    for (int i = 0; i < COLUMNS; i++)
        printf(" %8s", column_names[i]);
    printf("\n");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct proving p;
        load(&p, &settings[i]);
        for (int j = 0; j < n_threads; j++)
            report(&p, &settings[i], threads[j], &limits[j]);
        unload(&p);
    }
    return 0;
}
