/* Any bytes as a witness program and as a .sym file: never a crash, never a read outside. */
#include "formats/sym.h"
#include "synth/wasm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fmt_error err;
    struct fmt_sym sym;
    struct fmt_sym_name name;
    uint64_t at = 0;

    synth_wasm_check("fuzz", data, size, &err);
    if (fmt_sym_parse(&sym, "fuzz", data, size, 64, &err) == 0) {
        for (uint32_t wire = 0; wire < 66; wire++)
            fmt_sym_of(&sym, wire);
        while (fmt_sym_next(&sym, &at, &name))
            ;
        fmt_sym_close(&sym);
    }
    return 0;
}
