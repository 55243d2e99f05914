/* Any bytes as an input.json, for both curves, with and without reduction: never a crash, and where one is taken, every
 * value is below the prime and every signal's values lie inside. */
#include <stdlib.h>

#include "formats/decimal.h"
#include "synth/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned i = 0; i < 2 * KRN_CURVES; i++) {
        const struct krn_curve *curve = krn_curve(i / 2);
        struct synth_input in;
        struct fmt_error err;
        if (synth_input_parse(&in, "fuzz", (const char *)data, size, curve, i % 2 ? SYNTH_INPUT_REDUCE : 0, &err) != 0)
            continue;
        for (uint32_t v = 0; v < in.n_values; v++) {
            if (!fmt_below(in.values + (size_t)v * KRN_FR_BYTES, curve->r, KRN_FR_BYTES))
                abort();
        }
        for (uint32_t s = 0; s < in.n_signals; s++) {
            if (in.signals[s].n > in.n_values - in.signals[s].first || in.signals[s].name >= in.names_bytes)
                abort();
        }
        synth_input_free(&in);
    }
    return 0;
}
