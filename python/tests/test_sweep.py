"""Sweeps: the bits of one machine, whoever runs the tasks and whatever dies on the way."""

import concurrent.futures
import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest

import williwaw
from williwaw import _sweep


def whole(scenario: williwaw.Scenario, repetitions: int, folder: Path) -> bytes:
    williwaw.run(scenario, repetitions=repetitions).write_parquet(folder / "whole.parquet")
    return (folder / "whole.parquet").read_bytes()


def merged(sweep: williwaw.Sweep, folder: Path) -> bytes:
    sweep.run().write_parquet(folder / "merged.parquet")
    return (folder / "merged.parquet").read_bytes()


def test_no_client_means_this_machine(small: williwaw.Scenario, tmp_path: Path) -> None:
    done = williwaw.sweep(small, 9, folder=tmp_path / "s", task_repetitions=7)
    assert done.tasks == 6 and done.resumed == 0
    assert merged(done, tmp_path) == whole(small, 9, tmp_path)
    assert done.content_hash() == williwaw.sweep(small, 9, folder=tmp_path / "t").content_hash()


def test_what_is_missing_is_run(small: williwaw.Scenario, tmp_path: Path) -> None:
    first = williwaw.sweep(small, 6, folder=tmp_path / "s", task_repetitions=5)
    parts = sorted(first.dataset.glob("part-*.parquet"))
    parts[1].unlink()
    again = williwaw.sweep(small, 11, folder=tmp_path / "s", task_repetitions=3)
    # Five repetitions are missing in the middle and twenty at the end.
    assert again.resumed == len(parts) - 1 and again.tasks == 2 + 7
    assert merged(again, tmp_path) == whole(small, 11, tmp_path)
    nothing = williwaw.sweep(small, 11, folder=tmp_path / "s")
    assert nothing.tasks == 0 and merged(nothing, tmp_path) == whole(small, 11, tmp_path)
    with pytest.raises(ValueError, match="holds another sweep: seed is 1 there and 2 here"):
        williwaw.sweep(small, 11, folder=tmp_path / "s", seed=2)


def test_the_dataset_is_partitioned(small: williwaw.Scenario, tmp_path: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    done = williwaw.sweep(small, 9, folder=tmp_path / "s", task_repetitions=7, shared=True)
    table = dataset.dataset(done.dataset).to_table()
    assert table.num_rows == 36 and len(list(done.dataset.iterdir())) == 6


def test_processes_and_one_that_is_killed(small: williwaw.Scenario, tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
        done = williwaw.sweep(small, 9, folder=tmp_path / "s", task_repetitions=7, client=pool)
        assert done.tasks == 6 and merged(done, tmp_path) == whole(small, 9, tmp_path)
    pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn)

    def kill(done: int, total: int) -> None:
        if done >= 40:
            for process in list(pool._processes.values())[:1]:
                os.kill(process.pid, signal.SIGKILL)

    with pytest.raises(williwaw.SweepInterrupted, match="call sweep again"):
        williwaw.sweep(small, 300, folder=tmp_path / "k", task_repetitions=20, client=pool, progress=kill)
    pool.shutdown(cancel_futures=True)
    again = williwaw.sweep(small, 300, folder=tmp_path / "k", task_repetitions=20)
    assert again.resumed >= 2 and merged(again, tmp_path) == whole(small, 300, tmp_path)


def test_dask_with_a_worker_that_is_killed(small: williwaw.Scenario, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", local_directory=str(tmp_path / "d")
    ) as cluster, distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
        killed = []

        def kill(done: int, total: int) -> None:
            if done >= 40 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        done = williwaw.sweep(small, 300, folder=tmp_path / "s", task_repetitions=20, client=client, progress=kill)
    assert killed and done.tasks == 60 and merged(done, tmp_path) == whole(small, 300, tmp_path)


def test_dask_whose_scheduler_goes_away(small: williwaw.Scenario, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    options = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    cluster = distributed.LocalCluster(n_workers=1, local_directory=str(tmp_path / "d"), **options)
    client = distributed.Client(cluster)
    gone = threading.Event()

    def close(done: int, total: int) -> None:
        if done >= 40 and not gone.is_set():
            gone.set()
            threading.Thread(target=cluster.close).start()

    with pytest.raises(williwaw.SweepInterrupted):
        williwaw.sweep(small, 2000, folder=tmp_path / "s", task_repetitions=20, client=client, progress=close)
    client.close()
    with distributed.LocalCluster(n_workers=1, local_directory=str(tmp_path / "e"), **options) as other:
        with distributed.Client(other) as client:
            done = williwaw.sweep(small, 100, folder=tmp_path / "s", task_repetitions=20, client=client)
    assert done.resumed >= 2 and merged(done, tmp_path) == whole(small, 100, tmp_path)


def test_ray(small: williwaw.Scenario, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        done = williwaw.sweep(small, 9, folder=tmp_path / "s", task_repetitions=7, client=ray)
    finally:
        ray.shutdown()
    assert merged(done, tmp_path) == whole(small, 9, tmp_path)


def test_gaps_are_found_and_cut() -> None:
    kept = [_sweep.Task(10, 20), _sweep.Task(15, 30), _sweep.Task(40, 50)]
    found = [(t.first, t.until) for t in _sweep._missing(kept, 55, 8)]
    assert found == [(0, 8), (8, 10), (30, 38), (38, 40), (50, 55)]
    assert _sweep._missing([_sweep.Task(0, 10)], 6, 4) == []


def test_tasks_get_smaller_towards_the_end() -> None:
    """All is covered once, no task is larger than asked for, and what the last ones leave to one worker is small."""
    for total, size, width in [(10_000, 100, 2), (1_000, 100, 4), (50, 100, 8), (7, 3, 1)]:
        tasks = _sweep._missing([], total, size, width)
        assert [t.first for t in tasks] == [0, *(t.until for t in tasks)][:-1] and tasks[-1].until == total
        sizes = [t.until - t.first for t in tasks]
        assert max(sizes) <= size and sizes[-1] <= max(1, -(-size // 8))
        assert all(later <= earlier for earlier, later in zip(sizes, sizes[1:]))
    kept = [_sweep.Task(0, 40), _sweep.Task(60, 100)]
    assert sum(t.until - t.first for t in _sweep._missing(kept, 100, 8, 2)) == 20


def test_a_wrong_client_is_refused(small: williwaw.Scenario, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="executor of concurrent.futures"):
        williwaw.sweep(small, 2, folder=tmp_path / "s", client=object())
