#include "formats/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Powers of 1024 by their letter; 0 where there is none. */
static unsigned shift_of(char unit)
{
    static const char units[] = "KMG";
    const char *at = unit ? strchr(units, unit) : NULL;
    return at ? 10 * (unsigned)(at - units + 1) : 0;
}

static int read_number(const char *text, int scaled, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || end == text || text[0] == '-')
        return -1;
    unsigned shift = scaled ? shift_of(*end) : 0;
    if (end[shift != 0] || n > UINT64_MAX >> shift)
        return -1;
    n <<= shift;
    if (n < min || n > max)
        return -1;
    *value = n;
    return 0;
}

int fmt_number_read(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    return read_number(text, 0, min, max, value);
}

int fmt_number_read_scaled(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    return read_number(text, 1, min, max, value);
}
