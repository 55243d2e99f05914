/* The blinding scalars: below the order, never the same twice, spread over its whole range; and the hook for fixed
 * ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/decimal.h"
#include "gpud/random.h"
#include "tests/check.h"

enum { DRAWS = 4000 };

static int compare(const void *a, const void *b) {
    return memcmp(a, b, KRN_FR_BYTES);
}

/*
 * Each sixteenth of [0, r) must get its share. Of 8000 draws 500 are expected in each, with a standard deviation of
 * 22; a share off by 8 of those is no chance (10^-15), and a draw reduced modulo r instead of rejected would be.
 */
static void test_spread(const struct krn_curve *curve) {
    static uint8_t all[2 * DRAWS][KRN_FR_BYTES];
    unsigned share[16] = {0}, top = ((unsigned)curve->r[31] << 8 | curve->r[30]) + 1;
    struct gpud_error err;
    for (int i = 0; i < DRAWS; i++) {
        struct gpud_blinding b;
        CHECK(gpud_random_blinding(curve, &b, &err) == 0);
        memcpy(all[2 * i], b.r, KRN_FR_BYTES);
        memcpy(all[2 * i + 1], b.s, KRN_FR_BYTES);
    }
    for (int i = 0; i < 2 * DRAWS; i++) {
        CHECK(fmt_below(all[i], curve->r, KRN_FR_BYTES));
        share[((unsigned)all[i][31] << 8 | all[i][30]) * 16 / top]++;
    }
    for (int i = 0; i < 16; i++) {
        if (share[i] < 320 || share[i] > 680) {
            printf("%s: %u of %d draws in sixteenth %d\n", curve->name, share[i], 2 * DRAWS, i);
            failures++;
        }
    }
    qsort(all, 2 * DRAWS, KRN_FR_BYTES, compare);
    for (int i = 1; i < 2 * DRAWS; i++) CHECK(compare(all[i - 1], all[i]) != 0);
}

static void test_hook(void) {
    static const char *const bad[] = {
        "", ",", "1", "1,", ",1", "1,2,3", "-1,2", "0x1,2", "1, 2", "01,2",
        /* BN254's group order, which is below BLS12-381's */
        "21888242871839275222246405745257275088548364400416034343698204186575808495617,1",
        "1,115792089237316195423570985008687907853269984665640564039457584007913129639936",
    };
    struct gpud_blinding b;
    struct gpud_error err;
    unsetenv("PINWHEEL_TEST_RS");
    CHECK(gpud_random_fixed(&b, &err) == 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("PINWHEEL_TEST_RS", bad[i], 1);
        if (gpud_random_fixed(&b, &err) != -1) {
            printf("'%s' was taken\n", bad[i]);
            failures++;
        }
    }
    setenv("PINWHEEL_TEST_RS", "258,21888242871839275222246405745257275088548364400416034343698204186575808495616", 1);
    CHECK(gpud_random_fixed(&b, &err) == 1);
    uint8_t want[KRN_FR_BYTES] = {2, 1};
    CHECK(memcmp(b.r, want, sizeof want) == 0);
    CHECK(b.s[0] == 0 && memcmp(b.s + 1, krn_curve(KRN_BN254)->r + 1, KRN_FR_BYTES - 1) == 0);
}

int main(void) {
    for (int i = 0; i < KRN_CURVES; i++) test_spread(krn_curve((enum krn_curve_id)i));
    test_hook();
    return failures != 0;
}
