/*
 * tests/gpu/ntt_gputest.cu: transforms on the device against the textbook ones on the CPU, byte for byte: inverse,
 * forward, to the odd coset, and the quotient. All sizes from 2^0; at further, larger ones by values at a random point:
 * the polynomial of the coefficients that came out has there the value that follows from all values that went in (two
 * polynomials of degree below 2^28 agree at a random point with a chance below 2^-225).
 *
 * Arguments: the largest size compared byte for byte, as a power of two, and further sizes; 22 24 27 where there are
 * none.
 */
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "kernels/clock.h"
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

/* Large sizes, by values at a random point. */
static void at_a_point(enum krn_curve_id curve, int log)
{
    struct setting s;
    uint8_t z[32], want[32], got[32];
    open_setting(&s, curve, log);
    std::vector<uint8_t> v(s.bytes);
    const struct ntt_item to_work = {s.data[0], NULL, s.data[2], NULL, NULL};
    const struct ntt_item back = {s.data[2], NULL, s.data[2], NULL, NULL};
    random_scalar(curve, 3000 + log, z);
    CHECK(cudaMemcpy(v.data(), s.data[0], s.bytes, cudaMemcpyDeviceToHost));
    reference_interpolate(curve, log, v.data(), 0, z, want);

    run(&s, NTT_INVERSE, &to_work, 1);
    CHECK(cudaMemcpy(v.data(), s.data[2], s.bytes, cudaMemcpyDeviceToHost));
    reference_evaluate(curve, log, v.data(), z, got);
    expect(memcmp(got, want, 32) == 0, "inverse", curve, log);

    run(&s, NTT_FORWARD, &back, 1);
    expect(same_on_device(s.data[0], s.data[2], s.bytes), "forward after inverse", curve, log);

    run(&s, NTT_TO_COSET, &to_work, 1);
    CHECK(cudaMemcpy(v.data(), s.data[2], s.bytes, cudaMemcpyDeviceToHost));
    reference_interpolate(curve, log, v.data(), 1, z, got);
    expect(memcmp(got, want, 32) == 0, "to coset", curve, log);
    close_setting(&s);
}

/* Sizes are powers of two by their type; a table of 2^-1 or 2^29 is refused. */
static void refusals(void)
{
    for (int log : {-1, 29}) {
        char err[KRN_ERR_TEXT] = "";
        struct ntt_tables tables;
        if (ntt_tables_init(&tables, KRN_BN254, log, NULL, 0, err) != -EINVAL || !err[0]) {
            printf("2^%d was let in\n", log);
            failures++;
        }
    }
}

int main(int argc, char **argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    const std::vector<int> logs = sizes_wanted(argc, argv, {22, 24, 27}, {11, 12});
    for (int c = 0; c < KRN_CURVES; c++) {
        const enum krn_curve_id curve = (enum krn_curve_id)c;
        double start = krn_seconds();
        for (int log = 0; log <= logs[0]; log++)
            compare(curve, log);
        printf("%s: every size to 2^%d, all kinds, all bytes; %.1f s\n", krn_curve(curve)->name, logs[0],
               krn_seconds() - start);
        for (size_t i = 1; i < logs.size(); i++) {
            size_t free_bytes = 0, total = 0;
            start = krn_seconds();
            CHECK(cudaMemGetInfo(&free_bytes, &total));
            if (((size_t)KRN_FR_BYTES << logs[i]) * 8 >= free_bytes) {
                printf("2^%d left out: %zu bytes of device memory are free\n", logs[i], free_bytes);
                continue;
            }
            at_a_point(curve, logs[i]);
            printf("%s: 2^%d, inverse, forward, to coset, by a random point; %.1f s\n", krn_curve(curve)->name, logs[i],
                   krn_seconds() - start);
        }
        fflush(stdout);
    }
    refusals();
    printf("ntt: %s\n", failures ? "failed" : "all sizes equal");
    return failures != 0;
}
