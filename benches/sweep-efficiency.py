#!/usr/bin/env python3
"""Efficiency of a sweep on Dask: processor time of the tasks over what the workers could have had.

    python benches/sweep-efficiency.py [--workers 1 2] [--task-s 1 2] [--total-s 20]

Needs the wheel and dask.distributed in the Python that runs it. Each line is one sweep of the GPRS download on a local
cluster: `efficiency` is processor time of tasks / (wall x min(workers, cores)), `occupied` the share of time in which a
worker had a task, whoever used the cores meanwhile, and `others` what the machine did beside it, in cores. On a machine
with other work efficiency counts that work as a loss; occupied does not.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import distributed
import williwaw


def busy() -> float:
    """Processor time of the machine, seconds."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft = (int(word) for word in words[:7])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def one(scenario: williwaw.Scenario, workers: int, task_s: float, total_s: float, each_s: float) -> str:
    cores = min(workers, os.cpu_count() or 1)
    repetitions = int(total_s * cores / each_s / scenario.cells)
    with tempfile.TemporaryDirectory(prefix="williwaw-") as place:
        options = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
        cluster = distributed.LocalCluster(n_workers=workers, local_directory=f"{place}/dask", **options)
        with cluster, distributed.Client(cluster) as client:
            # Workers that have just started load the package first.
            client.run(lambda: __import__("williwaw"))
            machine, own, clock = busy(), time.process_time(), time.monotonic()
            done = williwaw.sweep(scenario, repetitions, client=client, folder=f"{place}/sweep", task_s=task_s)
            machine, own, clock = busy() - machine, time.process_time() - own, time.monotonic() - clock
        digest = done.content_hash()
    wall = done.wall_s
    return (
        f"{workers:7} {task_s:6.1f} {done.tasks:6} {wall:7.2f} {done.cpu_s:7.2f} "
        f"{done.cpu_s / (wall * cores):11.3f} {done.busy_s / (wall * workers):9.3f} "
        f"{own / clock:7.3f} {(machine - done.cpu_s - own) / clock:7.2f}  {digest[:12]} of {repetitions}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--task-s", type=float, nargs="+", default=[1.0, 2.0])
    parser.add_argument("--total-s", type=float, default=20.0, help="length of a sweep")
    args = parser.parse_args()
    scenario = williwaw.Scenario.of_experiment("gprs-eifel/table2")
    cost = williwaw.check(scenario)
    each_s = cost["cpu_s"] / cost["runs"]
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {each_s * 1e6:.0f} us a repetition by the forecast")
    print("workers task_s  tasks  wall_s   cpu_s  efficiency  occupied  client  others  content")
    for workers in args.workers:
        for task_s in args.task_s:
            print(one(scenario, workers, task_s, args.total_s, each_s), flush=True)


if __name__ == "__main__":
    main()
