#!/usr/bin/env bash
# libpinwheel-synth: the examples in C and Python as they stand in examples/README.md, misuse, and ten foreign
# producers that die at random among good ones: they lose their own jobs and nothing else.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
build=$bin
circuit_files=$tmp/cubic

python3 examples/cubic.py r1cs "$circuit_files.r1cs"
"$pinwheel" setup --vk "$circuit_files.vk.json" "$circuit_files.r1cs" "$circuit_files.zkey" >"$tmp/out" 2>&1 ||
    fail "$(<"$tmp/out")"
"$pinwheel" up --workers 1 --circuit "cubic=$circuit_files.zkey,$circuit_files.r1cs" >/dev/null

echo "the example in C, with an installed library found by pkg-config"
make -s CUDA=0 "B=$build" PREFIX="$tmp/usr" install >"$tmp/out" 2>&1 || fail "make install: $(<"$tmp/out")"
# shellcheck disable=SC2046 # words are wanted
cc -Wall -Wextra -Werror -o "$tmp/cubic.bin" examples/cubic.c \
    $(PKG_CONFIG_PATH=$tmp/usr/lib/pkgconfig pkg-config --cflags --libs pinwheel-synth)
export LD_LIBRARY_PATH=$tmp/usr/lib
"$tmp/cubic.bin" 3 "$tmp/c.proof" "$tmp/c.public"
[[ $(jq -c . "$tmp/c.public") == '["35"]' ]] || fail "C: $(<"$tmp/c.public")"
verify=("$circuit_files.vk.json" "$tmp/c.proof" "$tmp/c.public")

echo "the example in Python"
PINWHEEL_LIB=$tmp/usr/lib/libpinwheel-synth.so python3 examples/cubic.py prove 11 "$tmp/py.proof" "$tmp/py.public"
[[ $(jq -c . "$tmp/py.public") == '["1347"]' ]] || fail "Python: $(<"$tmp/py.public")"
verify+=("$circuit_files.vk.json" "$tmp/py.proof" "$tmp/py.public")

echo "the interface in the library is the one in the header, and nothing else"
nm -D --defined-only "$tmp/usr/lib/libpinwheel-synth.so" | sed -n 's/.* T //p' | sort >"$tmp/have"
grep -oE 'pinwheel_synth_[a-z_]+\(' synth/pinwheel-synth.h | tr -d '(' | sort -u >"$tmp/want"
cmp "$tmp/have" "$tmp/want" || fail "$(diff "$tmp/have" "$tmp/want")"
[[ $(nm -D --defined-only "$tmp/usr/lib/libpinwheel-synth.so" | wc -l) == $(wc -l <"$tmp/want") ]] ||
    fail "more than functions is visible"
echo "ten producers that die at random, again and again, among good ones"
seed=${TEST_SEED:-20260301}
echo "seed $seed (TEST_SEED)"
rounds=$((${PINWHEEL_TEST_SHORT:+1} + 0 ? 2 : 6))
good=()
killed=0
for ((round = 0; round < rounds; round++)); do
    dying=()
    for i in 0 1 2 3 4 5 6 7 8 9; do
        "$bin/tests/helpers/crasher" "$PINWHEEL_INSTANCE" dies $((seed + 10 * round + i)) 2>"$tmp/dying.$i" &
        dying+=($!)
        x=$((100 * round + i + 2))
        "$bin/tests/helpers/crasher" "$PINWHEEL_INSTANCE" good $x "$tmp/$x.proof" "$tmp/$x.public" 2>"$tmp/good.$x" &
        good+=("$!:$x")
    done
    for pid in "${dying[@]}"; do
        status=0
        { wait "$pid" || status=$?; } 2>/dev/null      # bash would tell of each
        ((status == 137)) && killed=$((killed + 1))
    done
    for job in "${good[@]}"; do
        x=${job#*:}
        wait "${job%%:*}" || fail "the good producer of x = $x: $(<"$tmp/good.$x")"
        [[ $(jq -r '.[0]' "$tmp/$x.public") == $((x * x * x + x + 5)) ]] || fail "x = $x: $(<"$tmp/$x.public")"
        verify+=("$circuit_files.vk.json" "$tmp/$x.proof" "$tmp/$x.public")
    done
    good=()
done
((killed == 10 * rounds)) || fail "only $killed of $((10 * rounds)) producers died: $(cat "$tmp"/dying.*)"
none_left() {
    ! "$pinwheel" region | grep -qE '^(slot [0-9]+ (CLAIMED|FILLING)|job [0-9]+ (QUEUED|SYNTHESIS|PROVING)) '
}
until_true 20 none_left

node tests/judge.js verify "${verify[@]}" | grep -v '^ok' && fail "snarkjs refuses a proof"
"$pinwheel" down
