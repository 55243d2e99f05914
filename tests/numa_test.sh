#!/usr/bin/env bash
# The region on two NUMA nodes, and all of shm/ on the kernel of Debian 12 (6.1: no futex in io_uring, so the bell is an
# eventfd), in a guest under QEMU without any acceleration. It says nothing of speed. Skips where QEMU or a kernel is not
# at hand: PINWHEEL_GUEST_KERNEL names one, else build/guest/vmlinuz, which
#   apt-get download linux-image-6.1.0-54-cloud-amd64 && dpkg -x linux-image-*.deb x && cp x/boot/vmlinuz-* build/guest/vmlinuz
# makes without installing it.
set -u
cd "$(dirname "$0")/.." || exit 1
kernel=${PINWHEEL_GUEST_KERNEL:-build/guest/vmlinuz}
command -v qemu-system-x86_64 >/dev/null || { echo "QEMU is not installed (Debian: qemu-system-x86)"; exit 77; }
command -v cpio >/dev/null || { echo "cpio is not installed"; exit 77; }
[[ -r $kernel ]] || { echo "no guest kernel at $kernel"; exit 77; }

root=build/guest/root
rm -rf "$root" && mkdir -p "$root/tests" "$root/proc" "$root/sys" "$root/dev" || exit 1
flags=(-std=c11 -D_GNU_SOURCE -O2 -g0 -w -I. -pthread -fno-strict-aliasing -static)
gcc "${flags[@]}" -o "$root/init" tests/guest/init.c || exit 1
tests=(shm_numa_test shm_region_test shm_slot_test shm_job_test shm_peer_test shm_threads_test shm_stress_test)
for t in "${tests[@]}"; do
    gcc "${flags[@]}" -o "$root/tests/$t" shm/*.c "tests/$t.c" -luring -lnuma 2>build/guest/link.log ||
        { cat build/guest/link.log; exit 1; }        # it warns of getaddrinfo, which libnuma has and nobody calls
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >build/guest/initramfs.gz

timeout --kill-after=5 400 qemu-system-x86_64 -accel tcg,thread=single -cpu qemu64 -smp 4 -m 1536 \
    -object memory-backend-ram,id=m0,size=1024M -object memory-backend-ram,id=m1,size=512M \
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1 \
    -kernel "$kernel" -initrd build/guest/initramfs.gz -append 'console=ttyS0 quiet panic=-1' \
    -nodefaults -no-reboot -display none -serial stdio </dev/null >build/guest/log 2>&1
tr -d '\r' <build/guest/log >build/guest/log.txt

if ! grep -q '^GUEST done' build/guest/log.txt; then
    tail -n 30 build/guest/log.txt
    echo "the guest did not come to its end"
    exit 1
fi
failed=0
while read -r _ name code; do
    [[ $name == 'done' ]] && continue
    [[ $code == 0 || ($code == 77 && $name != shm_numa_test) ]] || { echo "$name in the guest: exit $code"; failed=1; }
done < <(grep '^GUEST' build/guest/log.txt)
grep -vE '^GUEST .* 0$' build/guest/log.txt
((failed == 0)) && echo "two nodes, Linux $(strings "$kernel" 2>/dev/null | grep -oE '^6\.[0-9.]+[^ ]*' | head -n 1): all well"
exit $failed
