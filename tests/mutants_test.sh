#!/usr/bin/env bash
# Are the tests worth anything? Each deliberate fault of shm/mutant.h is built on its own into build/mutants and must be
# noticed by a test; which ones do is shown. Each fault also has its place in the model.
set -u
cd "$(dirname "$0")/.." || exit 1
out=build/mutants
mkdir -p "$out"
flags=(-std=c11 -D_GNU_SOURCE -O2 -g -w -I. -pthread -fno-strict-aliasing)
lived=0

# build MUTANT TEST
build() {
    gcc "${flags[@]}" "-DSHM_MUTANT=SHM_MUTANT_$1" -o "$out/$1.$2" shm/*.c "tests/$2.c" -luring -lnuma
}

# notices MUTANT TEST: whether the test fails on it. A hang counts, a skip does not.
notices() {
    timeout 120 "$out/$1.$2" >"$out/$1.$2.log" 2>&1 </dev/null
    (($? != 0 && $? != 77))
}

# in_model MUTANT OPTIONS...: whether Spin finds an error
in_model() {
    local dir=$out/model.$1
    command -v spin >/dev/null || return 1
    rm -rf "$dir" && mkdir -p "$dir" && cp tests/model/handoff.pml "$dir/m.pml"
    (cd "$dir" && spin "-D$1" "${@:2}" -a m.pml && gcc -w -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c) \
        >/dev/null 2>&1 || return 1
    (cd "$dir" && ./pan -m100000 2>&1 | grep -q 'errors: 1')
}

# A test that fails without any fault proves nothing.
for test in shm_killstep_test shm_interleave_test shm_bell_test; do
    build NONE $test || exit 1
    PINWHEEL_TEST_SHORT=1 timeout 300 "$out/NONE.$test" >"$out/NONE.$test.log" 2>&1 </dev/null
    rc=$?
    ((rc == 77)) && { tail -n 1 "$out/NONE.$test.log"; exit 77; }
    ((rc == 0)) || { echo "$test fails without any fault"; tail -n 20 "$out/NONE.$test.log"; exit 1; }
done

# try MUTANT TEST...: all tests that are meant to see it, and the model
try() {
    local mutant=$1 caught=() test
    shift
    for test in "$@"; do
        build "$mutant" "$test" || exit 1
        notices "$mutant" "$test" && caught+=("$test")
    done
    in_model "$mutant" -DJOBS=1 && caught+=("model")
    if ((${#caught[@]})); then
        printf '%-12s noticed by %s\n' "$mutant" "${caught[*]}"
    else
        printf '%-12s LIVED\n' "$mutant"
        lived=1
    fi
}

try NO_CAS shm_interleave_test
try TWO_STEP shm_killstep_test shm_interleave_test
try EARLY_READY shm_killstep_test shm_interleave_test
try FREE_FIRST shm_killstep_test
try WAKE_FIRST shm_bell_test
exit $lived
