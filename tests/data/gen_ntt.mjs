// Writes ntt.txt: values of ffjavascript's transforms (snarkjs's arithmetic) for tests/ntt_test.c. The input of size n is
// the first n numbers of the sequence below. Hexadecimal, plain. Lines:
//   FIELD fft LOG_N K v    v = entry K of the transform
//   FIELD ifft LOG_N K v   of the inverse
// Usage, from build/npm: node ../../tests/data/gen_ntt.mjs > ../../tests/data/ntt.txt
import { createRequire } from "node:module";

const { getCurveFromName } = createRequire(process.cwd() + "/")("ffjavascript");

// splitmix64 from 0; four words, least significant first, the top one shifted right by three.
function* numbers() {
    const mask = 0xffffffffffffffffn;
    let state = 0n;
    const word = () => {
        state = (state + 0x9e3779b97f4a7c15n) & mask;
        let z = state;
        z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
        z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
        return z ^ (z >> 31n);
    };
    for (;;) {
        let x = 0n;
        for (let i = 0n; i < 4n; i++)
            x |= (i === 3n ? word() >> 3n : word()) << (64n * i);
        yield x;
    }
}

for (const [curveName, field] of [["bn128", "bn254_fr"], ["bls12381", "bls381_fr"]]) {
    const curve = await getCurveFromName(curveName, { singleThread: true });
    const Fr = curve.Fr;
    for (const log of [0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14]) {
        const n = 2 ** log, source = numbers(), input = [];
        for (let i = 0; i < n; i++)
            input.push(Fr.e(source.next().value));
        for (const [name, output] of [["fft", await Fr.fft(input)], ["ifft", await Fr.ifft(input)]])
            for (const k of new Set([0, 1, 2, 7, n / 8 + 3, n / 2, n - 1].map(Math.floor).filter((i) => i < n)))
                console.log(field, name, log, k, Fr.toObject(output[k]).toString(16));
    }
    await curve.terminate();
}
