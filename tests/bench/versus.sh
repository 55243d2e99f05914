#!/usr/bin/env bash
# Times another prover against this one, as whole processes, on the same key, witness and processors:
#
#   tests/bench/versus.sh [-n PAIRS] [-t THREADS] PROVER [circuit.zkey witness.wtns]
#
# PROVER takes rapidsnark's arguments: KEY WITNESS PROOF PUBLIC. Runs alternate, other, ours, other, ours ..., after
# one pair that is not counted and whose proofs snarkjs must accept, so that both find the files in the page cache and
# what else the machine does falls on both. Without files a circuit of 2^16 constraints over BN254 is made in
# build/bench-cache. Prints wall and processor time (user and system), and the ratio pair by pair.
set -euo pipefail
cd "$(dirname "$0")/../.."
pinwheel=${PINWHEEL_BUILD:-build/release}/pinwheel
pairs=10 threads=$(nproc)

usage() {
    sed -n 's/^#   \(tests.*\)/usage: \1/p' "$0" >&2
    exit 2
}

while getopts n:t: option; do
    case $option in
    n) pairs=$OPTARG ;;
    t) threads=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
(($# == 1 || $# == 3)) || usage
[[ $pairs =~ ^[1-9][0-9]*$ && $threads =~ ^[1-9][0-9]*$ ]] || usage
prover=$1

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if (($# == 3)); then
    zkey=$2 wtns=$3
else
    cache=build/bench-cache
    zkey=$cache/versus.zkey wtns=$cache/versus.wtns
    if [[ ! -e $zkey ]]; then
        mkdir -p "$cache"
        "$pinwheel" synthetic --constraints 65534 --mix bits --seed 16 "$cache/versus.r1cs" "$wtns"
        "$pinwheel" setup "$cache/versus.r1cs" "$zkey"
    fi
fi

# The first THREADS processors that this shell may use, for both.
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }' | head -n "$threads" | paste -sd,)

# once NAME COMMAND...: appends "wall cpu" in ms to $tmp/NAME
once() {
    local name=$1 TIMEFORMAT='%R %U %S'
    shift
    { time taskset -c "$cpus" "$@" >"$tmp/$name.log" 2>&1; } 2>"$tmp/$name.time" || {
        echo "$name failed: $*" >&2
        tail -n 5 "$tmp/$name.log" >&2
        exit 1
    }
    awk 'END { print 1000 * $1, 1000 * ($2 + $3) }' "$tmp/$name.time" >>"$tmp/$name"
}

pair() {
    once other "$prover" "$zkey" "$wtns" "$tmp/other.proof" "$tmp/other.public"
    once ours "$pinwheel" prove --local --threads "$threads" "$zkey" "$wtns" "$tmp/ours.proof" "$tmp/ours.public"
}

pair
node tests/judge.js verify "$zkey" "$tmp/other.proof" "$tmp/other.public" "$zkey" "$tmp/ours.proof" "$tmp/ours.public" |
    sed "s|$tmp/||"
rm "$tmp/other" "$tmp/ours"
for ((i = 0; i < pairs; i++)); do pair; done

# stats FILE COLUMN: min, median, max
stats() {
    sort -g -k "$2,$2" "$1" | awk -v c="$2" '
        { v[NR] = $c }
        END { printf "%10.3f %10.3f %10.3f", v[1], (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[NR] }'
}

echo "$zkey ($(stat -c %s "$zkey") bytes), $pairs pairs, processors $cpus"
printf '%-28s %10s %10s %10s\n' '' min median max
printf '%-28s %s\n' \
    'other, wall ms' "$(stats "$tmp/other" 1)" 'ours, wall ms' "$(stats "$tmp/ours" 1)" \
    'other, processor ms' "$(stats "$tmp/other" 2)" 'ours, processor ms' "$(stats "$tmp/ours" 2)"
paste "$tmp/other" "$tmp/ours" | awk '{ print $1 / $3, $2 / $4 }' >"$tmp/ratio"
printf '%-28s %s\n' 'other / ours, wall' "$(stats "$tmp/ratio" 1)" 'other / ours, processor' "$(stats "$tmp/ratio" 2)"
