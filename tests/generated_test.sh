#!/usr/bin/env bash
# The files that scripts derive are what the scripts print: nothing in them was changed by hand.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=0

# same FILE COMMAND...
same() {
    local file=$1
    shift
    "$@" | cmp - "$file" || { echo "$file is not what '$*' prints"; failed=1; }
}

command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
same kernels/constants.h python3 kernels/gen_constants.py
same tests/data/field.txt python3 tests/data/gen_field.py
same tests/data/subgroup.txt python3 tests/data/gen_subgroup.py

# node's module lookup starts from where it is run
if command -v node >/dev/null && [[ -d build/npm/node_modules/ffjavascript ]]; then
    for name in curve pairing; do
        (cd build/npm && same ../../tests/data/$name.txt node ../../tests/data/gen_$name.mjs; exit $failed) || failed=1
    done
fi
exit $failed
