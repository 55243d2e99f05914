#!/usr/bin/env bash
# A process with a valid entry of the peer table writes garbage wherever the region can be written, while jobs flow. The
# daemon lives on, every proof that it releases verifies, it says who is gone, and the next service is as good as new.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=mul2_bn128
seed=${PINWHEEL_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "seed $seed (PINWHEEL_TEST_SEED)"
ms=1500
[[ -z ${PINWHEEL_TEST_SHORT:-} ]] || ms=700
verify=() released=0 withheld=0

up() {
    "$pinwheel" up --workers 2 --slots 4 --circuit "$(circuit $name)" --circuit "$(circuit range_bn128)" >"$tmp/out"
}
hostile=("$bin/tests/helpers/hostile" "$PINWHEEL_INSTANCE")
ready() { "$pinwheel" status --json 2>/dev/null | grep -q '"ready": true'; }
gone() { [[ ! -e /proc/$1 ]]; }

# A job while the region is not to be trusted: it may fail or be withheld; a proof that comes out must be right.
try_job() {
    local id out=$tmp/$((++tried))
    id=$(timeout 3 "$pinwheel" submit $name "$(wtns $name)" 2>/dev/null) || return 0
    if timeout 2 "$pinwheel" wait "$id" "$out.proof" "$out.public" 2>/dev/null; then
        released=$((released + 1))
        cmp "$out.public" "$cases/$name/public.json" || fail "job $id has other public signals"
        verify+=("$(vk $name)" "$out.proof" "$out.public")
    else
        withheld=$((withheld + 1))
    fi
}
tried=0
good_job() {
    local id
    id=$("$pinwheel" submit $name "$(wtns $name)")
    timeout 60 "$pinwheel" wait "$id" "$tmp/good$((++tried)).proof" "$tmp/good$tried.public" ||
        fail "$1: a good job fails"
    verify+=("$(vk $name)" "$tmp/good$tried.proof" "$tmp/good$tried.public")
}
unharmed() { # WHEN PID
    gone "$2" && fail "$1: the daemon died: $(tail -n 3 "$log")"
    ready || fail "$1: the daemon does not answer"
    ! grep -qE 'Sanitizer|runtime error' "$log" || fail "$1: $(grep -E -A5 'Sanitizer|runtime error' "$log")"
}
stop_clean() {
    timeout 60 "$pinwheel" down || fail "$1: down fails"
    [[ ! -e /dev/shm/pinwheel-$PINWHEEL_INSTANCE ]] || fail "$1: down leaves the region"
}

# mode MODE N: the service under it, from up to down
mode() {
    local daemon pid before=$released
    echo "$1"
    up
    daemon=$(daemon_pid)
    good_job "before $1"
    "${hostile[@]}" "$1" "$seed" "$2" >"$tmp/hostile" &
    pid=$!
    until_true 20 grep -q seed "$tmp/hostile"
    while ! gone $pid; do try_job; done
    wait $pid || fail "hostile ends with status $?: $(<"$tmp/hostile")"
    unharmed "$1" "$daemon"
    echo "  $((released - before)) proofs released"
    if [[ $1 == payloads ]]; then
        until_true 20 grep -qE "worker $pid \(peer [0-9]+\) died .*took back" "$log"
        good_job "after $1"
    fi
    [[ $(daemon_pid) == "$daemon" ]] || fail "$1: another daemon"
    stop_clean "$1"
}
mode payloads $((2 * ms))
mode results $ms
mode rounds $((ms / 2))
mode storm $ms

echo "a result that was overwritten stays here, also under the next daemon"
up
id=$("$pinwheel" submit $name "$(wtns $name)")
done_is() { is DONE job_state "$1"; }
until_true 60 done_is "$id"
"${hostile[@]}" results "$seed" 300 >"$tmp/hostile"
refused 1 'not the one that was verified' "$pinwheel" wait "$id" "$tmp/none.proof" "$tmp/none.public"
[[ ! -e $tmp/none.proof && ! -e $tmp/none.public ]] || fail "a withheld result left files"
grep -q "job $id is not released" "$log" || fail "the log does not name job $id"
good=$("$pinwheel" submit $name "$(wtns $name)")
until_true 60 done_is "$good"
before=$(daemon_pid)
kill -KILL "$before"
back() { ready && [[ $(daemon_pid) != "$before" ]]; }
until_true 60 back
refused 1 'not the one that was verified|circuit [0-9]+, which is not' \
    "$pinwheel" wait "$id" "$tmp/none.proof" "$tmp/none.public"
"$pinwheel" wait "$good" "$tmp/good.proof" "$tmp/good.public" || fail "a good result of an earlier daemon is withheld"
verify+=("$(vk $name)" "$tmp/good.proof" "$tmp/good.public")

echo "states that cannot be, under a daemon that lives, and for the next one"
all_sane() {
    local region
    region=$("$pinwheel" region)
    ! grep -qE '^(slot|job) [0-9]* (\?|CLAIMED|FILLING) ' <<<"$region"
}
"${hostile[@]}" states "$seed" 3 >"$tmp/hostile"
until_true 20 all_sane
good_job "after states that cannot be"
grep -qE 'slot [0-9]+: control word [0-9a-f]{16} cannot be' "$log" || fail "the log does not name the slots"
grep -qE 'job record [0-9]+: control word [0-9a-f]{16} cannot be' "$log" || fail "the log does not name the job records"
daemon=$(daemon_pid)
kill -STOP "$daemon"
"${hostile[@]}" states "$seed" 3 >"$tmp/hostile"
: >"$log"
before=$daemon
kill -KILL "$daemon"
until_true 60 back
until_true 20 all_sane
grep -q 'cannot be' "$log" || fail "the next daemon does not say what it found"
good_job "after a restart on states that cannot be"
stop_clean "states that cannot be"

echo "the flag that tells workers to leave"
up
daemon=$(daemon_pid)
"${hostile[@]}" flag "$seed" 500 >"$tmp/hostile"
unharmed "the flag" "$daemon"
good_job "after the flag"
lowered() { grep -q 'raised the flag that tells workers to leave' "$log"; }
until_true 20 lowered
[[ $(daemon_pid) == "$daemon" ]] || fail "the flag: another daemon"

# cut KIB WHERE: jobs wait while the region is cut short; clients are told, and a new region serves
cut() {
    local id waiting status=0 worker
    echo "a region that is cut short $2"
    before=$(daemon_pid)
    for worker in $(worker_pids); do kill -STOP "$worker"; done
    id=$("$pinwheel" submit $name "$(wtns $name)")
    timeout 60 "$pinwheel" wait "$id" "$tmp/none.proof" "$tmp/none.public" 2>"$tmp/waiting" &
    waiting=$!
    is_waited() { [[ $("$pinwheel" status --json) == *'"clients_waiting": 1'* ]]; }
    until_true 20 is_waited
    for worker in $(worker_pids); do kill -CONT "$worker"; done
    "${hostile[@]}" cut "$seed" "$1" >"$tmp/hostile"
    until_true 60 back
    wait $waiting || status=$?
    [[ $status != 0 && $status != 124 ]] || [[ -e $tmp/none.proof ]] ||
        fail "$2: the client that waited: status $status"
    ! grep -qE 'status (134|135|139)' "$log" ||
        fail "$2: the daemon died of a signal: $(grep 'ended with status' "$log")"
    good_job "after the cut"
    refused 1 "job $id is not known" "$pinwheel" wait "$id" "$tmp/none.proof" "$tmp/none.public"
    two_new() { (($(worker_pids | wc -l) == 2)); }
    until_true 20 two_new
}
cut 0 "to nothing"
grep -q "was cut short: .*are left of" "$log" || fail "the log does not say that the region was cut"
cut $(($(stat -c %s "/dev/shm/pinwheel-$PINWHEEL_INSTANCE") / 1024 - 2048)) "in its last slot"
stop_clean "the cut"
up

echo "a superblock of garbage: who has mapped the region goes on, nobody opens it any more, down removes it"
daemon=$(daemon_pid)
"${hostile[@]}" super "$seed" 50 >"$tmp/hostile"
good_job "after the superblock"
gone "$daemon" && fail "the daemon died of its superblock"
status=0
"${hostile[@]}" super "$seed" 1 >"$tmp/hostile" 2>&1 || status=$?
((status == 1)) || fail "a worker opens a region whose superblock is garbage"
kill -KILL "$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")" "$daemon"
refused 1 "pinwheel-$PINWHEEL_INSTANCE.*down" "$pinwheel" up --circuit "$(circuit $name)"
stop_clean "the superblock"

up
good_job "a new service"
((released > 0)) || fail "no proof was released under attack"
echo "$released proofs released, $withheld jobs without one"
node tests/judge.js verify "${verify[@]}" >"$tmp/out" || fail "$(<"$tmp/out")"
