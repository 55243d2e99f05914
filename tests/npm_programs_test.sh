#!/usr/bin/env bash
# Witness programs that others made and published: the witness byte for byte snarkjs's, the proof accepted by snarkjs,
# through the service. @unirep/circuits (three circuits) and authV2 of @rarimo/zkp-gen-iden3 (47,335 constraints), for
# a new identity each time (tests/auth_input.js). Programs of circom 1 are refused by name.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
keys=build/npm/keys
unirep=$keys/@unirep_circuits/zksnarkBuild
auth=$keys/@rarimo_zkp-gen-iden3/assets/authV2
[[ -e $unirep/signup.wasm && -e $auth/circuit.wasm ]] ||
    { echo "the packages of tests/npm/keys.txt are not there: make deps"; exit 77; }

zeros() { printf '"0",%.0s' $(seq "$1") | sed 's/,$//'; }
cat >"$tmp/signup.json" <<<'{"identity_secret":"0x3039","attester_id":678,"epoch":"3","chain_id":1}'
cat >"$tmp/epochKeyLite.json" <<JSON
{"identity_secret":"12345","reveal_nonce":"1","attester_id":"55","epoch":"3","nonce":"1","sig_data":"696969",
 "chain_id":"1"}
JSON
cat >"$tmp/epochKey.json" <<JSON
{"identity_secret":"12345","reveal_nonce":1,"attester_id":"55","epoch":3,"nonce":"0","sig_data":"696969","chain_id":1,
 "data":[1,2,3,4,$(zeros 2)],"state_tree_indices":[1,$(zeros 16)],"state_tree_elements":[$(zeros 17)]}
JSON
node tests/auth_input.js "$tmp/authV2.json"

add() { # NAME ZKEY WASM VK
    "$pinwheel" add "$1" --zkey "$2" --wasm "$3" --vk "$4" --cache build/test-cache
}
for name in signup epochKeyLite epochKey; do
    add $name "$unirep/$name.zkey" "$unirep/$name.wasm" "$unirep/$name.vkey.json"
done
add authV2 "$auth/circuit_final.zkey" "$auth/circuit.wasm" "$auth/verification_key.json"
refused 1 'a witness program of circom 1' "$pinwheel" add old --zkey "$keys/@darkforest_eth_snarks/init.zkey" \
    --wasm "$keys/@darkforest_eth_snarks/init.wasm"

# snarkjs takes numbers of any size only as strings, and hex too
witnesses=() verify=()
for name in signup epochKeyLite epochKey; do
    witnesses+=("$unirep/$name.wasm" "$tmp/$name.json" "$tmp/$name.snarkjs.wtns")
done
node tests/judge.js witness "${witnesses[@]}" "$auth/circuit.wasm" "$tmp/authV2.json" "$tmp/authV2.snarkjs.wtns"

"$pinwheel" up --workers 2 >/dev/null
for name in signup epochKeyLite epochKey authV2; do
    "$pinwheel" witness $name "$tmp/$name.json" "$tmp/$name.wtns"
    cmp "$tmp/$name.wtns" "$tmp/$name.snarkjs.wtns"
    "$pinwheel" prove $name "$tmp/$name.json" "$tmp/$name.proof" "$tmp/$name.public"
    vk=$unirep/$name.vkey.json
    [[ $name == authV2 ]] && vk=$auth/verification_key.json
    verify+=("$vk" "$tmp/$name.proof" "$tmp/$name.public")
done
node tests/judge.js verify "${verify[@]}"
[[ $(grep -c 'device 0 ms' "$log") == 4 ]] || fail "not all proofs were made by the service"

echo "an assertion of a published circuit, by its own message"
jq '.challengeSignatureS = "1"' "$tmp/authV2.json" >"$tmp/forged.json"
refused 1 'assertion failed in the circuit: Error in template .* line: ' \
    "$pinwheel" prove authV2 "$tmp/forged.json" "$tmp/x" "$tmp/y"
"$pinwheel" down
