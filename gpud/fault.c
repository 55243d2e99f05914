#include "gpud/fault.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int gpud_fault_open(struct gpud_fault *f, struct gpud_error *err) {
    const char *text = getenv("PINWHEEL_TEST_FAULT");
    if (!text || !text[0]) return 0;
    if (strlen(text) >= sizeof f->circuit) return gpud_fail(err, "PINWHEEL_TEST_FAULT is too long");
    f->opening = strcmp(text, "open") == 0;
    if (isdigit((unsigned char)text[0]))
        f->at = strtoull(text, NULL, 10);
    else
        strcpy(f->circuit, text);
    return 0;
}

bool gpud_fault_due(struct gpud_fault *f, const char *circuit) {
    uint64_t number = atomic_fetch_add(&f->proofs, 1) + 1;
    return number == f->at || (f->circuit[0] && strcmp(f->circuit, circuit) == 0);
}
