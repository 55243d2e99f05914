#!/usr/bin/env bash
# up, status, adopting, down: in order, twice, at once, in the middle of work, after kill -9 of everything. Afterwards
# nothing is left: no shared memory, no socket, no process.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=mul2_bn128
up() { "$pinwheel" up --test-hooks --workers 2/node --circuit "$(circuit $name r1cs)"; }
processes() { pgrep -f -- "--instance $PINWHEEL_INSTANCE( |$)" || true; }
nothing_left() { # WHEN
    [[ ! -e /dev/shm/pinwheel-$PINWHEEL_INSTANCE ]] || fail "$1: shared memory is left"
    [[ -z $(ls -A "$XDG_RUNTIME_DIR") ]] || fail "$1: left in the runtime folder: $(ls -AR "$XDG_RUNTIME_DIR")"
    [[ -z $(processes) ]] || fail "$1: processes are left: $(pgrep -af -- "--instance $PINWHEEL_INSTANCE")"
}

echo "without a service"
refused 3 'not reachable' "$pinwheel" status
refused 3 'not reachable' "$pinwheel" submit $name "$(wtns $name)"
refused 3 'not reachable' "$pinwheel" wait 1
refused 3 'not reachable' "$pinwheel" cancel 1
"$pinwheel" down
nothing_left "down without a service"

echo "wrong usage"
refused 2 'wanted: pinwheel prove' "$pinwheel" prove a b
refused 2 'wanted: pinwheel verify' "$pinwheel" verify a
refused 2 "no job's id" "$pinwheel" wait x
refused 2 'instance name' "$pinwheel" up --instance ../x
refused 2 'priority' "$pinwheel" submit --priority urgent $name "$(wtns $name)"
refused 2 'not known' "$pinwheel" status --colour
refused 2 'is no command' "$pinwheel" fly
status=0
"$pinwheel" >"$tmp/out" 2>&1 || status=$?
((status == 2)) || fail "no command: exit $status"

echo "starts that are refused, with the reason, at once"
refused 1 'at least one --circuit' "$pinwheel" up
refused 1 'No such file' "$pinwheel" up --circuit "a=$tmp/missing.zkey"
refused 2 'NAME=circuit.zkey' "$pinwheel" up --circuit "$tmp/missing.zkey"
refused 2 'workers many' "$pinwheel" up --workers many --circuit "$(circuit $name)"
refused 2 'workers 2/socket' "$pinwheel" up --workers 2/socket --circuit "$(circuit $name)"
refused 1 'no GPU can be used' env CUDA_VISIBLE_DEVICES= "$pinwheel" up --backend cuda --circuit "$(circuit $name)"
"$pinwheel" down
nothing_left "refused starts"

echo "up, twice, and down"
up | grep -q 'is ready' || fail "up does not say that it is ready"
up | grep -q 'running already' || fail "a second up does not find the service"
"$pinwheel" status >"$tmp/status"
grep -q "service $PINWHEEL_INSTANCE: pid $(daemon_pid), ready" "$tmp/status" || fail "status: $(<"$tmp/status")"
[[ $(stat -c %a "/dev/shm/pinwheel-$PINWHEEL_INSTANCE") == 600 ]] || fail "the region is open to others"
[[ $(stat -c %a "$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.sock") == 600 ]] || fail "the socket is open to others"
node -e 'JSON.parse(require("fs").readFileSync(0))' < <("$pinwheel" status --json) || fail "status --json is no JSON"
id=$("$pinwheel" submit $name "$(wtns $name)")
"$pinwheel" wait "$id" "$tmp/proof" "$tmp/public"
refused 1 'is done' "$pinwheel" cancel "$id"
refused 1 'not known' "$pinwheel" wait 999999
refused 1 "circuit 'none' is not registered" "$pinwheel" submit none "$(wtns $name)"
refused 1 'No such file' "$pinwheel" submit $name "$tmp/missing.wtns"

echo "idle costs nothing"
ticks() { for p in $(processes); do awk '{print $14 + $15}' "/proc/$p/stat"; done | awk '{n += $1} END {print n}'; }
before=$(ticks)
sleep 3
(($(ticks) - before <= 1)) || fail "idle for 3 s: $(($(ticks) - before)) ticks of CPU time"

echo "a daemon that is killed comes back, with the same workers; one that is told to stop does not"
daemon=$(daemon_pid)
mapfile -t workers < <(worker_pids)
kill -KILL "$daemon"
ready() { "$pinwheel" status --json 2>/dev/null | grep -q '"ready": true'; }
until_true 20 ready
[[ $(daemon_pid) != "$daemon" ]] || fail "the same daemon"
is "$(printf '%s\n' "${workers[@]}")" worker_pids || fail "other workers: $(worker_pids)"
id=$("$pinwheel" submit $name "$(wtns $name)")
"$pinwheel" wait "$id" "$tmp/proof" "$tmp/public"
kill -TERM "$(daemon_pid)"
no_processes() { [[ -z $(processes) ]]; }
until_true 20 no_processes
[[ ! -e /dev/shm/pinwheel-$PINWHEEL_INSTANCE ]] || fail "SIGTERM left the region"
"$pinwheel" down
nothing_left "SIGTERM, then down"

echo "a service whose supervisor died: up watches over it again, and nothing is started anew"
up >"$tmp/out"
daemon=$(daemon_pid)
kill -KILL "$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")"
up | grep -q 'running already' || fail "up does not find the service"
is "$daemon" daemon_pid || fail "up started another daemon"
kill -KILL "$daemon"
until_true 20 ready
[[ $(daemon_pid) != "$daemon" ]] || fail "the same daemon"
"$pinwheel" down
nothing_left "down of a service that was taken over"

echo "two ups at once"
up >"$tmp/up1" &
first=$!
up >"$tmp/up2" &
wait $! || fail "the second: $(cat "$tmp/up2")"
wait $first || fail "the first: $(cat "$tmp/up1")"
(($(pgrep -fc -- "pinwheel-gpud --instance $PINWHEEL_INSTANCE ") == 1)) || fail "more than one daemon"
"$pinwheel" down
nothing_left "two ups"

echo "down in the middle of work"
export PINWHEEL_TEST_STOP=$tmp/stop
touch "$PINWHEEL_TEST_STOP"
up >"$tmp/out"
id=$("$pinwheel" submit $name "$(wtns $name)")
until_true 20 is 1 slots FILLING
stopped() { for p in $(worker_pids); do [[ $(process_state "$p") == T ]] && return; done; return 1; }
until_true 20 stopped
"$pinwheel" wait "$id" 2>"$tmp/waiter" &
waiter=$!
waits() { "$pinwheel" status --json | grep -q '"clients_waiting": 1,'; }
until_true 20 waits
"$pinwheel" down
status=0
wait $waiter || status=$?
((status == 3)) || fail "the waiting client: exit $status, $(cat "$tmp/waiter")"
nothing_left "down in the middle of work"

echo "down with a daemon that does not answer"
up >"$tmp/out"
kill -STOP "$(daemon_pid)"
"$pinwheel" down
nothing_left "down with a stopped daemon"

echo "down after kill -9 of everything"
up >"$tmp/out"
# shellcheck disable=SC2046 # a list of numbers
kill -KILL "$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")" $(processes)
until_true 20 no_processes
[[ -e /dev/shm/pinwheel-$PINWHEEL_INSTANCE ]] || fail "the region did not survive kill -9"
"$pinwheel" down
nothing_left "down after kill -9"

echo "a region of another build is refused, and down removes it"
up >"$tmp/out"
# shellcheck disable=SC2046
kill -KILL "$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")" $(processes)
until_true 20 no_processes
printf '\x55\x55\x55\x55' | dd of="/dev/shm/pinwheel-$PINWHEEL_INSTANCE" bs=1 seek=8 conv=notrunc status=none
refused 1 "pinwheel-$PINWHEEL_INSTANCE.*(layout|build|version)" up
"$pinwheel" down
nothing_left "another build's region"
