#!/usr/bin/env python3
"""Time ns-2.35: user CPU seconds of child processes, least of several turns, set-up subtracted.

    timing.py [--turns 3] [--core N] [--case one|work|dumbbell]

one       the GPRS study as people run it: SACK, 100 KB, difficult, one process for each of 100 repetitions
work      the same transfer, packets only: 2000 repetitions in one process with one pair of agents, minus the same
          with one segment (same spike file, same number of starts)
dumbbell  50 SACK flows for 60 s, minus the same stopped after a millisecond
"""

import argparse
import os
import tempfile
from pathlib import Path

import spikes

HERE = Path(__file__).resolve().parent


def user_seconds(*commands):
    """User CPU seconds of the commands, one after the other."""
    total = 0.0
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    for command in commands:
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=quiet)
        _, status, used = os.wait4(child, 0)
        if status != 0:
            raise SystemExit(f"{' '.join(command)}: status {status}")
        total += used.ru_utime
    return total


def weather(file, reps):
    with open(file, "w", encoding="ascii") as out:
        out.write("rep,start_s,length_s\n")
        for rep in reps:
            for start, length in spikes.spikes(1, rep, 20.0, 40.0, until=400.0):
                out.write(f"{rep},{start:.9f},{length:.9f}\n")
    return f"spikes={file}"


def ns(script, *settings):
    return ["ns", str(HERE / script), *settings]


def least(turns, whole, empty):
    """The least of each, the two taken in turns, so that a busy spell of the machine meets both."""
    pairs = [(user_seconds(*whole), user_seconds(*empty)) for _ in range(turns)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def one(folder, turns):
    common = ["flavour=sack", "limit=100"]
    each = [ns("transfer.tcl", *common, weather(f"{folder}/{r}.csv", [r]), f"first={r}") for r in range(100)]
    whole, empty = least(turns, each, [ns("transfer.tcl", *common, "segments=1")] * 100)
    print(f"one: {10 * whole:.2f} ms a repetition, {10 * empty:.2f} of it start-up and agents")


def work(folder, turns):
    common = ["flavour=sack", "limit=100", "watch=0", "quiet=1", "recycle=1", "reps=2000"]
    common.append(weather(f"{folder}/all.csv", range(2000)))
    whole, empty = least(turns, [ns("transfer.tcl", *common)], [ns("transfer.tcl", *common, "segments=1")])
    print(f"work: {whole:.3f} s - {empty:.3f} s = {(whole - empty) / 2:.4f} ms a repetition")


def dumbbell(_, turns):
    whole, empty = least(turns, [ns("dumbbell.tcl")], [ns("dumbbell.tcl", "until=0.001")])
    print(f"dumbbell: {whole:.3f} s - {empty:.3f} s = {whole - empty:.3f} s")


def main():
    cases = {"one": one, "work": work, "dumbbell": dumbbell}
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--turns", type=int, default=3)
    words.add_argument("--core", type=int, help="run everything on this core")
    words.add_argument("--case", choices=cases)
    given = words.parse_args()
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases.items():
            if given.case in (None, name):
                case(folder, given.turns)


if __name__ == "__main__":
    main()
