// Writes pairing.txt: pairings computed by ffjavascript (snarkjs's arithmetic) for tests/pairing_test.c.
// Numbers are hexadecimal, plain. Lines:
//   CURVE  x y  x.c0 x.c1 y.c0 y.c1  e      a point of G1, one of G2, and the 12 coefficients of the value in Fq12:
//                                           of w^0 and w^1, in each of v^0, v^1, v^2, in each of u^0, u^1
// Usage, from build/npm: node ../../tests/data/gen_pairing.mjs > ../../tests/data/pairing.txt
import { createRequire } from "node:module";

const { getCurveFromName } = createRequire(process.cwd() + "/")("ffjavascript");

const hex = (values) => values.flat(Infinity).map((v) => v.toString(16)).join(" ");
const affine = (G, p) => G.toObject(G.toAffine(p)).slice(0, 2);

for (const [curveName, prefix] of [["bn128", "bn254"], ["bls12381", "bls381"]]) {
    const curve = await getCurveFromName(curveName, { singleThread: true });
    const { G1, G2, Gt } = curve;
    for (const [a, b] of [[1n, 1n], [2n, 1n], [1n, 3n], [curve.r - 1n, 1n], [3n ** 150n % curve.r, 7n ** 80n % curve.r]]) {
        const p = G1.timesScalar(G1.g, a), q = G2.timesScalar(G2.g, b);
        console.log(prefix, hex([affine(G1, p), affine(G2, q), Gt.toObject(curve.pairing(p, q))]));
    }
    await curve.terminate();
}
