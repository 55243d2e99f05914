#!/usr/bin/env bash
# What users of provers like this one reported, and the right behaviour, by the project and number of the report.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

judge=()
prove() { # NAME: one shot, into $tmp/NAME.proof and .public
    "$pinwheel" prove --local "$(zkey "$1")" "$(wtns "$1")" "$tmp/$1.proof" "$tmp/$1.public"
    judge+=("$(vk "$1")" "$tmp/$1.proof" "$tmp/$1.public")
}
valid() { # VK PUBLIC PROOF
    [[ $("$pinwheel" verify "$@") == valid ]] || fail "refused: $*"
}

echo "iden3/rapidsnark-old#1, iden3/snarkjs#447: no public signals give [], and verify"
for name in nopub2_bn128 nopub2_bls12381; do
    prove $name
    [[ $(tr -d ' \n' <"$tmp/$name.public") == '[]' ]] || fail "public.json is $(<"$tmp/$name.public")"
    valid "$(vk $name)" "$tmp/$name.public" "$tmp/$name.proof"
    echo '[]' >"$tmp/brackets"
    valid "$(vk $name)" "$tmp/brackets" "$tmp/$name.proof"
done

echo "iden3/rapidsnark#18: many jobs at once, each with its own id and result"
names=(mul2_bn128 range_bn128 sorted16_bn128 nopub2_bls12381)
circuits=()
for name in "${names[@]}"; do circuits+=(--circuit "$(circuit "$name")"); done
"$pinwheel" up --workers 2 "${circuits[@]}" >"$tmp/out"
ids=()
for name in "${names[@]}" "${names[@]}"; do ids+=("$("$pinwheel" submit "$name" "$(wtns "$name")")"); done
(($(printf '%s\n' "${ids[@]}" | sort -u | wc -l) == 8)) || fail "ids: ${ids[*]}"
for i in 7 6 5 4 3 2 1 0; do
    name=${names[i % 4]}
    "$pinwheel" wait "${ids[i]}" "$tmp/job$i.proof" "$tmp/job$i.public"
    cmp "$tmp/job$i.public" "$cases/$name/public.json"
    judge+=("$(vk "$name")" "$tmp/job$i.proof" "$tmp/job$i.public")
done
"$pinwheel" down

echo "iden3/rapidsnark PR#36: output files are exact JSON, no trailing bytes"
for name in mul2_bn128 sorted16_bls12381 allpub_bn128; do     # without publics snarkjs itself writes "[\n]"
    prove $name
    node -e '
        const fs = require("fs");
        for (const f of process.argv.slice(1)) {
            const text = fs.readFileSync(f, "utf8");
            if (JSON.stringify(JSON.parse(text), null, 1) !== text) throw new Error(f + " has other bytes");
        }' "$tmp/$name.proof" "$tmp/$name.public"
done
# over a longer file that was there before
head -c 100000 /dev/zero | tr '\0' x >"$tmp/mul2_bn128.proof"
prove mul2_bn128
(($(stat -c %s "$tmp/mul2_bn128.proof") < 2000)) || fail "the end of an older file is left"

echo "iden3/rapidsnark PR#2: a witness of the wrong length: both numbers, exit status, no file"
refused 1 'range|signals|4.*' "$pinwheel" prove --local "$(zkey range_bn128)" "$(wtns mul2_bn128)" "$tmp/p" "$tmp/q"
n_vars=$(node -e '
    const d = require("fs").readFileSync(process.argv[1]);
    for (let at = 12; ; at += 12 + Number(d.readBigUInt64LE(at + 4)))
        if (d.readUInt32LE(at) === 2) { console.log(d.readUInt32LE(at + 12 + 72)); break; }' "$(zkey range_bn128)")
grep -qw "$n_vars" "$tmp/err" || fail "'$(<"$tmp/err")' does not have the key's number $n_vars"
grep -qw 4 "$tmp/err" || fail "'$(<"$tmp/err")' does not have the witness's number 4"
[[ ! -e $tmp/p && ! -e $tmp/q ]] || fail "an output file is left"

echo "iden3/snarkjs#309: all signals public (section 8 of the key is empty)"
for name in allpub_bn128 allpub_bls12381; do
    prove $name
    valid "$(vk $name)" "$tmp/$name.public" "$tmp/$name.proof"
done

echo "iden3/snarkjs#573: number and form of the public signals are checked"
name=range_bn128
prove $name
publics=$tmp/$name.public
node -e '
    const fs = require("fs"), [from, to] = process.argv.slice(1), p = JSON.parse(fs.readFileSync(from));
    const r = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
    const put = (name, v) => fs.writeFileSync(to + name, JSON.stringify(v));
    put("fewer", p.slice(1)); put("more", [...p, "0"]); put("none", []); put("object", {}); put("keys", { ...p });
    put("numbers", p.map(Number)); put("wrapped", [(BigInt(p[0]) + r).toString(), ...p.slice(1)]);
    put("hex", ["0x1", ...p.slice(1)]); put("negative", ["-1", ...p.slice(1)]); put("text", ["", ...p.slice(1)]);
    put("zeros", ["0" + p[0], ...p.slice(1)]); put("other", [(BigInt(p[0]) + 1n).toString(), ...p.slice(1)]);
    fs.writeFileSync(to + "trailing", JSON.stringify(p) + "x");' "$publics" "$tmp/form."
valid "$(vk $name)" "$publics" "$tmp/$name.proof"
n=$(node -e 'console.log(JSON.parse(require("fs").readFileSync(process.argv[1])).length)' "$publics")
refused 1 "$((n - 1)).*$n" "$pinwheel" verify "$(vk $name)" "$tmp/form.fewer" "$tmp/$name.proof"
refused 1 "$((n + 1)).*$n" "$pinwheel" verify "$(vk $name)" "$tmp/form.more" "$tmp/$name.proof"
refused 1 invalid "$pinwheel" verify "$(vk $name)" "$tmp/form.other" "$tmp/$name.proof"
for form in none object keys numbers wrapped hex negative text zeros trailing; do
    refused 1 . "$pinwheel" verify "$(vk $name)" "$tmp/form.$form" "$tmp/$name.proof"
done

echo "ingonyama-zk/icicle#169: keys with many points at infinity"
prove sorted16_bn128
echo "arkworks-rs/circom-compat#35: the reduction of a zkey, on the odd coset"
prove merkle20o2_bn128
echo "arkworks-rs/groth16#60: BLS12-381 keys at every domain size"
for name in mul2_bls12381 range_bls12381 sorted16_bls12381 empty_bls12381; do prove $name; done

echo "iden3/circom-witnesscalc#12: a witness from another optimisation level is said to be one"
key=$(zkey sorted16_bn128)
refused 1 'optimisation level' "$pinwheel" prove --local "$key" "$(wtns range_bn128)" "$tmp/p" "$tmp/q"
refused 1 'optimisation level' \
    "$pinwheel" prove --local --r1cs "$(r1cs range_bn128)" "$key" "$(wtns sorted16_bn128)" "$tmp/p" "$tmp/q"

echo "filecoin-project/bellperson#126: CPU mode touches no GPU, no lock file, no temporary folder"
export CUDA_VISIBLE_DEVICES='' TMPDIR=/nonexistent
name=mul2_bn128
"$pinwheel" up --backend cpu --circuit "$(circuit $name)" >"$tmp/out"
id=$("$pinwheel" submit $name "$(wtns $name)")
"$pinwheel" wait "$id" "$tmp/cpu.proof" "$tmp/cpu.public"
judge+=("$(vk $name)" "$tmp/cpu.proof" "$tmp/cpu.public")
for pid in $(daemon_pid) $(worker_pids); do
    ! grep -qE 'libcuda|nvidia' "/proc/$pid/maps" || fail "process $pid has loaded a GPU's driver"
    others=$(find "/proc/$pid/fd" -type l -printf '%l\n' | grep '^/' |
        grep -vxE "/dev/null|/dev/shm/pinwheel-$PINWHEEL_INSTANCE|$log|$tmp/run/.*|$tmp/out|$(zkey $name)" || true)
    [[ -z $others ]] || fail "process $pid has open files: $others"
done
"$pinwheel" down
if unshare --mount true 2>/dev/null; then
    # a file system without one writable place but the two outputs
    mkdir "$tmp/output"
    # shellcheck disable=SC2016
    unshare --mount bash -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind / && shift && exec "$@"' - \
        "$tmp/output" "$pinwheel" prove --local "$(zkey $name)" "$(wtns $name)" "$tmp/output/proof" "$tmp/output/public"
    judge+=("$(vk $name)" "$tmp/output/proof" "$tmp/output/public")
fi

node tests/judge.js verify "${judge[@]}" >"$tmp/out" || fail "$(grep -v '^ok' "$tmp/out")"
echo "snarkjs accepts all $((${#judge[@]} / 3))"
