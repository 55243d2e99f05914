#!/usr/bin/env bash
# End to end: proofs a minute from input.json to proof.json through the service, by `submit --each`, with one and two
# workers. Every input is the same file under many names.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/../service.sh"
auth=build/npm/keys/@rarimo_zkp-gen-iden3/assets/authV2

"$pinwheel" add merkle20 --zkey "$(zkey merkle20o2_bn128)" --wasm "$cases/merkle20o2_bn128/merkle20o2.wasm" \
    --cache build/test-cache >/dev/null
circuits=(merkle20)
if [[ -e $auth/circuit.wasm ]]; then
    "$pinwheel" add authV2 --zkey $auth/circuit_final.zkey --wasm $auth/circuit.wasm --cache build/test-cache >/dev/null
    node tests/auth_input.js "$tmp/authV2.json" 1 >/dev/null
    circuits+=(authV2)
fi
declare -A input=([merkle20]=$cases/merkle20o2_bn128/merkle20o2.json [authV2]=$tmp/authV2.json)
declare -A jobs=([merkle20]=60 [authV2]=12)

printf '%-10s %8s %8s %14s\n' circuit workers jobs proofs/min
for workers in 1 2; do
    "$pinwheel" up --workers $workers >/dev/null
    for name in "${circuits[@]}"; do
        mkdir -p "$tmp/in.$name"
        for ((i = 0; i < jobs[$name]; i++)); do cp "${input[$name]}" "$tmp/in.$name/$i.json"; done
        "$pinwheel" prove $name "${input[$name]}" "$tmp/warm.proof" "$tmp/warm.public"
        rate=$("$pinwheel" submit $name --each "$tmp/in.$name"/*.json --out "$tmp/out.$name.$workers" |
            sed 's/.*; //; s/ .*//')
        printf '%-10s %8s %8s %14s\n' $name $workers "${jobs[$name]}" "$rate"
    done
    "$pinwheel" down
done
