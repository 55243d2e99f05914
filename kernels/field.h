/*
 * kernels/field.h: the four prime fields.
 *
 *   bn254_fr, bn254_fq, bls381_fr   struct { uint64_t l[4]; }      p of 254, 254, 255 bits
 *   bls381_fq                       struct { uint64_t l[6]; }      p of 381 bits
 *
 * An element is its Montgomery form x * R mod p, R = 2^(64 limbs), always fully reduced: equal elements are equal
 * bytes. It is also iden3's form of coefficients and points, so those are read in place. Functions of field F, in
 * which every result may be an operand:
 *
 *   F_modulus() F_one() F_r2() F_np0() F_zero()      p, R, R^2, -1/p mod 2^64, 0, by value; F_limbs, F_bytes
 *   F_add F_sub F_mul (r, a, b)   F_dbl F_neg F_sqr (r, a)
 *   F_to_mont F_from_mont (r, a)  between plain (any value below p) and Montgomery form. A plain value times a
 *                                 Montgomery one by F_mul is plain.
 *   F_mul_sub(r, a, b, c, d)      a b - c d with one reduction; base fields only: two spare bits
 *   F_div_pow2(r, a, k)           a / 2^k, k <= 32: an eighth of a multiplication
 *   F_mul_fq2(r0, r1, a0, a1, b0, b1)     (a0 + a1 u)(b0 + b1 u) with u^2 = -1; base fields only
 *   F_is_zero(a) F_eq(a, b)       0 or 1
 *   F_is_reduced(a)               1 where the limbs are below p: asked of bytes from elsewhere before any use
 *   F_set_u64(r, x)               the Montgomery form of x
 *   F_load(r, bytes) F_store(bytes, a)    the limbs as little-endian bytes, at any alignment, no conversion
 *   F_pow(r, a, e, e_limbs)       a^e, e plain; time depends on e
 *   F_inv(r, a)                   1/a, and 0 for 0; time depends on a
 *   F_batch_inv(v, scratch, n)    inverts v[0..n) in place with one inversion (Montgomery's trick), 0 stays 0;
 *                                 scratch: n elements, the caller's
 *
 * Common subset of C11 and CUDA C++. Little-endian machines only.
 */
#ifndef KERNELS_FIELD_H
#define KERNELS_FIELD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/limbs.h"
#include "kernels/invert.h"

#define FIELD bn254_fr
#define FIELD_LIMBS 4
#define FIELD_P 0x43e1f593f0000001ull, 0x2833e84879b97091ull, 0xb85045b68181585dull, 0x30644e72e131a029ull
#define FIELD_ONE 0xac96341c4ffffffbull, 0x36fc76959f60cd29ull, 0x666ea36f7879462eull, 0x0e0a77c19a07df2full
#define FIELD_R2 0x1bb8e645ae216da7ull, 0x53fe3ab1e35c59e3ull, 0x8c49833d53bb8085ull, 0x0216d0b17f4e44a5ull
#define FIELD_NP0 0xc2e1f593efffffffull
#include "kernels/field_tmpl.h"

#define FIELD bn254_fq
#define FIELD_LIMBS 4
#define FIELD_P 0x3c208c16d87cfd47ull, 0x97816a916871ca8dull, 0xb85045b68181585dull, 0x30644e72e131a029ull
#define FIELD_ONE 0xd35d438dc58f0d9dull, 0x0a78eb28f5c70b3dull, 0x666ea36f7879462cull, 0x0e0a77c19a07df2full
#define FIELD_R2 0xf32cfc5b538afa89ull, 0xb5e71911d44501fbull, 0x47ab1eff0a417ff6ull, 0x06d89f71cab8351full
#define FIELD_NP0 0x87d20782e4866389ull
#include "kernels/field_tmpl.h"

#define FIELD bls381_fr
#define FIELD_LIMBS 4
#define FIELD_P 0xffffffff00000001ull, 0x53bda402fffe5bfeull, 0x3339d80809a1d805ull, 0x73eda753299d7d48ull
#define FIELD_ONE 0x00000001fffffffeull, 0x5884b7fa00034802ull, 0x998c4fefecbc4ff5ull, 0x1824b159acc5056full
#define FIELD_R2 0xc999e990f3f29c6dull, 0x2b6cedcb87925c23ull, 0x05d314967254398full, 0x0748d9d99f59ff11ull
#define FIELD_NP0 0xfffffffeffffffffull
#include "kernels/field_tmpl.h"

#define FIELD bls381_fq
#define FIELD_LIMBS 6
#define FIELD_P \
    0xb9feffffffffaaabull, 0x1eabfffeb153ffffull, 0x6730d2a0f6b0f624ull, \
    0x64774b84f38512bfull, 0x4b1ba7b6434bacd7ull, 0x1a0111ea397fe69aull
#define FIELD_ONE \
    0x760900000002fffdull, 0xebf4000bc40c0002ull, 0x5f48985753c758baull, \
    0x77ce585370525745ull, 0x5c071a97a256ec6dull, 0x15f65ec3fa80e493ull
#define FIELD_R2 \
    0xf4df1f341c341746ull, 0x0a76e6a609d104f1ull, 0x8de5476c4c95b6d5ull, \
    0x67eb88a9939d83c0ull, 0x9a793e85b519952dull, 0x11988fe592cae3aaull
#define FIELD_NP0 0x89f3fffcfffcfffdull
#include "kernels/field_tmpl.h"

#endif
