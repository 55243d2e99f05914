/* Any bytes as constraints: never a crash; what is taken can be walked to its end and checked with any witness. */
#include <stdlib.h>

#include "formats/r1cs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_WIRES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fmt_r1cs r;
    struct fmt_error err;

    if (fmt_r1cs_parse(&r, "fuzz", data, size, &err) != 0)
        return 0;
    uint64_t at = r.blocks[0], terms = 0;
    for (uint32_t i = 0; i < r.n_constraints; i++) {
        struct fmt_r1cs_constraint c = fmt_r1cs_next(&r, &at);
        terms += (uint64_t)c.a.n + c.b.n + c.c.n;
    }
    if (at > size || terms * FMT_R1CS_TERM_BYTES > size)
        abort();
    if (r.n_wires <= MAX_WIRES) {       /* the header alone may claim four billion */
        struct fmt_r1cs_broken broken;
        uint8_t *w = calloc(r.n_wires, KRN_FR_BYTES);
        if (!w)
            abort();
        w[0] = 1;
        if (fmt_r1cs_check(&r, w, 1, &broken, &err) == 1 && broken.row >= r.n_constraints)
            abort();
        free(w);
    }
    fmt_r1cs_close(&r);
    return 0;
}
