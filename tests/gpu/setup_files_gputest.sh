#!/usr/bin/env bash
# `pinwheel setup` on a GPU: for the same trapdoor the very file that the CPU writes, for circuits of all mixes and both
# curves, and its key proves.
set -euo pipefail
cd "$(dirname "$0")/../.."
pinwheel=${PINWHEEL_BUILD:-build/release}/pinwheel
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export PINWHEEL_TEST_TRAPDOOR=1234567890123456789,2,3333333333333333333333333333333333333333333333333333,5,71

setup() { # BACKEND R1CS ZKEY
    "$pinwheel" setup --test-hooks --backend "$1" "$2" "$3" 2>"$tmp/err"
}

check() { # NAME R1CS WTNS
    setup cpu "$2" "$tmp/cpu.zkey"
    if ! setup cuda "$2" "$tmp/gpu.zkey"; then
        cat "$tmp/err"
        grep -q 'no GPU can be used' "$tmp/err" && exit 77
        exit 1
    fi
    cmp "$tmp/cpu.zkey" "$tmp/gpu.zkey" || exit 1
    "$pinwheel" prove --local --r1cs "$2" "$tmp/gpu.zkey" "$3" "$tmp/proof" "$tmp/public"
    echo "$1: the same key"
}

for case in tests/data/cases/*/; do
    check "$(basename "$case")" "$(ls "$case"/*.r1cs)" "$(ls "$case"/*.wtns)"
done
for curve in bn254 bls12381; do
    for mix in uniform bits sha256; do
        "$pinwheel" synthetic --curve $curve --mix $mix --constraints 40000 --public 3 "$tmp/c.r1cs" "$tmp/c.wtns"
        check "$curve $mix" "$tmp/c.r1cs" "$tmp/c.wtns"
    done
done
