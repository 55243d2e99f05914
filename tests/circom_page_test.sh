#!/usr/bin/env bash
# docs/CIRCOM.md, literally: its commands in order, but for `make`, in a folder and home of its own.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"
export HOME=$tmp/home XDG_CACHE_HOME=$tmp/cache
mkdir -p "$HOME"
unset PINWHEEL_REGISTRY
awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' docs/CIRCOM.md | grep -v '^make ' >"$tmp/page.sh"
(($(grep -c pinwheel "$tmp/page.sh") >= 10)) || fail "the page has lost its commands"
# the page's paths, where this build and this test have others
sed -i "s|\$PWD/build/release|$bin|; s|/tmp/five|$tmp/five|g" "$tmp/page.sh"
bash -euo pipefail "$tmp/page.sh" >"$tmp/out" 2>&1 || fail "$(tail -n 20 "$tmp/out")"
grep -q '^8 proved, 0 were there, 0 failed' "$tmp/out" || fail "$(<"$tmp/out")"
grep -q '^0 proved, 8 were there, 0 failed' "$tmp/out" || fail "$(<"$tmp/out")"
node tests/judge.js verify "$cases/merkle20o2_bn128/vk.json" "$tmp/five/proof.json" "$tmp/five/public.json" \
    "$cases/merkle20o2_bn128/vk.json" "$tmp/five/proof2.json" "$tmp/five/public2.json"
