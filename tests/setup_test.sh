#!/usr/bin/env bash
# Synthetic circuits and keys for development, judged by snarkjs: it finds the witnesses satisfying, proves with our
# keys and verifies, and it accepts our proofs. What must fail fails, and leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."
pinwheel=${PINWHEEL_BUILD:-build/release}/pinwheel
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "$*"
    exit 1
}

check=() prove=() verify=() export=() keys=()

# key NAME: sets up a key for $tmp/NAME.r1cs, proves $tmp/NAME.wtns by us, and queues the rest for snarkjs
key() {
    local at=$tmp/$1
    "$pinwheel" setup --vk "$at.vk" "$at.r1cs" "$at.zkey" 2>"$at.err"
    grep -q 'NOT for production' "$at.err" || fail "setup does not say what the key is: $(cat "$at.err")"
    "$pinwheel" prove "$at.zkey" "$at.wtns" "$at.proof" "$at.public"
    "$pinwheel" verify "$at.vk" "$at.public" "$at.proof"
    check+=("$at.r1cs" "$at.wtns" "$1")
    export+=("$at.zkey" "$at.snarkjs.vk" "$1")
    keys+=("$at")
    prove+=("$at.zkey" "$at.wtns" "$at.snarkjs")
    verify+=("$at.vk" "$at.proof" "$at.public" "$at.zkey" "$at.proof" "$at.public"
        "$at.vk" "$at.snarkjs.proof" "$at.snarkjs.public")
}

# synthetic CURVE MIX CONSTRAINTS PUBLICS
synthetic() {
    local name=$1-$2-$3-$4
    "$pinwheel" synthetic --curve "$1" --mix "$2" --constraints "$3" --public "$4" "$tmp/$name.r1cs" "$tmp/$name.wtns"
    key "$name"
}

# Domains from 2 to 2^10, full ones (constraints + publics + 1 a power of two) and such with one row more.
for curve in bn254 bls12381; do
    synthetic $curve uniform 1 0
    synthetic $curve uniform 254 1
    synthetic $curve uniform 255 1
    synthetic $curve bits 300 0
    synthetic $curve sha256 600 1
    synthetic $curve sha256 100 400
    synthetic $curve partition 1000 11
done
# same_shape OURS THEIRS: two keys of one circuit: the same protocol, counts and coefficients byte by byte, the same
# points at infinity, and all others different, as the trapdoors are
same_shape() {
    python3 - "$1" "$2" <<'PY'
import struct, sys

def sections(path):
    data, at, found = open(path, "rb").read(), 12, {}
    for _ in range(struct.unpack_from("<I", data, 8)[0]):
        number, size = struct.unpack_from("<IQ", data, at)
        found[number] = data[at + 12:at + 12 + size]
        at += 12 + size
    assert at == len(data) and data[:8] == b"zkey\x01\0\0\0", path
    return found

ours, theirs = sections(sys.argv[1]), sections(sys.argv[2])
assert list(ours) == list(range(1, 11)) and set(theirs) == set(ours)
n8q = struct.unpack_from("<I", ours[2])[0]
counts = 4 + n8q + 4 + 32 + 12
for number, size in ((1, 4), (2, counts), (4, len(theirs[4]))):
    assert ours[number][:size] == theirs[number][:size], f"section {number} differs"
for number in (3, 5, 6, 7, 8, 9):
    size = n8q * (4 if number == 7 else 2)
    a, b = ([s[i:i + size] for i in range(0, len(s), size)] for s in (ours[number], theirs[number]))
    assert len(a) == len(b), f"section {number}: {len(a)} points, not {len(b)}"
    infinity = bytes(size)
    # A, B, L of the wires that no constraint names are infinity in every key; a point that is not has another trapdoor
    for i, (p, q) in enumerate(zip(a, b)):
        assert (p == infinity) == (q == infinity) and (p == infinity or p != q), f"section {number}, point {i}"
PY
}

# circuits compiled by circom
for case in tests/data/cases/*/; do
    name=$(basename "$case")
    cp "$(ls "$case"/*.r1cs)" "$tmp/$name.r1cs"
    cp "$(ls "$case"/*.wtns)" "$tmp/$name.wtns"
    key "$name"
    same_shape "$tmp/$name.zkey" "$(ls "$case"/*_final.zkey)"
done

node tests/judge.js check "${check[@]}"
node tests/judge.js prove "${prove[@]}"
node tests/judge.js export "${export[@]}"
for at in "${keys[@]}"; do cmp "$at.vk" "$at.snarkjs.vk"; done
node tests/judge.js verify "${verify[@]}"

# Every setup draws a trapdoor of its own: a proof for one key is none for another of the same circuit.
one=$tmp/bn254-uniform-255-1
"$pinwheel" setup --vk "$tmp/again.vk" "$one.r1cs" "$tmp/again.zkey" 2>/dev/null
! cmp -s "$one.zkey" "$tmp/again.zkey" || fail "two setups gave the same key"
rc=0
node tests/judge.js verify "$tmp/again.vk" "$one.proof" "$one.public" || rc=$?
[[ $rc == 1 ]] || fail "snarkjs accepts the proof for another key (exit $rc)"
rc=0
"$pinwheel" verify "$tmp/again.vk" "$one.public" "$one.proof" >/dev/null 2>&1 || rc=$?
[[ $rc == 1 ]] || fail "pinwheel verify accepts the proof for another key (exit $rc)"

# A trapdoor that is given stands for its key, on any number of threads; only with --test-hooks is it looked at.
trapdoor=1234567890123456789,2,3333333333333333333333333333333333333333333333333333,5,71
for curve in bn254 bls12381; do
    same=$tmp/$curve-sha256-600-1
    for threads in 1 3; do
        PINWHEEL_TEST_TRAPDOOR=$trapdoor "$pinwheel" setup --test-hooks --backend cpu --threads $threads "$same.r1cs" \
            "$tmp/fixed$threads.zkey" 2>/dev/null
    done
    cmp "$tmp/fixed1.zkey" "$tmp/fixed3.zkey"
    PINWHEEL_TEST_TRAPDOOR=$trapdoor "$pinwheel" setup "$same.r1cs" "$tmp/free.zkey" 2>/dev/null
    ! cmp -s "$tmp/fixed1.zkey" "$tmp/free.zkey" || fail "a trapdoor is taken from the environment"
done

# A seed stands for its files; without one they differ.
for i in 1 2; do
    "$pinwheel" synthetic --constraints 500 --mix sha256 --seed 7 "$tmp/seed$i.r1cs" "$tmp/seed$i.wtns" \
        >"$tmp/seed$i.out"
    "$pinwheel" synthetic --constraints 500 --mix sha256 "$tmp/free$i.r1cs" "$tmp/free$i.wtns" >/dev/null
done
grep -q 'seed 7$' "$tmp/seed1.out" || fail "the seed is not printed: $(cat "$tmp/seed1.out")"
cmp "$tmp/seed1.r1cs" "$tmp/seed2.r1cs"
cmp "$tmp/seed1.wtns" "$tmp/seed2.wtns"
! cmp -s "$tmp/free1.wtns" "$tmp/free2.wtns" || fail "two runs without a seed gave the same witness"

# What is written does not pass through memory: files of 110 MB, in 64 MiB of address space.
(
    ulimit -v 65536
    "$pinwheel" synthetic --constraints 500000 --mix sha256 "$tmp/large.r1cs" "$tmp/large.wtns" >/dev/null
)
(($(stat -c %s "$tmp/large.r1cs") > 64 << 20)) || fail "a small file"
rm "$tmp/large.r1cs" "$tmp/large.wtns"

# The witness is of the mix that was asked for: the share of bits among 20,000 values.
bits() {
    "$pinwheel" synthetic --constraints 20000 --mix "$1" "$tmp/mix.r1cs" "$tmp/mix.wtns" >/dev/null
    python3 - "$tmp/mix.wtns" <<'PY'
import sys
values = open(sys.argv[1], "rb").read()[-20000 * 32:]
print(sum(int.from_bytes(values[i:i + 32], "little") < 2 for i in range(0, len(values), 32)) // 200)
PY
}
share=$(bits partition)
((share >= 97 && share < 99)) || fail "partition: $share % bits"
[[ $(bits uniform) == 0 ]] || fail "uniform: bits in the witness"
share=$(bits bits)
((share >= 88 && share <= 92)) || fail "bits: $share % bits"
share=$(bits sha256)
((share >= 97 && share < 99)) || fail "sha256: $share % bits"

# refused EXIT OUTPUT COMMAND...: ends with that exit code and a line on stderr, and OUTPUT does not exist
refused() {
    local want=$1 out=$2 rc=0
    shift 2
    "$pinwheel" "$@" >"$tmp/refused.out" 2>"$tmp/refused.err" || rc=$?
    [[ $rc == "$want" && -s $tmp/refused.err ]] || fail "$*: exit $rc, want $want: $(cat "$tmp/refused.err")"
    [[ ! -e $out ]] || fail "$*: left $out"
}
no=$tmp/no
head -c 1000 "$one.r1cs" >"$tmp/cut.r1cs"
refused 2 "$no" setup
refused 2 "$no" setup "$one.r1cs"
refused 2 "$no" setup --threads 0 "$one.r1cs" "$no"
refused 2 "$no" setup --threads 2x "$one.r1cs" "$no"
refused 2 "$no" setup --backend gpu "$one.r1cs" "$no"
CUDA_VISIBLE_DEVICES='' refused 1 "$no" setup --backend cuda "$one.r1cs" "$no"
for bad in '' 1,2,3,4 1,2,3,4,5,6 0,2,3,4,5 1,2,x,4,5 1,2,3,4,; do
    PINWHEEL_TEST_TRAPDOOR=$bad refused 1 "$no" setup --test-hooks "$one.r1cs" "$no"
done
PINWHEEL_TEST_TRAPDOOR=1,2,3,4,5 refused 1 "$no" setup --test-hooks "$one.r1cs" "$no"
grep -q 'point of the domain' "$tmp/refused.err" || fail "tau = 1: $(cat "$tmp/refused.err")"
refused 1 "$no" setup "$tmp/missing.r1cs" "$no"
refused 1 "$no" setup "$tmp/cut.r1cs" "$no"
refused 1 "$no" setup "$one.zkey" "$no"
refused 1 "$no" setup "$one.r1cs" "$no/key.zkey"
refused 1 "$no" setup --vk "$no/vk.json" "$one.r1cs" "$tmp/again.zkey"
refused 2 "$no" synthetic "$no" "$no"
refused 2 "$no" synthetic --constraints 0 "$no" "$no.wtns"
refused 2 "$no" synthetic --constraints 10k "$no" "$no.wtns"
refused 2 "$no" synthetic --constraints 268435455 --public 1 "$no" "$no.wtns"
refused 2 "$no" synthetic --constraints 10 --mix other "$no" "$no.wtns"
refused 1 "$no" synthetic --constraints 400 --mix partition "$no" "$no.wtns"
refused 1 "$no" synthetic --constraints 1000 --public 1000 --mix partition "$no" "$no.wtns"
refused 2 "$no" synthetic --constraints 10 --curve bn256 "$no" "$no.wtns"
refused 1 "$no" synthetic --constraints 10 "$no/a" "$no"
refused 1 "$no" synthetic --constraints 10 "$no" "$no/a"
# no room: files end at 20 KiB here
(
    trap '' XFSZ
    ulimit -f 20
    refused 1 "$no" setup "$one.r1cs" "$no"
    refused 1 "$no" synthetic --constraints 5000 "$no" "$no.wtns"
)
leftover=$(find "$tmp" -mindepth 1 -name '*.tmp.*')
[[ -z $leftover ]] || fail "temporary files left: $leftover"
