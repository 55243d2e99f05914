#include "gpud/random.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "formats/decimal.h"

/* 2^bits - 1 covers the order's top byte, so that at most every second draw is rejected. */
static uint8_t top_mask(const struct krn_curve *curve) {
    uint8_t mask = 0xff;
    while (mask >> 1 >= curve->r[KRN_FR_BYTES - 1]) mask >>= 1;
    return mask;
}

static int draw(const struct krn_curve *curve, uint8_t out[KRN_FR_BYTES], struct gpud_error *err) {
    for (;;) {
        ssize_t n = getrandom(out, KRN_FR_BYTES, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n != KRN_FR_BYTES) return gpud_fail(err, "getrandom: %s", n < 0 ? strerror(errno) : "short read");
        out[KRN_FR_BYTES - 1] &= top_mask(curve);
        if (fmt_below(out, curve->r, KRN_FR_BYTES)) return 0;
    }
}

int gpud_random_blinding(const struct krn_curve *curve, struct gpud_blinding *b, struct gpud_error *err) {
    return draw(curve, b->r, err) || draw(curve, b->s, err) ? -1 : 0;
}

/* Below both curves' orders, so that one pair serves every job of a test. */
static bool fixed_scalar(uint8_t out[KRN_FR_BYTES], const char *text, size_t len) {
    return fmt_decimal_read(out, KRN_FR_BYTES, text, len) == 0 &&
           fmt_below(out, krn_curve(KRN_BN254)->r, KRN_FR_BYTES) &&
           fmt_below(out, krn_curve(KRN_BLS12_381)->r, KRN_FR_BYTES);
}

int gpud_random_fixed(struct gpud_blinding *b, struct gpud_error *err) {
    const char *text = getenv("PINWHEEL_TEST_RS");
    if (!text) return 0;
    const char *comma = strchr(text, ',');
    if (!comma || !fixed_scalar(b->r, text, (size_t)(comma - text)) ||
        !fixed_scalar(b->s, comma + 1, strlen(comma + 1)))
        return gpud_fail(err, "PINWHEEL_TEST_RS: two decimal scalars 'r,s' below both group orders are wanted");
    return 1;
}
