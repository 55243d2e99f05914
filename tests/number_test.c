/* tests/number_test.c: numbers of a command line: what is one, its bounds, and units. */
#include "formats/number.h"
#include "tests/check.h"

#include <stddef.h>

static void good(int scaled, const char *text, uint64_t want)
{
    uint64_t v = ~want;
    int rc = scaled ? fmt_number_read_scaled(text, 0, UINT64_MAX, &v) : fmt_number_read(text, 0, UINT64_MAX, &v);
    CHECK(rc == 0 && v == want);
    if (rc != 0 || v != want)
        printf("    '%s'\n", text);
}

static void bad(int scaled, const char *text, uint64_t min, uint64_t max)
{
    uint64_t v = 77;
    int rc = scaled ? fmt_number_read_scaled(text, min, max, &v) : fmt_number_read(text, min, max, &v);
    CHECK(rc == -1 && v == 77);
    if (rc == 0)
        printf("    '%s'\n", text);
}

int main(void)
{
    static const char *const never[] = {"", "-", "-1", "x", "1x", "1 ", "0x10", "18446744073709551616", "1.5", "K",
                                        "1KK", "1k", "1T", "-1K"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        bad(0, never[i], 0, UINT64_MAX);
        bad(1, never[i], 0, UINT64_MAX);
    }
    for (int scaled = 0; scaled < 2; scaled++) {
        good(scaled, "0", 0);
        good(scaled, "18446744073709551615", UINT64_MAX);
        bad(scaled, "4", 5, 9);
        bad(scaled, "10", 5, 9);
    }
    bad(0, "1K", 0, UINT64_MAX);
    good(1, "1K", 1024);
    good(1, "500M", 500ull << 20);
    good(1, "80G", 80ull << 30);
    good(1, "17179869183G", 17179869183ull << 30);
    bad(1, "17179869184G", 0, UINT64_MAX);
    bad(1, "0K", 1, UINT64_MAX);
    bad(1, "1K", 0, 1023);
    return failures != 0;
}
