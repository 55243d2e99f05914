/*
 * tests/gpu/ntt_gputest.cu: transforms on the device against the textbook ones on the CPU, byte for byte.
 * Arguments: the largest size, as a power of two, and further sizes checked by spot values; 22 24 27 where there are
 * none.
 */
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/ntt.cuh"
#include "tests/gpu/generate.cuh"

extern "C" {
#include "tests/gpu/reference.h"
}

static int failures;

static void expect(bool ok, const char *what, enum krn_curve_id curve, int log)
{
    if (ok)
        return;
    printf("%s differs: %s, 2^%d\n", what, krn_curve(curve)->name, log);
    failures++;
}

struct setting {
    enum krn_curve_id curve;
    int log;
    size_t bytes;
    struct ntt_tables tables;
    void *memory;
    uint8_t *data[5];   /* a, b, work (two), h */
};

static void open_setting(struct setting *s, enum krn_curve_id curve, int log)
{
    char err[KRN_ERR_TEXT];
    s->curve = curve;
    s->log = log;
    s->bytes = (size_t)KRN_FR_BYTES << log;
    CHECK(cudaMalloc(&s->memory, ntt_tables_bytes(log)));
    for (int i = 0; i < 5; i++)
        CHECK(cudaMalloc(&s->data[i], s->bytes * (i == 2 ? 2 : 1)));
    if (ntt_tables_init(&s->tables, curve, log, s->memory, 0, err)) {
        printf("%s\n", err);
        exit(1);
    }
    generate_scalars(curve, SCALARS_RANDOM, 1000 + log, s->data[0], (size_t)1 << log, 0);
    generate_scalars(curve, SCALARS_RANDOM, 2000 + log, s->data[1], (size_t)1 << log, 0);
    CHECK(cudaDeviceSynchronize());
}

static void close_setting(struct setting *s)
{
    cudaFree(s->memory);
    for (int i = 0; i < 5; i++)
        cudaFree(s->data[i]);
}

static void run(struct setting *s, enum ntt_kind kind, const struct ntt_item *items, int count)
{
    char err[KRN_ERR_TEXT];
    if (ntt_run(&s->tables, kind, items, count, 0, err)) {
        printf("%s\n", err);
        exit(1);
    }
    CHECK(cudaDeviceSynchronize());
}

static std::vector<uint8_t> fetch(const struct setting *s, int which)
{
    std::vector<uint8_t> v(s->bytes);
    CHECK(cudaMemcpy(v.data(), s->data[which], s->bytes, cudaMemcpyDeviceToHost));
    return v;
}

/* Every kind against the reference; a in data[0], b in data[1]. */
static void compare(enum krn_curve_id curve, int log)
{
    struct setting s;
    const size_t n = (size_t)1 << log;
    open_setting(&s, curve, log);
    const std::vector<uint8_t> a = fetch(&s, 0), b = fetch(&s, 1);

    std::vector<uint8_t> want = a;
    reference_ntt(curve, log, 1, want.data());
    std::vector<uint8_t> coset = want;
    reference_bit_reverse(log, want.data());
    const struct ntt_item to_work = {s.data[0], NULL, s.data[2], NULL, NULL};
    run(&s, NTT_INVERSE, &to_work, 1);
    expect(fetch(&s, 2) == want, "inverse", curve, log);

    const struct ntt_item back = {s.data[2], NULL, s.data[2], NULL, NULL};
    run(&s, NTT_FORWARD, &back, 1);
    expect(fetch(&s, 2) == a, "forward after inverse", curve, log);

    reference_coset(curve, log, coset.data());
    reference_ntt(curve, log, 0, coset.data());
    run(&s, NTT_TO_COSET, &to_work, 1);
    expect(fetch(&s, 2) == coset, "to coset", curve, log);

    /* a and b as if they were Montgomery: h = a b - c there, plain. */
    std::vector<uint8_t> c(s.bytes), h(s.bytes), other = b;
    reference_mul(curve, c.data(), a.data(), b.data(), n);
    reference_ntt(curve, log, 1, c.data());
    reference_coset(curve, log, c.data());
    reference_ntt(curve, log, 0, c.data());
    reference_ntt(curve, log, 1, other.data());
    reference_coset(curve, log, other.data());
    reference_ntt(curve, log, 0, other.data());
    reference_mul(curve, h.data(), coset.data(), other.data(), n);
    reference_sub(curve, h.data(), h.data(), c.data(), n);
    reference_plain(curve, h.data(), n);
    char err[KRN_ERR_TEXT];
    if (ntt_quotient(&s.tables, s.data[0], s.data[1], NULL, s.data[2], s.data[4], 0, err)) {
        printf("%s\n", err);
        exit(1);
    }
    CHECK(cudaDeviceSynchronize());
    expect(fetch(&s, 4) == h, "quotient", curve, log);
    expect(fetch(&s, 0) == a && fetch(&s, 1) == b, "inputs of the quotient", curve, log);
    close_setting(&s);
}

/* Large sizes: forward of a vector with few terms is known in closed form, and inverse then forward is the identity. */
static void spot(enum krn_curve_id curve, int log)
{
    struct setting s;
    const size_t n = (size_t)1 << log;
    open_setting(&s, curve, log);
    const std::vector<uint8_t> a = fetch(&s, 0);
    const struct ntt_item to_work = {s.data[0], NULL, s.data[2], NULL, NULL};
    const struct ntt_item back = {s.data[2], NULL, s.data[2], NULL, NULL};
    run(&s, NTT_INVERSE, &to_work, 1);
    std::vector<uint8_t> coefficients = fetch(&s, 2);
    expect(coefficients != a, "inverse left the values", curve, log);
    for (size_t j = 1; j < n; j = j * 5 + 3) {
        uint8_t value[32];
        reference_evaluate(curve, log, coefficients.data(), j, value);
        expect(memcmp(value, &a[32 * j], 32) == 0, "value at a point", curve, log);
    }
    run(&s, NTT_FORWARD, &back, 1);
    expect(fetch(&s, 2) == a, "forward after inverse", curve, log);
    close_setting(&s);
}

int main(int argc, char **argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    static char *by_default[] = {NULL, (char *)"22", (char *)"24", (char *)"27"};
    if (argc == 1) {
        argc = 4;
        argv = by_default;
    }
    const int most = atoi(argv[1]);
    for (int curve = 0; curve < KRN_CURVES; curve++)
        for (int log = 0; log <= most; log++)
            compare((enum krn_curve_id)curve, log);
    for (int curve = 0; curve < KRN_CURVES; curve++)
        for (int i = 2; i < argc; i++) {
            const int log = atoi(argv[i]);
            size_t free_bytes = 0, total = 0;
            CHECK(cudaMemGetInfo(&free_bytes, &total));
            if (((size_t)KRN_FR_BYTES << log) * 8 < free_bytes)
                spot((enum krn_curve_id)curve, log);
            else
                printf("2^%d left out: %zu bytes of device memory are free\n", log, free_bytes);
        }
    char err[KRN_ERR_TEXT] = "";
    struct ntt_tables tables;
    if (ntt_tables_init(&tables, KRN_BN254, 29, NULL, 0, err) != -EINVAL || !err[0]) {
        printf("2^29 was let in\n");
        failures++;
    }
    printf("ntt: %s\n", failures ? "failed" : "all sizes equal");
    return failures != 0;
}
