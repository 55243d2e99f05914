/*
 * Lagrange values by what defines them: for every polynomial p of a degree below the domain's size the sum of
 * p(w^k) L_k(tau) is p(tau), and roots of unity against their published values.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/krn.h"
#include "kernels/lagrange.h"

enum { MAX_LOG = 11 };

static int failures;

static void expect(int ok, const char *curve, const char *what, uint32_t log)
{
    if (ok)
        return;
    printf("%s: %s wrong, domain 2^%u\n", curve, what, log);
    failures++;
}

static struct krn_scalar power(const struct krn_scalar_field *f, const struct krn_scalar *x, uint64_t e)
{
    struct krn_scalar r;
    krn_scalar_pow(f, &r, x, &(struct krn_scalar){{e}});
    return r;
}

/* Sum of values[i] * (first * step^i)^degree. */
static struct krn_scalar moment(const struct krn_scalar_field *f, const struct krn_scalar *values, size_t n,
                                const struct krn_scalar *first, const struct krn_scalar *step, uint64_t degree)
{
    struct krn_scalar sum = {{0}}, point = power(f, first, degree), factor = power(f, step, degree), t;

    for (size_t i = 0; i < n; i++) {
        krn_scalar_mul(f, &t, &values[i], &point);
        krn_scalar_add(f, &sum, &sum, &t);
        krn_scalar_mul(f, &point, &point, &factor);
    }
    return sum;
}

/* p(x) = x^degree, on all of the domain. */
static void check_all(const struct krn_scalar_field *f, const char *curve, uint32_t log, const struct krn_scalar *tau,
                      uint64_t degree, struct krn_scalar *values)
{
    struct krn_scalar root;

    krn_scalar_root(f, &root, log);
    expect(krn_lagrange(f, KRN_LAGRANGE_ALL, values, log, tau, &f->one, 2) == 0, curve, "result", log);
    const struct krn_scalar sum = moment(f, values, (size_t)1 << log, &f->one, &root, degree);
    const struct krn_scalar want = power(f, tau, degree);
    expect(krn_scalar_eq(&sum, &want), curve, "all points", log);
}

/* p(x) = (x^n - 1) x^degree on the doubled domain: zero at its even points, so that only the odd ones count. */
static void check_odd(const struct krn_scalar_field *f, const char *curve, uint32_t log, const struct krn_scalar *tau,
                      uint64_t degree, struct krn_scalar *values)
{
    const size_t n = (size_t)1 << log;
    struct krn_scalar root, step, sum, want, minus_two, factor;

    krn_scalar_root(f, &root, log + 1);
    krn_scalar_mul(f, &step, &root, &root);
    /* w^n = -1 for w of order 2n: x^n - 1 is -2 at every odd point; the values are scaled by it here */
    krn_scalar_set_u64(f, &factor, 2);
    krn_scalar_sub(f, &minus_two, &(struct krn_scalar){{0}}, &factor);
    expect(krn_lagrange(f, KRN_LAGRANGE_ODD, values, log, tau, &minus_two, 3) == 0, curve, "result", log);
    sum = moment(f, values, n, &root, &step, degree);
    want = power(f, tau, n);
    krn_scalar_sub(f, &want, &want, &f->one);
    factor = power(f, tau, degree);
    krn_scalar_mul(f, &want, &want, &factor);
    expect(krn_scalar_eq(&sum, &want), curve, "odd points", log);
}

static void check_curve(enum krn_curve_id id, const char *root_of_all)
{
    const struct krn_scalar_field f = krn_scalar_field(id);
    const char *name = krn_curve(id)->name;
    struct krn_scalar root, plain, tau, *values = malloc(sizeof *values << MAX_LOG);
    char text[2 * KRN_FR_BYTES + 1];

    if (values == NULL) {
        failures++;
        return;
    }
    krn_scalar_root(&f, &root, f.two_adicity);
    krn_scalar_from_mont(&f, &plain, &root);
    for (int i = 0; i < KRN_SCALAR_LIMBS; i++)
        snprintf(text + 16 * i, 17, "%016lx", plain.l[KRN_SCALAR_LIMBS - 1 - i]);
    expect(strcmp(text, root_of_all) == 0, name, "root of unity", f.two_adicity);

    krn_scalar_set_u64(&f, &tau, 0x123456789abcdef1);
    for (uint32_t log = 0; log <= MAX_LOG; log++) {
        const uint64_t degrees[] = {0, 1, (1u << log) / 3, (1u << log) - 1};
        for (int i = 0; i < 4; i++) {
            if (degrees[i] >> log != 0)
                continue;
            check_all(&f, name, log, &tau, degrees[i], values);
            check_odd(&f, name, log, &tau, degrees[i], values);
        }
    }
    krn_scalar_root(&f, &tau, 5);
    expect(krn_lagrange(&f, KRN_LAGRANGE_ALL, values, 5, &tau, &f.one, 1) == -EDOM, name, "a point of the domain", 5);
    expect(krn_lagrange(&f, KRN_LAGRANGE_ODD, values, 4, &tau, &f.one, 1) == -EDOM, name, "an odd point", 4);
    free(values);
}

int main(void)
{
    /* 5^((r-1)/2^28) and 5^((r-1)/2^32) as snarkjs has them */
    check_curve(KRN_BN254, "2a3c09f0a58a7e8500e0a7eb8ef62abc402d111e41112ed49bd61b6e725b19f0");
    check_curve(KRN_BLS12_381, "0212d79e5b416b6f0fd56dc8d168d6c0c4024ff270b3e0941b788f500b912f1f");
    return failures != 0;
}
