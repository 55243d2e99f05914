/*
 * tests/gpu/msm_gputest.cu: sums on the device against the CPU's and against known logarithms, byte for byte, both
 * curves, G1 and G2; bases in one copy with XYZZ and with affine rounds, and in copies.
 *
 * What such codes got wrong, and the check that would notice, by the name it prints:
 *   zero, one, r - 1, all equal scalars            "all zero" "all one" "all r - 1" "equal scalars"
 *   all equal bases                                "equal bases" "equal bases and scalars"
 *   P and -P in one bucket                         "opposite bases" "opposite bases, any scalars"
 *   infinite bases under scalars that are not 0    "infinities" "all infinity"
 *   n = 0, 1, 31, 33, 2^k - 1, 2^k, 2^k + 1        "sum" (sizes)
 *   scalars not below r                            "refusal of ..."
 *   more bases than scalars, and the reverse       "more bases than scalars", "refusal of too many terms"
 *   the carry out of the top signed digit          "all ones" "all (r - 1) / 2" "all (r + 1) / 2"
 *   byte offsets beyond 2^31 and 2^32              "sum beyond 4 GiB of bases"
 *   two curves in one process, two streams at once "sum on two streams"
 *   one bucket holds nearly all                    "sum of bits" "sum of 98 % bits" "sum of equal scalars" ...
 *   twin runs give the same bytes                  "twin"
 *
 * Up to 1025 terms the CPU adds one by one; at 2^12, 2^16 and 2^20 by its own sums (kernels/msm.h); at any size the
 * sum's logarithm is known.
 *
 * Arguments: the largest size as a power of two, at least 8, and further sizes; 20 22 24 where there are none, and then
 * bases beyond 4 GiB too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/clock.h"
#include "kernels/cuda.h"
#include "kernels/msm.cuh"
#include "tests/gpu/generate.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

enum {
    BY_TERMS = 1025,        /* up to here the CPU adds term by term */
    CASE_TERMS = 600,       /* of the cases below; at least 253, for one scalar of each power of two */
    SMALL_CASE_TERMS = 256,
    SCRATCH_BYTES = 32 << 20,
};

static int failures;

struct setting {
    enum krn_curve_id curve;
    int g2;
    size_t n, point;        /* most terms; bytes of a point */
    struct msm msm;
    uint8_t *bases, *scalars;
    void *scratch;          /* for affine rounds of few terms */
    cudaStream_t stream;
    uint8_t k0[32], k1[32];
};

static size_t case_terms(void)
{
    return small_sizes() ? SMALL_CASE_TERMS : CASE_TERMS;
}

static void fail(const struct setting *s, const char *what, size_t n)
{
    printf("%s differs: %s G%d, n = %zu\n", what, krn_curve(s->curve)->name, s->g2 ? 2 : 1, n);
    failures++;
}

static void die_if(int status, const char *err)
{
    if (status) {
        printf("%s\n", err);
        exit(1);
    }
}

static void open_setting(struct setting *s, enum krn_curve_id curve, int g2, size_t n, int copies)
{
    char err[KRN_ERR_TEXT];
    void *scratch;
    *s = {};
    s->curve = curve;
    s->g2 = g2;
    s->n = n;
    s->point = reference_point_bytes(curve, g2);
    random_scalar(curve, 11, s->k0);
    random_scalar(curve, 12, s->k1);
    CHECK(cudaMalloc(&s->bases, s->point * n * copies));
    CHECK(cudaMalloc(&s->scalars, 32 * n));
    CHECK(cudaMalloc(&scratch, 2 * s->point * n));
    generate_points(curve, g2, s->k0, s->k1, s->bases, scratch, n, 0);
    CHECK(cudaFree(scratch));
    die_if(msm_open(&s->msm, curve, g2, n, copies, err), err);
    if (copies > 1)
        die_if(msm_expand(&s->msm, s->bases, n, 0, err), err);
    CHECK(cudaDeviceSynchronize());
}

/* Affine rounds for few terms too, or for none. */
static void set_affine(struct setting *s, bool affine)
{
    struct msm_sums *sums = &s->msm.sums;
    sums->affine_min = affine ? 0 : SIZE_MAX;
    if (!affine || sums->scratch_bytes)
        return;
    CHECK(cudaMalloc(&s->scratch, SCRATCH_BYTES));
    sums->scratch = s->scratch;
    sums->scratch_bytes = SCRATCH_BYTES;
}

static void close_setting(struct setting *s)
{
    msm_close(&s->msm);
    cudaFree(s->scratch);
    cudaFree(s->bases);
    cudaFree(s->scalars);
}

static void sum(struct setting *s, size_t n, uint8_t out[KRN_G2_MAX])
{
    char err[KRN_ERR_TEXT];
    memset(out, 0xee, KRN_G2_MAX);
    die_if(msm_run(&s->msm, s->bases, s->n, s->scalars, n, out, s->stream, err), err);
}

/* The first n terms against their logarithm and, at some sizes, the CPU; twice, for the same bytes. */
static void compare(struct setting *s, const char *what, size_t n)
{
    uint8_t got[KRN_G2_MAX], again[KRN_G2_MAX], want[KRN_G2_MAX], k[32];
    known_logarithm(s->curve, s->k0, s->k1, s->scalars, n, k);
    times_generator(s->curve, s->g2, k, want);
    sum(s, n, got);
    sum(s, n, again);
    if (memcmp(got, want, s->point))
        fail(s, what, n);
    if (memcmp(got, again, s->point))
        fail(s, "twin", n);
    if (n > BY_TERMS && n != 1u << 12 && n != 1u << 16 && n != 1u << 20)
        return;
    std::vector<uint8_t> points(s->point * n), scalars(32 * n);
    CHECK(cudaMemcpy(points.data(), s->bases, s->point * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(scalars.data(), s->scalars, 32 * n, cudaMemcpyDeviceToHost));
    (n > BY_TERMS ? reference_msm_fast : reference_msm)(s->curve, s->g2, points.data(), scalars.data(), n, want);
    if (memcmp(got, want, s->point))
        fail(s, "sum by terms", n);
}

static void sizes(struct setting *s)
{
    generate_scalars(s->curve, SCALARS_RANDOM, 5, s->scalars, s->n, 0);
    const size_t odd[] = {0, 1, 2, 31, 33};
    for (size_t n : odd)
        compare(s, "sum", n);
    for (size_t n = 64; n < s->n; n *= 4)
        for (size_t k = n - 1; k <= n + 1; k++)
            compare(s, "sum", k);
    const struct {
        const char *name;
        enum scalar_kind kind;
    } kinds[] = {{"sum of bits", SCALARS_BITS}, {"sum of 98 % bits", SCALARS_MOST_BITS},
                 {"sum of equal scalars", SCALARS_EQUAL}, {"sum of small scalars", SCALARS_SMALL}};
    for (auto &k : kinds) {
        generate_scalars(s->curve, k.kind, 6, s->scalars, s->n, 0);
        compare(s, k.name, s->n);
        compare(s, k.name, s->n / 2);
    }
}

/* ---- cases that such codes got wrong ---- */

static void by_terms(struct setting *s, const char *what, const std::vector<uint8_t> &points,
                     const std::vector<uint8_t> &scalars)
{
    const size_t n = scalars.size() / 32;
    uint8_t got[KRN_G2_MAX], want[KRN_G2_MAX];
    CHECK(cudaMemcpy(s->bases, points.data(), s->point * n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(s->scalars, scalars.data(), 32 * n, cudaMemcpyHostToDevice));
    if (msm_copies(&s->msm.largest) > 1) {
        char err[KRN_ERR_TEXT];
        die_if(msm_expand(&s->msm, s->bases, s->n, 0, err), err);
    }
    sum(s, n, got);
    reference_msm(s->curve, s->g2, points.data(), scalars.data(), n, want);
    if (memcmp(got, want, s->point))
        fail(s, what, n);
}

static void set_all(std::vector<uint8_t> *v, size_t bytes, const uint8_t *value)
{
    for (size_t i = 0; i * bytes < v->size(); i++)
        memcpy(v->data() + i * bytes, value, bytes);
}

/* The last scalar is r, r + 1 or all ones; and more terms than the workspace is for. */
static void refusals(struct setting *s, std::vector<uint8_t> scalars)
{
    char err[KRN_ERR_TEXT] = "";
    uint8_t out[KRN_G2_MAX], *last = scalars.data() + scalars.size() - 32;
    const size_t n = scalars.size() / 32;
    const char *const what[] = {"refusal of r", "refusal of r + 1", "refusal of 2^256 - 1"};
    memcpy(last, krn_curve(s->curve)->r, 32);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            last[0]++;                          /* r ends in 01 */
        if (i == 2)
            memset(last, 0xff, 32);
        CHECK(cudaMemcpy(s->scalars, scalars.data(), 32 * n, cudaMemcpyHostToDevice));
        if (msm_run(&s->msm, s->bases, s->n, s->scalars, n, out, s->stream, err) != -ERANGE)
            fail(s, what[i], n);
    }
    if (msm_run(&s->msm, s->bases, s->n, s->scalars, s->n + 1, out, s->stream, err) != -EINVAL)
        fail(s, "refusal of too many terms", s->n + 1);
}

static void cases(struct setting *s)
{
    const size_t n = case_terms();
    std::vector<uint8_t> points(s->point * n), scalars(32 * n);
    generate_scalars(s->curve, SCALARS_RANDOM, 7, s->scalars, n, 0);
    CHECK(cudaMemcpy(points.data(), s->bases, s->point * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(scalars.data(), s->scalars, 32 * n, cudaMemcpyDeviceToHost));
    const uint8_t *r = krn_curve(s->curve)->r;
    uint8_t value[32] = {0};

    std::vector<uint8_t> same = scalars;
    set_all(&same, 32, value);
    by_terms(s, "all zero", points, same);
    value[0] = 1;
    set_all(&same, 32, value);
    by_terms(s, "all one", points, same);
    memcpy(value, r, 32);
    value[0]--;                                 /* r is odd: no borrow */
    set_all(&same, 32, value);
    by_terms(s, "all r - 1", points, same);
    memset(value, 0, 32);
    for (int i = 0; i < 32; i++)
        value[i] = (uint8_t)(r[i] >> 1 | (i < 31 ? r[i + 1] << 7 : 0));
    set_all(&same, 32, value);
    by_terms(s, "all (r - 1) / 2", points, same);
    value[0]++;
    set_all(&same, 32, value);
    by_terms(s, "all (r + 1) / 2", points, same);
    /* Digits that carry all the way up. */
    memset(value, 0xff, 32);
    value[31] = s->curve == KRN_BN254 ? 0x0f : 0x1f;
    set_all(&same, 32, value);
    by_terms(s, "all ones", points, same);
    for (int bit = 0; bit < 253; bit++) {
        memset(same.data() + 32 * bit, 0, 32);
        same[32 * bit + bit / 8] = (uint8_t)(1 << bit % 8);
    }
    by_terms(s, "powers of two", points, same);

    std::vector<uint8_t> equal = points;
    set_all(&equal, s->point, points.data());
    by_terms(s, "equal bases", equal, scalars);
    set_all(&same, 32, scalars.data());
    by_terms(s, "equal scalars", points, same);
    by_terms(s, "equal bases and scalars", equal, same);
    /* P and -P in a row: under equal scalars the sum is infinity. */
    std::vector<uint8_t> opposite = equal;
    for (size_t i = 1; i < n; i += 2)
        reference_negate(s->curve, s->g2, opposite.data() + i * s->point);
    set_all(&same, 32, scalars.data());
    by_terms(s, "opposite bases", opposite, same);
    by_terms(s, "opposite bases, any scalars", opposite, scalars);
    std::vector<uint8_t> holes = points;
    for (size_t i = 0; i < n; i++)
        if (i % 3 != 1)
            memset(holes.data() + i * s->point, 0, s->point);
    by_terms(s, "infinities", holes, scalars);
    memset(holes.data(), 0, holes.size());
    by_terms(s, "all infinity", holes, scalars);

    by_terms(s, "more bases than scalars", points, std::vector<uint8_t>(scalars.begin(), scalars.end() - 32 * 7));
    refusals(s, scalars);
}

/* ---- large offsets; streams ---- */

/* So many bases that the last ones lie beyond 2^32 bytes, whatever the group. */
static void beyond_4_gib(enum krn_curve_id curve, int g2)
{
    struct setting s;
    const size_t n = ((size_t)1 << 32) / reference_point_bytes(curve, g2) + 4097;
    open_setting(&s, curve, g2, n, 1);
    generate_scalars(s.curve, SCALARS_RANDOM, 5, s.scalars, n, 0);
    compare(&s, "sum beyond 4 GiB of bases", n);
    close_setting(&s);
}

struct stream_thread {
    struct setting setting;
    uint8_t want[KRN_G2_MAX];
    int differ;
};

static void *sum_often(void *ctx)
{
    struct stream_thread *t = (struct stream_thread *)ctx;
    uint8_t got[KRN_G2_MAX];
    for (int i = 0; i < (small_sizes() ? 2 : 20); i++) {
        sum(&t->setting, t->setting.n, got);
        t->differ += memcmp(got, t->want, t->setting.point) != 0;
    }
    return NULL;
}

/* Both curves at once, each on a stream and a thread of its own. */
static void two_streams(void)
{
    static struct stream_thread t[KRN_CURVES];
    pthread_t thread[KRN_CURVES];
    for (int i = 0; i < KRN_CURVES; i++) {
        struct setting *s = &t[i].setting;
        uint8_t k[32];
        open_setting(s, (enum krn_curve_id)i, i, small_sizes() ? 300 : 30000, 1);
        generate_scalars(s->curve, SCALARS_RANDOM, 8, s->scalars, s->n, 0);
        known_logarithm(s->curve, s->k0, s->k1, s->scalars, s->n, k);
        times_generator(s->curve, s->g2, k, t[i].want);
        CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < KRN_CURVES; i++)
        pthread_create(&thread[i], NULL, sum_often, &t[i]);
    for (int i = 0; i < KRN_CURVES; i++) {
        pthread_join(thread[i], NULL);
        if (t[i].differ)
            fail(&t[i].setting, "sum on two streams", t[i].setting.n);
        CHECK(cudaStreamDestroy(t[i].setting.stream));
        close_setting(&t[i].setting);
    }
}

/* ---- all of it for one group ---- */

static void all_ways(enum krn_curve_id curve, int g2, int most)
{
    struct setting s;
    open_setting(&s, curve, g2, ((size_t)1 << most) + 2, 1);
    sizes(&s);
    set_affine(&s, true);
    if (!small_sizes())
        sizes(&s);
    cases(&s);
    set_affine(&s, false);
    if (!small_sizes())
        cases(&s);
    close_setting(&s);
    open_setting(&s, curve, g2, case_terms() + 1, 50);
    if (!small_sizes())
        sizes(&s);
    cases(&s);
    close_setting(&s);
}

static void one_size(enum krn_curve_id curve, int g2, int log)
{
    struct setting s;
    const size_t n = (size_t)1 << log, point = reference_point_bytes(curve, g2);
    size_t free_bytes = 0, total = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    if (n * (3 * point + 32) + krn_workspace_bytes(n, curve, g2, 1) > free_bytes) {
        printf("%s G%d, 2^%d terms left out: %zu bytes of device memory are free\n", krn_curve(curve)->name, g2 + 1,
               log, free_bytes);
        return;
    }
    open_setting(&s, curve, g2, n, 1);
    generate_scalars(s.curve, SCALARS_RANDOM, 5, s.scalars, n, 0);
    compare(&s, "sum", n);
    close_setting(&s);
}

int main(int argc, char **argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    const std::vector<int> logs = sizes_wanted(argc, argv, {20, 22, 24}, {8});
    const bool large = argc == 1 && !small_sizes();
    for (int curve = 0; curve < KRN_CURVES; curve++)
        for (int g2 = 0; g2 < 2; g2++) {
            const double start = krn_seconds();
            all_ways((enum krn_curve_id)curve, g2, logs[0]);
            for (size_t i = 1; i < logs.size(); i++)
                one_size((enum krn_curve_id)curve, g2, logs[i]);
            if (large)
                beyond_4_gib((enum krn_curve_id)curve, g2);
            printf("%s G%d: all cases, sizes to 2^%d + 1", krn_curve((enum krn_curve_id)curve)->name, g2 + 1, logs[0]);
            for (size_t i = 1; i < logs.size(); i++)
                printf(", 2^%d", logs[i]);
            printf("%s; %.1f s\n", large ? ", 4 GiB of bases" : "", krn_seconds() - start);
            fflush(stdout);
        }
    two_streams();
    printf("msm: %s\n", failures ? "failed" : "all sums equal");
    return failures != 0;
}
