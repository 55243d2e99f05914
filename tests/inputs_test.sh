#!/usr/bin/env bash
# From input.json to proof: circuits registered with their witness programs, proved one shot and through the service;
# many at once; what is wrong with an input or a program fails its own job only.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
cache=$PWD/build/test-cache

# add NAME_CURVE [OPTION...]: registers a case under its own name
add() {
    local name=$1 base=$cases/$1/${1%_*}
    shift
    "$pinwheel" add "$name" --zkey "${base}_final.zkey" --wasm "$base.wasm" --r1cs "$base.r1cs" \
        --vk "$cases/$name/vk.json" --cache "$cache" "$@"
}
input() { echo "$cases/$1/${1%_*}.json"; }

echo "registering"
add mul2_bn128 >"$tmp/out"
grep -q 'circuit mul2_bn128: BN254, .* 2 input values, circom 2\.[0-9.]*, constraints checked' "$tmp/out" ||
    fail "add says: $(<"$tmp/out")"
add range_bn128 >/dev/null
add sorted16_bls12381 >/dev/null
add merkle20o2_bn128 >/dev/null
refused 1 'not the verification key' "$pinwheel" add x --zkey "$(zkey mul2_bn128)" --vk "$(vk range_bn128)"
refused 1 '4 values and the key .* wants 208' "$pinwheel" add x --zkey "$(zkey range_bn128)" \
    --wasm "$cases/mul2_bn128/mul2.wasm" --cache "$cache"
refused 1 'no WebAssembly' "$pinwheel" add x --zkey "$(zkey mul2_bn128)" --wasm "$(zkey mul2_bn128)"
refused 1 'name' "$pinwheel" add ../x --zkey "$(zkey mul2_bn128)"
refused 2 'zkey' "$pinwheel" add x --wasm "$cases/mul2_bn128/mul2.wasm"
refused 2 'not both' "$pinwheel" add x --zkey "$(zkey mul2_bn128)" --wasm a --witness-program b
refused 1 "not registered" "$pinwheel" forget none
[[ $("$pinwheel" circuits | wc -l) == 4 ]] || fail "circuits: $("$pinwheel" circuits)"

echo "one shot, without a service"
"$pinwheel" prove range_bn128 "$(input range_bn128)" "$tmp/shot.proof" "$tmp/shot.public"
cmp "$tmp/shot.public" "$cases/range_bn128/public.json"
verify=("$(vk range_bn128)" "$tmp/shot.proof" "$tmp/shot.public")
echo '{"x":"36893488147419103232","lo":"1000","hi":"9999999999"}' >"$tmp/bad.json"
refused 1 'assertion failed in the circuit: Error in template Num2Bits_0 line: 38' \
    "$pinwheel" prove range_bn128 "$tmp/bad.json" "$tmp/none.proof" "$tmp/none.public"
[[ ! -e $tmp/none.proof && ! -e $tmp/none.public ]] || fail "files of a proof that is none"

echo "through the service: what up serves is what is registered"
"$pinwheel" add command --zkey "$(zkey range_bn128)" --witness-seconds 2 --witness-program \
    "test -s {input} && if grep -q crash {input}; then echo 'last words' >&2; kill -SEGV \$\$; \
    elif grep -q loop {input}; then sleep 100; else cat $(wtns range_bn128) >{output}; fi" >/dev/null
"$pinwheel" up --workers 4 >/dev/null
for name in mul2_bn128 sorted16_bls12381 merkle20o2_bn128 range_bn128; do
    "$pinwheel" prove "$name" "$(input "$name")" "$tmp/$name.proof" "$tmp/$name.public"
    cmp "$tmp/$name.public" "$cases/$name/public.json"
    verify+=("$(vk "$name")" "$tmp/$name.proof" "$tmp/$name.public")
done
grep -q 'job [0-9]* merkle20o2_bn128 device' "$log" || fail "the proofs were not made by the service"

echo "one failed assertion among ten good jobs (iden3/circom#230)"
ids=()
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    if ((i == 5)); then
        bad=$("$pinwheel" submit range_bn128 "$tmp/bad.json")
    else
        ids+=("$("$pinwheel" submit range_bn128 "$(input range_bn128)")")
    fi
done
refused 1 'Num2Bits_0 line: 38.*RangePow' "$pinwheel" wait "$bad"
for id in "${ids[@]}"; do
    "$pinwheel" wait "$id" "$tmp/good$id.proof" "$tmp/good$id.public"
    cmp "$tmp/good$id.public" "$cases/range_bn128/public.json"
    verify+=("$(vk range_bn128)" "$tmp/good$id.proof" "$tmp/good$id.public")
done

echo "inputs that are wrong, each with its own words"
try() { # PATTERN TEXT
    echo "$2" >"$tmp/try.json"
    refused 1 "$1" "$pinwheel" wait "$("$pinwheel" submit range_bn128 "$tmp/try.json")"
}
try "signal 'x': a string that is no number" '{"x":"abc","lo":0,"hi":1}'
try "signal 'x\[1\]': an array among values" '{"x":[1,[2]],"lo":0,"hi":1}'
try "input signal 'y2': the circuit has no such input" '{"x":1,"lo":0,"hi":1,"y2":1}'
try "2 of 3 values are given" '{"x":1,"lo":0}'
try "not below the field's prime" \
    '{"x":"21888242871839275222246405745257275088548364400416034343698204186575808495617","lo":0,"hi":1}'
try "line 1, character 7" '{"x": }'

echo "a command: its output taken, its last words told, its crash and its endless loop the job's own"
for text in crash loop fine; do
    echo "{\"$text\":1}" >"$tmp/$text.json"
    eval "$text=\$(\"\$pinwheel\" submit command \"\$tmp/$text.json\")"
done
# shellcheck disable=SC2154 # set by eval
refused 1 'signal 11.*last words|exit 139.*last words' "$pinwheel" wait "$crash"
# shellcheck disable=SC2154
refused 1 'killed after its limit of 2 s' "$pinwheel" wait "$loop"
# shellcheck disable=SC2154
"$pinwheel" wait "$fine" "$tmp/fine.proof" "$tmp/fine.public"
verify+=("$(vk range_bn128)" "$tmp/fine.proof" "$tmp/fine.public")
! grep -q ' died ' "$log" || fail "a worker died of a witness program"

echo "many: a hundred different inputs by --each, every public.json the one of its own input; ended and gone on with"
mkdir "$tmp/in"
for i in $(seq 100); do echo "{\"a\":$((i + 1)),\"b\":\"$((3 * i))\"}" >"$tmp/in/$i.json"; done
echo '{"a":1}' >"$tmp/in/broken.json"
"$pinwheel" submit mul2_bn128 --each "$tmp"/in/[1-4]*.json --out "$tmp/proofs" >"$tmp/out"
grep -q 'proved, 0 were there, 0 failed' "$tmp/out" || fail "--each says: $(<"$tmp/out")"
status=0
"$pinwheel" submit mul2_bn128 --each "$tmp"/in/*.json --out "$tmp/proofs" >"$tmp/out" 2>"$tmp/err" || status=$?
[[ $status == 1 ]] && grep -q '45 were there, 1 failed, of 101' "$tmp/out" &&
    grep -q "broken.json: job .*1 of 2 values" "$tmp/err" || fail "--each says $status: $(cat "$tmp/out" "$tmp/err")"
for i in $(seq 100); do
    [[ $(jq -r '.[0]' "$tmp/proofs/$i.public.json") == $(((i + 1) * 3 * i)) ]] ||
        fail "input $i: $(<"$tmp/proofs/$i.public.json")"
    verify+=("$(vk mul2_bn128)" "$tmp/proofs/$i.proof.json" "$tmp/proofs/$i.public.json")
done
refused 2 'same proof file' "$pinwheel" submit mul2_bn128 --each "$tmp/in/1.json" "$tmp/./in/1.json" --out "$tmp/proofs"

node tests/judge.js verify "${verify[@]}" | grep -v '^ok' && fail "snarkjs refuses a proof"
"$pinwheel" forget command
"$pinwheel" down
