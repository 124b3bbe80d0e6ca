#!/usr/bin/env python3
"""Instructions of a packet-hop and of a data segment, by case.

    benches/count.py [--program target/release/williwaw-bench] [--cache] [CASE ...]

Each case runs twice under callgrind, for two lengths of simulated time; the difference leaves out the reading of the
scenario and the building of the network. The cases gprs and gprs-empty (one segment) have numbers of repetitions in place of lengths; each builds its network. With --cache cachegrind simulates a second-level cache of 2 MB in place of
its last-level cache, and counts its misses and those of the first level.
"""

import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = {
    "dumbbell": (2, 6),
    "sack": (10, 40),
    "linux": (10, 40),
    "gprs": (20, 60),
    "gprs-empty": (20, 60),
    "channel": (4, 8),
    "growth-1": (100, 400),
    "growth-10": (20, 60),
    "growth-100": (4, 8),
    "growth-1000": (2, 3),
}
CACHES = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=2097152,16,64"]


def run(program, case, seconds, cache):
    """Hops, segments and the counts of one run."""
    tool = ["--tool=cachegrind", "--cachegrind-out-file=/dev/null", *CACHES] if cache else [
        "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = ["valgrind", *tool, program, "count", case, str(seconds)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    said = [int(n) for n in re.findall(r"\d+", ended.stdout)]
    number = lambda what: int(re.search(what + r"\s*:\s*([\d,]+)", ended.stderr).group(1).replace(",", ""))
    names = ["I +refs", "D1 +misses", "LL(?:d)? +misses"] if cache else ["Collected"]
    return said[0], said[1], [number(name) for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=os.path.join(HERE, "..", "target", "release", "williwaw-bench"))
    parser.add_argument("--cache", action="store_true", help="simulate caches too")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    args = parser.parse_args()
    for case in args.cases or LENGTHS:
        short, long = (run(args.program, case, seconds, args.cache) for seconds in LENGTHS[case])
        hops, segments = long[0] - short[0], long[1] - short[1]
        counts = [b - a for a, b in zip(short[2], long[2])]
        line = f"{case:12} {counts[0] / hops:8.1f} instructions a packet-hop {counts[0] / segments:9.1f} a segment"
        if args.cache:
            line += f" {counts[1] / hops:7.2f} and {counts[2] / hops:6.2f} misses a packet-hop"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
