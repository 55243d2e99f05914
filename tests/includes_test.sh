#!/usr/bin/env bash
# Holds the includes to the picture in docs/ARCHITECTURE.md: dependencies run one way, and a library outside is
# talked to by one file.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0

# allow PART "PARTS IT MAY INCLUDE"
allow() {
    local found
    found=$(grep -nHoE '^#include "[a-z]+/' -r "$1" --include='*.[ch]' --include='*.cu' --include='*.cuh' |
        grep -vE "\"($2)/" || true)
    [[ -z $found ]] || { echo "$1 may include only $2:"; echo "$found"; bad=1; }
}
allow kernels 'kernels'
allow shm 'shm'
allow formats 'formats|kernels'
allow synth 'synth|formats|shm|kernels'
allow gpud 'gpud|formats|shm|kernels'
allow setup 'setup|formats|shm|kernels'
allow launcher 'launcher|gpud|synth|formats|shm|kernels'

# one HEADER FILE
one() {
    local found
    found=$(grep -lE "^#include <$1>" -r shm kernels formats synth gpud setup launcher | grep -vxE "$2" || true)
    [[ -z $found ]] || { echo "<$1> belongs to $2 alone, yet: $found"; bad=1; }
}
one 'liburing.h' 'shm/uring.c'
one 'numa(if)?.h' 'shm/host.c'
one 'jansson.h' 'formats/json.c'
one 'sha2.h' 'formats/sha256.c'
one 'cuda(_runtime(_api)?)?.h' 'kernels/.*\.(cu|cuh)'

# Every allocation of the proving path is made before it is ready; kernels and shm neither print nor exit.
found=$(grep -nE '\b(printf|fprintf|puts|perror|exit|abort)\(' -r shm kernels formats --include='*.[ch]' || true)
[[ -z $found ]] || { echo "a library prints or exits:"; echo "$found"; bad=1; }
exit $bad
