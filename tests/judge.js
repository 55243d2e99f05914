// The independent judge: snarkjs, driven for many files in one process.
//   node tests/judge.js witness PROGRAM.wasm INPUT.json OUT.wtns [...]
//   node tests/judge.js verify KEY PROOF.json PUBLIC.json [...]       KEY: verification key .json, or a .zkey
//   node tests/judge.js check CIRCUIT.r1cs WITNESS.wtns NAME [...]
//   node tests/judge.js export KEY.zkey OUT NAME [...]              writes the verification key as snarkjs does
//   node tests/judge.js prove KEY.zkey WITNESS.wtns OUT [...]         writes OUT.proof and OUT.public
// Prints one line for each, "ok NAME" or "BAD NAME: why"; exits 1 where any is bad.
const fs = require("fs");
const path = require("path");
const snarkjs = require(path.join(__dirname, "../build/npm/node_modules/snarkjs"));

const json = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
const key = (file) => (file.endsWith(".zkey") ? snarkjs.zKey.exportVerificationKey(file) : json(file));

const commands = {
    witness: async (program, input, out) => snarkjs.wtns.calculate(json(input), program, out),
    verify: async (vk, proof, signals) => {
        if (!(await snarkjs.groth16.verify(await key(vk), json(signals), json(proof)))) throw new Error("refused");
    },
    check: async (r1cs, witness) => {
        if (!(await snarkjs.wtns.check(r1cs, witness))) throw new Error("not satisfied");
    },
    export: async (zkey, out) => {
        fs.writeFileSync(out, JSON.stringify(await snarkjs.zKey.exportVerificationKey(zkey), null, 1));
    },
    prove: async (zkey, witness, out) => {
        const { proof, publicSignals } = await snarkjs.groth16.prove(zkey, witness);
        fs.writeFileSync(`${out}.proof`, JSON.stringify(proof));
        fs.writeFileSync(`${out}.public`, JSON.stringify(publicSignals));
    },
};

(async () => {
    const [command, ...args] = process.argv.slice(2);
    let bad = 0;
    for (let i = 0; i + 2 < args.length; i += 3) {
        const three = args.slice(i, i + 3);
        const name = command === "verify" ? three[1] : three[2];
        try {
            await commands[command](...three);
            console.log(`ok ${name}`);
        } catch (e) {
            console.log(`BAD ${name}: ${e.message}`);
            bad = 1;
        }
    }
    process.exit(bad);
})();
