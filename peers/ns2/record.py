#!/usr/bin/env python3
"""Record ns-2.35's answers: spikes, repetitions and sender-side packet traces.

    record.py [DIRECTORY]      (default: crates/lab/tests/data/ns2 of this repository)

Takes about a minute. The same ns gives the same bytes.
"""

import csv
import os
import subprocess
import sys
from pathlib import Path

import spikes

HERE = Path(__file__).resolve().parent
HOME = HERE.parent.parent / "crates/lab/tests/data/ns2"
SCENARIOS = {"easy": (80.0, 140.0), "mediocre": (40.0, 80.0), "difficult": (20.0, 40.0)}
FLAVOURS = ("reno", "newreno", "sack")
BUFFERS = {"10KB": 9, "100KB": 100}
SUFFIXES = {"": [], "-resetrto": ["TCP.ts_resetRTO_=true"]}
FACK = [("difficult", "", []), ("mediocre", "", []), ("difficult", "-rampdown", ["TCP/Fack.rampdown_=true"])]
REPS = 100
TRACED = 3
HORIZON = 400.0


def transfer(into, *settings):
    """One call of ns inside the directory of the spike files, so that the printed command has no path of a machine."""
    done = subprocess.run(
        ["ns", str(HERE / "transfer.tcl"), *settings], cwd=into, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"ns transfer.tcl {' '.join(settings)}: {done.stderr}")
    for row in csv.DictReader(done.stdout.splitlines()):
        if float(row["time_s"]) >= HORIZON:
            sys.exit(f"{settings}: repetition {row['rep']} outlives the spikes on record")
    return done.stdout


def runs(into, name, *settings):
    (into / f"runs-{name}.csv").write_text(transfer(into, *settings))


def packets(into, name, *settings):
    file = into / f"packets-{name}.csv"
    (row,) = csv.DictReader(transfer(into, *settings, f"trace={file.name}").splitlines())
    seen = list(csv.DictReader(file.read_text().splitlines()))
    sent = sum(line["dir"] == "s" for line in seen) - 1
    refused = sum(line["dir"] == "x" for line in seen)
    if (seen[-1]["t"], sent, refused) != (row["time_s"], int(row["segments_sent"]), int(row["drops"])):
        sys.exit(f"{name}: the trace and the row disagree")
    file.write_text(f"# ns transfer.tcl {' '.join(settings)}\n{file.read_text()}")


def main():
    into = Path(sys.argv[1] if len(sys.argv) > 1 else HOME).resolve()
    into.mkdir(parents=True, exist_ok=True)
    os.environ["LC_ALL"] = "C"
    for scenario, (low, high) in SCENARIOS.items():
        with (into / f"spikes-{scenario}.csv").open("w") as out:
            out.write("rep,start_s,length_s\n")
            for rep in range(REPS):
                for start, length in spikes.spikes(1, rep, low, high, until=HORIZON):
                    out.write(f"{rep},{start:.9f},{length:.9f}\n")
    (into / "spikes-fixed.csv").write_text("rep,start_s,length_s\n0,30.000000000,9.000000000\n")

    for size, limit in BUFFERS.items():
        for flavour in FLAVOURS:
            common = [f"flavour={flavour}", f"limit={limit}"]
            for scenario in SCENARIOS:
                for suffix, extra in SUFFIXES.items():
                    if suffix and scenario != "difficult":
                        continue
                    weather = f"spikes=spikes-{scenario}.csv"
                    runs(into, f"{scenario}-{flavour}-{size}{suffix}", *common, weather, f"reps={REPS}", *extra)
            for rep in range(TRACED):
                name = f"difficult-{flavour}-{size}-rep{rep}"
                packets(into, name, *common, "spikes=spikes-difficult.csv", f"first={rep}")
        for scenario, suffix, extra in FACK:
            common = ["flavour=fack", f"limit={limit}", f"spikes=spikes-{scenario}.csv"]
            runs(into, f"{scenario}-fack-{size}{suffix}", *common, f"reps={REPS}", *extra)
        for flavour in ("tahoe", *FLAVOURS):
            common = [f"flavour={flavour}", f"limit={limit}", "spikes=spikes-fixed.csv"]
            runs(into, f"fixed-{flavour}-{size}", *common)
            packets(into, f"fixed-{flavour}-{size}", *common)


if __name__ == "__main__":
    main()
