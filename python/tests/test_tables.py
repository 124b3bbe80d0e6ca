"""Types of the tables: up to date, importable, and enough for a scenario."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import williwaw
from williwaw import tables

ROOT = Path(__file__).parents[1]


def test_the_types_are_those_of_the_schema() -> None:
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "tables.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.text() == (ROOT / "williwaw" / "tables.py").read_text(), "run `python python/tables.py`"


def test_a_scenario_of_types() -> None:
    scenario = williwaw.Scenario(
        tables.Tables(
            hop=[tables.Hop(name="radio", between=["server", "phone"], rate="30 kbit/s", delay="300 ms")],
            flow=[tables.Flow(**{"name": "d", "from": "server", "to": "phone", "app": {"bulk": {"bytes": "9 kB"}}})],
        )
    )
    assert williwaw.run(scenario, repetitions=1).mean("download_time_s") > 2.4


CODE = """
from williwaw import Scenario, run, tables

hop: tables.Hop = {"name": "radio", "between": ["a", "b"], "%s": "30 kbit/s"}
numbers: list[float | None] = run(Scenario(hop=[hop]), repetitions=2).values("download_time_s")
"""


def test_a_type_checker_finds_a_wrong_key(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    for key, code in (("rate", 0), ("rat", 1)):
        (tmp_path / "code.py").write_text(CODE % key)
        args = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path), "code.py"]
        done = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert code == 0 or '"rat"' in done.stdout
