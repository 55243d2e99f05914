#!/usr/bin/env bash
# `pinwheel bench pipeline` on the CPU: as many proofs as asked, phases that add up, a timeline in which nothing
# overlaps that cannot, jobs that fail are told; and what both benchmarks refuse. Figures are judged only by others.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
export XDG_CACHE_HOME=$tmp/cache
bench() { "$pinwheel" bench pipeline "$@" 2>"$tmp/err"; }
json() { # FILE EXPRESSION: whether it holds for the object j of the file
    node -e 'const j = JSON.parse(require("fs").readFileSync(process.argv[1]));
             const near = (a, b) => Math.abs(a - b) <= 1e-3 * Math.max(Math.abs(a), Math.abs(b)) + 1e-6;
             if (!eval(process.argv[2])) { console.log("not so: " + process.argv[2]); process.exit(1); }' "$1" "$2" ||
        fail "$1: $(head -c 3000 "$1")"
}
# The timeline of N proofs.
cat >"$tmp/trace.js" <<'JS'
const [file, n] = [process.argv[2], Number(process.argv[3])];
const events = JSON.parse(require("fs").readFileSync(file)).traceEvents;
const rows = new Map(), count = {};
const key = e => e.pid + "/" + e.tid;
const bad = (text, e) => { console.log(text, JSON.stringify(e)); process.exit(1); };
for (const e of events)
    if (e.ph === "M" && e.name === "thread_name") {
        if (rows.has(key(e))) bad("a row is named twice", e);
        rows.set(key(e), { name: e.args.name, events: [] });
    }
for (const e of events.filter(e => e.ph === "X")) {
    if (!rows.has(key(e))) bad("no such row", e);
    if (!(e.ts >= 0 && e.dur >= 0)) bad("ends before it begins", e);
    if (!(e.args.job > 0 && e.args.circuit)) bad("of no job", e);
    rows.get(key(e)).events.push(e);
    count[e.name] = (count[e.name] || 0) + 1;
}
for (const row of rows.values()) {      // workers, devices and the daemon's threads do one thing at a time
    row.events.sort((a, b) => a.ts - b.ts || a.dur - b.dur);
    if (!row.events.length && row.name !== "copies") bad("nothing on row " + row.name, {});
    const after = (a, b) => a.ts + a.dur <= b.ts ? b : bad("overlap on row " + row.name, [a, b]);
    row.events.length && row.events.reduce(after);
}
for (const name of ["synthesis", "ntt", "sum H", "sum B2", "verify"])
    if (count[name] !== n) bad(`${count[name]} of '${name}', wanted ${n}`, count);
for (const job of new Set(events.filter(e => e.ph === "X").map(e => e.args.job))) {
    const at = name => events.find(e => e.ph === "X" && e.args.job === job && e.name === name);
    if (!(at("synthesis").ts + at("synthesis").dur <= at("ntt").ts + 1 && at("sum H").ts < at("verify").ts))
        bad("out of order", job);
}
JS

echo "wrong usage"
for bad in '--proofs many' '--proofs 0 --circuit a=b' '--circuit a' '--circuit a=b*0' '--colour' \
    '--circuit a=b --proofs 5 --seconds 5' '--synthetic 99' '--synthetic x' '--synthetic' '--circuit a=b --workers 2' \
    '--circuit a=b --control'; do
    status=0
    # shellcheck disable=SC2086
    bench $bad >/dev/null || status=$?
    ((status == 2)) || fail "bench pipeline $bad: exit $status: $(<"$tmp/err")"
done
refused 2 'memory or pipeline' "$pinwheel" bench
refused 2 'wanted: pinwheel bench memory' "$pinwheel" bench memory --bytes none
refused 3 'not reachable' "$pinwheel" bench pipeline --circuit a=b
CUDA_VISIBLE_DEVICES='' refused 1 'without CUDA|no CUDA|device' "$pinwheel" bench memory --bytes 2M

echo "a service of its own, quiet in a pipe, and gone afterwards"
bench --synthetic 8 --synthetic '6:uniform*3' --workers 2 --proofs 80 --warm-up 8 --in-flight 16 --json \
    --trace "$tmp/trace.json" >"$tmp/figures.json" || fail "$(<"$tmp/err")"
grep -v 'seed 1$\|^pinwheel setup: ' "$tmp/err" && fail "it says more than which circuits it made"
compgen -G '/dev/shm/pinwheel-bench-*' >/dev/null && fail "the region is left"
json "$tmp/figures.json" 'j.measured === 80 && j.failed === 0 && j.proofs === 80 && j.backend.length > 0'
json "$tmp/figures.json" 'j.circuits.map(c => c.proofs).join() === "20,60"'
json "$tmp/figures.json" 'j.devices.reduce((n, d) => n + d.proofs, 0) === 80'
json "$tmp/figures.json" 'near(j.per_minute, 60 * j.proofs / j.seconds) && j.seconds > 0'
json "$tmp/figures.json" 'near(Object.entries(j.phases_ms).reduce((n, [k, v]) => n + (k === "total" ? 0 : v.mean), 0),
    j.phases_ms.total.mean)'
json "$tmp/figures.json" 'Object.values(j.phases_ms).every(p => p.p50 >= 0 && p.p50 <= p.p99 && p.p99 <= p.max &&
    p.mean <= p.max)'
json "$tmp/figures.json" '["ntt", "msm_a", "msm_h", "verify", "synthesis"].every(k => j.phases_ms[k].p50 > 0)'
json "$tmp/figures.json" 'j.devices.every(d => d.busy_s > 0 && d.busy_share <= 1 && near(d.span_s, d.busy_s +
    d.idle_within_s + d.idle_no_slot_s + d.idle_hand_off_s + d.idle_upload_s + d.idle_between_s))'
node "$tmp/trace.js" "$tmp/trace.json" 80 || fail "the timeline"
bench --synthetic 8 --proofs 30 --warm-up 4 --in-flight 8 --trace "$tmp/trace.json" --trace-proofs 10 >/dev/null ||
    fail "$(<"$tmp/err")"
[[ ! -s $tmp/err ]] || fail "circuits that are there are made again, or it talks: $(<"$tmp/err")"
node "$tmp/trace.js" "$tmp/trace.json" 10 || fail "the timeline of ten"

echo "with and without registration, side by side"
bench --synthetic 8 --control --proofs 20 --warm-up 2 >"$tmp/out" || fail "$(<"$tmp/err")"
grep -q '^memory  *pageable  *registered' "$tmp/out" || fail "no comparison: $(<"$tmp/out")"
(($(grep -c '^CONTROL' "$tmp/out") == 1)) || fail "the control does not say what it is"

echo "a running service: a time, windows, producers, a job that fails"
mul2=mul2_bn128=$(wtns mul2_bn128) range=range_bn128=$(wtns range_bn128)
"$pinwheel" up --workers 2 --backend cpu --circuit "$(circuit mul2_bn128 r1cs)" --circuit "$(circuit range_bn128)" \
    >/dev/null
bench --circuit "$mul2" --seconds 2 --window 1 --json >"$tmp/figures.json" || fail "$(<"$tmp/err")"
json "$tmp/figures.json" 'j.windows.length === 2 && j.windows.every(n => n > 0) &&
    j.windows[0] + j.windows[1] <= j.proofs'
json "$tmp/figures.json" 'near(j.seconds, 2) && j.measured >= j.proofs'
bench --circuit "$mul2" --circuit "$range" --producers 2 --proofs 60 --warm-up 6 --json >"$tmp/figures.json" ||
    fail "$(<"$tmp/err")"
json "$tmp/figures.json" 'j.measured === 60 && j.failed === 0 && j.producers === 2 && j.workers === 2'
json "$tmp/figures.json" 'j.circuits.every(c => c.proofs >= 20)'
refused 1 "no circuit 'other'" "$pinwheel" bench pipeline --circuit "other=$(wtns mul2_bn128)"
cp "$(wtns mul2_bn128)" "$tmp/bad.wtns"
printf '\x22' | dd of="$tmp/bad.wtns" bs=1 seek=$(($(stat -c %s "$tmp/bad.wtns") - 96)) conv=notrunc status=none
status=0
bench --circuit "mul2_bn128=$tmp/bad.wtns" --circuit "$range" --proofs 10 --warm-up 0 >"$tmp/out" || status=$?
((status == 1)) || fail "exit $status with jobs that failed"
grep -q '5 jobs failed; the first: job .*constraint' "$tmp/err" || fail "$(<"$tmp/err")"
"$pinwheel" up --workers 1 --backend cpu --memory mild --circuit "$(circuit mul2_bn128)" 2>"$tmp/err" &&
    fail "--memory mild is taken"
grep -q -- '--memory mild' "$tmp/err" || fail "$(<"$tmp/err")"
"$pinwheel" down

echo "--memory pageable is said loudly"
"$pinwheel" up --workers 1 --memory pageable --circuit "$(circuit mul2_bn128)" >/dev/null
"$pinwheel" status | grep -q 'WARNING: --memory pageable' || fail "status is silent"
grep -q 'WARNING: --memory pageable' "$log" || fail "the log is silent"
"$pinwheel" down
