#include "formats/decimal.h"

#include <errno.h>
#include <string.h>

enum { LIMBS = 6, CHUNK_DIGITS = 19 };     /* 10^19 < 2^64 */

typedef unsigned __int128 u128;

/* v /= 10^19; returns the remainder. */
static uint64_t divide_chunk(uint64_t v[LIMBS])
{
    u128 rest = 0;
    for (int i = LIMBS - 1; i >= 0; i--) {
        u128 t = rest << 64 | v[i];
        v[i] = (uint64_t)(t / 10000000000000000000u);
        rest = t % 10000000000000000000u;
    }
    return (uint64_t)rest;
}

size_t fmt_decimal_write(char out[FMT_DECIMAL_MAX], const uint8_t *value, size_t n)
{
    uint64_t v[LIMBS] = {0};
    char digits[FMT_DECIMAL_MAX + CHUNK_DIGITS];
    char *end = digits + sizeof digits, *p = end;

    memcpy(v, value, n);
    while (v[0] | v[1] | v[2] | v[3] | v[4] | v[5]) {
        uint64_t chunk = divide_chunk(v);
        for (int i = 0; i < CHUNK_DIGITS; i++, chunk /= 10)
            *--p = (char)('0' + chunk % 10);
    }
    while (p < end - 1 && *p == '0')
        p++;
    if (p == end)
        *--p = '0';
    memcpy(out, p, (size_t)(end - p));
    out[end - p] = '\0';
    return (size_t)(end - p);
}

int fmt_decimal_read(uint8_t *value, size_t n, const char *text, size_t len)
{
    uint64_t v[LIMBS] = {0};
    size_t limbs = n / 8;

    if (len == 0 || (len > 1 && text[0] == '0'))
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EINVAL;
    }
    for (size_t i = 0; i < len; i++) {
        u128 carry = (u128)(text[i] - '0');
        for (size_t j = 0; j < limbs; j++) {
            carry += (u128)v[j] * 10;
            v[j] = (uint64_t)carry;
            carry >>= 64;
        }
        if (carry != 0)
            return -ERANGE;
    }
    memcpy(value, v, n);
    return 0;
}

int fmt_below(const uint8_t *value, const uint8_t *bound, size_t n)
{
    while (n > 0) {
        uint64_t v, b;
        n -= 8;
        memcpy(&v, value + n, 8);
        memcpy(&b, bound + n, 8);
        if (v != b)
            return v < b;
    }
    return 0;
}
