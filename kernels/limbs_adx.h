/*
 * kernels/limbs_adx.h: the row of a product for processors with BMI2 and ADX: one multiplication (mulx) and two
 * additions a word, the low halves' carries in CF and the high halves' in OF, which no compiler keeps apart by itself.
 * Part of kernels/limbs.h, for files that are compiled for such processors.
 */
#ifndef KERNELS_LIMBS_ADX_H
#define KERNELS_LIMBS_ADX_H

#define LIMBS_STEP(i, next, offset)                                                                                  \
    "mulx " offset "(%[a]), %[lo], %[hi]\n\t"                                                                        \
    "adcx %[lo], %[t" #i "]\n\t"                                                                                     \
    "adox %[hi], %[t" #next "]\n\t"

/* t[0..4] += a[0..3] * b, for a sum of less than 2^320. */
KRN_FN void limbs_row_4(uint64_t *t, const uint64_t *a, uint64_t b)
{
    uint64_t lo, hi, zero;
    __asm__("xorl %k[zero], %k[zero]\n\t"      /* and both carries */
            LIMBS_STEP(0, 1, "0") LIMBS_STEP(1, 2, "8") LIMBS_STEP(2, 3, "16") LIMBS_STEP(3, 4, "24")
            "adcx %[zero], %[t4]\n\t"
            : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [t4] "+&r"(t[4]),
              [lo] "=&r"(lo), [hi] "=&r"(hi), [zero] "=&r"(zero)
            : [a] "r"(a), "d"(b), "m"(*(const uint64_t (*)[4])a)
            : "cc");
}

/* t[0..6] += a[0..5] * b, for a sum of less than 2^448. */
KRN_FN void limbs_row_6(uint64_t *t, const uint64_t *a, uint64_t b)
{
    uint64_t lo, hi, zero;
    __asm__("xorl %k[zero], %k[zero]\n\t"
            LIMBS_STEP(0, 1, "0") LIMBS_STEP(1, 2, "8") LIMBS_STEP(2, 3, "16") LIMBS_STEP(3, 4, "24")
            LIMBS_STEP(4, 5, "32") LIMBS_STEP(5, 6, "40")
            "adcx %[zero], %[t6]\n\t"
            : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [t4] "+&r"(t[4]),
              [t5] "+&r"(t[5]), [t6] "+&r"(t[6]), [lo] "=&r"(lo), [hi] "=&r"(hi), [zero] "=&r"(zero)
            : [a] "r"(a), "d"(b), "m"(*(const uint64_t (*)[6])a)
            : "cc");
}

KRN_FN void limbs_row(uint64_t *t, const uint64_t *a, uint64_t b, const int n)
{
    if (n == 4)
        limbs_row_4(t, a, b);
    else
        limbs_row_6(t, a, b);
}

#undef LIMBS_STEP

#endif
