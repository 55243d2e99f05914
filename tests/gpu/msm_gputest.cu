/*
 * tests/gpu/msm_gputest.cu: sums on the device against term-by-term sums on the CPU (small n), and against known
 * logarithms (any n), byte for byte.
 * Arguments: the largest size as a power of two, at least 10, and further sizes; 20 22 24 26 where there are none.
 */
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/msm.cuh"
#include "tests/gpu/generate.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

enum { BY_TERMS = 1025 };   /* up to here the CPU adds term by term */

static int failures;

struct setting {
    enum krn_curve_id curve;
    int g2;
    size_t n, point;        /* most terms; bytes of a point */
    struct msm msm;
    uint8_t *bases, *scalars;
    uint8_t k0[32], k1[32];
};

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

static void close_setting(struct setting *s)
{
    msm_close(&s->msm);
    cudaFree(s->bases);
    cudaFree(s->scalars);
}

static void sum(struct setting *s, size_t n, uint8_t out[KRN_G2_MAX])
{
    char err[KRN_ERR_TEXT];
    memset(out, 0xee, KRN_G2_MAX);
    die_if(msm_run(&s->msm, s->bases, s->n, s->scalars, n, out, 0, err), err);
}

/* The first n terms against their logarithm, and term by term where they are few; twice, for the same bytes. */
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
    if (n > BY_TERMS)
        return;
    std::vector<uint8_t> points(s->point * n), scalars(32 * n);
    CHECK(cudaMemcpy(points.data(), s->bases, s->point * n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(scalars.data(), s->scalars, 32 * n, cudaMemcpyDeviceToHost));
    reference_msm(s->curve, s->g2, points.data(), scalars.data(), n, want);
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

enum { CASE_TERMS = 600 };

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

static void cases(struct setting *s)
{
    const size_t n = CASE_TERMS;
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

    /* Scalars not below r are refused. */
    char err[KRN_ERR_TEXT] = "";
    uint8_t out[KRN_G2_MAX];
    memcpy(scalars.data() + 32 * (n - 1), r, 32);
    CHECK(cudaMemcpy(s->scalars, scalars.data(), 32 * n, cudaMemcpyHostToDevice));
    if (msm_run(&s->msm, s->bases, s->n, s->scalars, n, out, 0, err) != -ERANGE)
        fail(s, "refusal of r", n);
    if (msm_run(&s->msm, s->bases, s->n, s->scalars, s->n + 1, out, 0, err) != -EINVAL)
        fail(s, "refusal of too many terms", s->n + 1);
}

int main(int argc, char **argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    static char *by_default[] = {NULL, (char *)"20", (char *)"22", (char *)"24", (char *)"26"};
    if (argc == 1) {
        argc = 5;
        argv = by_default;
    }
    const int most = atoi(argv[1]);
    for (int curve = 0; curve < KRN_CURVES; curve++)
        for (int g2 = 0; g2 < 2; g2++) {
            struct setting s;
            open_setting(&s, (enum krn_curve_id)curve, g2, ((size_t)1 << most) + 2, 1);
            sizes(&s);
            s.msm.sums.affine_min = 0;      /* affine rounds for few terms too, where there is scratch for them */
            sizes(&s);
            cases(&s);
            s.msm.sums.affine_min = SIZE_MAX;
            cases(&s);
            close_setting(&s);
            open_setting(&s, (enum krn_curve_id)curve, g2, CASE_TERMS + 1, 50);
            sizes(&s);
            cases(&s);
            close_setting(&s);
            for (int i = 2; i < argc; i++) {
                const size_t n = (size_t)1 << atoi(argv[i]);
                const size_t point = reference_point_bytes((enum krn_curve_id)curve, g2);
                size_t free_bytes = 0, total = 0;
                CHECK(cudaMemGetInfo(&free_bytes, &total));
                if (n * (3 * point + 32) + krn_workspace_bytes(n, (enum krn_curve_id)curve, g2, 1) > free_bytes) {
                    printf("%zu terms left out: %zu bytes of device memory are free\n", n, free_bytes);
                    continue;
                }
                open_setting(&s, (enum krn_curve_id)curve, g2, n, 1);
                generate_scalars(s.curve, SCALARS_RANDOM, 5, s.scalars, n, 0);
                compare(&s, "sum", n);
                close_setting(&s);
            }
            fflush(stdout);
        }
    printf("msm: %s\n", failures ? "failed" : "all sums equal");
    return failures != 0;
}
