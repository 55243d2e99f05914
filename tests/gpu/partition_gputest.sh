#!/usr/bin/env bash
# The partition that no file describes, against files of the same circuit at sizes at which there can be files: from one
# trapdoor every point of the key that is made on the device is the one of `pinwheel setup`, and proofs from a slot that
# another process filled verify, by us and, where node is there, by snarkjs.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${PINWHEEL_BUILD:-build/release}
pinwheel=$build/pinwheel
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trapdoor=98765432109876543210,7,3333333333333333333333333333333333333333333333333333,1234567890123,71

judge=()
for curve in bls12381 bn254; do
    for log in 10 13 16; do
        constraints=$(((130278541 << log) >> 27))
        public=$((constraints / 100 < 327 ? constraints / 100 : 327))
        at=$tmp/$curve-$log
        "$pinwheel" synthetic --curve $curve --mix partition --constraints $constraints --public $public --seed $log \
            "$at.r1cs" "$at.wtns"
        PINWHEEL_TEST_TRAPDOOR=$trapdoor "$pinwheel" setup --test-hooks --backend cpu --vk "$at.vk" "$at.r1cs" \
            "$at.zkey" 2>/dev/null
        rc=0
        "$build/gpu/partition_gpubench" --curve $curve --log $log --seed $log --runs 3 --trapdoor $trapdoor \
            --key "$at.zkey" --out "$at.gpu" || rc=$?
        ((rc == 0)) || exit $rc
        cmp "$at.vk" "$at.gpu.vk"
        "$pinwheel" verify "$at.vk" "$at.gpu.public" "$at.gpu.proof"
        judge+=("$at.vk" "$at.gpu.proof" "$at.gpu.public")
    done
done
! command -v node >/dev/null || [[ ! -d build/npm ]] || node tests/judge.js verify "${judge[@]}"
