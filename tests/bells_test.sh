#!/usr/bin/env bash
# Each way to sleep and to be woken, end to end: futex, eventfd, epoll. Jobs must not wait for the slow timer that would
# hide a lost wake-up, also after the daemon died.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=mul2_bn128 tried=0
# prompt WHAT: ten jobs one after the other, each woken anew, in less time than one slow timer (5 s) takes
prompt() {
    local id begun=$SECONDS
    for _ in {1..10}; do
        id=$("$pinwheel" submit $name "$(wtns $name)")
        "$pinwheel" wait "$id" "$tmp/proof" "$tmp/public"
    done
    ((SECONDS - begun < 4)) || fail "$1: ten jobs took $((SECONDS - begun)) s"
}
sleeping() { # all our processes are parked
    local pid
    for pid in $(daemon_pid) $(worker_pids); do [[ $(process_state "$pid") == S ]] || return 1; done
}

for bell in futex eventfd epoll; do
    if ! "$pinwheel" up --bell $bell --workers 2 --circuit "$(circuit $name)" >"$tmp/out" 2>&1; then
        grep -q 'no way to wait' "$tmp/out" || fail "$bell: $(<"$tmp/out")"
        echo "not tried: $bell: $(<"$tmp/out")"
        continue
    fi
    tried=$((tried + 1))
    "$pinwheel" status --json | grep -q "\"bell\": \".*$bell.*\"" || fail "not by $bell: $("$pinwheel" status)"
    until_true 20 sleeping
    prompt $bell
    before=$(daemon_pid)
    kill -KILL "$before"
    back() { "$pinwheel" status --json 2>/dev/null | grep -q '"ready": true' && [[ $(daemon_pid) != "$before" ]]; }
    until_true 20 back
    prompt "$bell, after the daemon's death"
    "$pinwheel" down
done
((tried >= 1)) || fail "no way to wait at all"
echo "$tried ways"
