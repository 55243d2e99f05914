#!/usr/bin/env python3
"""Writes numbers.txt: numbers as people write them, and what they are modulo both scalar primes.
Each line: text, value modulo BN254's r, whether |number| is at or above it, the same two for BLS12-381. Values are
64 hex digits. A text that is no number has '-' in their place."""
import random

PRIMES = [21888242871839275222246405745257275088548364400416034343698204186575808495617,
          52435875175126190479447740508185965837690552500527637822603658699938581184513]
random.seed(20260101)
texts = ["0", "-0", "00", "0x0", "-0x0", "1", "-1", "007", "0xff", "0XfF", "-0x1F", "9007199254740993", "18446744073709551616",
         "999999999999999999", "1000000000000000000", "0xfffffffffffffff", "0x1000000000000000"]
for p in PRIMES:
    for v in (p - 1, p, p + 1, 2 * p, 2 * p - 1, p * p, p << 60, 2**256, 2**256 - 1, 2**320):
        texts += [str(v), "-" + str(v), hex(v)]
for bits in (60, 64, 120, 128, 200, 253, 254, 255, 256, 300, 2000):
    for _ in range(6):
        v = random.getrandbits(bits)
        texts += [str(v), "-" + str(v), hex(v).upper().replace("0X", "0x"), "0" * random.randrange(40) + str(v)]
bad = ["-", "--1", "+1", "0x", "-0x", "x1", "1 ", " 1", "1.0", "1e3", "12a", "0xg", "0x1-", "1_000", "0b1", "9" * 4097]

with open(__file__.replace("gen_numbers.py", "numbers.txt"), "w") as out:
    for text in texts:
        v = int(text, 16) if "x" in text.lower() else int(text)
        print(text, *(f"{v % p:064x} {int(abs(v) >= p)}" for p in PRIMES), file=out)
    for text in bad:
        print(text.replace(" ", "~"), "-", "-", "-", "-", file=out)
