#!/usr/bin/env python3
"""How often the gate catches a slower page, and how often it cries wolf.

    benches/page-gate.py run [--trials 50] [--minutes 60] [--beside 1] [--program target/debug/williwaw] [--log page-gate.jsonl]
    benches/page-gate.py table page-gate.jsonl

A trial is one `williwaw compare --emulate --no-worse=2.5%` of scenarios/real/browser.toml with itself, in which the second
side holds the document back for a share of the page's load time: 0, 5, 10 and 20 %. The load time that the shares are
of is measured first. Shares take turns, so that all of them meet the same machine; a log that is there is continued, also
after the script was killed. With --minutes no trial begins after that time; --beside trials run at once. The table is
printed at the end.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

SHARES = [0.0, 0.05, 0.10, 0.20]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenarios", "real")
MARGIN, FIRST, MOST, LATENESS = "2.5%", 4, 16, "20 ms"


def compare(program, held, reps, most):
    command = [program, "compare", "browser.toml", "--emulate", "--json", "--quiet", "--lateness", LATENESS]
    command += ["--set-b", f"command.web.run=exec python3 page.py {held:.4f}", "--metrics", "page_load_s"]
    command += [f"--no-worse={MARGIN}", "--reps", str(reps), "--max-reps", str(most)]
    began = time.monotonic()
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    if ended.returncode not in (0, 1, 5):
        raise RuntimeError(f"it ended with {ended.returncode}: {ended.stderr}")
    return ended.returncode, json.loads(ended.stdout), time.monotonic() - began


def read(path):
    """The whole lines of a log: who was killed may have left a half."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def run(args):
    began, log = time.monotonic(), []
    if os.path.exists(args.log):
        log = read(args.log)
        with open(args.log, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in log)
    with open(args.log, "a", encoding="utf-8") as file:

        def note(entry):
            log.append(entry)
            file.write(json.dumps(entry) + "\n")
            file.flush()

        base = next((entry["base_s"] for entry in log if "base_s" in entry), None)
        if base is None:
            _, document, _ = compare(args.program, 0.0, 8, 8)
            base = document["cells"][0]["metrics"]["page_load_s"]["a"]["median"]
            note({"base_s": base})
        done = {entry["trial"] for entry in log if "trial" in entry}
        whole = threading.Lock()

        def trial(number):
            if args.minutes is not None and time.monotonic() - began > 60 * args.minutes:
                return
            share = SHARES[number % len(SHARES)]
            code, document, seconds = compare(args.program, share * base, FIRST, MOST)
            load = document["cells"][0]["metrics"]["page_load_s"]
            difference = load["difference"] or {}
            with whole:
                note({
                    "trial": number,
                    "share": share,
                    "code": code,
                    "repetitions": document["repetitions"],
                    "again": document["emulation"]["played_again"],
                    "left_out": len(document["emulation"]["left_out"]),
                    "a": (load["a"] or {}).get("mean"),
                    "difference": difference.get("mean"),
                    "stddev": difference.get("stddev"),
                    "only_a": load["only_a"],
                    "only_b": load["only_b"],
                    "seconds": round(seconds, 1),
                    "machine": os.getloadavg()[0],
                })

        with ThreadPoolExecutor(args.beside) as pool:
            list(pool.map(trial, [number for number in range(args.trials * len(SHARES)) if number not in done]))
    table(args)


def table(args):
    log = read(args.log)
    base = next(entry["base_s"] for entry in log if "base_s" in entry)
    trials = [entry for entry in log if "share" in entry]
    print(f"Load time of the page before the trials: {base:.2f} s (median of 8).\n")
    print("| delay of the document | trials | worse (1) | no worse (0) | undecided (5) | repetitions of each side, mean | difference measured, mean |")
    print("|---|---|---|---|---|---|---|")
    for share in SHARES:
        own = [t for t in trials if t["share"] == share]
        if not own:
            continue
        count = [sum(t["code"] == code for t in own) for code in (1, 0, 5)]
        reps = statistics.mean(t["repetitions"] for t in own)
        shift = statistics.mean(t["difference"] / t["a"] for t in own if t["a"])
        print(f"| {share:.0%} | {len(own)} | {count[0]} | {count[1]} | {count[2]} | {reps:.1f} | {shift:+.1%} |")
    if not trials:
        return
    spread = statistics.median(t["stddev"] / t["a"] for t in trials if t["a"] and t["stddev"] is not None)
    load = statistics.mean(t["machine"] for t in trials)
    again = sum(t["again"] for t in trials)
    hours = sum(t["seconds"] for t in trials) / 3600
    print(f"\nStandard deviation of a pair's difference, median of the trials: {spread:.1%} of the load time. Load average of the "
          f"machine with {os.cpu_count()} cores: {load:.1f}. Repetitions played again since they were not faithful: {again}. All took "
          f"{hours:.2f} h.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    play = verbs.add_parser("run")
    play.add_argument("--trials", type=int, default=50, help="of each share")
    play.add_argument("--minutes", type=float, help="begin no trial after so long")
    play.add_argument("--beside", type=int, default=1, help="trials at once")
    play.add_argument("--program", default="williwaw")
    play.add_argument("--log", default="page-gate.jsonl")
    play.set_defaults(do=run)
    show = verbs.add_parser("table")
    show.add_argument("log")
    show.set_defaults(do=table)
    args = parser.parse_args()
    if "program" in args and os.sep in args.program:
        args.program = os.path.abspath(args.program)
    args.do(args)


main()
