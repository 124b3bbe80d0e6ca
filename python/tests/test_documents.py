"""Python blocks of docs/python.md, run in their order; and the notebook."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import williwaw
from conftest import SMALL

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "table2.py"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), flags=re.S | re.M)


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text(SMALL)
    names: dict[str, object] = {}
    found = blocks("python.md")
    assert len(found) > 5
    for block in found:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (tmp_path / "cdf.pdf").exists() and isinstance(names["run"], williwaw.Run)


def test_the_cluster_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text(SMALL)
    (block,) = blocks("sweeps.md")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(local_directory=str(tmp_path / "d"), **options) as cluster:
        block = block.replace("tcp://scheduler:8786", cluster.scheduler_address).replace("100_000", "20")
        names: dict[str, object] = {}
        exec(compile(block, "docs/sweeps.md", "exec"), names)
        names["client"].close()  # type: ignore[attr-defined]
    assert len(names["done"].run()) == 80  # type: ignore[attr-defined]


def test_the_notebook_runs(tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    pytest.importorskip("matplotlib")
    # A notebook of marimo is a program. The repetitions are fewer than a reader's.
    done = subprocess.run(
        [sys.executable, str(NOTEBOOK)],
        cwd=tmp_path,
        env={**os.environ, "REPETITIONS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table2.pdf").exists()


def test_the_cells_of_the_notebook_are_those_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPETITIONS", "300")
    spec = importlib.util.spec_from_file_location("table2_notebook", NOTEBOOK)
    assert spec and spec.loader
    notebook = importlib.util.module_from_spec(spec)
    began = time.monotonic()
    spec.loader.exec_module(notebook)
    _, cells = notebook.app.run()
    print(f"first picture after {time.monotonic() - began:.1f} s")
    assert (tmp_path / "table2.pdf").exists()

    def told(*words: str) -> dict[str, object]:
        done = subprocess.run([williwaw.program(), *words, "--json", "--quiet"], capture_output=True, text=True, check=False)
        # A claim that does not hold is no failure of this test.
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    table = told("reproduce", "gprs-eifel/table2", "--reps", "100")
    assert table["experiments"] == cells["table"].document["experiments"]
    scenario = cells["scenario"]
    (tmp_path / "table2.toml").write_text(scenario.text)
    changes = [word for change in scenario.overrides for word in ("--set", change)]
    run = told("run", "table2.toml", *changes, "--reps", "300", "--no-out")
    assert run["cells"] == cells["run"].document["cells"]
