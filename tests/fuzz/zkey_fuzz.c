/* Any bytes as a proving key: never a crash. Of what is taken, coefficients that pass their check can be evaluated, to
 * rows below r. */
#include <stdlib.h>
#include <string.h>

#include "formats/decimal.h"
#include "formats/zkey.h"
#include "synth/eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_DOMAIN = 1 << 16 };

static void evaluate(const struct fmt_zkey *z, int checked)
{
    const size_t bytes = (size_t)z->domain_size * KRN_FR_BYTES;
    uint8_t *w = malloc((size_t)z->n_vars * KRN_FR_BYTES), *a = malloc(bytes), *b = malloc(bytes);
    struct fmt_error err;

    if (!w || !a || !b)
        abort();
    memset(w, 0x21, (size_t)z->n_vars * KRN_FR_BYTES);
    int rc = synth_eval(z, w, a, b, 1, &err);
    if (checked == 0 && rc != 0)
        abort();
    for (size_t i = 0; checked == 0 && i < bytes; i += KRN_FR_BYTES) {
        if (!fmt_below(a + i, z->curve->r, KRN_FR_BYTES) || !fmt_below(b + i, z->curve->r, KRN_FR_BYTES))
            abort();
    }
    free(w);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fmt_zkey z;
    struct fmt_error err;

    if (fmt_zkey_parse(&z, "fuzz", data, size, &err) != 0)
        return 0;
    int checked = fmt_zkey_check_coefficients(&z, 1, &err);
    fmt_zkey_check_points(&z, 1, &err);
    if (z.domain_size <= MAX_DOMAIN)
        evaluate(&z, checked);
    uint8_t *ic = malloc((z.n_public + (size_t)1) * KRN_G1_MAX);
    struct krn_vk vk;
    if (!ic)
        abort();
    fmt_zkey_vk(&z, &vk, ic);
    free(ic);
    fmt_zkey_close(&z);
    return 0;
}
