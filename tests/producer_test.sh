#!/usr/bin/env bash
# Witnesses through shared memory, no file needed (hermeznetwork/hermez-node#19): a foreign producer fills slots with
# the library. What it sends is checked: counts, values, c row by row; a producer that lies or dies costs its own job
# only. shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=range_bn128
verify=()
"$pinwheel" up --workers 1 --circuit "$(circuit $name)" >"$tmp/out"
socket=$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.sock

# produce MODE JOBS: in the background
produce() {
    "$bin/tests/helpers/producer" "$PINWHEEL_INSTANCE" "$socket" "$(zkey $name)" "$(wtns $name)" "$@" \
        >"$tmp/producer" 2>&1 &
    producer=$!
}
# job MODE: one job that a producer of that mode fills; sets id
job() {
    id=$("$pinwheel" submit $name)
    produce "$1" 1
}

for mode in plain c; do
    job $mode
    "$pinwheel" wait "$id" "$tmp/$mode.proof" "$tmp/$mode.public" || fail "$mode: $(<"$tmp/producer")"
    wait $producer || fail "$mode: $(<"$tmp/producer")"
    cmp "$tmp/$mode.public" "$cases/$name/public.json"
    verify+=("$(vk $name)" "$tmp/$mode.proof" "$tmp/$mode.public")
done

rejected() { # MODE PATTERN
    job "$1"
    refused 1 "$2" "$pinwheel" wait "$id" "$tmp/none" "$tmp/none2"
    wait $producer || fail "$1: $(<"$tmp/producer")"
    [[ ! -e $tmp/none ]] || fail "$1: an output file"
}
rejected bad-c 'constraint 1 is not satisfied'
rejected counts 'signals.*circuit'
rejected above 'not below the group order'
rejected public 'not below the group order'
rejected fail 'the producer says no'

echo "a slot that names another circuit than its job is not proved; the job goes to the next producer"
job circuit
wait $producer
produce plain 1
"$pinwheel" wait "$id" "$tmp/after.proof" "$tmp/after.public" || fail "after a wrong circuit: $(<"$tmp/producer")"
verify+=("$(vk $name)" "$tmp/after.proof" "$tmp/after.public")

echo "a producer that dies costs an attempt, three cost the job"
job die
wait $producer && fail "the producer lives"
for _ in 2 3; do
    produce die 1
    wait $producer && fail "the producer lives"
done
refused 1 'exit|nobody saw|died' "$pinwheel" wait "$id"
id=$("$pinwheel" submit $name "$(wtns $name)")
"$pinwheel" wait "$id" "$tmp/own.proof" "$tmp/own.public"
verify+=("$(vk $name)" "$tmp/own.proof" "$tmp/own.public")
(($("$pinwheel" status --json | grep -c '"kind": "worker"') == 1)) || fail "our own worker is gone"

echo "a producer goes on through the daemon's death"
produce plain 3
until_true 20 grep -q joined "$tmp/producer"
before=$(daemon_pid)
kill -KILL "$before"
ready() { "$pinwheel" status --json 2>/dev/null | grep -q '"ready": true'; }
back() { ready && [[ $(daemon_pid) != "$before" ]]; }
until_true 20 back
for i in 1 2 3; do
    id=$("$pinwheel" submit $name)
    "$pinwheel" wait "$id" "$tmp/again$i.proof" "$tmp/again$i.public"
    verify+=("$(vk $name)" "$tmp/again$i.proof" "$tmp/again$i.public")
done
wait $producer || fail "$(<"$tmp/producer")"

node tests/judge.js verify "${verify[@]}" >"$tmp/out" || fail "$(<"$tmp/out")"
