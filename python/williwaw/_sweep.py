"""Sweeps on a cluster: Dask, Ray or concurrent.futures, with the bits of one machine.

A sweep is cut into tasks of consecutive repetitions. Each task is a pure function of scenario, seed and numbers, so
that a task may run anywhere, twice, or again after a crash. What a task returns is a Parquet table, which becomes a
file of the dataset by rename: the folder holds whole files only, and what is missing can be seen from their names.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _core
from ._results import Run
from ._run import Progress, _progress
from ._scenario import Scenario

_PART = re.compile(r"part-(\d+)-(\d+)\.parquet")


class SweepInterrupted(RuntimeError):
    """The cluster went away before the end; the same call with a new client runs what is missing."""


@dataclass
class Task:
    """Repetitions of one task: numbers ``first`` to before ``until``, counted as ``repetition x cells + cell``."""

    first: int
    until: int

    @property
    def name(self) -> str:
        """File of the dataset."""
        return f"part-{self.first:012d}-{self.until:012d}.parquet"


@dataclass
class Sweep:
    """A finished sweep: a folder with a partitioned Parquet dataset in ``flows``."""

    folder: Path
    title: str
    name: str
    tasks: int = 0
    resumed: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    busy_s: float = 0.0
    bytes: int = 0
    retries: int = 0
    _parts: list[Path] = field(default_factory=list, repr=False)

    @property
    def dataset(self) -> Path:
        """Folder of the Parquet files, for ``pyarrow.dataset``, polars, DuckDB or Dask."""
        return self.folder / "flows"

    def run(self) -> Run:
        """All rows as one :class:`williwaw.Run`: equal to that of :func:`williwaw.run`."""
        parts = [_core.read(os.fspath(part)) for part in self._parts]
        return Run(_core.merge(parts), self.title, self.name)

    def content_hash(self) -> str:
        """SHA-256 of the table of all rows, which does not depend on how the sweep was cut."""
        return hashlib.sha256(self.run()._rows.parquet()).hexdigest()


def work(
    scenario: Scenario, repetitions: int, seed: int, first: int, until: int, place: str | None
) -> tuple[Any, float, float]:
    """One task: the table as bytes, or its size where it was written to ``place``; CPU and real seconds that it took."""
    began, clock = time.process_time(), time.monotonic()
    rows = _core.run(scenario._scene, repetitions, seed, 1, (first, until), None, None)
    if place is not None:
        target = Path(place) / Task(first, until).name
        rows.write_parquet(os.fspath(target))
        content: Any = target.stat().st_size
    else:
        # Nothing here waits for a disk.
        content = rows.parquet()
    return content, time.process_time() - began, time.monotonic() - clock


class _Executor:
    """`concurrent.futures`, and this process where there is no client."""

    def __init__(self, client: concurrent.futures.Executor | None, args: tuple[Any, ...]) -> None:
        self._own = client is None
        self._client = client or concurrent.futures.ThreadPoolExecutor(os.cpu_count())
        self._args = args
        self.width: int = getattr(self._client, "_max_workers", None) or os.cpu_count() or 1
        self._tasks: dict[Any, Task] = {}

    def submit(self, task: Task) -> None:
        scenario, repetitions, seed, place = self._args
        future = self._client.submit(work, scenario, repetitions, seed, task.first, task.until, place)
        self._tasks[future] = task

    def finished(self) -> Iterator[tuple[Task, Any]]:
        done, _ = concurrent.futures.wait(self._tasks, return_when=concurrent.futures.FIRST_COMPLETED, timeout=0.2)
        for future in done:
            yield self._tasks.pop(future), future.result

    def close(self, broken: bool) -> None:
        for future in self._tasks:
            future.cancel()
        if self._own:
            self._client.shutdown(wait=True, cancel_futures=True)

    lost: tuple[type[BaseException], ...] = (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError)


class _Dask:
    """`dask.distributed`: the scheduler moves tasks of a dead worker to another."""

    def __init__(self, client: Any, args: tuple[Any, ...]) -> None:
        import distributed

        self._client = client
        self._scenario = client.scatter(args[0], broadcast=True, hash=False)
        self._args = args
        self.width: int = max(1, sum(client.ncores().values()))
        self._tasks: dict[Any, Task] = {}
        self._done = distributed.as_completed()
        self.lost = (
            distributed.comm.CommClosedError,
            distributed.client.FutureCancelledError,
            concurrent.futures.CancelledError,
            TimeoutError,
            OSError,
        )

    def submit(self, task: Task) -> None:
        _, repetitions, seed, place = self._args
        future = self._client.submit(
            work, self._scenario, repetitions, seed, task.first, task.until, place, pure=False, retries=3
        )
        self._tasks[future.key] = task
        self._done.add(future)

    def finished(self) -> Iterator[tuple[Task, Any]]:
        if self._client.status not in ("running", "connecting"):
            raise OSError(f"the connection to the scheduler is {self._client.status}")
        for future in self._done.next_batch(block=False) or self._wait():
            task = self._tasks.pop(future.key, None)
            if task is not None:
                yield task, future.result
            future.release()

    def _wait(self) -> list[Any]:
        time.sleep(0.02)
        return []

    def close(self, broken: bool) -> None:
        self._done.clear()
        self._tasks.clear()
        if not broken:
            self._scenario.release()


class _Ray:
    """Ray: the module itself, after ``ray.init()``."""

    lost: tuple[type[BaseException], ...] = (ConnectionError,)

    def __init__(self, ray: Any, args: tuple[Any, ...]) -> None:
        self._ray = ray
        self._work = ray.remote(max_retries=3)(work)
        scenario, repetitions, seed, place = args
        self._args = (ray.put(scenario), repetitions, seed, place)
        self.width = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._tasks: dict[Any, Task] = {}

    def submit(self, task: Task) -> None:
        scenario, repetitions, seed, place = self._args
        reference = self._work.remote(scenario, repetitions, seed, task.first, task.until, place)
        self._tasks[reference] = task

    def finished(self) -> Iterator[tuple[Task, Any]]:
        done, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=0.2)
        for reference in done:
            yield self._tasks.pop(reference), lambda reference=reference: self._ray.get(reference)

    def close(self, broken: bool) -> None:
        for reference in self._tasks:
            self._ray.cancel(reference)


def _backend(client: Any, args: tuple[Any, ...]) -> Any:
    if client is None or isinstance(client, concurrent.futures.Executor):
        return _Executor(client, args)
    if hasattr(client, "scatter") and hasattr(client, "ncores"):
        return _Dask(client, args)
    if hasattr(client, "remote") and hasattr(client, "cluster_resources"):
        return _Ray(client, args)
    raise TypeError("client is a dask.distributed.Client, the module ray, or an executor of concurrent.futures")


def _kept(dataset: Path) -> list[Task]:
    tasks = []
    for path in dataset.iterdir():
        match = _PART.fullmatch(path.name)
        if match:
            tasks.append(Task(int(match[1]), int(match[2])))
    return sorted(tasks, key=lambda task: task.first)


def _missing(kept: list[Task], total: int, size: int, width: int | None = None) -> list[Task]:
    """What no file covers, in tasks of at most ``size`` repetitions.

    For ``width`` workers tasks get smaller towards the end, down to an eighth, so that all workers end together
    (guided self-scheduling; Polychronopoulos and Kuck, 1987).
    """
    gaps, at = [], 0
    for task in [*kept, Task(total, total)]:
        if task.first > at:
            gaps.append((at, min(task.first, total)))
        at = max(at, task.until)
    left = sum(end - first for first, end in gaps)
    tasks = []
    for first, end in gaps:
        while first < end:
            many = size if width is None else min(size, max(1, -(-size // 8), -(-left // (2 * width))))
            tasks.append(Task(first, min(first + many, end)))
            left -= tasks[-1].until - first
            first = tasks[-1].until
    return tasks


def _size(scenario: Scenario, total: int, seconds: float) -> int:
    """Repetitions that take about this many seconds of one core, by a forecast from pilot runs."""
    cost = json.loads(scenario._scene.cost())
    each = (cost["cpu_s"] or 1.0) / max(1, cost["runs"])
    return max(1, min(total, math.ceil(seconds / max(each, 1e-7)), 200_000))


def _identify(folder: Path, scenario: Scenario, seed: int, repetitions: int) -> None:
    """Writes what the dataset belongs to, or refuses a folder of another sweep."""
    record = {
        "schema": "williwaw-sweep/1",
        "scenario": scenario.name,
        "title": scenario.title,
        "text": scenario.text,
        "overrides": scenario.overrides,
        "hash": scenario.hash,
        "seed": seed,
        "cells": scenario.cells,
        "version": _core.__version__,
        "repetitions": repetitions,
    }
    path = folder / "sweep.json"
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        for key in ("hash", "seed", "cells", "version"):
            if old.get(key) != record[key]:
                raise ValueError(f"{folder} holds another sweep: {key} is {old.get(key)} there and {record[key]} here")
    part = folder / f".sweep.json.{os.getpid()}"
    part.write_text(json.dumps(record, indent=2), encoding="utf-8")
    part.replace(path)


def _put(dataset: Path, task: Task, content: bytes) -> None:
    part = dataset / f".{task.name}.{os.getpid()}"
    part.write_bytes(content)
    part.replace(dataset / task.name)


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    repetitions: int | None = None,
    *,
    folder: str | os.PathLike[str],
    client: Any = None,
    seed: int | None = None,
    task_s: float = 2.0,
    task_repetitions: int | None = None,
    shared: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Runs what is missing of a sweep on a cluster and keeps it as a partitioned Parquet dataset in ``folder``.

    ``client`` is a ``dask.distributed.Client``, the module ``ray``, an executor of ``concurrent.futures``, or None for
    the cores of this machine. Tasks last about ``task_s`` seconds of one core, less at the end, or hold ``task_repetitions``. Rows travel
    to this process, which writes the files; with ``shared``, workers write into ``folder``, which they must see under
    the same path. The rows are those of :func:`williwaw.run`, bit for bit, however the sweep was cut and resumed.
    """
    scenario = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    repetitions = scenario.repetitions if repetitions is None else repetitions
    seed = scenario.seed if seed is None else seed
    folder = Path(folder).absolute()
    dataset = folder / "flows"
    dataset.mkdir(parents=True, exist_ok=True)
    _identify(folder, scenario, seed, repetitions)
    total = repetitions * scenario.cells
    kept = _kept(dataset)
    size = task_repetitions or _size(scenario, total, task_s)
    result = Sweep(folder, scenario.title, scenario.name, resumed=len(kept))
    tell, close = _progress(progress, "repetitions")
    began = time.monotonic()
    try:
        if _missing(kept, total, size):
            backend = _backend(client, (scenario, repetitions, seed, os.fspath(dataset) if shared else None))
            todo = _missing(kept, total, size, None if task_repetitions else backend.width)
            result.tasks = len(todo)
            _drive(backend, todo, total, dataset, result, tell)
    finally:
        close()
    result.wall_s = time.monotonic() - began
    result._parts = [dataset / task.name for task in _kept(dataset) if task.until <= total]
    return result


def _drive(
    backend: Any,
    todo: list[Task],
    total: int,
    dataset: Path,
    result: Sweep,
    tell: Callable[[int, int], object] | None,
) -> None:
    done = total - sum(task.until - task.first for task in todo)
    waiting = iter(todo)
    # Enough that no worker waits for this process; few enough that results do not pile up here.
    ahead, flying = 3 * backend.width, 0
    broken = True
    try:
        exhausted = False
        while True:
            while flying < ahead and not exhausted:
                task = next(waiting, None)
                if task is None:
                    exhausted = True
                else:
                    backend.submit(task)
                    flying += 1
            if flying == 0:
                break
            for task, outcome in backend.finished():
                content, cpu, busy = outcome()
                if isinstance(content, bytes):
                    _put(dataset, task, content)
                    result.bytes += len(content)
                else:
                    result.bytes += content
                result.cpu_s += cpu
                result.busy_s += busy
                flying -= 1
                done += task.until - task.first
                if tell:
                    tell(done, total)
        broken = False
    except backend.lost as error:
        raise SweepInterrupted(
            f"the cluster was lost ({error or type(error).__name__}): {done} of {total} repetitions are kept; "
            "call sweep again with a new client"
        ) from error
    finally:
        backend.close(broken)
