#!/usr/bin/env bash
# What is full, slow or gone: a daemon that takes nothing while all slots are READY and jobs wait behind them, a job
# table without room, a region that somebody removes under the service, and one that is gone as after a reboot.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=mul2_bn128
up() { "$pinwheel" up --workers 2 --slots 4 --circuit "$(circuit $name)" >"$tmp/out" || fail "up: $(<"$tmp/out")"; }
submit() { "$pinwheel" submit $name "$(wtns $name)"; }
expect_proof() { # ID
    timeout 60 "$pinwheel" wait "$1" "$tmp/proof" "$tmp/public" || fail "job $1 has no proof"
    cmp "$tmp/public" "$cases/$name/public.json"
}
jobs_in() { # STATE
    "$pinwheel" region | grep -c "^job [0-9]* $1 " || true
}
ticks() { awk '{print $14 + $15}' "/proc/$1/stat"; }

echo "a slow consumer: all slots READY, jobs behind them, workers asleep"
up
daemon=$(daemon_pid)
mapfile -t workers < <(worker_pids)
kill -STOP "${workers[@]}"
ids=()
for _ in 1 2 3 4 5 6 7 8 9; do ids+=("$(submit)"); done
kill -STOP "$daemon"
kill -CONT "${workers[@]}"
until_true 20 is 4 slots READY
is 5 jobs_in QUEUED || fail "$(jobs_in QUEUED) jobs wait, not 5"
before=$(($(ticks "${workers[0]}") + $(ticks "${workers[1]}")))
sleep 1
(($(ticks "${workers[0]}") + $(ticks "${workers[1]}") - before <= 5)) || fail "workers without a slot do not sleep"
is 4 slots READY || fail "slots: $("$pinwheel" region | grep ^slot)"
kill -CONT "$daemon"
for id in "${ids[@]}"; do expect_proof "$id"; done

echo "a full job table"
kill -STOP "${workers[@]}"
room=$("$pinwheel" status --json | sed -n 's/^  "room": \([0-9]*\),$/\1/p')
((room > 0)) || fail "status does not tell the table's room"
ids=()
for ((i = 0; i < room; i++)); do ids+=("$(submit)") || fail "job $i of $room is refused"; done
refused 1 "the job table is full: $room jobs are waiting or unfetched" submit
"$pinwheel" cancel "${ids[5]}" >/dev/null
refused 1 "job ${ids[5]} was cancelled" "$pinwheel" wait "${ids[5]}"
id=$(submit)        # in the record of the one that was cancelled and told so
refused 1 "job ${ids[5]} is not known" "$pinwheel" wait "${ids[5]}"
kill -CONT "${workers[@]}"
expect_proof "${ids[0]}"
expect_proof "${ids[room - 1]}"
expect_proof "$id"
is "$daemon" daemon_pid || fail "another daemon"

echo "a region that is removed under the service"
kill -STOP "${workers[@]}"
id=$(submit)
timeout 60 "$pinwheel" wait "$id" 2>"$tmp/waiting" &
waiting=$!
is_waited() { [[ $("$pinwheel" status --json) == *'"clients_waiting": 1'* ]]; }
until_true 20 is_waited
rm "/dev/shm/pinwheel-$PINWHEEL_INSTANCE"
kill -CONT "${workers[@]}"
status=0
wait $waiting || status=$?
((status == 3)) || fail "the client that waited: status $status, $(<"$tmp/waiting")"
grep -q "job $id is lost" "$tmp/waiting" || fail "the client is told: $(<"$tmp/waiting")"
back() {
    [[ $(daemon_pid 2>/dev/null) != "$daemon" ]] && [[ $("$pinwheel" status --json 2>/dev/null) == *'"ready": true'* ]]
}
until_true 60 back
grep -q 'was removed by somebody else' "$log" || fail "the log: $(tail -n 5 "$log")"
refused 1 "job $id is not known" "$pinwheel" wait "$id"
expect_proof "$(submit)"
old_gone() { [[ ! -e /proc/${workers[0]} && ! -e /proc/${workers[1]} ]]; }
until_true 20 old_gone

echo "everything gone, as after a reboot"
mapfile -t workers < <(worker_pids)
kill -STOP "${workers[@]}"
ids=()
for _ in 1 2 3; do ids+=("$(submit)"); done
kill -KILL "$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")" "$(daemon_pid)" "${workers[@]}"
rm "/dev/shm/pinwheel-$PINWHEEL_INSTANCE"
up
for _ in 1 2 3 4 5; do submit >"$tmp/id"; done
for id in "${ids[@]}"; do refused 1 "job $id is not known" "$pinwheel" wait "$id"; done
expect_proof "$(<"$tmp/id")"
"$pinwheel" down
