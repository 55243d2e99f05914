#!/usr/bin/env python3
"""Derives kernels/constants.h, the numbers that the curves' code takes for granted, from the definitions of the two
curves. Each is checked here as far as it can be. Usage: kernels/gen_constants.py > kernels/constants.h
"""
from math import gcd


class Curve:
    def __init__(self, name, q, r, limbs, x, b, xi, twist, generator1, generator2):
        self.name, self.q, self.r, self.limbs, self.x, self.b, self.xi, self.twist = name, q, r, limbs, x, b, xi, twist
        self.generator1, self.generator2 = generator1, generator2

    # ---- Fq2 = Fq[u] / (u^2 + 1), elements (c0, c1) ----
    def mul2(self, a, b):
        return ((a[0] * b[0] - a[1] * b[1]) % self.q, (a[0] * b[1] + a[1] * b[0]) % self.q)

    def pow2(self, a, e):
        acc = (1, 0)
        for bit in bin(e)[2:]:
            acc = self.mul2(acc, acc)
            if bit == "1":
                acc = self.mul2(acc, a)
        return acc

    def inv2(self, a):
        n = pow(a[0] * a[0] + a[1] * a[1], -1, self.q)
        return (a[0] * n % self.q, -a[1] * n % self.q)


BN254_X = 4965661367192848881
BLS381_X = -0xD201000000010000

CURVES = [
    Curve(
        "bn254",
        36 * BN254_X**4 + 36 * BN254_X**3 + 24 * BN254_X**2 + 6 * BN254_X + 1,
        36 * BN254_X**4 + 36 * BN254_X**3 + 18 * BN254_X**2 + 6 * BN254_X + 1,
        4, BN254_X, 3, (9, 1), "D", (1, 2),
        ((10857046999023057135944570762232829481370756359578518086990519993285655852781,
          11559732032986387107991004021392285783925812861821192530917403151452391805634),
         (8495653923123431417604973247489272438418190587263600148770280649306958101930,
          4082367875863433681332203403145435568316851327593401208105741076214120093531)),
    ),
    Curve(
        "bls381",
        (BLS381_X - 1) ** 2 * (BLS381_X**4 - BLS381_X**2 + 1) // 3 + BLS381_X,
        BLS381_X**4 - BLS381_X**2 + 1,
        6, BLS381_X, 4, (1, 1), "M",
        (0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
         0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1),
        ((0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
          0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E),
         (0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
          0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE)),
    ),
]


def main():
    print("""/*
 * kernels/constants.h: written by kernels/gen_constants.py, which says how each number follows from the curve.
 * Field elements are limbs in Montgomery form.
 */
#ifndef KERNELS_CONSTANTS_H
#define KERNELS_CONSTANTS_H
""")
    for c in CURVES:
        limbs = c.limbs
        R = 1 << (64 * limbs)
        name = c.name.upper()

        def fq(v):
            m = v * R % c.q
            return "{{" + ", ".join("0x%016xull" % (m >> (64 * i) & (1 << 64) - 1) for i in range(limbs)) + "}}"

        def define(what, text):
            if len("#define %s_%s %s" % (name, what, text)) <= 120:
                print("#define %s_%s %s" % (name, what, text))
            else:
                half = limbs // 2 if limbs == 4 else 3
                words = text.split(", ")
                lines = [", ".join(words[i:i + half]) for i in range(0, len(words), half)]
                print("#define %s_%s \\\n    %s" % (name, what, ", \\\n    ".join(lines)))

        def fq2(v):
            return "{%s, %s}" % (fq(v[0]), fq(v[1]))

        # The curve y^2 = x^3 + b and its twist, b / xi (type D) or b * xi (type M).
        b2 = c.mul2((c.b, 0), c.inv2(c.xi) if c.twist == "D" else c.xi)
        x1, y1 = c.generator1
        x2, y2 = c.generator2
        assert (y1 * y1 - x1**3 - c.b) % c.q == 0
        x3 = c.mul2(c.mul2(x2, x2), x2)
        assert c.mul2(y2, y2) == ((x3[0] + b2[0]) % c.q, (x3[1] + b2[1]) % c.q)

        # xi is neither a square nor a cube, so w^6 = xi gives Fq12.
        assert all(c.pow2(c.xi, (c.q**2 - 1) // f) != (1, 0) for f in (2, 3))
        # Frobenius: w^q = w * xi^((q-1)/6), so the coefficient of w^j is conjugated and multiplied by its j-th power.
        gamma = [c.pow2(c.xi, j * (c.q - 1) // 6) for j in range(1, 6)]
        # psi = twist o Frobenius o untwist on G2: x -> conj(x) * w^(+-2(q-1)), y -> conj(y) * w^(+-3(q-1)).
        psi = [gamma[1], gamma[2]] if c.twist == "D" else [c.inv2(gamma[1]), c.inv2(gamma[2])]
        print("/* %s */" % name)
        check_subgroup_tests(c)
        define("X_ABS", "0x%016xull" % abs(c.x))
        define_loop(c)
        define("B1", fq(c.b))
        define("B2", fq2(b2))
        define("HALF", fq(pow(2, -1, c.q)))
        define("G1_GENERATOR", "{%s, %s}" % (fq(x1), fq(y1)))
        define("G2_GENERATOR", "{%s, %s}" % (fq2(x2), fq2(y2)))
        for j, g in enumerate(gamma, 1):
            define("GAMMA%d" % j, fq2(g))
        define("PSI_X", fq2(psi[0]))
        define("PSI_Y", fq2(psi[1]))
        if c.name == "bls381":
            define("BETA", fq(beta(c)))
        print()
    print("#endif")


def define_loop(c):
    """Digits of the optimal ate loop (Vercauteren 2010), most significant first, without the leading one."""
    length = 6 * c.x + 2 if c.name == "bn254" else abs(c.x)
    digits, n = [], length
    while n:    # plain bits for the sparse number, the non-adjacent form for the other
        d = n % 2 if c.name == "bls381" else 2 - n % 4 if n % 2 else 0
        digits.append(d)
        n = (n - d) // 2
    assert sum(d << i for i, d in enumerate(digits)) == length and digits.pop() == 1
    text = ["%d" % d for d in reversed(digits)]
    lines = [", ".join(text[i:i + 32]) for i in range(0, len(text), 32)]
    print("#define %s_LOOP \\\n    {%s}" % (c.name.upper(), ", \\\n    ".join(lines)))


def check_subgroup_tests(c):
    """Each test in kernels/pairing_tmpl.h asks whether an endomorphism takes a point to infinity. The subgroup of
    order r is in its kernel, for psi acts there as q. The kernel's order divides the endomorphism's norm, which has no
    factor in common with the cofactor; so among the points over the field, whose number is r times the cofactor, the
    kernel is that subgroup and nothing else. (Kernels: Scott, eprint 2021/1130; Dai, Lin, Zhao, Zhou, 2022/348.)"""
    x = c.x
    trace = c.q + 1 - c.r if c.name == "bn254" else x + 1
    if c.name == "bn254":
        psi_test, cofactor2 = [x + 1, x, x, -2 * x], 2 * c.q - c.r
    else:
        psi_test = [-x, 1]
        cofactor2 = (x**8 - 4 * x**7 + 5 * x**6 - 4 * x**4 + 6 * x**3 - 4 * x**2 - 4 * x + 13) // 9
    assert sum(coefficient * c.q**i for i, coefficient in enumerate(psi_test)) % c.r == 0
    # a + b psi by psi^2 = trace psi - q; its norm is a^2 + a b trace + b^2 q.
    while len(psi_test) > 2:
        top = psi_test.pop()
        psi_test[-1] += top * trace
        psi_test[-2] -= top * c.q
    a, b = psi_test
    norms = [(a * a + a * b * trace + b * b * c.q, cofactor2)]
    if c.name == "bls381":
        # phi + x^2 by phi^2 = -phi - 1
        norms.append((x**4 - x**2 + 1, (x - 1) ** 2 // 3))
        assert (x - 1) ** 2 // 3 * c.r == c.q + 1 - trace
    for norm, cofactor in norms:
        assert norm % c.r == 0 and cofactor % c.r != 0 and gcd(norm, cofactor) == 1


def beta(c):
    """The cube root of one with (beta x, y) = [-x^2] (x, y), found at the generator."""
    def add(p, q):
        if p is None or q is None:
            return p or q
        if p[0] == q[0]:
            if (p[1] + q[1]) % c.q == 0:
                return None
            s = 3 * p[0] * p[0] * pow(2 * p[1], -1, c.q) % c.q
        else:
            s = (q[1] - p[1]) * pow(q[0] - p[0], -1, c.q) % c.q
        x = (s * s - p[0] - q[0]) % c.q
        return (x, (s * (p[0] - x) - p[1]) % c.q)

    multiple, k = None, -c.x**2 % c.r
    for bit in bin(k)[2:]:
        multiple = add(multiple, multiple)
        if bit == "1":
            multiple = add(multiple, c.generator1)
    root = multiple[0] * pow(c.generator1[0], -1, c.q) % c.q
    assert multiple[1] == c.generator1[1] and root != 1 and pow(root, 3, c.q) == 1
    return root


if __name__ == "__main__":
    main()
