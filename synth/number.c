#include "synth/number.h"

#include <errno.h>
#include <string.h>

typedef unsigned __int128 u128;

/* A chunk of digits is below 2^60 in either base, so accumulator * base + chunk stays below 2^(256 + 60). */
enum { LIMBS = 5, FR_LIMBS = KRN_FR_BYTES / 8, CHUNK_BITS = 60, DECIMAL_CHUNK = 18, HEX_CHUNK = 15 };

static void multiply_add(uint64_t t[LIMBS], uint64_t factor, uint64_t addend)
{
    u128 carry = addend;
    for (int i = 0; i < LIMBS; i++) {
        carry += (u128)t[i] * factor;
        t[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static bool not_below(const uint64_t a[LIMBS], const uint64_t b[LIMBS])
{
    for (int i = LIMBS - 1; i >= 0; i--) {
        if (a[i] != b[i])
            return a[i] > b[i];
    }
    return true;
}

static void subtract(uint64_t a[LIMBS], const uint64_t b[LIMBS])
{
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        u128 d = (u128)a[i] - b[i] - borrow;
        a[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
}

static void shift_left(uint64_t out[LIMBS], const uint64_t in[LIMBS], unsigned bits)
{
    for (int i = LIMBS - 1; i >= 0; i--) {
        out[i] = in[i] << bits;
        if (bits > 0 && i > 0)
            out[i] |= in[i - 1] >> (64 - bits);
    }
}

/* t mod p by shift and subtract; whether t was at or above p. */
static bool reduce_once(uint64_t t[LIMBS], const uint64_t p[LIMBS])
{
    if (!not_below(t, p))
        return false;
    for (int s = CHUNK_BITS; s >= 0; s--) {
        uint64_t multiple[LIMBS];
        shift_left(multiple, p, (unsigned)s);
        if (not_below(t, multiple))
            subtract(t, multiple);
    }
    return true;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

int synth_number_read(uint8_t out[KRN_FR_BYTES], const char *text, size_t len, const uint8_t p[KRN_FR_BYTES],
                      bool reduce, size_t *bad)
{
    uint64_t t[LIMBS] = {0}, prime[LIMBS] = {0};
    bool above = false, negative = len > 0 && text[0] == '-';
    size_t i = negative;
    bool hex = len - i >= 2 && text[i] == '0' && (text[i + 1] | 0x20) == 'x';
    unsigned base = hex ? 16 : 10, chunk_digits = hex ? HEX_CHUNK : DECIMAL_CHUNK;

    i += hex ? 2 : 0;
    *bad = len;
    if (i == len || len - i > SYNTH_NUMBER_DIGITS)
        return -EINVAL;
    memcpy(prime, p, KRN_FR_BYTES);
    while (i < len) {
        uint64_t chunk = 0, factor = 1;
        for (unsigned k = 0; k < chunk_digits && i < len; k++, i++) {
            unsigned d = (unsigned)digit_value(text[i]);
            if (d >= base) {
                *bad = i;
                return -EINVAL;
            }
            chunk = chunk * base + d;
            factor *= base;
        }
        multiply_add(t, factor, chunk);
        above |= reduce_once(t, prime);
    }
    if (above && !reduce)
        return -ERANGE;
    if (negative && (t[0] | t[1] | t[2] | t[3])) {
        subtract(prime, t);
        memcpy(t, prime, sizeof t);
    }
    memcpy(out, t, KRN_FR_BYTES);
    return 0;
}
