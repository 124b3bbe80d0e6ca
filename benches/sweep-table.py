#!/usr/bin/env python3
"""One sweep in several ways, beside each other: is the content of the dataset equal, and how busy were the workers?

    python benches/sweep-table.py [--repetitions 4000] [--task-s 1]

Needs the wheel and dask.distributed in the Python that runs it; Ray's line is left out aloud where Ray is missing. The
sweep is the GPRS download of table 2 (12 cells). Efficiency is processor time of the tasks over wall time and
min(workers, cores), occupied the share of time in which a worker had a task. A killed worker dies after a third of the
repetitions; the scheduler is closed after a third, and a new one continues the folder.
"""

import argparse
import hashlib
import logging
import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import distributed
import williwaw

CORES = os.cpu_count() or 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=4000)
    parser.add_argument("--task-s", type=float, default=1.0)
    args = parser.parse_args()
    scenario = williwaw.Scenario.of_experiment("gprs-eifel/table2")
    hashes = set()
    logging.disable(logging.INFO)  # Dask tells each step of a cluster that ends

    with tempfile.TemporaryDirectory(prefix="williwaw-") as place:

        def cluster(workers: int, name: str) -> distributed.LocalCluster:
            options = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
            return distributed.LocalCluster(n_workers=workers, silence_logs=logging.CRITICAL, local_directory=f"{place}/{name}", **options)

        def sweep(folder: str, client: object, progress: object = None) -> williwaw.Sweep:
            return williwaw.sweep(
                scenario, args.repetitions, client=client, folder=f"{place}/{folder}", task_s=args.task_s, progress=progress
            )

        def line(name: str, done: williwaw.Sweep, workers: int, note: str = "") -> None:
            digest = done.content_hash()
            hashes.add(digest)
            wall, cores = done.wall_s, min(workers, CORES)
            busy = f"{done.cpu_s / (wall * cores):.2f} | {done.busy_s / (wall * workers):.2f}"
            print(f"| {name} | {done.tasks} | {wall:.1f} | {done.cpu_s:.1f} | {busy} | `{digest[:12]}` | {note} |", flush=True)

        print(f"load {os.getloadavg()[0]:.1f}, {CORES} cores, {args.repetitions} repetitions of {scenario.cells} cells\n")
        print("| way | tasks | wall, s | processor, s | efficiency | occupied | content | |")
        print("|---|---:|---:|---:|---:|---:|---|---|")
        whole = Path(place) / "whole.parquet"
        run = williwaw.run(scenario, repetitions=args.repetitions)
        before = time.process_time()
        alone = sweep("one", None)
        # Its threads are one process: each task's processor time holds that of its neighbours.
        alone.cpu_s = time.process_time() - before
        line("one process", alone, CORES, "no client: a thread a core")
        for workers in (1, 2, 4):
            with cluster(workers, f"d{workers}") as there, distributed.Client(there) as client:
                client.run(lambda: __import__("williwaw"))
                line(f"Dask, workers: {workers}", sweep(f"s{workers}", client), workers)

        killed: list[int] = []
        with cluster(2, "k") as there, distributed.Client(there) as client:
            pids = list(client.run(os.getpid).values())

            def kill(done: int, total: int) -> None:
                if 3 * done >= total and not killed:
                    killed.append(pids[0])
                    os.kill(pids[0], signal.SIGKILL)

            line("Dask, one of two workers killed", sweep("k", client, kill), 2, "the nanny starts another worker")
        assert killed

        there = cluster(2, "g")
        client, gone = distributed.Client(there), threading.Event()

        def close(done: int, total: int) -> None:
            if 3 * done >= total and not gone.is_set():
                gone.set()
                threading.Thread(target=there.close).start()

        try:
            sweep("g", client, close)
            raise SystemExit("the scheduler was gone and the sweep did not notice")
        except williwaw.SweepInterrupted as why:
            print(f"(scheduler closed: {why})".splitlines()[0])
        client.close()
        with cluster(2, "h") as there, distributed.Client(there) as client:
            done = sweep("g", client)
            line("Dask, scheduler restarted", done, 2, f"{done.resumed} files of the first one kept")
        try:
            import ray
        except ImportError:
            print("SKIPPED: Ray is not installed")
        else:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
            line("Ray, cores: 2", sweep("r", ray), 2, "with the start of its workers")
            ray.shutdown()
        run.write_parquet(whole)
        hashes.add(hashlib.sha256(whole.read_bytes()).hexdigest())
    print(f"\nHashes of all ways and of `williwaw.run`: {len(hashes)} different.")
    raise SystemExit(len(hashes) != 1)


if __name__ == "__main__":
    main()
