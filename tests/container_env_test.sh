#!/usr/bin/env bash
# What containers take away, without a container engine: io_uring and the NUMA calls (a seccomp filter), a /dev/shm of
# 64 MB, a root that is read-only, root's rights, a PID namespace, the cgroup's memory, locked memory, huge pages. What
# works goes on working, and what does not is refused in one line that says how to change it.
# shellcheck source=tests/service.sh
source "$(dirname "$0")/service.sh"

name=mul2_bn128
noio=$bin/tests/helpers/noio
nobody=65534
bell() { "$pinwheel" status --json | sed -n 's/^ "bell": "\(.*\)",$/\1/p'; }
proves() { # WHEN
    local id
    id=$("$pinwheel" submit $name "$(wtns $name)")
    timeout 60 "$pinwheel" wait "$id" "$tmp/proof" "$tmp/public" || fail "$1: no proof"
    cmp "$tmp/public" "$cases/$name/public.json"
    "$pinwheel" verify "$(vk $name)" "$tmp/public" "$tmp/proof" >"$tmp/out" || fail "$1: $(<"$tmp/out")"
}
survives() { # WHEN: a worker that is killed is noticed by whatever is left to notice it
    local worker
    worker=$(worker_pids | head -n 1)
    kill -KILL "$worker"
    replaced() { (($(worker_pids | wc -l) == 2)) && ! worker_pids | grep -qx "$worker"; }
    until_true 20 replaced
    proves "$1, after a worker's death"
}

fill() {
    dd if=/dev/zero bs=1M count=100 status=none 2>/dev/null >>/dev/shm/filler && fail "/dev/shm does not fill up"
    return 0
}

# ---- the inner part: as nobody, on a read-only root, with a /dev/shm of 64 MB, in a PID namespace, filtered ----
if [[ ${1:-} == inside ]]; then
    [[ $(id -u) == "$nobody" ]] || fail "still user $(id -u)"
    for folder in "$bin" ""; do
        touch "$folder/x" 2>/dev/null && fail "the root can be written: $folder/x"
    done
    (($(stat -f -c '%b * %S' /dev/shm) == 64 << 20)) || fail "/dev/shm has $(stat -f -c '%b * %S' /dev/shm) bytes"

    "$pinwheel" up --workers 2 --circuit "$(circuit $name r1cs)" >"$tmp/out" || fail "up: $(<"$tmp/out")"
    is epoll bell || fail "it waits by $(bell)"
    proves "everything taken away"
    survives "everything taken away"
    # /dev/shm runs full under a service: its own pages are there since its start
    fill
    proves "a full /dev/shm"
    survives "a full /dev/shm"
    "$pinwheel" down
    fill
    refused 1 '/dev/shm.*MiB|too little memory.*/dev/shm' "$pinwheel" up --circuit "$(circuit $name)"
    rm /dev/shm/filler
    refused 1 'memory|/dev/shm' "$pinwheel" up --slots 40 --circuit "$(circuit $name)"
    grep -q /dev/shm "$tmp/err" || fail "the message does not name /dev/shm: $(<"$tmp/err")"
    [[ -z $(ls -A /dev/shm) ]] || fail "left in /dev/shm: $(ls /dev/shm)"

    # no place for the socket; no place for the log
    refused 1 '/read-only/pinwheel.*(Read-only|Permission|No such)' \
        env XDG_RUNTIME_DIR=/read-only "$pinwheel" up --circuit "$(circuit $name)"
    "$pinwheel" up --log /log --circuit "$(circuit $name)" >"$tmp/out" 2>"$tmp/err"
    grep -q "cannot write /log" "$tmp/err" || fail "up does not say that there is no log: $(<"$tmp/err")"
    proves "no log"
    exit 0
fi

echo "no io_uring, no NUMA calls"
status=0
"$noio" true 2>"$tmp/err" || status=$?
if ((status == 77)); then
    echo "not tried: $(<"$tmp/err")"
else
    "$noio" "$pinwheel" up --workers 2 --circuit "$(circuit $name)" >"$tmp/out"
    is epoll bell || fail "it waits by $(bell)"
    grep -q 'waiting by epoll: .*io_uring.*' "$log" || fail "the log does not say why epoll"
    proves "no io_uring"
    survives "no io_uring"
    "$pinwheel" down
    for b in futex eventfd; do
        refused 1 "no way to wait: .*io_uring_disabled, or a container's seccomp" \
            "$noio" "$pinwheel" up --bell $b --circuit "$(circuit $name)"
    done
fi

echo "no locked memory, no huge pages"
prlimit --memlock=0:0 "$pinwheel" up --workers 2 --small-pages --circuit "$(circuit $name)" >"$tmp/out"
proves "no locked memory"
survives "no locked memory"
grep -q ' 0 MiB of it in 2 MiB pages' "$log" || fail "--small-pages has large ones: $(grep 'MiB pages' "$log")"
"$pinwheel" down

if [[ $EUID != 0 ]] || ! unshare --mount --pid --fork true 2>/dev/null; then
    echo "namespaces are not permitted: a small /dev/shm, a read-only root and the cgroup's limit were not tried"
    exit 77
fi

echo "the cgroup's limit"
# shellcheck disable=SC2016
refused 1 'cgroup' unshare --mount bash -c '
    mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/memory && cd /sys/fs/cgroup/memory &&
        echo $((48 << 20)) >memory.limit_in_bytes && echo $((8 << 20)) >memory.usage_in_bytes &&
        cp memory.limit_in_bytes ../memory.max && cp memory.usage_in_bytes ../memory.current &&
        cp memory.limit_in_bytes memory.max && cd / && exec "$@"' - \
    "$pinwheel" up --slots 40 --circuit "$(circuit $name)"
grep -qE '[0-9.]+ (MiB|GiB)' "$tmp/err" || fail "no numbers: $(<"$tmp/err")"

echo "as nobody, on a read-only root, with a /dev/shm of 64 MB, in a PID namespace, without io_uring"
mkdir "$tmp/inside"
chmod 711 "$tmp"
chown "$nobody" "$tmp/inside"
setpriv --reuid $nobody --clear-groups test -r "$(zkey $name)" -a -x "$bin/pinwheel-gpud" ||
    { echo "this folder is closed to other users: not tried as nobody"; exit 77; }
# shellcheck disable=SC2016
unshare --mount --pid --fork --mount-proc bash -c '
    set -e
    mount -t tmpfs -o size=64m,mode=1777 none /dev/shm
    mount --bind "$1" "$1"
    for folder in / "$(findmnt -n -o TARGET --target "$2")"; do mount -o remount,bind,ro "$folder"; done
    export TMPDIR=$1
    shift 2
    exec "$@"' - "$tmp/inside" "$bin" setpriv --reuid $nobody --regid $nobody --clear-groups "$noio" \
    bash "$0" inside || fail "inside: status $?"
