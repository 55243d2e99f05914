/*
 * Multiples of the generators and Lagrange values on the device: the bytes that the CPU gives, by tables of all sizes,
 * with the scalars that matter among random ones, whole and in parts.
 */
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/setup.cuh"
#include "tests/gpu/generate.cuh"

typedef std::vector<uint8_t> bytes;

static int failures;

static void expect(bool good, const char *what, enum krn_curve_id curve, size_t a, size_t b)
{
    if (good)
        return;
    printf("%s: %s, %zu, %zu\n", krn_curve(curve)->name, what, a, b);
    failures++;
}

/* Random, and 0, 1, r - 1, and digits that all carry. */
static bytes some_scalars(enum krn_curve_id curve, size_t n)
{
    bytes s(n * KRN_FR_BYTES);
    for (size_t i = 0; i < n; i++)
        random_scalar(curve, 1000 + i, &s[i * KRN_FR_BYTES]);
    if (n > 0)
        memset(&s[0], 0, KRN_FR_BYTES);
    if (n > 1) {
        memset(&s[KRN_FR_BYTES], 0, KRN_FR_BYTES);
        s[KRN_FR_BYTES] = 1;
    }
    if (n > 2) {
        memcpy(&s[2 * KRN_FR_BYTES], krn_curve(curve)->r, KRN_FR_BYTES);
        s[2 * KRN_FR_BYTES]--;
    }
    if (n > 3)
        memset(&s[3 * KRN_FR_BYTES], 0xff, KRN_FR_BYTES - 2);
    if (n > 3)
        memset(&s[4 * KRN_FR_BYTES - 2], 0, 2);
    return s;
}

/* n multiples where tables are for `planned`. */
static bytes multiples(const struct krn_setup_backend *backend, enum krn_curve_id curve, int group, size_t planned,
                       const bytes &scalars, size_t n)
{
    const size_t point = (size_t)2 * group * krn_curve(curve)->fq_bytes;
    char err[KRN_ERR_TEXT] = "";
    bytes out;
    struct krn_setup *s = backend->open(curve, planned, planned, 0, err);
    for (size_t at = 0, m; s && at < n; at += m) {
        m = n - at;
        const uint8_t *points = backend->multiples(s, group, &scalars[at * KRN_FR_BYTES], &m, err);
        if (!points)
            break;
        out.insert(out.end(), points, points + m * point);
    }
    if (s)
        backend->close(s);
    if (out.size() != n * point) {
        printf("%s: %s\n", backend->name, err);
        exit(1);
    }
    return out;
}

static void check_multiples(enum krn_curve_id curve, int group)
{
    const size_t sizes[] = {1, 31, 32, 33, 4095, 4097, (1 << 16) + 1}, plans[] = {1, 1000, 1 << 26};
    const bytes scalars = some_scalars(curve, (1 << 16) + 1);
    const bytes want = multiples(&krn_setup_cpu, curve, group, 1 << 16, scalars, (1 << 16) + 1);
    const size_t point = (size_t)2 * group * krn_curve(curve)->fq_bytes;
    for (size_t n : sizes)
        for (size_t planned : plans) {
            if (small_sizes() && (n > 33 || planned > 1000))
                continue;
            const bytes got = multiples(&krn_setup_cuda, curve, group, planned, scalars, n);
            expect(memcmp(got.data(), want.data(), n * point) == 0, group == 1 ? "G1" : "G2", curve, n, planned);
        }
}

static void check_lagrange(enum krn_curve_id curve, enum krn_lagrange_kind kind, uint32_t log)
{
    const struct krn_scalar_field f = krn_scalar_field(curve);
    const size_t n = (size_t)1 << log, cut = n / 3;
    struct krn_scalar tau, scale;
    struct krn_lagrange_terms terms;
    char err[KRN_ERR_TEXT] = "";
    bytes want(n * KRN_FR_BYTES), got(n * KRN_FR_BYTES);
    uint8_t *device;
    random_scalar(curve, 5 + log, (uint8_t *)&tau);
    random_scalar(curve, 6 + log, (uint8_t *)&scale);
    expect(krn_lagrange(&f, kind, (struct krn_scalar *)want.data(), log, &tau, &scale, 0) == 0, "CPU", curve, kind,
           log);
    expect(krn_lagrange_terms(&f, kind, log, &tau, &scale, &terms) == 0, "terms", curve, kind, log);
    CHECK(cudaMalloc(&device, n * KRN_FR_BYTES));
    CHECK(cudaMemset(device, 0xee, n * KRN_FR_BYTES));
    int status = setup_lagrange(curve, &terms, device, 0, cut, 0, err);
    if (status == 0)
        status = setup_lagrange(curve, &terms, device + cut * KRN_FR_BYTES, cut, n - cut, 0, err);
    CHECK(cudaMemcpy(got.data(), device, n * KRN_FR_BYTES, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    expect(status == 0 && got == want, "Lagrange", curve, kind, log);
}

int main(void)
{
    char err[KRN_ERR_TEXT] = "";
    if (krn_setup_cuda.count(err) == 0) {
        printf("%s\n", err);
        return 77;
    }
    for (int c = 0; c < KRN_CURVES; c++) {
        const enum krn_curve_id curve = (enum krn_curve_id)c;
        for (int group = 1; group <= 2; group++)
            check_multiples(curve, group);
        for (uint32_t log : {0u, 1u, 5u, 6u, 13u, 18u})
            for (int kind = 0; kind < 2 && (log < 13 || !small_sizes()); kind++)
                check_lagrange(curve, (enum krn_lagrange_kind)kind, log);
    }
    printf("setup: %s\n", failures ? "failed" : "all as on the CPU");
    return failures != 0;
}
