#!/usr/bin/env bash
# A service in a cgroup with a real memory limit: `up` counts it, and a worker that takes all the memory is killed by
# the kernel, not the daemon; its job is tried again, or fails after three attempts and names the signal; the service
# goes on. Then a kernel that gives no large pages.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=merkle20o2_bn128
limit=$((192 << 20))
export PINWHEEL_TEST_EAT=$tmp/eat       # the worker that finds this file takes memory without end, with a filled slot

echo "no large pages"
python3 -c 'import ctypes, os, sys
PR_SET_THP_DISABLE = 41
ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 or sys.exit("prctl")
os.execv(sys.argv[1], sys.argv[1:])' "$pinwheel" up --circuit "$(circuit $name)" >"$tmp/out" ||
    fail "up: $(<"$tmp/out")"
grep -q ' 0 MiB of it in 2 MiB pages' "$log" ||
    fail "large pages where the kernel gives none: $(grep 'MiB pages' "$log")"
"$pinwheel" wait "$("$pinwheel" submit $name "$(wtns $name)")" "$tmp/proof" "$tmp/public" ||
    fail "no proof without large pages"
"$pinwheel" down

# ---- a group of our own, below the one that we are in ----
own() { sed -n "s/^[0-9]*:$1:\(.*\)/\1/p" /proc/self/cgroup; }
if [[ -w /sys/fs/cgroup/memory && -n $(own memory) ]]; then             # version 1
    group=/sys/fs/cgroup/memory$(own memory)/$PINWHEEL_INSTANCE limit_file=memory.limit_in_bytes
    kills() { sed -n 's/^oom_kill \([0-9]*\)/\1/p' "$group/memory.oom_control"; }
else
    group=/sys/fs/cgroup$(own '')/$PINWHEEL_INSTANCE limit_file=memory.max
    kills() { sed -n 's/^oom_kill \([0-9]*\)/\1/p' "$group/memory.events"; }
fi
mkdir "$group" 2>/dev/null || { echo "no cgroup can be made at $group: a limit of memory was not tried"; exit 77; }
end() {
    local status=$?
    "$pinwheel" down >/dev/null 2>&1
    # shellcheck disable=SC2317
    empty() { [[ -z $(<"$group/cgroup.procs") ]] && rmdir "$group"; }
    (until_true 10 empty) || status=1
    (exit "$status")
    clean_up
}
trap end EXIT
echo $limit >"$group/$limit_file" 2>/dev/null ||
    { echo "no memory controller at $group: a limit was not tried"; exit 77; }
limited() { # COMMAND...: in the group
    # shellcheck disable=SC2016
    bash -c 'echo $BASHPID >"$0" && exec "$@"' "$group/cgroup.procs" "$@"
}

echo "a limit counts"
refused 1 'cgroup.*MiB' limited "$pinwheel" up --slots 200 --circuit "$(circuit $name)"
limited "$pinwheel" up --test-hooks --workers 2 --slots 4 --circuit "$(circuit $name r1cs)" >"$tmp/out" ||
    fail "up: $(<"$tmp/out")"
daemon=$(daemon_pid)
grep -qx "$daemon" "$group/cgroup.procs" || fail "the daemon is not in the group"
for pid in $(worker_pids); do
    is 1000 cat "/proc/$pid/oom_score_adj" || fail "worker $pid is not the first to go: $(<"/proc/$pid/oom_score_adj")"
done

echo "one worker is killed for memory"
verify=()
expect_proof() { # ID
    "$pinwheel" wait "$1" "$tmp/$1.proof" "$tmp/$1.public" || fail "job $1 has no proof"
    verify+=("$(vk $name)" "$tmp/$1.proof" "$tmp/$1.public")
}
before=$(kills)
touch "$PINWHEEL_TEST_EAT"
id=$("$pinwheel" submit $name "$(wtns $name)")
expect_proof "$id"
is $((before + 1)) kills || fail "the kernel killed $(($(kills) - before)), not one"
"$pinwheel" region | grep -q "^job $id .* attempts 1$" ||
    fail "the attempt is not counted: $("$pinwheel" region | grep "^job $id")"
grep -qE 'worker [0-9]+ \(peer [0-9]+\) died by signal 9 .*took back 1 slots and 1 jobs' "$log" ||
    fail "the log: $(tail -n 3 "$log")"

echo "three workers are killed for memory"
touch "$PINWHEEL_TEST_EAT"
id=$("$pinwheel" submit $name "$(wtns $name)")
for _ in 2 3; do
    eaten() { [[ ! -e $PINWHEEL_TEST_EAT ]]; }
    until_true 20 eaten
    touch "$PINWHEEL_TEST_EAT"
done
refused 1 "died on each of 3 attempts, the last time by signal 9" \
    "$pinwheel" wait "$id" "$tmp/none.proof" "$tmp/none.public"
is $((before + 4)) kills || fail "the kernel killed $(($(kills) - before)), not four"
[[ ! -e $tmp/none.proof ]] || fail "a failed job left files"

echo "the service goes on"
[[ $(daemon_pid) == "$daemon" ]] || fail "another daemon: $(tail -n 5 "$log")"
all_free() { is 4 slots FREE; }
until_true 20 all_free
id=$("$pinwheel" submit $name "$(wtns $name)")
expect_proof "$id"
node tests/judge.js verify "${verify[@]}" >"$tmp/out" || fail "$(<"$tmp/out")"
"$pinwheel" down
