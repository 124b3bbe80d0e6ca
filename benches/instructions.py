#!/usr/bin/env python3
"""Instructions of the packet path by case, beside those on record.

    benches/instructions.py [--program target/debug/examples/channel_cost] [--record] [CASE ...]

Each case of crates/path/examples/channel_cost.rs runs once under callgrind: instructions for each of its 100 000 packets beyond
those of `none`, which sends them straight to the sink. The record is benches/instructions.json, of one compiler and one
build profile. What takes more than 3 % above it is a warning, no failure. Without valgrind, or with another compiler,
nothing is judged and that is said.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "instructions.json")
CASES = ["link", "loaded", "channel", "buffers", "framing+arq", "class", "allocation"]
CASES += ["buffers+framing+arq+class+allocation+errors"]
PACKETS = 100_000
LIMIT = 0.03


def count(program, case):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, case]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = next(line for line in ended.stderr.splitlines() if "Collected" in line)
    return int(collected.split(":")[1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=os.path.join(HERE, "..", "target", "debug", "examples", "channel_cost"))
    parser.add_argument("--record", action="store_true", help="write what is counted as the new record")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions: not counted, valgrind is not here")
        return 0
    profile = "release" if "release" in os.path.abspath(args.program).split(os.sep) else "debug"
    version = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    build = f"{version}, {profile}"
    record = {"build": build, "cases": {}}
    if os.path.exists(RECORD):
        with open(RECORD, encoding="utf-8") as file:
            record = json.load(file)
    judged = record["build"] == build
    if not judged and not args.record:
        print(f"instructions: not judged, the record is of {record['build']} and this is {build}")
    none = count(args.program, "none")
    for case in args.cases or CASES:
        now = round((count(args.program, case) - none) / PACKETS)
        before = record["cases"].get(case) if judged else None
        change = "" if before is None else f" ({100 * (now / before - 1):+.1f} %)"
        worse = before is not None and now > (1 + LIMIT) * before
        print(f"{'warning: ' if worse else ''}instructions {case}: {now}{change}", flush=True)
        if args.record:
            if not judged:
                record, judged = {"build": build, "cases": {}}, True
            record["cases"][case] = now
    if args.record:
        with open(RECORD, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
