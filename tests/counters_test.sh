#!/usr/bin/env bash
# A thousand proofs through the running service leave its counters where they were: nothing is loaded, allocated,
# registered, copied, mapped or opened for a proof.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
"$pinwheel" up --workers 1 --circuit "$(circuit mul2_bn128)" --circuit "$(circuit mul2_bls12381)" >/dev/null
prove_many mul2_bn128 50
prove_many mul2_bls12381 50
pid=$(daemon_pid)
mappings() { wc -l <"/proc/$pid/maps"; }
descriptors() { find "/proc/$pid/fd" -mindepth 1 | wc -l; }
before=$(counters) maps=$(mappings) files=$(descriptors)
(($(grep -c '^loads 2$' <<<"$before") == 1)) || fail "two keys were loaded, yet: $before"
prove_many mul2_bn128 500
prove_many mul2_bls12381 500
[[ $(counters) == "$before" ]] || fail "counters moved: $(diff <(echo "$before") <(counters))"
(($(mappings) <= maps)) || fail "$(mappings) mappings, $maps before"
no_more_files() { (($(descriptors) <= files)); }        # once the connections before it are closed
until_true 10 no_more_files
"$pinwheel" status | grep -qE 'device 0: ready, 1100 proofs' || fail "$("$pinwheel" status | grep device)"
