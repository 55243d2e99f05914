// Writes curve.txt: points computed by ffjavascript (snarkjs's arithmetic) for tests/curve_test.c.
// Numbers are hexadecimal, plain. Lines:
//   GROUP mul K  x y          K times the generator; an Fq2 coordinate is two numbers, c0 c1; infinity is all 0
//   GROUP add  A B  A+B       points
// Usage, from build/npm: node ../../tests/data/gen_curve.mjs > ../../tests/data/curve.txt
import { createRequire } from "node:module";

const { getCurveFromName } = createRequire(process.cwd() + "/")("ffjavascript");

// A fixed sequence, so that the file can be made again byte for byte.
let state = 1n;
function randomScalar(r) {
    let x = 0n;
    for (let i = 0; i < 5; i++) {
        state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
        x = (x << 64n) | state;
    }
    return x % r;
}

function point(G, p) {
    const zero = G.isZero(p);
    return G.toObject(G.toAffine(p)).slice(0, 2).flat().map((v) => (zero ? 0n : v).toString(16)).join(" ");
}

for (const [curveName, prefix] of [["bn128", "bn254"], ["bls12381", "bls381"]]) {
    const curve = await getCurveFromName(curveName, { singleThread: true });
    const r = curve.r;
    for (const [G, name] of [[curve.G1, `${prefix}_g1`], [curve.G2, `${prefix}_g2`]]) {
        const times = (k) => G.timesScalar(G.g, k);
        const scalars = [0n, 1n, 2n, 3n, 15n, 16n, 17n, r - 1n, r - 2n, (r + 1n) / 2n, 1n << 64n, (1n << 128n) - 1n];
        for (let i = 0; i < 8; i++)
            scalars.push(randomScalar(r));
        for (const k of scalars)
            console.log(name, "mul", k.toString(16), point(G, times(k)));
        const a = randomScalar(r), b = randomScalar(r);
        for (const [i, j] of [[0n, 0n], [0n, a], [a, 0n], [a, a], [a, r - a], [1n, 2n], [a, b], [b, a], [r - b, a]])
            console.log(name, "add", point(G, times(i)), point(G, times(j)), point(G, G.add(times(i), times(j))));
    }
    await curve.terminate();
}
