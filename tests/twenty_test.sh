#!/usr/bin/env bash
# Twenty jobs of four circuits and both curves, submitted at once to a service with four workers: each proof matches
# its own input. Two of the circuits get inputs that differ from job to job, so that a mix-up of results cannot pass.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

# five different inputs for each of two circuits, made into witnesses by snarkjs
witnesses=()
for curve in bn128 bls12381; do
    for i in 1 2 3 4 5; do
        echo "{\"a\": \"$((i + 2))\", \"b\": \"$((10 * i + 1))\"}" >"$tmp/mul2_$curve.$i.json"
        witnesses+=("$cases/mul2_$curve/mul2.wasm" "$tmp/mul2_$curve.$i.json" "$tmp/mul2_$curve.$i.wtns")
    done
done
node tests/judge.js witness "${witnesses[@]}" >/dev/null
for i in 1 2 3 4 5; do
    cp "$(wtns merkle20o2_bn128)" "$tmp/merkle20o2_bn128.$i.wtns"
    cp "$(wtns sorted16_bls12381)" "$tmp/sorted16_bls12381.$i.wtns"
done
names=(mul2_bn128 mul2_bls12381 merkle20o2_bn128 sorted16_bls12381)

circuits=()
for name in "${names[@]}"; do circuits+=(--circuit "$(circuit "$name" r1cs)"); done
"$pinwheel" up --workers 4 "${circuits[@]}"

pids=() verify=()
for i in 1 2 3 4 5; do
    for name in "${names[@]}"; do
        at=$tmp/$name.$i
        (id=$("$pinwheel" submit "$name" "$at.wtns") && "$pinwheel" wait "$id" "$at.proof" "$at.public") &
        pids+=($!)
        verify+=("$(vk "$name")" "$at.proof" "$at.public")
    done
done
for pid in "${pids[@]}"; do wait "$pid"; done
node tests/judge.js verify "${verify[@]}"

# the publics that each input must give: a * b mod p is small here
for curve in bn128 bls12381; do
    for i in 1 2 3 4 5; do
        got=$(tr -d ' \n[]"' <"$tmp/mul2_$curve.$i.public")
        [[ ,$got, == *,$(((i + 2) * (10 * i + 1))),* ]] || fail "mul2_$curve input $i has publics $got"
    done
done
for i in 1 2 3 4 5; do
    cmp "$tmp/merkle20o2_bn128.$i.public" "$cases/merkle20o2_bn128/public.json"
    cmp "$tmp/sorted16_bls12381.$i.public" "$cases/sorted16_bls12381/public.json"
done
"$pinwheel" status --json | grep -q '"done": 20,' || fail "not twenty done: $("$pinwheel" status)"
