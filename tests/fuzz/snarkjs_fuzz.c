/* Any bytes as each of snarkjs's files, on both curves: never a crash; what is taken comes back from its own text. */
#include <stdlib.h>
#include <string.h>

#include "formats/snarkjs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void proof(const struct krn_curve *curve, const char *text, size_t len)
{
    struct krn_proof p, again;
    struct fmt_error err;
    size_t n;

    if (fmt_proof_parse("fuzz", text, len, curve, &p, &err) != 0)
        return;
    char *own = fmt_proof_text(curve, &p, &n);
    if (!own || fmt_proof_parse("own", own, n, curve, &again, &err) != 0 || memcmp(&p, &again, sizeof p) != 0)
        abort();
    free(own);
}

static void publics(const struct krn_curve *curve, const char *text, size_t len)
{
    uint8_t *values, *again;
    size_t n, n_again, own_len;
    struct fmt_error err;

    if (fmt_public_parse("fuzz", text, len, curve, &values, &n, &err) != 0)
        return;
    char *own = fmt_public_text(values, n, &own_len);
    if (!own || fmt_public_parse("own", own, own_len, curve, &again, &n_again, &err) != 0 || n != n_again ||
        memcmp(values, again, n * KRN_FR_BYTES) != 0)
        abort();
    free(own);
    free(values);
    free(again);
}

static void any_value(const char *text, size_t len)
{
    struct fmt_error err;
    size_t n;
    struct fmt_json *j = fmt_json_parse("fuzz", text, len, &err);
    char *own = j ? fmt_json_dump(j, &n) : NULL;

    if (own) {
        struct fmt_json *again = fmt_json_parse("own", own, n, &err);
        if (!again)
            abort();
        fmt_json_free(again);
    }
    free(own);
    fmt_json_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct fmt_vk vk;
    struct fmt_error err;

    for (int id = 0; id < KRN_CURVES; id++) {
        proof(krn_curve((enum krn_curve_id)id), text, size);
        publics(krn_curve((enum krn_curve_id)id), text, size);
    }
    if (fmt_vk_parse("fuzz", text, size, &vk, &err) == 0)
        fmt_vk_free(&vk);
    any_value(text, size);
    return 0;
}
