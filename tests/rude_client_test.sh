#!/usr/bin/env bash
# Clients without manners: 10,000 connections one after the other, hundreds that stay and say nothing, half messages,
# lies about lengths, garbage, one byte at a time, replies that nobody reads. A good client is served all the while, the
# offenders are dropped with a line in the log, and neither memory nor descriptors grow.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=mul2_bn128
seed=${PINWHEEL_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "seed $seed (PINWHEEL_TEST_SEED)"
"$pinwheel" up --workers 1 --circuit "$(circuit $name)" >"$tmp/out"
socket=$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.sock
daemon=$(daemon_pid)
rude() { "$bin/tests/helpers/rude_client" "$socket" "$@"; }
descriptors() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }
resident() { awk '/^VmRSS/ {print $2}' "/proc/$daemon/status"; }
dropped() { "$pinwheel" status --json | sed -n 's/^ "clients_dropped": \([0-9]*\),$/\1/p'; }
served() { # WHEN
    local id
    id=$(timeout 5 "$pinwheel" submit $name "$(wtns $name)") || fail "$1: a good client cannot submit in 5 s"
    timeout 5 "$pinwheel" wait "$id" "$tmp/proof" "$tmp/public" || fail "$1: a good client has no proof in 5 s"
    cmp "$tmp/public" "$cases/$name/public.json"
}
served first
rude churn 100
rude fuzz "$seed" 100 >"$tmp/out"
served "a first round"
fds=$(descriptors) memory=$(resident) before=$(dropped)

echo "10,000 connections"
rude churn 10000 &
churn=$!
rounds=0
while [[ -e /proc/$churn ]]; do served "10,000 connections"; rounds=$((rounds + 1)); done
wait $churn || fail "connections were refused"
echo "  a good client was served $rounds times meanwhile"

echo "600 that stay and say nothing"
rude crowd 600 3000 >"$tmp/crowd" &
crowd=$!
until_true 20 grep -q 'are in' "$tmp/crowd"
[[ -e /proc/$crowd ]] || fail "the crowd has left"
for i in 1 2 3; do served "600 at once, $i"; done
wait $crowd
grep -q 'dropped: it is silent' "$log" || fail "nobody was dropped for silence"

echo "messages of all kinds"
rude fuzz "$seed" 4000 >"$tmp/out"
served "fuzzed messages"
grep -q 'dropped: its request is longer' "$log" || fail "a length that lies left no line"
grep -q 'dropped: it left in the middle' "$log" || fail "half a message left no line"

echo "slow and deaf ones"
rude slow 2000 &
slow=$!
rude slow 14000 &
slower=$!
rude deaf 20000 &
deaf=$!
served "slow ones"
wait $slow || fail "one that is slow within its time has no answer"
wait $slower && fail "one that takes 14 s for a request was answered"
wait $deaf || fail "one that reads nothing was not dropped"
grep -q 'dropped: its request does not go on' "$log" || fail "the slow one left no line"
grep -q 'dropped: it does not read its reply' "$log" || fail "the deaf one left no line"

served "all that"
[[ $(daemon_pid) == "$daemon" ]] || fail "another daemon"
! grep -qE 'Sanitizer|runtime error' "$log" || fail "$(grep -E -A5 'Sanitizer|runtime error' "$log")"
(($(dropped) > before + 1000)) || fail "only $(dropped) drops are counted"
quiet() { (($(descriptors) <= fds)); }
until_true 20 quiet
grown=$(($(resident) - memory))
echo "descriptors $fds, then $(descriptors); memory $memory KiB, $grown KiB more"
[[ $bin == *asan* ]] || ((grown < 4096)) || fail "memory grew by $grown KiB"
