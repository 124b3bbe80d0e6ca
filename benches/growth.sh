#!/usr/bin/env bash
# Growth of the cost of the scenario shapes per doubling, by instruction count (callgrind): usage growth.sh [LEAST [MOST]].
# A line a shape: instructions in millions at each size, then the largest ratio of neighbours.
set -euo pipefail
least=${1:-1000}
most=${2:-64000}
program=${FUZZ_SCENARIOS:-target/release/fuzz-scenarios}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" --shape "$1" --size "$2" 2>"$out" >/dev/null
    sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' "$out"
}
for shape in $("$program" --shapes); do
    line=$shape
    last=0
    worst=0
    for ((n = least; n <= most; n *= 2)); do
        now=$(count "$shape" "$n")
        line="$line $((now / 1000000))"
        if [ "$last" -gt 0 ]; then
            worst=$(awk -v a="$now" -v b="$last" -v w="$worst" 'BEGIN { r = a / b; print (r > w ? r : w) }')
        fi
        last=$now
    done
    echo "$line worst $worst"
done
