#!/usr/bin/env bash
# Workers share what belongs to the circuit: matrices, key and translated program are mapped files. So more workers of
# one circuit cost their own witnesses (the program's memory), not the circuit again. Measured by PSS, which splits
# shared pages.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
auth=build/npm/keys/@rarimo_zkp-gen-iden3/assets/authV2
[[ -e $auth/circuit.wasm ]] || { echo "the packages of tests/npm/keys.txt are not there: make deps"; exit 77; }
[[ -r /proc/self/smaps_rollup && $EUID == 0 ]] ||
    { echo "PSS of workers, who hide their memory, is for root"; exit 77; }

"$pinwheel" add authV2 --zkey $auth/circuit_final.zkey --wasm $auth/circuit.wasm --cache build/test-cache >/dev/null
node tests/auth_input.js "$tmp/authV2.json"
pss() { # PID: KiB, without the slots in shared memory
    awk '/^[0-9a-f]+-/ { slot = /\/pinwheel-/ } /^Pss:/ && !slot { n += $2 } END { print n }' "/proc/$1/smaps"
}

# After every worker has made a proof: the sum of what they take
measure() { # WORKERS
    "$pinwheel" up --workers "$1" --threads 1 >/dev/null
    local pid sum=0
    for pid in $(worker_pids); do kill -STOP "$pid"; done
    for pid in $(worker_pids); do      # one after the other, so that each gets a job
        kill -CONT "$pid"
        "$pinwheel" prove authV2 "$tmp/authV2.json" "$tmp/proof" "$tmp/public"
        kill -STOP "$pid"
    done
    for pid in $(worker_pids); do sum=$((sum + $(pss "$pid"))); done
    for pid in $(worker_pids); do kill -CONT "$pid"; done
    "$pinwheel" down
    total=$sum
}
measure 1
one=$total
measure 4
each=$(((total - one) / 3))
zkey=$(($(stat -c %s $auth/circuit_final.zkey) / 1024))
memory=$((135 * 64))        # KiB of the program's linear memory, where the witness is computed
echo "one worker $one KiB, four $total KiB: $each KiB for each more;" \
    "the key has $zkey KiB, the program's memory $memory KiB"
((each < memory + 4096)) || fail "a worker more costs more than its witness"
((each < zkey)) || fail "a worker more costs a key more"
