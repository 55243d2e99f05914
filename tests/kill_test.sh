#!/usr/bin/env bash
# kill -9 of workers while they fill a slot and of the daemon while slots are READY: every job still ends with a valid
# proof, and no synthesis is done twice that was whole. What kills three workers fails, and says how.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=merkle20o2_bn128
export PINWHEEL_TEST_STOP=$tmp/stop     # the worker that finds this file stops itself with a filled, uncommitted slot
verify=()

stopped_worker() {
    local pid
    for pid in $(worker_pids); do
        [[ $(process_state "$pid") == T ]] && echo "$pid" && return
    done
    return 1
}
sum_done() {
    "$pinwheel" region | sed -n 's/^peer .* alive .* done \([0-9]*\)$/\1/p' | awk '{n += $1} END {print n + 0}'
}
expect_proof() { # ID
    "$pinwheel" wait "$1" "$tmp/$1.proof" "$tmp/$1.public" || fail "job $1 has no proof"
    verify+=("$(vk $name)" "$tmp/$1.proof" "$tmp/$1.public")
}
attempts() { # ID
    "$pinwheel" region | sed -n "s/^job $1 .* attempts \([0-9]*\)$/\1/p"
}

"$pinwheel" up --test-hooks --workers 2 --slots 4 --job-timeout 0 --circuit "$(circuit $name r1cs)"

echo "a worker dies with its slot half done"
touch "$PINWHEEL_TEST_STOP"
id=$("$pinwheel" submit $name "$(wtns $name)")
until_true 20 stopped_worker >/dev/null
is 1 slots FILLING || fail "slots: $("$pinwheel" region | grep ^slot)"
is SYNTHESIS job_state "$id" || fail "job $id is $(job_state "$id")"
kill -KILL "$(stopped_worker)"
expect_proof "$id"
is 1 attempts "$id" || fail "job $id has $(attempts "$id") attempts on record"
two_workers() { (($(worker_pids | wc -l) == 2)); }
until_true 20 two_workers

echo "a stopped worker is not a dead one"
touch "$PINWHEEL_TEST_STOP"
id=$("$pinwheel" submit $name "$(wtns $name)")
until_true 20 stopped_worker >/dev/null
other=$("$pinwheel" submit $name "$(wtns $name)")
expect_proof "$other"
is SYNTHESIS job_state "$id" || fail "job $id was taken from a living worker: $(job_state "$id")"
kill -CONT "$(stopped_worker)"
expect_proof "$id"
is 0 attempts "$id" || fail "job $id has $(attempts "$id") attempts on record"

echo "what kills three workers fails"
id=$("$pinwheel" submit $name "$(wtns $name)")
expect_proof "$id"
touch "$PINWHEEL_TEST_STOP"
id=$("$pinwheel" submit $name "$(wtns $name)")
for round in 1 2 3; do
    until_true 20 stopped_worker >/dev/null
    ((round == 3)) || touch "$PINWHEEL_TEST_STOP"
    kill -KILL "$(stopped_worker)"
done
refused 1 "signal 9" "$pinwheel" wait "$id" "$tmp/none.proof" "$tmp/none.public"
[[ ! -e $tmp/none.proof && ! -e $tmp/none.public ]] || fail "a failed job left files"
until_true 20 two_workers
id=$("$pinwheel" submit $name "$(wtns $name)")
expect_proof "$id"

echo "the daemon dies while slots are READY"
# Workers are stopped, jobs queued, then the daemon is stopped and the workers go on: they fill slots that nobody takes.
mapfile -t workers < <(worker_pids)
kill -STOP "${workers[@]}"
ids=()
for _ in 1 2 3; do ids+=("$("$pinwheel" submit $name "$(wtns $name)")"); done
before=$(sum_done)
daemon=$(daemon_pid)
kill -STOP "$daemon"
until_true 20 is T process_state "$daemon"
kill -CONT "${workers[@]}"
until_true 20 is 3 slots READY
"$pinwheel" wait "${ids[0]}" "$tmp/early.proof" "$tmp/early.public" &      # a client that waits through it
early=$!
kill -KILL "$daemon"
for id in "${ids[@]}"; do expect_proof "$id"; done
wait $early || fail "the client that waited through the restart has no proof"
verify+=("$(vk $name)" "$tmp/early.proof" "$tmp/early.public")
[[ $(daemon_pid) != "$daemon" ]] || fail "the daemon has the same pid $daemon"
is $((before + 3)) sum_done || fail "$(sum_done) syntheses, $((before + 3)) wanted: READY slots were not used"
is "$(printf '%s\n' "${workers[@]}")" worker_pids || fail "the workers did not live on: $(worker_pids)"
for id in "${ids[@]}"; do is 0 attempts "$id" || fail "job $id has $(attempts "$id") attempts on record"; done

echo "everything dies while slots are READY"
mapfile -t workers < <(worker_pids)
kill -STOP "${workers[@]}"
ids=()
for _ in 1 2; do ids+=("$("$pinwheel" submit $name "$(wtns $name)")"); done
daemon=$(daemon_pid)
kill -STOP "$daemon"
kill -CONT "${workers[@]}"
until_true 20 is 2 slots READY
supervisor=$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")
kill -KILL "$supervisor" "${workers[@]}" "$daemon"
"$pinwheel" up --test-hooks --workers 2 --circuit "$(circuit $name r1cs)" >"$tmp/out"
for id in "${ids[@]}"; do expect_proof "$id"; done
"$pinwheel" down

echo "a worker that hangs is killed first, then its job goes on"
"$pinwheel" up --test-hooks --workers 1 --job-timeout 1 --circuit "$(circuit $name)" >"$tmp/out"
touch "$PINWHEEL_TEST_STOP"
id=$("$pinwheel" submit $name "$(wtns $name)")
expect_proof "$id"
is 1 attempts "$id" || fail "job $id has $(attempts "$id") attempts on record"
grep -q 'longer at one job than --job-timeout 1 s' "$log" || fail "the log does not say why the worker was killed"

((${#verify[@]} >= 3 * 10)) || fail "only ${#verify[@]} proofs to judge"
node tests/judge.js verify "${verify[@]}"
