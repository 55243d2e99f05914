#!/usr/bin/env bash
# Every circuit of both curves: snarkjs accepts our proofs, made in one shot and by the service; ours accepts snarkjs's.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

verify=() circuits=() names=()
for folder in "$cases"/*/; do
    name=$(basename "$folder")
    names+=("$name")
    circuits+=(--circuit "$(circuit "$name" r1cs)")
done
((${#names[@]} >= 13)) || fail "only ${#names[@]} cases"

for name in "${names[@]}"; do
    "$pinwheel" verify "$(vk "$name")" "$cases/$name/public.json" "$cases/$name/proof.json" >"$tmp/out"
    [[ $(<"$tmp/out") == valid ]] || fail "$name: snarkjs's own proof: $(<"$tmp/out")"
    "$pinwheel" prove "$(zkey "$name")" "$(wtns "$name")" "$tmp/$name.proof" "$tmp/$name.public"
    cmp "$tmp/$name.public" "$cases/$name/public.json"
    "$pinwheel" verify "$(vk "$name")" "$tmp/$name.public" "$tmp/$name.proof" >/dev/null
    verify+=("$(vk "$name")" "$tmp/$name.proof" "$tmp/$name.public")
done

"$pinwheel" up --workers 2 "${circuits[@]}"
for name in "${names[@]}"; do
    id=$("$pinwheel" submit "$name" "$(wtns "$name")")
    "$pinwheel" wait "$id" "$tmp/$name.proof2" "$tmp/$name.public2"
    cmp "$tmp/$name.public2" "$cases/$name/public.json"
    cmp -s "$tmp/$name.proof" "$tmp/$name.proof2" && fail "$name: two proofs are the same: r and s are not random"
    verify+=("$(vk "$name")" "$tmp/$name.proof2" "$tmp/$name.public2")
done
node tests/judge.js verify "${verify[@]}"
