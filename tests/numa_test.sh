#!/usr/bin/env bash
# The region on several NUMA nodes, and all of shm/ on the kernel of Debian 12 (6.1: no futex in io_uring, so the bell
# is an eventfd) and on that of its backports (6.12: futex), in guests under QEMU without any acceleration: two nodes,
# and four of which one has no CPUs and one no memory. The whole service runs there too (tests/guest/service.c). It
# says nothing of speed. tests/guest/get brings QEMU and the kernels; skips where they cannot be had.
set -u
cd "$(dirname "$0")/.." || exit 1
guest=build/guest
limit=${PINWHEEL_GUEST_SECONDS:-300}        # of each guest
why=$(GUEST_GET_SECONDS=${GUEST_GET_SECONDS:-120} tests/guest/get) || { echo "no guests: $why"; exit 77; }
command -v cpio >/dev/null || { echo "no guests: cpio is not installed"; exit 77; }
qemu=$guest/qemu/usr
export LD_LIBRARY_PATH=$qemu/lib/x86_64-linux-gnu:$guest/qemu/lib/x86_64-linux-gnu
why=$("$qemu/bin/qemu-system-x86_64" --version 2>&1) || { echo "no guests: $(head -n 1 <<<"$why")"; exit 77; }

root=$guest/root
rm -rf "$root" && mkdir -p "$root"/{tests,bin,data} || exit 1
flags=(-std=c11 -D_GNU_SOURCE -O2 -g0 -w -I. -pthread -fno-strict-aliasing -static)
link() { # PROGRAM WHAT...: static
    gcc "${flags[@]}" -o "$root/$1" "${@:2}" -luring -lnuma -ljansson -lmd -lm 2>$guest/link.log ||
        { cat $guest/link.log; exit 1; }        # it warns of getaddrinfo, which libnuma has and nobody calls
}
build=${PINWHEEL_BUILD:-build/release}
libs() { printf "$build/lib%s.a\n" "$@"; }
link init tests/guest/init.c
everything=(nodes numa region slot job peer bell garbage guard stress)
for t in "${everything[@]}"; do link "tests/shm_${t}_test" "tests/shm_${t}_test.c" "$build/libshm.a"; done
mapfile -t all < <(libs launcher gpud synth formats shm kernels)
link bin/pinwheel-gpud gpud/main.c "${all[@]:1}"
link bin/pinwheel-synth synth/main.c "${all[@]:2}"
link tests/service tests/guest/service.c "${all[@]}"
cp tests/data/cases/mul2_bn128/mul2{_final.zkey,.r1cs,.wtns} "$root/data"
strip "$root"/tests/* "$root"/bin/*
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >$guest/initramfs.gz

# QEMU options, separated by spaces
memory() { echo "-object memory-backend-ram,id=m$1,size=$2M"; } # NODE MIB
two="-smp 4 -m 1536 $(memory 0 1024) $(memory 1 512)
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1"
four="-smp 6 -m 1792 $(memory 0 768) $(memory 1 512) $(memory 2 512)
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1
    -numa node,nodeid=2,memdev=m2 -numa node,nodeid=3,cpus=4-5
    -numa dist,src=0,dst=1,val=20 -numa dist,src=0,dst=2,val=20 -numa dist,src=0,dst=3,val=40
    -numa dist,src=1,dst=2,val=20 -numa dist,src=1,dst=3,val=15 -numa dist,src=2,dst=3,val=40"
failed=0

# boot NAME KERNEL MACHINE NODES TEST...: a guest from start to end; NODES is the map that it must show
boot() {
    local name=$1 kernel=$2 machine=$3 nodes=$4 log=$guest/$1.log begun=$SECONDS before=$failed tests what code
    shift 4
    tests=service,$(printf 'shm_%s_test,' "$@")
    # shellcheck disable=SC2086 # options
    timeout --kill-after=5 "$limit" "$qemu/bin/qemu-system-x86_64" -L $qemu/share/qemu -L $qemu/share/seabios \
        -accel tcg,thread=multi -cpu max $machine -kernel "$guest/vmlinuz-$kernel" -initrd $guest/initramfs.gz \
        -append "console=ttyS0 quiet panic=-1 PINWHEEL_TEST_NODES=$nodes STRESS_SECONDS=6 PINWHEEL_GUEST_TESTS=$tests" \
        -nodefaults -no-reboot -display none -serial stdio </dev/null 2>&1 | tr -d '\r' >"$log"
    if ! grep -q '^GUEST done' "$log"; then
        tail -n 30 "$log"
        echo "FAIL: $name did not come to its end in $limit s"
        failed=$((failed + 1))
        return
    fi
    while read -r _ what code _; do
        [[ $code == 0 || ($code == 77 && $what != shm_numa_test) ]] ||
            { echo "FAIL: $what in $name: $code"; failed=$((failed + 1)); }
    done < <(grep '^GUEST' "$log")
    grep -q 'not tried' "$log" && { echo "FAIL: $name: $(grep 'not tried' "$log")"; failed=$((failed + 1)); }
    ((failed == before)) || grep -v '^$' "$log"
    echo "$name: Linux $kernel, nodes $nodes, $((SECONDS - begun)) s:" \
        "$(grep -cE '^GUEST (shm|service).* 0 ' "$log") tests passed;" \
        "$(grep -o '[0-9]* worker kills.*' "$log" | tail -n 1)"
}
for kernel in 6.12 6.1; do
    boot two-nodes-$kernel $kernel "$two" 0:0-1/1:2-3 "${everything[@]}"
    boot four-nodes-$kernel $kernel "$four" 0:0-1/1:2-5 nodes numa stress
done
exit $((failed > 0))
