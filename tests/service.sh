# shellcheck shell=bash
# tests/service.sh: what the end-to-end tests share; sourced by them. Each test has a folder of its own and an
# instance of its own, and leaves neither.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$PWD/${PINWHEEL_BUILD:-build/release}
[[ ${PINWHEEL_BUILD:-} != /* ]] || bin=$PINWHEEL_BUILD
pinwheel=$bin/pinwheel
cases=$PWD/tests/data/cases
tmp=$(mktemp -d)
export XDG_RUNTIME_DIR=$tmp/run XDG_STATE_HOME=$tmp/state PINWHEEL_REGISTRY=$tmp/registry
export PINWHEEL_INSTANCE=${0##*/}
PINWHEEL_INSTANCE=${PINWHEEL_INSTANCE%.sh}$$
mkdir -m 700 "$XDG_RUNTIME_DIR"
log=$tmp/state/pinwheel/$PINWHEEL_INSTANCE.log

clean_up() {
    local status=$?
    trap - EXIT
    "$pinwheel" down >/dev/null 2>&1 || true
    if ((status != 0 && status != 77)) && [[ -s $log ]]; then
        echo "--- the daemon's log:"
        tail -n 30 "$log"
    fi
    rm -rf "$tmp"
    exit "$status"
}
trap clean_up EXIT

fail() {
    echo "FAIL: $*"
    exit 1
}

# refused STATUS PATTERN COMMAND...: the command ends with that status and one line on stderr that matches the pattern
refused() {
    local want=$1 pattern=$2 status=0
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    ((status == want)) || fail "$*: exit $status, wanted $want; $(cat "$tmp/err")"
    (($(wc -l <"$tmp/err") == 1)) || fail "$*: more or less than one line: $(cat "$tmp/err")"
    grep -qE -- "$pattern" "$tmp/err" || fail "$*: '$(cat "$tmp/err")' does not match '$pattern'"
}

# until_true SECONDS COMMAND...: polls a state; the deadline only ends a test that fails
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || fail "not so after the time: $*"
        sleep 0.02
    done
}

# circuit NAME_CURVE [r1cs]: the option that registers a case, without or with its constraints
circuit() {
    local name=${1%_*}
    echo "$1=$cases/$1/${name}_final.zkey${2:+,$cases/$1/$name.r1cs}"
}
zkey() { echo "$cases/$1/${1%_*}_final.zkey"; }
r1cs() { echo "$cases/$1/${1%_*}.r1cs"; }
wtns() { echo "$cases/$1/${1%_*}.wtns"; }
vk() { echo "$cases/$1/vk.json"; }

daemon_pid() {
    "$pinwheel" status --json | sed -n 's/^ "pid": \([0-9]*\),$/\1/p'
}
worker_pids() {
    "$pinwheel" region | sed -n 's/^peer [0-9]* pid \([0-9]*\) alive.*/\1/p'
}
# slots STATE: how many there are
slots() {
    "$pinwheel" region | grep -c "^slot [0-9]* $1 " || true
}
# job_state ID
job_state() {
    "$pinwheel" region | sed -n "s/^job $1 \([A-Z]*\) .*/\1/p"
}
# process_state PID: R, S, T ...; nothing where it is gone
process_state() {
    sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null || true
}
is() { [[ $("${@:2}") == "$1" ]]; }
# counters: what must not grow with proofs, of each device: loads of keys, evictions, allocations, registrations and
# copies on the host
counters() {
    local names='loads|evictions|allocations|registrations|registered_bytes|host_copies|host_copied_bytes'
    "$pinwheel" status --json | sed -nE 's/^ *"('"$names"')": ([0-9]+),?$/\1 \2/p'
}
# number KEY: of the first line of the status that has it
number() { "$pinwheel" status --json | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" | head -n 1; }
# prove_many NAME COUNT: so many proofs of a case through the running service
prove_many() {
    rm -rf "$tmp/many" "$tmp/proofs"
    mkdir -p "$tmp/many" "$tmp/proofs"
    for ((i = 0; i < $2; i++)); do ln -s "$(wtns "$1")" "$tmp/many/$i.wtns"; done
    "$pinwheel" submit "$1" --each "$tmp"/many/*.wtns --out "$tmp/proofs" >"$tmp/out"
    grep -q "$2 proved, 0 were there, 0 failed" "$tmp/out" || fail "$(<"$tmp/out")"
}
