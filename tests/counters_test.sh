#!/usr/bin/env bash
# A thousand proofs through the running service leave its counters where they were: nothing is loaded, allocated,
# registered, copied, mapped or opened for a proof.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
"$pinwheel" up --workers 1 --circuit "$(circuit mul2_bn128)" --circuit "$(circuit mul2_bls12381)" >/dev/null
prove_many mul2_bn128 50
prove_many mul2_bls12381 50
# held: the counters, and the daemon's mappings and descriptors
held() {
    counters
    echo "$(wc -l <"/proc/$(daemon_pid)/maps") mappings, $(find "/proc/$(daemon_pid)/fd" -mindepth 1 | wc -l) descriptors"
}
before=$(held)
(($(grep -c '^loads 2$' <<<"$before") == 1)) || fail "two keys were loaded, yet: $before"
prove_many mul2_bn128 500
prove_many mul2_bls12381 500
after=$(held)
[[ $before == "$after" ]] || fail "counters moved: $(diff <(echo "$before") <(echo "$after"))"
"$pinwheel" status | grep -qE 'device 0: ready, 1100 proofs' || fail "$("$pinwheel" status | grep device)"
