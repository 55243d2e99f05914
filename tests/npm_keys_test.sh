#!/usr/bin/env bash
# Keys and circuits that others made and published: proved by us from a witness by snarkjs, accepted by snarkjs, one
# shot and through the service.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${PINWHEEL_BUILD:-build/release}
keys=build/npm/keys
tmp=$(mktemp -d)
instance=npmkeys$$
trap '"$bin/pinwheel" down --instance "$instance" >/dev/null 2>&1 || true; rm -rf "$tmp"' EXIT

declare -A key=(
    [signup]="$keys/@unirep_circuits/zksnarkBuild/signup"
    [epochKeyLite]="$keys/@unirep_circuits/zksnarkBuild/epochKeyLite"
    [reveal]="$keys/@darkforest_eth_snarks/reveal"
    [whitelist]="$keys/@darkforest_eth_snarks/whitelist"
)
declare -A input=(
    [signup]='{"identity_secret":"12345","attester_id":"678","epoch":"3","chain_id":"1"}'
    [epochKeyLite]='{"identity_secret":"12345","reveal_nonce":"1","attester_id":"55","epoch":"3","nonce":"1",
        "sig_data":"696969","chain_id":"1"}'
    [reveal]='{"x":"5","y":"7","PLANETHASH_KEY":"1","SPACETYPE_KEY":"2","SCALE":"16384","xMirror":"0","yMirror":"0"}'
    [whitelist]='{"key":"12345","recipient":"678"}'
)

witnesses=() verify=() circuits=()
for name in "${!key[@]}"; do
    echo "${input[$name]}" >"$tmp/$name.json"
    witnesses+=("${key[$name]}.wasm" "$tmp/$name.json" "$tmp/$name.wtns")
    spec=$name=${key[$name]}.zkey
    [[ -e ${key[$name]}.r1cs ]] && spec+=,${key[$name]}.r1cs
    circuits+=(--circuit "$spec")
done
node tests/judge.js witness "${witnesses[@]}"

for name in "${!key[@]}"; do
    "$bin/pinwheel" prove --instance "$instance" "${key[$name]}.zkey" "$tmp/$name.wtns" \
        "$tmp/$name.proof" "$tmp/$name.public"
    verify+=("${key[$name]}.zkey" "$tmp/$name.proof" "$tmp/$name.public")
done

"$bin/pinwheel" up --instance "$instance" --workers 2 "${circuits[@]}"
for name in "${!key[@]}"; do
    id=$("$bin/pinwheel" submit --instance "$instance" "$name" "$tmp/$name.wtns")
    "$bin/pinwheel" wait --instance "$instance" "$id" "$tmp/$name.proof2" "$tmp/$name.public2"
    cmp "$tmp/$name.public" "$tmp/$name.public2"
    verify+=("${key[$name]}.zkey" "$tmp/$name.proof2" "$tmp/$name.public2")
done
node tests/judge.js verify "${verify[@]}"

# A published witness program whose witness does not satisfy its circuit: refused, with the constraint's number.
echo '{"x":"5","y":"7","r":"100","PLANETHASH_KEY":"1","SPACETYPE_KEY":"2","SCALE":"16384",
    "xMirror":"0","yMirror":"0"}' >"$tmp/init.json"
init=$keys/@darkforest_eth_snarks/init
node tests/judge.js witness "$init.wasm" "$tmp/init.json" "$tmp/init.wtns"
rc=0
"$bin/pinwheel" prove --instance "$instance" --r1cs "$init.r1cs" "$init.zkey" "$tmp/init.wtns" \
    "$tmp/init.proof" "$tmp/init.public" 2>"$tmp/err" || rc=$?
[[ $rc == 1 && ! -e $tmp/init.proof ]] && grep -q 'constraint 64' "$tmp/err" || {
    echo "init: exit $rc, $(cat "$tmp/err")"
    exit 1
}
