#!/usr/bin/env bash
# Devices that fail, with real processes and real restarts: a job whose device is lost is proved by the next daemon
# from the slot that it has; one that its device fails of each time fails after three attempts, with the reason, and
# the others are proved; a service whose devices never prove anything is not restarted for ever, and keeps its jobs.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
deadly=mul2_bn128 good=merkle20o2_bn128
up() { "$pinwheel" up --test-hooks --workers 1 --circuit "$(circuit $deadly)" --circuit "$(circuit $good)" >/dev/null; }
# submit CIRCUIT...: sets ids, with the workers held until all are in, since a daemon that dies answers nobody
submit() {
    local workers circuit
    mapfile -t workers < <(worker_pids)
    kill -STOP "${workers[@]}"
    ids=()
    for circuit; do ids+=("$("$pinwheel" submit "$circuit" "$(wtns "$circuit")")"); done
    kill -CONT "${workers[@]}"
}

echo "lost at every third proof: nothing is synthesised twice"
PINWHEEL_TEST_FAULT=3 up
submit $good $good $good $good $good $good
for id in "${ids[@]}"; do "$pinwheel" wait "$id" || fail "job $id"; done
(($(number starts) >= 3)) || fail "it was started $(number starts) times; three at least were needed"
grep -q 'it is not used any more' "$log" || fail "the log does not say that the device was lost"
(($(grep -c 'goes back to the devices with its slot' "$log") >= 2)) || fail "jobs did not keep their slots"
(($(number jobs_done) == 6)) || fail "$(number jobs_done) syntheses for six jobs"
"$pinwheel" down

echo "a job that its device fails of each time"
: >"$log"
PINWHEEL_TEST_FAULT=$deadly up
submit $deadly $good $good $good $good
refused 1 'the device failed 3 times while it was being proved: it was told to fail' "$pinwheel" wait "${ids[0]}"
for id in "${ids[@]:1}"; do "$pinwheel" wait "$id" || fail "job $id"; done
"$pinwheel" down

echo "never a proof: given up after five starts, and the jobs are kept"
: >"$log"
PINWHEEL_TEST_FAULT=1 up
submit $good $good $good
given_up() { grep -q 'not started again' "$log"; }
until_true 60 given_up
(($(grep -c 'cannot go on' "$log") == 5)) || fail "it was started $(grep -c 'cannot go on' "$log") times, wanted 5"
(($(grep -c 'not started again' "$log") == 1)) || fail "more than one line says so"
refused 3 'not running|no service|reach' "$pinwheel" status
up
refused 1 'the device failed 3 times' "$pinwheel" wait "${ids[0]}"
"$pinwheel" wait "${ids[2]}" || fail "a job that was kept is not proved"
"$pinwheel" down

echo "a device that does not open: refused at the first start, tried again where a region waits for it"
export PINWHEEL_TEST_FAULT=open
refused 1 'device 0 was told to fail' "$pinwheel" up --test-hooks --circuit "$(circuit $good)"
[[ ! -e /dev/shm/pinwheel-$PINWHEEL_INSTANCE ]] || fail "the region is left"
PINWHEEL_TEST_FAULT='' up
submit $good
kill -KILL "$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")" "$(daemon_pid)"
status=0
"$bin/pinwheel-gpud" --instance "$PINWHEEL_INSTANCE" --backend cpu --test-hooks 2>"$tmp/err" || status=$?
((status == 76)) || fail "exit $status, wanted 76: $(tail -n 1 "$tmp/err")"
PINWHEEL_TEST_FAULT='' up
"$pinwheel" wait "${ids[0]}" || fail "the job that waited is not proved"
