#!/usr/bin/env bash
# The measurements of docs/PERFORMANCE.md on a machine with a GPU; circuits are made on the spot:
#   tests/gpu/pipeline_gpubench.sh [SECONDS [OUT]]      mixed load for so long (default 300); files to OUT (default .)
#
#   memory.txt .svg       uploads by the kind of memory
#   ready.txt .json       slots always ready: is the GPU busy?
#   control.txt           the same load from pageable and from registered memory
#   mixed.txt .json       twelve workers, seven circuits of both curves, for SECONDS; trace.json: a hundred proofs of it
# Each part is a command by itself and has a time limit, the first parts being the ones that others rest on.
# shellcheck source=tests/service.sh
seconds=${1:-300}
out=$(realpath "${2:-.}")
source "$(dirname "$0")/../service.sh"
mkdir -p "$out"
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$tmp/cache}
workers=${PINWHEEL_BENCH_WORKERS:-12}
log_ready=${PINWHEEL_BENCH_LOG:-20}

part() { # NAME LIMIT COMMAND...
    local name=$1 limit=$2 status=0
    shift 2
    echo "== $name: ${*/#$bin\//}"
    timeout "$limit" "$@" >"$out/$name.txt" 2>"$out/$name.err" || status=$?
    cat "$out/$name.txt"
    ((status == 0)) || { echo "$name: exit $status"; tail -n 5 "$out/$name.err"; }
}

if ! "$pinwheel" up --backend cuda --workers 1 --circuit "$(circuit mul2_bn128)" >"$tmp/out" 2>"$tmp/err"; then
    cat "$tmp/err"
    grep -q 'no GPU can be used' "$tmp/err" && exit 77
    exit 1
fi
"$pinwheel" down
{ date -u; uname -sr; nproc; cat /proc/driver/nvidia/version; nvidia-smi -L; free -g; df -h /dev/shm; } \
    >"$out/machine.txt" 2>&1 || true
cat "$out/machine.txt"

part memory 90 "$pinwheel" bench memory --runs "${PINWHEEL_BENCH_RUNS:-9}" --plot "$out/memory.svg"
part ready 90 "$pinwheel" bench pipeline --backend cuda --synthetic "$log_ready:bits" --workers 0 --slots 8 \
    --producers 8 --proofs 300 --warm-up 20 --in-flight 32 --save "$out/ready.json"
part control 120 "$pinwheel" bench pipeline --backend cuda --synthetic "$log_ready:bits" --workers "$workers" \
    --proofs 150 --warm-up 30 --control

names=() options=()
for name in merkle20o2_bn128 range_bls12381; do
    options+=(--circuit "$(circuit $name)")
    names+=(--circuit "$name=$(wtns $name)*4")
done
for spec in 16:uniform:bn254*4 18:bits:bn254*2 18:bits:bls12381*2 20:bits:bn254*2 20:sha256:bls12381*1; do
    IFS=: read -r bits mix curve <<<"${spec%'*'*}"
    name=s${bits}_${mix}_$curve
    file=$XDG_CACHE_HOME/$name
    if [[ ! -e $file.zkey ]]; then
        "$pinwheel" synthetic --constraints $(((1 << bits) - 2)) --mix "$mix" --curve "$curve" --seed 1 \
            "$file.r1cs" "$file.wtns"
        "$pinwheel" setup "$file.r1cs" "$file.zkey" >/dev/null 2>&1
    fi
    options+=(--circuit "$name=$file.zkey")
    names+=(--circuit "$name=$file.wtns*${spec##*'*'}")
done
"$pinwheel" up --backend cuda --workers "$workers" "${options[@]}"
part mixed $((seconds + 60)) "$pinwheel" bench pipeline "${names[@]}" --seconds "$seconds" \
    --window $((seconds < 120 ? 10 : 30)) --save "$out/mixed.json" --trace "$out/trace.json" --trace-proofs 100
"$pinwheel" status >"$out/status.txt"
cp "$log" "$out/service.log"
"$pinwheel" down
