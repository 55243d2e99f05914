/*
 * Nanoseconds for one operation of the CPU's scalar arithmetic, on one thread, the best of several rounds; beside it
 * the floor: what the products of 64-bit words alone cost at the rate measured here (limit.h), 2 n^2 + n of them in a
 * Montgomery multiplication of n words.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernels/pairing.h"
#include "tests/bench/limit.h"

enum { ROUNDS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")

/* ns = time of one `statement`, the best round of `count` each. */
#define MEASURE(ns, count, statement)                                                                                \
    do {                                                                                                             \
        ns = 1e30;                                                                                                   \
        for (int round = 0; round < ROUNDS; round++) {                                                               \
            double start = now();                                                                                    \
            for (int k = 0; k < (count); k++) {                                                                      \
                statement;                                                                                           \
            }                                                                                                        \
            double took = (now() - start) * 1e9 / (count);                                                           \
            ns = took < ns ? took : ns;                                                                              \
        }                                                                                                            \
    } while (0)

static void print(const char *name, double ns, double products, double rate)
{
    if (products > 0)
        printf("%-28s %10.1f ns   floor %7.1f ns\n", name, ns, products / rate * 1e9);
    else
        printf("%-28s %10.1f ns\n", name, ns);
}

#define BENCH_FIELD(F)                                                                                               \
    static void F##_bench(double rate)                                                                              \
    {                                                                                                                \
        const double products = 2 * F##_limbs * F##_limbs + F##_limbs;                                               \
        F x = F##_r2(), y = F##_r2();                                                                                \
        double ns;                                                                                                   \
        MEASURE(ns, 1000000, F##_mul(&x, &x, &y); KEEP(&x));                                                         \
        print(#F " mul", ns, products, rate);                                                                       \
        MEASURE(ns, 1000000, F##_sqr(&x, &x); KEEP(&x));                                                             \
        print(#F " sqr", ns, products - F##_limbs * (F##_limbs - 1) / 2, rate);                                     \
        MEASURE(ns, 1000000, F##_add(&x, &x, &y); KEEP(&x));                                                         \
        print(#F " add", ns, 0, rate);                                                                              \
        MEASURE(ns, 1000000, F##_sub(&x, &x, &y); KEEP(&x));                                                         \
        print(#F " sub", ns, 0, rate);                                                                              \
        MEASURE(ns, 200, F##_inv(&x, &x); KEEP(&x));                                                                 \
        print(#F " inv", ns, 0, rate);                                                                              \
    }

/* m, s: multiplications of Fq in a multiplication and a square of the group's field. */
#define BENCH_GROUP(G, FQ, m, s)                                                                                     \
    static void G##_bench(double rate)                                                                              \
    {                                                                                                                \
        const double products = 2 * FQ##_limbs * FQ##_limbs + FQ##_limbs;                                            \
        const G##_affine g = G##_generator();                                                                        \
        G##_xyzz x;                                                                                                  \
        double ns;                                                                                                   \
        G##_from_affine(&x, &g);                                                                                     \
        G##_dbl(&x, &x);                                                                                             \
        MEASURE(ns, 20000, G##_madd(&x, &x, &g); KEEP(&x));                                                          \
        print(#G " madd", ns, products * (8 * m + 2 * s), rate);                                                    \
        MEASURE(ns, 20000, G##_dbl(&x, &x); KEEP(&x));                                                               \
        print(#G " dbl", ns, products * (6 * m + 3 * s), rate);                                                     \
    }

#define BENCH_PAIRING(C)                                                                                             \
    static void C##_bench(double rate)                                                                              \
    {                                                                                                                \
        C##_g1_affine p[4];                                                                                          \
        C##_g2_affine q[4];                                                                                          \
        C##_fq12 f;                                                                                                  \
        double ns;                                                                                                   \
        for (int i = 0; i < 4; i++) {                                                                                \
            p[i] = C##_g1_generator();                                                                               \
            q[i] = C##_g2_generator();                                                                               \
        }                                                                                                            \
        MEASURE(ns, 20, C##_pairing(&f, p, q, 1); KEEP(&f));                                                         \
        print(#C " pairing", ns, 0, rate);                                                                          \
        MEASURE(ns, 20, C##_pairing(&f, p, q, 4); KEEP(&f));                                                         \
        print(#C " product of 4", ns, 0, rate);                                                                     \
        MEASURE(ns, 100, C##_g2_in_subgroup(q));                                                                     \
        print(#C " g2_in_subgroup", ns, 0, rate);                                                                   \
    }

BENCH_FIELD(bn254_fr)
BENCH_FIELD(bn254_fq)
BENCH_FIELD(bls381_fr)
BENCH_FIELD(bls381_fq)
BENCH_GROUP(bn254_g1, bn254_fq, 1, 1)
BENCH_GROUP(bn254_g2, bn254_fq, 3, 2)
BENCH_GROUP(bls381_g1, bls381_fq, 1, 1)
BENCH_GROUP(bls381_g2, bls381_fq, 3, 2)
BENCH_PAIRING(bn254)
BENCH_PAIRING(bls381)

int main(void)
{
    double rate = limit_rate(limit_run_mul64, 1);
    printf("%-28s %10.2f G/s\n", "64-bit products", rate / 1e9);
    bn254_fr_bench(rate);
    bn254_fq_bench(rate);
    bls381_fr_bench(rate);
    bls381_fq_bench(rate);
    bn254_g1_bench(rate);
    bn254_g2_bench(rate);
    bls381_g1_bench(rate);
    bls381_g2_bench(rate);
    bn254_bench(rate);
    bls381_bench(rate);
    return 0;
}
