// A valid input of iden3's circuit authV2: a new identity, which has one key and is in no registry yet, signs.
//   node tests/auth_input.js OUT.json [SEED]       without SEED: PINWHEEL_TEST_SEED, or a random one; it is printed
// The same seed gives the same file.
// The rules are those of the iden3 protocol (docs.iden3.io: claims structure, identity state, genesis identifier).
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");
const { buildEddsa, buildPoseidon } = require(path.join(__dirname, "../build/npm/node_modules/circomlibjs"));

const AUTH_SCHEMA = "cca3371a6cb1b715004407e325bd993c";     // of claims that hold a key; the circuit asks for it
const ID_TYPE = [0x01, 0x00];       // method iden3, no blockchain
const IDENTITY_LEVELS = 40, GIST_LEVELS = 64;

const littleEndian = (n, bytes) => Buffer.from(n.toString(16).padStart(2 * bytes, "0"), "hex").reverse();
const fromLittleEndian = (bytes) => BigInt("0x" + Buffer.from(bytes).reverse().toString("hex"));

// Type, the upper 27 of the state's 32 bytes, and the sum of these 29 in two bytes; all little-endian.
function genesisId(state) {
    const head = [...ID_TYPE, ...littleEndian(state, 32).subarray(5)];
    const sum = head.reduce((a, b) => a + b);
    return fromLittleEndian([...head, sum & 0xff, sum >> 8]);
}

// A proof in a tree of at most one leaf has no siblings.
const noSiblings = (levels) => Array(levels).fill(0n);

async function authInput(seed) {
    const eddsa = await buildEddsa();
    const poseidon = await buildPoseidon();
    const number = (x) => poseidon.F.toObject(x);
    const hash = (...values) => number(poseidon(values));
    const leaf = (key, value) => hash(key, value, 1n);              // also the root of a tree of this leaf alone
    const bytes = (what) => crypto.createHash("sha256").update(`${seed} ${what}`).digest();
    const random = (what) => fromLittleEndian(bytes(what)) >> 3n;   // 253 bits: below the field's order

    const privateKey = bytes("private key");
    const [x, y] = eddsa.prv2pub(privateKey).map(number);
    const challenge = random("challenge");
    const signature = eddsa.signPoseidon(privateKey, poseidon.F.e(challenge));

    const index = [fromLittleEndian(Buffer.from(AUTH_SCHEMA, "hex")), 0n, x, y];
    const value = [0n, 0n, 0n, 0n];     // the first is the revocation nonce
    const claims = leaf(hash(...index), hash(...value));
    const state = hash(claims, 0n, 0n);
    const other = { key: hash(random("other identity")), value: random("other state") };    // alone in the global tree

    return {
        genesisID: genesisId(state),
        profileNonce: 0n,
        authClaim: [...index, ...value],
        authClaimIncMtp: noSiblings(IDENTITY_LEVELS),
        authClaimNonRevMtp: noSiblings(IDENTITY_LEVELS),
        authClaimNonRevMtpAuxHi: 0n,
        authClaimNonRevMtpAuxHv: 0n,
        authClaimNonRevMtpNoAux: 1n,
        challenge,
        challengeSignatureR8x: number(signature.R8[0]),
        challengeSignatureR8y: number(signature.R8[1]),
        challengeSignatureS: signature.S,
        claimsTreeRoot: claims,
        revTreeRoot: 0n,
        rootsTreeRoot: 0n,
        state,
        gistRoot: leaf(other.key, other.value),
        gistMtp: noSiblings(GIST_LEVELS),
        gistMtpAuxHi: other.key,
        gistMtpAuxHv: other.value,
        gistMtpNoAux: 0n,
    };
}

(async () => {
    const [out, given = process.env.PINWHEEL_TEST_SEED] = process.argv.slice(2);
    const seed = given ?? String(crypto.randomInt(2 ** 32));
    const input = await authInput(seed);
    fs.writeFileSync(out, JSON.stringify(input, (_, v) => (typeof v === "bigint" ? v.toString() : v), 1) + "\n");
    console.log(`seed ${seed} (PINWHEEL_TEST_SEED) of authV2's input`);
    process.exit(0);
})();
