#!/usr/bin/env bash
# The Spin model of the hand-off: every step that the code names is a step of the model, and every configuration holds.
# MODEL_LONG=1 adds the large one (2 workers, 2 slots, 2 jobs, a crash and a restart: some minutes, some GiB).
set -u
cd "$(dirname "$0")/.." || exit 1
model=tests/model/handoff.pml

# Names: "model: claim" in the code is the label "claim:" of the model, and no step of the model is without its line.
failed=0
control='joining next end_idle end_parked end_never died starting loop idle up release sweep'
labels=$(grep -oE '^ *[a-z_]+:' "$model" | tr -d ' :' | sort -u)
steps=$(grep -ohE 'model: [a-z_]+' shm/*.c | sed 's/model: //' | sort -u)
for step in $steps; do
    grep -qx "$step" <<<"$labels" || { echo "shm/ names the step '$step', which the model does not have"; failed=1; }
done
for label in $labels; do
    [[ " $control " == *" $label "* ]] && continue
    grep -qx "$label" <<<"$steps" || { echo "the model has the step '$label', which no line of shm/ names"; failed=1; }
done
((failed)) && exit 1
echo "$(wc -w <<<"$steps") steps named in shm/ and in the model"

command -v spin >/dev/null || { echo "spin is not installed (Debian: spin)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# check OPTIONS...: 0 errors over all states
check() {
    local out
    cp "$model" "$dir/m.pml"
    (cd "$dir" && spin "$@" -a m.pml && gcc -w -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c) >"$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
    out=$(cd "$dir" && ./pan -m1000000 2>&1)
    if [[ $out != *"errors: 0"* || $out == *"max search depth"* || $out == *"out of memory"* ]]; then
        echo "FAILED: $*"
        grep -E 'pan:|errors:|error' <<<"$out"
        (cd "$dir" && spin "$@" -t -p m.pml 2>/dev/null | tail -n 80)
        failed=1
    else
        states=$(grep -oE '^ *[0-9]+ states, stored' <<<"$out" | grep -oE '[0-9]+')
        printf '%-46s %9s states, 0 errors\n' "$*" "$states"
    fi
}

check -DWORKERS=2 -DSLOTS=1 -DJOBS=2
check -DWORKERS=2 -DSLOTS=2 -DJOBS=1 -DSUBMIT
check -DWORKERS=1 -DCRASHES=1 -DRESTARTS=2
check -DWORKERS=1 -DWIPE -DCANCEL
check -DWORKERS=2 -DSLOTS=1 -DJOBS=1 -DGIVEUP -DCANCEL
check -DWORKERS=1 -DRETRY
check -DWORKERS=1 -DSPOIL
[[ -n ${MODEL_LONG:-} ]] && check -DWORKERS=2 -DSLOTS=2 -DJOBS=2
((failed)) && exit 1
exit 0
