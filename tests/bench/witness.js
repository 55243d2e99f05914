// Milliseconds that snarkjs takes for one witness, the least of several in one process:
//   node tests/bench/witness.js PROGRAM.wasm INPUT.json ROUNDS
const fs = require("fs");
const path = require("path");
const snarkjs = require(path.join(__dirname, "../../build/npm/node_modules/snarkjs"));

(async () => {
    const [program, input, rounds] = process.argv.slice(2);
    const code = fs.readFileSync(program);
    const values = JSON.parse(fs.readFileSync(input, "utf8"));
    const builder = require(path.join(__dirname, "../../build/npm/node_modules/circom_runtime")).WitnessCalculatorBuilder;
    const calculator = await builder(code);
    let least = Infinity;
    for (let i = 0; i < Number(rounds); i++) {
        const start = process.hrtime.bigint();
        await calculator.calculateWTNSBin(values, 0);
        least = Math.min(least, Number(process.hrtime.bigint() - start) / 1e6);
    }
    console.log(least.toFixed(2));
    process.exit(0);
})();
