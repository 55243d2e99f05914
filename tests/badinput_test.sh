#!/usr/bin/env bash
# Bad input of every kind, one shot and at a running service: one clear line, the documented exit status, no output
# file, and the service goes on.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

good=mul2_bn128
bad=$tmp/bad
mkdir "$bad"

# ---- making bad files ----

# put FILE OFFSET HEX
# shellcheck disable=SC2001 # bash before 5.2 has no & in a replacement
put() { printf '%b' "$(sed 's/../\\x&/g' <<<"$3")" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
number() { od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }
# section FILE ID: offset of its payload
section() {
    local at=12 n
    n=$(number "$1" 8 4)
    for ((; n > 0; n--)); do
        (($(number "$1" $at 4) == $2)) && echo $((at + 12)) && return
        at=$((at + 12 + $(number "$1" $((at + 4)) 8)))
    done
    fail "$1 has no section $2"
}
# copy KIND NAME: a fresh copy to spoil, $bad/NAME.KIND
copy() {
    case $1 in
    zkey) cp "$(zkey $good)" "$bad/$2.zkey" ;;
    wtns) cp "$(wtns $good)" "$bad/$2.wtns" ;;
    r1cs) cp "$(r1cs $good)" "$bad/$2.r1cs" ;;
    esac
    chmod u+w "$bad/$2.$1"
    echo "$bad/$2.$1"
}

for kind in zkey wtns; do
    f=$(copy $kind truncated) && truncate -s -1 "$f"
    f=$(copy $kind halved) && truncate -s "$(($(stat -c %s "$f") / 2))" "$f"
    f=$(copy $kind oversized) && printf 'x' >>"$f"
    f=$(copy $kind magic) && put "$f" 0 78787878
    f=$(copy $kind version) && put "$f" 4 63000000
    f=$(copy $kind sections) && put "$f" 8 ffffffff
    : >"$bad/empty.$kind"
    mkdir "$bad/folder.$kind"
    mkfifo "$bad/fifo.$kind"
    head -c 4096 /dev/zero >"$bad/zeros.$kind"
done

# the key: protocol 2 (PLONK), primes, counts that lie, a point off its curve
f=$(copy zkey plonk) && put "$f" "$(section "$f" 1)" 02000000
head=$(section "$(zkey $good)" 2)           # n8q 4, q 32, n8r 4, r 32, nVars, nPublic, domainSize
f=$(copy zkey curve) && put "$f" $((head + 4)) 55
f=$(copy zkey order) && put "$f" $((head + 40)) 55
f=$(copy zkey vars) && put "$f" $((head + 72)) ffffff7f
f=$(copy zkey public) && put "$f" $((head + 76)) 09000000
f=$(copy zkey domain) && put "$f" $((head + 80)) 07000000
f=$(copy zkey domain32) && put "$f" $((head + 80)) 00000080
f=$(copy zkey coefs) && put "$f" "$(section "$f" 4)" ffffff7f
f=$(copy zkey signal) && put "$f" $(($(section "$f" 4) + 4 + 8)) ffffff00
f=$(copy zkey point) && put "$f" $(($(section "$f" 9))) 0102030405

# the witness: prime, count that lies, first entry, a value at the prime, one flipped bit (satisfies nothing)
whead=$(section "$(wtns $good)" 1)          # n8 4, prime 32, nWitness
values=$(section "$(wtns $good)" 2)
prime=$(od -An -v -t x1 -j $((whead + 4)) -N 32 "$(wtns $good)" | tr -d ' \n')
f=$(copy wtns curve) && put "$f" $((whead + 4)) 55
f=$(copy wtns count) && put "$f" $((whead + 36)) 05000000
f=$(copy wtns first) && put "$f" "$values" 02
f=$(copy wtns prime) && put "$f" $((values + 32)) "$prime"
f=$(copy wtns most) && put "$f" $((values + 64)) "$(printf 'f%.0s' {1..64})"
f=$(copy wtns unsatisfied) && put "$f" $((values + 32)) 22

# ---- one shot ----

no_output() { [[ ! -e $tmp/proof && ! -e $tmp/public ]] || fail "$1: an output file is left"; }
shot() { # PATTERN ZKEY WTNS OPTIONS...
    refused 1 "$1" timeout 20 "$pinwheel" prove --local "${@:4}" "$2" "$3" "$tmp/proof" "$tmp/public"
    no_output "$2 $3"
    [[ -z $(find "$tmp" -maxdepth 1 -name '*proof*') ]] || fail "$2 $3: a temporary file is left"
}
for f in "$bad"/*.zkey; do shot "$f" "$f" "$(wtns $good)"; done
for f in "$bad"/*.wtns; do
    [[ $f == */unsatisfied.wtns ]] || shot "$f" "$(zkey $good)" "$f"
done
shot 'does not satisfy' "$(zkey $good)" "$bad/unsatisfied.wtns"
# -a * b = -c: -3 * 11 is not -34, modulo r
shot 'constraint 0 of 1 .*5808495614 \* 11 is not .*5808495583$' "$(zkey $good)" "$bad/unsatisfied.wtns" \
    --r1cs "$(r1cs $good)"
shot 'missing.zkey: No such file' "$tmp/missing.zkey" "$(wtns $good)"
shot 'missing.wtns: No such file' "$(zkey $good)" "$tmp/missing.wtns"
shot '4882 values.* 4:' "$(zkey $good)" "$(wtns merkle20o2_bn128)"
shot 'bls12381|BLS12-381|curve|prime' "$(zkey $good)" "$(wtns mul2_bls12381)"
shot 'PLONK|protocol' "$bad/plonk.zkey" "$(wtns $good)"
shot 'r1cs' "$(zkey $good)" "$(wtns $good)" --r1cs "$(r1cs merkle20o2_bn128)"
refused 1 'no/folder' "$pinwheel" prove --local "$(zkey $good)" "$(wtns $good)" "$tmp/no/folder" "$tmp/public"
refused 1 'no/folder' "$pinwheel" prove --local "$(zkey $good)" "$(wtns $good)" "$tmp/proof" "$tmp/no/folder"
no_output "a path that cannot be written"
refused 1 "$bad" "$pinwheel" prove --local "$(zkey $good)" "$(wtns $good)" "$bad" "$tmp/public"
no_output "a folder as output"
echo untouched >"$tmp/proof"
refused 1 'missing' "$pinwheel" prove --local "$(zkey $good)" "$tmp/missing.wtns" "$tmp/proof" "$tmp/public"
[[ $(<"$tmp/proof") == untouched ]] || fail "a failed proof changed the file that was there"
rm "$tmp/proof"

# ---- the service ----

# a key that cannot be served is refused at the start, with the same line
for f in "$bad"/*.zkey; do
    refused 1 "$f" timeout 20 "$pinwheel" up --circuit "bad=$f"
done
refused 1 'r1cs' "$pinwheel" up --circuit "bad=$(zkey $good),$(r1cs merkle20o2_bn128)"

"$pinwheel" up --workers 2 --circuit "$(circuit $good r1cs)" --circuit "plain=$(zkey $good)" \
    --circuit "$(circuit merkle20o2_bn128)" >"$tmp/out"
mapfile -t workers < <(worker_pids)
goes_on() {
    local id
    id=$("$pinwheel" submit $good "$(wtns $good)")
    "$pinwheel" wait "$id" "$tmp/good.proof" "$tmp/good.public" || fail "after $1 a good job fails"
}
job() { # PATTERN CIRCUIT WTNS
    local id
    id=$("$pinwheel" submit "$2" "$3")
    refused 1 "$1" timeout 20 "$pinwheel" wait "$id" "$tmp/proof" "$tmp/public"
    no_output "$3"
}
for f in "$bad"/*.wtns; do
    [[ $f == */unsatisfied.wtns ]] || job "$f" $good "$f"
    goes_on "$f"
done
job 'constraint 0' $good "$bad/unsatisfied.wtns"
job 'does not verify.*digest [0-9a-f]{16}.*does not satisfy' plain "$bad/unsatisfied.wtns"
goes_on unsatisfied
job 'signals|witness' merkle20o2_bn128 "$(wtns $good)"
goes_on "a witness of another circuit"
refused 1 'missing.wtns' "$pinwheel" submit $good "$tmp/missing.wtns"
id=$("$pinwheel" submit $good "$(wtns $good)")
refused 1 'no/folder' "$pinwheel" wait "$id" "$tmp/no/folder" "$tmp/public"
goes_on "an output path that cannot be written"
cp "$(wtns $good)" "$tmp/vanishing.wtns"
kill -STOP "${workers[@]}"
id=$("$pinwheel" submit $good "$tmp/vanishing.wtns")
rm "$tmp/vanishing.wtns"
kill -CONT "${workers[@]}"
refused 1 'vanishing.wtns: No such file' "$pinwheel" wait "$id"
is "$(printf '%s\n' "${workers[@]}")" worker_pids || fail "bad input killed a worker"
node tests/judge.js verify "$(vk $good)" "$tmp/good.proof" "$tmp/good.public" >"$tmp/out" || fail "$(<"$tmp/out")"

# A circuit added to a region whose slots are too small, by a daemon that takes the region over.
"$pinwheel" synthetic --constraints 40000 --public 1 "$tmp/large.r1cs" "$tmp/large.wtns" 2>"$tmp/err"
"$pinwheel" setup "$tmp/large.r1cs" "$tmp/large.zkey" 2>"$tmp/err"
kill -KILL "$(<"$XDG_RUNTIME_DIR/pinwheel/$PINWHEEL_INSTANCE.pid")" "$(daemon_pid)"
refused 1 'large needs slots of [0-9]+ bytes and the largest of this region has 2097152.*down' \
    "$pinwheel" up --circuit "large=$tmp/large.zkey"
refused 1 "circuit $good is registered with another key" "$pinwheel" up --circuit "$good=$tmp/large.zkey"
"$pinwheel" up >"$tmp/out"      # the circuits are in the region's catalogue
goes_on "a refused daemon"
"$pinwheel" down

# /dev/shm too small, in a mount namespace of our own
if unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016
    refused 1 '/dev/shm.*MiB' unshare --mount bash -c 'mount -t tmpfs -o size=2m none /dev/shm && exec "$@"' - \
        "$pinwheel" up --circuit "$(circuit $good)"
else
    echo "not tried: a mount namespace (not root)"
fi
refused 1 'too little memory: .* MiB' "$pinwheel" up --slots 4096 --circuit "large=$tmp/large.zkey"
[[ ! -e /dev/shm/pinwheel-$PINWHEEL_INSTANCE ]] || fail "a refused start left its region"
