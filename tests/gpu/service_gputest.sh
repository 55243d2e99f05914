#!/usr/bin/env bash
# The whole service on a GPU: with fixed r and s every case gives the bytes that the CPU gives; two hundred proofs
# back to back, so that nothing is freed or overwritten before the device is done with it
# (ingonyama-zk/icicle-snark#17); the daemon killed while slots are READY and while it proves; a thousand proofs leave
# every counter where it was; six keys by turns where three fit, fifty times, with memory flat; with room for some of
# the keys only, they come and go and give the same bytes; a device that is lost is there again after a restart.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/../service.sh"
gpu() { "$pinwheel" up --backend cuda "$@" >"$tmp/out" 2>"$tmp/err"; }

names=() circuits=() six=()
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
    "$pinwheel" prove --local --test-hooks "$(zkey "$name")" "$(wtns "$name")" "$tmp/$name.proof" "$tmp/$name.public"
done
# equals_cpu NAME: proves the case on the GPU and compares
equals_cpu() {
    id=$("$pinwheel" submit "$1" "$(wtns "$1")")
    "$pinwheel" wait "$id" "$tmp/gpu.proof" "$tmp/gpu.public"
    cmp "$tmp/$1.proof" "$tmp/gpu.proof" || fail "$1: another proof than the CPU's"
    cmp "$tmp/$1.public" "$tmp/gpu.public" || fail "$1: other publics than the CPU's"
}
for name in "${names[@]}"; do
    for _ in 1 2 3; do equals_cpu "$name"; done
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

echo "a thousand proofs leave the counters where they were"
before=$(counters)
grep -q '^host_copies 0$' <<<"$before" || fail "vectors were copied on the host: $before"
prove_many merkle20o2_bn128 500
prove_many mul2_bls12381 500
after=$(counters)
[[ $before == "$after" ]] || fail "counters moved: $(diff <(echo "$before") <(echo "$after"))"

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

echo "six keys by turns, fifty times, where three fit"
for i in {1..6}; do
    cp "$(zkey $name)" "$tmp/$i.zkey"
    six+=(--circuit "key$i=$tmp/$i.zkey")
done
turn() {
    for i in {1..6}; do
        id=$("$pinwheel" submit "key$i" "$(wtns $name)")
        "$pinwheel" wait "$id" "$tmp/gpu.proof" "$tmp/gpu.public"
        cmp "$tmp/$name.proof" "$tmp/gpu.proof" || fail "key$i: another proof than the CPU's"
    done
}
# MiB of the device, as its driver counts
driver_used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null || true; }
gpu --test-hooks --gpu-memory 300M "${six[@]}" || fail "$(<"$tmp/err")"     # expanded they would need more
workspace=$(number workspace) key=$(number bytes)
"$pinwheel" down
gpu --test-hooks --gpu-memory $((workspace + 3 * key + key / 2)) "${six[@]}" || fail "$(<"$tmp/err")"
turn
turn
loads=$(number loads) allocations=$(number allocations) registrations=$(number registrations) before=$(driver_used)
for _ in {1..48}; do turn; done
(($(number loads) == loads + 288)) || fail "$(number loads) loads after $loads"
(($(number evictions) == $(number loads) - 3)) || fail "$(number evictions) evictions"
(($(number allocations) == allocations + 288)) || fail "$(number allocations) allocations after $allocations"
(($(number registrations) == registrations)) || fail "$(number registrations) registrations after $registrations"
(($(number host_copies) == 0)) || fail "$(number host_copies) vectors were copied on the host"
(($(number used) == 3 * key)) || fail "keys of $(number used) bytes where $((3 * key)) fit"
[[ $(driver_used) == "$before" ]] || fail "$(driver_used) MiB of the device are used, before $before"
"$pinwheel" down

echo "room for one of three keys: they come and go"
names=(one two three) circuits=()
for i in 0 1 2; do
    name=${names[i]}
    "$pinwheel" synthetic --constraints $((12000 + 1000 * i)) --seed "$i" "$tmp/$name.r1cs" "$tmp/$name.wtns" >/dev/null
    "$pinwheel" setup "$tmp/$name.r1cs" "$tmp/$name.zkey" >/dev/null 2>&1
    "$pinwheel" prove --local --test-hooks "$tmp/$name.zkey" "$tmp/$name.wtns" "$tmp/$name.proof" "$tmp/$name.public"
    circuits+=(--circuit "$name=$tmp/$name.zkey")
done
wtns() { echo "$tmp/$1.wtns"; }
# Ever less memory: what proofs need, and one key and a half in the form that it has now.
memory=()
for _ in {1..8}; do
    : >"$log"
    gpu --test-hooks "${memory[@]}" "${circuits[@]}" || fail "${memory[*]}: $(<"$tmp/err")"
    ! grep -q 'is loaded when it is needed' "$log" || break
    memory=(--gpu-memory $(($(number workspace) + $(number bytes) * 3 / 2)))
    "$pinwheel" down
done
for _ in {1..5}; do
    for name in "${names[@]}"; do equals_cpu "$name"; done
    (($(number used) <= $(number room))) || fail "keys take $(number used) bytes of $(number room)"
done
(($(number evictions) > 0)) || fail "no key had to go: ${memory[*]}"
loaded=$("$pinwheel" status --json | grep -c '"form"')
(($(number loads) - $(number evictions) == loaded)) || fail "keys are lost count of"
"$pinwheel" status | grep -A 2 '^device'
"$pinwheel" down

echo "a device that is lost"
: >"$log"
PINWHEEL_TEST_FAULT=3 gpu --test-hooks --workers 1 "${circuits[@]}"
mapfile -t workers < <(worker_pids)
kill -STOP "${workers[@]}"
ids=()
for _ in {1..6}; do ids+=("$("$pinwheel" submit one "$(wtns one)")"); done
kill -CONT "${workers[@]}"
for id in "${ids[@]}"; do "$pinwheel" wait "$id" || fail "job $id"; done
grep -q 'cuda device 0: .* it is not used any more' "$log" || fail "the log does not say that the device was lost"
"$pinwheel" down
