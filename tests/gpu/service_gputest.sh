#!/usr/bin/env bash
# The whole service on a GPU: with fixed r and s every case gives the bytes that the CPU gives; two hundred proofs back to
# back, so that nothing is freed or overwritten before the device is done with it (ingonyama-zk/icicle-snark#17); the daemon
# killed while slots are READY and while it proves.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/../service.sh"
gpu() { "$pinwheel" up --backend cuda "$@" >"$tmp/out" 2>"$tmp/err"; }

names=() circuits=()
for folder in "$cases"/*/; do
    names+=("$(basename "$folder")")
    circuits+=(--circuit "$(circuit "$(basename "$folder")")")
done
export PINWHEEL_TEST_RS=1234567890123456789012345678901234567890123456789,98765432109876543210987654321098765432109
if ! gpu --test-hooks "${circuits[@]}"; then
    grep -q 'no GPU can be used' "$tmp/err" || fail "$(<"$tmp/err")"
    cat "$tmp/err"
    exit 77
fi

echo "the same bytes as the CPU"
for name in "${names[@]}"; do
    "$pinwheel" prove --local --test-hooks "$(zkey "$name")" "$(wtns "$name")" "$tmp/cpu.proof" "$tmp/cpu.public"
    for _ in 1 2 3; do
        id=$("$pinwheel" submit "$name" "$(wtns "$name")")
        "$pinwheel" wait "$id" "$tmp/gpu.proof" "$tmp/gpu.public"
        cmp "$tmp/cpu.proof" "$tmp/gpu.proof" || fail "$name: another proof than the CPU's"
        cmp "$tmp/cpu.public" "$tmp/gpu.public" || fail "$name: other publics than the CPU's"
    done
done

echo "two hundred back to back, six circuits mixed"
ids=()
for i in {1..200}; do
    name=${names[i * 7 % ${#names[@]}]}
    ids+=("$("$pinwheel" submit "$name" "$(wtns "$name")")")
done
for id in "${ids[@]}"; do "$pinwheel" wait "$id" || fail "job $id"; done
grep -c 'does not verify' "$log" >"$tmp/bad" && fail "$(<"$tmp/bad") proofs had to be made again"
"$pinwheel" wait "${ids[199]}" --times
registered=$(grep -c 'registered .* of slots' "$log")
((registered == 1)) || fail "the region was registered $registered times"

echo "a bad witness is found by the check of its proof, on the device too"
cp "$(wtns mul2_bn128)" "$tmp/bad.wtns"
printf '\x22' | dd of="$tmp/bad.wtns" bs=1 seek=$(($(stat -c %s "$tmp/bad.wtns") - 96)) conv=notrunc status=none
id=$("$pinwheel" submit mul2_bn128 "$tmp/bad.wtns")
refused 1 'does not satisfy' "$pinwheel" wait "$id"

echo "the daemon dies while slots are READY, and while it proves"
name=merkle20o2_bn128
mapfile -t workers < <(worker_pids)
kill -STOP "${workers[@]}"
ids=()
for _ in {1..8}; do ids+=("$("$pinwheel" submit $name "$(wtns $name)")"); done
daemon=$(daemon_pid)
kill -STOP "$daemon"
kill -CONT "${workers[@]}"
some_ready() { (($(slots READY) > 0)); }
until_true 20 some_ready
kill -KILL "$daemon"
"$pinwheel" wait "${ids[0]}"
kill -KILL "$(daemon_pid)"
for id in "${ids[@]}"; do "$pinwheel" wait "$id" || fail "job $id"; done
"$pinwheel" down
[[ ! -e /dev/shm/pinwheel-$PINWHEEL_INSTANCE ]] || fail "the region is left"
