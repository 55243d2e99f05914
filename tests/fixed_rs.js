// What snarkjs makes of a key and a witness when its two random scalars are given: an independent proof to compare byte
// by byte.   node tests/fixed_rs.js R S  KEY.zkey WITNESS.wtns OUT [...]    writes OUT, as `snarkjs groth16 prove` would
const fs = require("fs");
const path = require("path");
const modules = path.join(__dirname, "../build/npm/node_modules");
const snarkjs = require(path.join(modules, "snarkjs"));
const { buildBn128, buildBls12381 } = require(path.join(modules, "ffjavascript"));

(async () => {
    const [r, s, ...files] = process.argv.slice(2);
    let drawn = 0;
    for (const build of [buildBn128, buildBls12381]) {
        const curve = await build();
        curve.Fr.random = () => curve.Fr.e(BigInt([r, s][drawn++ % 2]));
    }
    for (let i = 0; i + 2 < files.length; i += 3) {
        const { proof } = await snarkjs.groth16.prove(files[i], files[i + 1]);
        fs.writeFileSync(files[i + 2], JSON.stringify(proof, null, 1));
    }
    process.exit(drawn === (2 * files.length) / 3 ? 0 : 1);
})();
