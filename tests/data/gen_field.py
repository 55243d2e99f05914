#!/usr/bin/env python3
"""Writes field.txt: vectors for tests/field_test.c from Python's integers.

Elements are hexadecimal and stand for themselves: what the library calls the Montgomery form, so that its product
of a and b is a*b/R mod p. Lines, R = 2^(64 limbs):
  FIELD u a  -a  a*a/R  a*R  a/R  R*R/a (0 for 0)
  FIELD b a b  a+b  a-b  a*b/R
  FIELD p a e  R*(a/R)^e
  FIELD r a  is a < p, for limbs that are no element
Usage: gen_field.py > field.txt
"""
import random

FIELDS = {
    "bn254_fr": (21888242871839275222246405745257275088548364400416034343698204186575808495617, 4),
    "bn254_fq": (21888242871839275222246405745257275088696311157297823662689037894645226208583, 4),
    "bls381_fr": (52435875175126190479447740508185965837690552500527637822603658699938581184513, 4),
    "bls381_fq": (4002409555221667393417789825735904156556882819939007885332058136124031650490837864442687629129015664037894272559787, 6),
}


def main():
    rng = random.Random(1)
    for name, (p, limbs) in FIELDS.items():
        bits = 64 * limbs
        R = 1 << bits
        over_R = pow(R, -1, p)

        def line(kind, *values):
            print(name, kind, *("%x" % v for v in values))

        edges = [0, 1, 2, p - 1, p - 2, (p - 1) // 2, (p + 1) // 2, R % p, -R % p, R * R % p,
                 (1 << 64) - 1, 1 << 64, 1 << (p.bit_length() - 1), p & ~((1 << 64) - 1), (1 << 192) - 1]
        for a in edges + [1 << k for k in range(0, p.bit_length(), 13)] + [rng.randrange(p) for _ in range(20)]:
            inverse = R * R * pow(a, -1, p) % p if a else 0
            line("u", a, -a % p, a * a * over_R % p, a * R % p, a * over_R % p, inverse)
        pairs = [(a, b) for a in edges for b in edges]
        pairs += [(rng.randrange(p), rng.randrange(p)) for _ in range(50)]
        for a, b in pairs:
            line("b", a, b, (a + b) % p, (a - b) % p, a * b * over_R % p)
        for e in [0, 1, 2, 3, p - 1, p - 2, rng.randrange(p), 1 << (bits - 1), R - 1]:
            a = rng.randrange(p)
            line("p", a, e, R * pow(a * over_R % p, e, p) % p)
        for a in [0, p - 1, p, p + 1, R - 1, p - (1 << 64), p + (1 << 64), p ^ (1 << (bits - 1))]:
            line("r", a, int(a < p))


main()
