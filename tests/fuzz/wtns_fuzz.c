/* Any bytes as a witness: never a crash, and of one that is taken every value is below r and the first is 1. */
#include <stdlib.h>
#include <string.h>

#include "formats/decimal.h"
#include "formats/wtns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t one[KRN_FR_BYTES] = {1};
    struct fmt_wtns w;
    struct fmt_error err;

    if (fmt_wtns_parse(&w, "fuzz", data, size, &err) != 0)
        return 0;
    uint8_t *values = malloc((size_t)w.n_witness * KRN_FR_BYTES);
    if (!values || fmt_wtns_expect(&w, w.curve, w.n_witness, &err) != 0)
        abort();
    if (fmt_wtns_values(&w, values, &err) == 0) {
        for (uint32_t i = 0; i < w.n_witness; i++) {
            if (!fmt_below(values + (size_t)i * KRN_FR_BYTES, w.curve->r, KRN_FR_BYTES))
                abort();
        }
        if (memcmp(values, one, KRN_FR_BYTES) != 0)
            abort();
    }
    free(values);
    fmt_wtns_close(&w);
    return 0;
}
