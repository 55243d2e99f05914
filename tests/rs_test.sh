#!/usr/bin/env bash
# With fixed r and s the proof is the same bytes whatever makes it: one thread or many, portable or vector arithmetic,
# one shot or service, and snarkjs. Without the hook's option the environment changes nothing.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

r=1234567890123456789012345678901234567890123456789012345678901234567890
s=98765432109876543210987654321098765432109876543210987654321
names=(merkle20o2_bn128 sorted16_bls12381 sorted16_bn128 range_bls12381 nopub2_bn128 empty_bls12381)

wanted=()
for name in "${names[@]}"; do wanted+=("$(zkey "$name")" "$(wtns "$name")" "$tmp/$name.wanted"); done
node tests/fixed_rs.js "$r" "$s" "${wanted[@]}"

export PINWHEEL_TEST_RS=$r,$s
# same NAME WHAT: the last proof is the wanted one
same() {
    cmp "$tmp/$1.wanted" "$tmp/proof" || fail "$1, $2: other bytes than snarkjs"
}
one_shot() { # NAME OPTIONS...
    "$pinwheel" prove --local --test-hooks "${@:2}" "$(zkey "$1")" "$(wtns "$1")" "$tmp/proof" "$tmp/public"
}
for name in "${names[@]}"; do
    for threads in 1 2 5; do
        one_shot "$name" --threads "$threads"
        same "$name" "$threads threads"
        PINWHEEL_CPU_ISA=portable one_shot "$name" --threads "$threads"
        same "$name" "$threads threads, portable"
    done
done

circuits=()
for name in "${names[@]}"; do circuits+=(--circuit "$(circuit "$name")"); done
for threads in 1 4; do
    "$pinwheel" up --test-hooks --backend cpu --threads "$threads" --worker-threads "$threads" "${circuits[@]}" \
        >"$tmp/out"
    for name in "${names[@]}"; do
        id=$("$pinwheel" submit "$name" "$(wtns "$name")")
        "$pinwheel" wait "$id" "$tmp/proof" "$tmp/public"
        same "$name" "service with $threads threads"
        "$pinwheel" prove "$(zkey "$name")" "$(wtns "$name")" "$tmp/proof" "$tmp/public"
        same "$name" "prove by a service with $threads threads"
    done
    "$pinwheel" down
done

# The hook is not reachable without its option: proofs differ from each other and from the fixed one.
name=merkle20o2_bn128
for i in 1 2; do "$pinwheel" prove --local "$(zkey "$name")" "$(wtns "$name")" "$tmp/free$i" "$tmp/public"; done
"$pinwheel" up --circuit "$(circuit "$name")" >"$tmp/out"
id=$("$pinwheel" submit "$name" "$(wtns "$name")")
"$pinwheel" wait "$id" "$tmp/free3" "$tmp/public"
for pair in "free1 free2" "free1 $name.wanted" "free2 free3" "free3 $name.wanted"; do
    cmp -s "$tmp/${pair% *}" "$tmp/${pair#* }" && fail "$pair: the same proof without --test-hooks"
done
node tests/judge.js verify "$(vk "$name")" "$tmp/free1" "$tmp/public" "$(vk "$name")" "$tmp/free3" "$tmp/public"
PINWHEEL_TEST_RS=1 refused 2 PINWHEEL_TEST_RS \
    "$pinwheel" prove --local --test-hooks "$(zkey "$name")" "$(wtns "$name")" "$tmp/p" "$tmp/q"
