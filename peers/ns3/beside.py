#!/usr/bin/env python3
"""The same study with SEM and ns-3, with a plain loop over ns-3's program, and with williwaw.

    python peers/ns3/beside.py [--runs 200] [--program williwaw]

Needs Debian's libns3-dev, libgsl-dev, libxml2-dev and g++, and the Python package `sem` (with `git` for it). SEM expects a
source tree of ns-3: a folder is made that looks like one and has the program alone, built against Debian's libraries.
"""

import argparse
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ["applications", "core", "internet", "network", "point-to-point", "traffic-control"]


def build(tree: Path) -> Path:
    """A folder that SEM takes for an ns-3 tree; its program."""
    (tree / "build").mkdir(parents=True)
    program = tree / "build" / "download"
    asked = ["pkg-config", "--cflags", "--libs", *(f"ns3-{name}" for name in MODULES)]
    flags = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    gcc = ["g++", "-O2", "-std=c++17", HERE / "download.cc", "-o", program, "-Wl,--as-needed", *flags]
    subprocess.run(gcc, check=True)
    (tree / "ns3").write_text("# What there is to build has been built.\n")
    (tree / f".lock-ns3_{sys.platform}_build").write_text("ns3_runnable_programs = ['build/download']\n")
    git = ["git", "-C", str(tree), "-c", "user.name=x", "-c", "user.email=x@localhost"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "ns-3 of the distribution"]):
        subprocess.run([*git, *words], check=True)
    return program


def children() -> float:
    """Processor time of ended children, seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu() -> float:
    """Processor time of this process and of its ended children, seconds."""
    return time.process_time() + children()


def with_sem(tree: Path, place: Path, runs: int) -> list[float]:
    import sem

    # >>> what a user of SEM writes
    campaign = sem.CampaignManager.new(str(tree), "download", str(place), runner_type="SimulationRunner")
    campaign.run_missing_simulations({"bytes": 102400, "loss": 0.01}, runs=runs)
    results = campaign.db.get_complete_results({"bytes": 102400, "loss": 0.01})
    return [float(result["output"]["stdout"]) for result in results]
    # <<<


def with_loop(program: Path, runs: int) -> list[float]:
    times = []
    for run in range(runs):
        ended = subprocess.run([program, f"--RngRun={run + 1}"], check=True, capture_output=True, text=True)
        times.append(float(ended.stdout))
    return times


def with_williwaw(program: str, runs: int) -> list[float]:
    words = [program, "run", HERE / "scenario.toml", "--reps", str(runs), "--no-out", "--csv", "--quiet", "--jobs", "1"]
    ended = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    head, *lines = ended.stdout.splitlines()
    at = head.split(",").index("download_time_s")
    return [float(line.split(",")[at]) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--program", default="williwaw")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        program = build(place / "ns-3")
        ways = [
            ("SEM over ns-3", lambda n: with_sem(place / "ns-3", place / "campaign", n), args.runs),
            ("a plain loop over ns-3", lambda n: with_loop(program, n), args.runs),
            ("williwaw", lambda n: with_williwaw(args.program, n), 100 * args.runs),
        ]
        for name, way, runs in ways:
            try:
                before, clock = cpu(), time.monotonic()
                times = way(runs)
            except ImportError as error:
                rows.append(f"| {name} | not run: {error} | | | |")
                continue
            used, wall = cpu() - before, time.monotonic() - clock
            half = 1.96 * statistics.stdev(times) / math.sqrt(len(times))
            rows.append(
                f"| {name} | {runs} | {statistics.fmean(times):.2f} ± {half:.2f} s | {runs / used:.0f} | {runs / wall:.0f} |"
            )
    print("| with | repetitions | download time | repetitions per core and second | by the clock, one process |")
    print("|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
