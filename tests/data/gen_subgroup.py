#!/usr/bin/env python3
"""Writes subgroup.txt: points on the curves, inside and outside the subgroup of order r, for tests/pairing_test.c and
tests/verify_test.c. Plain hexadecimal. Lines:
  GROUP in|out x y     coordinates in Fq2 are two numbers, c0 c1
Outside lie: points of full order, of each small prime order that the cofactor has, and sums of those with points
inside. Usage: gen_subgroup.py > subgroup.txt
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernels"))
from gen_constants import CURVES  # noqa: E402


class Group:
    """Points of y^2 = x^3 + b over Fq (elements (c0, 0)) or Fq2, affine, None at infinity."""

    def __init__(self, curve, over_fq2):
        self.c, self.over_fq2 = curve, over_fq2
        x = curve.x
        if not over_fq2:
            self.b = (curve.b, 0)
            self.order = (x - 1) ** 2 // 3 * curve.r
        elif curve.twist == "D":
            self.b = curve.mul2((curve.b, 0), curve.inv2(curve.xi))
            self.order = (2 * curve.q - curve.r) * curve.r
        else:
            self.b = curve.mul2((curve.b, 0), curve.xi)
            self.order = (x**8 - 4 * x**7 + 5 * x**6 - 4 * x**4 + 6 * x**3 - 4 * x**2 - 4 * x + 13) // 9 * curve.r

    def add2(self, a, b, sign=1):
        return ((a[0] + sign * b[0]) % self.c.q, (a[1] + sign * b[1]) % self.c.q)

    def sqrt(self, a):
        """A root in Fq2, or None."""
        q = self.c.q

        def root(v):
            s = pow(v, (q + 1) // 4, q)
            return s if s * s % q == v % q else None

        if a[1] == 0:
            s = root(a[0])
            return None if s is None else (s, 0)
        n = root(a[0] * a[0] + a[1] * a[1])
        if n is None:
            return None
        for m in (n, -n):
            s = root((a[0] + m) * pow(2, -1, q) % q)
            if s:
                candidate = (s, a[1] * pow(2 * s, -1, q) % q)
                return candidate if self.c.mul2(candidate, candidate) == a else None
        return None

    def point_at(self, x):
        y = self.sqrt(self.add2(self.c.mul2(self.c.mul2(x, x), x), self.b))
        return None if y is None or (not self.over_fq2 and y[1]) else (x, y)

    def random(self, rng):
        while True:
            p = self.point_at((rng.randrange(self.c.q), rng.randrange(self.c.q) if self.over_fq2 else 0))
            if p is not None:
                return p

    def add(self, p, q):
        if p is None or q is None:
            return p or q
        if p[0] == q[0]:
            if self.add2(p[1], q[1]) == (0, 0):
                return None
            xx = self.c.mul2(p[0], p[0])
            s = self.c.mul2((3 * xx[0], 3 * xx[1]), self.c.inv2(self.add2(p[1], p[1])))
        else:
            s = self.c.mul2(self.add2(q[1], p[1], -1), self.c.inv2(self.add2(q[0], p[0], -1)))
        x = self.add2(self.add2(self.c.mul2(s, s), p[0], -1), q[0], -1)
        return (x, self.add2(self.c.mul2(s, self.add2(p[0], x, -1)), p[1], -1))

    def mul(self, p, k):
        acc = None
        for bit in bin(k)[2:]:
            acc = self.add(acc, acc)
            if bit == "1":
                acc = self.add(acc, p)
        return acc

    def of_prime_order(self, f, rng):
        rest = self.order
        while rest % f == 0:
            rest //= f
        p = None
        while p is None:
            p = self.mul(self.random(rng), rest)
        while (multiple := self.mul(p, f)) is not None:
            p = multiple
        return p


def main():
    rng = random.Random(2)
    for curve in CURVES:
        for number in (1, 2):
            if curve.name == "bn254" and number == 1:
                continue    # all points are in the subgroup
            group = Group(curve, number == 2)
            cofactor = group.order // curve.r

            def line(where, p):
                assert (group.mul(p, curve.r) is None) == (where == "in")
                values = [v for coordinate in p for v in (coordinate if number == 2 else coordinate[:1])]
                print("%s_g%d" % (curve.name, number), where, *("%x" % v for v in values))

            full = group.random(rng)
            assert group.mul(full, group.order) is None
            inside = group.mul(full, cofactor)
            line("in", inside)
            line("out", full)
            line("out", group.mul(full, curve.r))
            for f in [f for f in range(2, 20000) if cofactor % f == 0 and all(f % d for d in range(2, f))]:
                small = group.of_prime_order(f, rng)
                line("out", small)
                line("out", group.add(small, inside))


main()
