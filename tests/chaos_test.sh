#!/usr/bin/env bash
# Workers and the daemon are killed at random moments while jobs stream in (seeded, though the machine's timing is not):
# every job that got an id ends with a proof, or says that three workers died over it; afterwards no slot and no job is
# left in between, and the service works.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

seed=${PINWHEEL_TEST_SEED:-4711}
rounds=${PINWHEEL_TEST_SHORT:+15}
rounds=${rounds:-40}
name=merkle20o2_bn128
RANDOM=$seed
echo "seed $seed, $rounds rounds"
"$pinwheel" up --workers 3 --slots 4 --circuit "$(circuit $name r1cs)" >"$tmp/out"

kill_something() { # ROUND
    local workers=()
    if (($1 % 8 == 0)); then
        if kill -KILL "$(daemon_pid)" 2>/dev/null; then daemons=$((daemons + 1)); fi
        return
    fi
    mapfile -t workers < <(worker_pids)
    ((${#workers[@]} == 0)) || kill -KILL "${workers[RANDOM % ${#workers[@]}]}" 2>/dev/null || true
}

ids=() daemons=0
for ((round = 1; round <= rounds; round++)); do
    for _ in 1 2 3; do
        # the daemon may die between taking a job and saying so: then there is no id, and exit status 3
        if id=$("$pinwheel" submit $name "$(wtns $name)" 2>"$tmp/err"); then
            ids+=("$id")
        else
            grep -q 'went away' "$tmp/err" || fail "submit: $(<"$tmp/err")"
        fi
    done
    sleep "0.0$((RANDOM % 10))"
    kill_something "$round"
done
((daemons > 0)) || fail "no daemon was killed"

proofs=0
for id in "${ids[@]}"; do
    if "$pinwheel" wait "$id" "$tmp/proof" "$tmp/public" 2>"$tmp/err"; then
        proofs=$((proofs + 1))
    else
        grep -qE 'died on each of 3 attempts|the daemon died 3 times' "$tmp/err" || fail "job $id: $(<"$tmp/err")"
    fi
done
echo "$proofs proofs of ${#ids[@]} jobs; $(grep -c 'died by signal 9' "$log") workers and $daemons daemons died"
((proofs * 10 >= ${#ids[@]} * 9)) || fail "only $proofs proofs of ${#ids[@]} jobs"

between='^slot .* (CLAIMED|FILLING|READY|UPLOADING)|^job .* (QUEUED|SYNTHESIS|PROVING|FAILING)'
at_rest() { "$pinwheel" region >"$tmp/region" && ! grep -qE "$between" "$tmp/region"; }
until_true 30 at_rest
three_workers() { (($(worker_pids | wc -l) == 3)); }
until_true 60 three_workers
id=$("$pinwheel" submit $name "$(wtns $name)")
"$pinwheel" wait "$id" "$tmp/proof" "$tmp/public"
node tests/judge.js verify "$(vk $name)" "$tmp/proof" "$tmp/public"
