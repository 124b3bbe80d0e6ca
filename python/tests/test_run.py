"""Runs: the numbers of the command line, tables, progress, interrupts."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest

import williwaw
from conftest import SMALL


def test_numbers_are_those_of_the_command_line(small: williwaw.Scenario, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    args = [williwaw.program(), "run", "small.toml", "--out", "cli", "--json", "--quiet"]
    out = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    run = williwaw.run(small)
    assert json.loads(out)["cells"] == run.document["cells"]
    run.write_parquet(tmp_path / "python.parquet")
    hashes = [hashlib.sha256((tmp_path / f).read_bytes()).digest() for f in ("python.parquet", "cli/flows.parquet")]
    assert hashes[0] == hashes[1]
    assert williwaw.read(tmp_path / "cli").document["cells"] == run.document["cells"]


def test_values_are_by_repetition(small: williwaw.Scenario) -> None:
    run = williwaw.run(small, repetitions=4)
    cell = run.find(recovery="sack", spurious="eifel")
    values = run.values("download_time_s", cell=cell)
    assert cell == 3 and len(values) == 4 and run.mean("download_time_s", cell=cell) == pytest.approx(sum(values) / 4)
    assert run.values("download_time_s", cell=cell, flow="download") == values
    statistics = run.statistics("download_time_s", cell=cell)
    assert statistics["min"] == min(values) and statistics["max"] == max(values)
    with pytest.raises(ValueError, match="did you mean `download_time_s`"):
        run.values("download_time")
    with pytest.raises(ValueError, match="there is no cell 4"):
        run.values("download_time_s", cell=4)
    with pytest.raises(ValueError, match="no flow `upload`"):
        run.values("download_time_s", flow="upload")
    with pytest.raises(KeyError, match="no axis 'colour'"):
        run.find(colour="red")


def test_a_run_is_an_arrow_table(small: williwaw.Scenario, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    run = williwaw.run(small)
    table = pyarrow.table(run)
    run.write_parquet(tmp_path / "flows.parquet")
    kept = parquet.read_table(tmp_path / "flows.parquet")
    assert table.column_names == kept.column_names and table.to_pylist() == kept.to_pylist()
    assert table.field("download_time_s").metadata[b"unit"] == b"s"
    short = pyarrow.table(run.short())
    assert short.column_names[3:5] == ["recovery", "spurious"] and short.num_rows == len(run) == 20
    # A stream can be taken again, and one that is not read is freed.
    run.__arrow_c_stream__()
    assert pyarrow.table(run).equals(table)


def test_other_libraries_take_it(small: williwaw.Scenario) -> None:
    run = williwaw.run(small, repetitions=2)
    taken = 0
    for name in ("polars", "pandas", "duckdb"):
        try:
            library = __import__(name)
        except ImportError:
            continue
        if name == "polars":
            assert library.DataFrame(run).height == 8
        elif name == "duckdb":
            assert library.sql("select count(*) from run").fetchall() == [(8,)]
        elif hasattr(library.DataFrame, "from_arrow"):
            assert len(library.DataFrame.from_arrow(run)) == 8
        else:
            pytest.importorskip("pyarrow")
            assert len(run.to_pandas()) == 8
        taken += 1
    if not taken:
        pytest.skip("neither polars nor pandas nor duckdb is installed")


def test_a_folder_is_continued_here_and_by_the_command_line(small: williwaw.Scenario, tmp_path: Path) -> None:
    place = tmp_path / "run"
    williwaw.run(small, repetitions=2, folder=place)
    args = [williwaw.program(), "run", "--resume", str(place), "--reps", "3", "--json", "--quiet"]
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    more = williwaw.run(small, repetitions=5, folder=place)
    assert more.document["cells"] == williwaw.run(small).document["cells"]
    with pytest.raises(ValueError, match="holds another run"):
        williwaw.run(small.set({"run.limit": "2 h"}), folder=place)


def test_progress_is_for_terminals_and_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    from williwaw._run import _progress

    class Marimo(types.ModuleType):
        notebook = False

        def running_in_notebook(self) -> bool:
            return self.notebook

    marimo = Marimo("marimo")
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert _progress(None, "parts")[0] is None, "a notebook that is run as a program writes no bar to its log"
    marimo.notebook = True
    assert _progress(None, "parts")[0] is not None
    monkeypatch.delitem(sys.modules, "marimo")
    assert _progress(None, "parts")[0] is None and _progress(True, "parts")[0] is not None


def test_progress_is_told_and_may_raise(small: williwaw.Scenario) -> None:
    told: list[tuple[int, int]] = []
    williwaw.run(small, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (20, 20)

    def refuse(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        williwaw.run(small, repetitions=100_000, progress=refuse)


def test_ctrl_c_ends_a_run_and_keeps_what_is_done(small: williwaw.Scenario, tmp_path: Path) -> None:
    # A shell starts its background jobs with SIGINT ignored, and Python leaves that as it is.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            williwaw.run(small, repetitions=200_000, folder=tmp_path / "run", progress=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 20
    kept = williwaw.read(tmp_path / "run")
    assert 0 < len(kept) < 800_000


def test_other_threads_go_on(small: williwaw.Scenario) -> None:
    turns, going = 0, True

    def count() -> None:
        nonlocal turns
        while going:
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    williwaw.run(small, repetitions=400, jobs=1)
    lasted, counted = time.monotonic() - began, turns
    going = False
    thread.join()
    assert counted > 50 * min(lasted, 2)


def test_html_has_table_and_picture(small: williwaw.Scenario) -> None:
    html = williwaw.run(small)._repr_html_()
    assert html.count("<tr>") == 5 and "<svg" in html and "<script" not in html
    assert "download_time_s" in repr(williwaw.run(small))


def test_papers_are_reproduced() -> None:
    ids = [experiment.id for experiment in williwaw.experiments()]
    assert "gprs-eifel/table2" in ids
    found = williwaw.reproduce("gprs-eifel/table2", repetitions=100)
    assert found.document["schema"] and len(found.values) > 5 and "published" in found._repr_html_()
    with pytest.raises(ValueError, match="no experiment `nowhere`"):
        williwaw.reproduce("nowhere")


def test_verbs_of_the_program(small: williwaw.Scenario, tmp_path: Path) -> None:
    found = williwaw.compare(small, small.set({"hop.radio.rate": "60 kbit/s"}), repetitions=5)
    assert found["repetitions"] == 5 and "sentence" in found
    (tmp_path / "no.pcap").write_bytes(b"nothing")
    with pytest.raises(williwaw.CommandFailed) as caught:
        williwaw.analyse(tmp_path / "no.pcap")
    assert caught.value.code in (2, 3) and str(caught.value)


def test_pictures_for_papers(small: williwaw.Scenario, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from williwaw import plot

    run = williwaw.run(small)
    figures = [plot.cdf(run), plot.box(run), plot.tradeoff(run), plot.time_sequence(small, 0, width="page")]
    for i, figure in enumerate(figures):
        figure.savefig(tmp_path / f"{i}.pdf")
        assert (tmp_path / f"{i}.pdf").read_bytes().startswith(b"%PDF")
    assert [figure.get_size_inches()[0] for figure in figures] == [3.5, 3.5, 3.5, 7.16]
    pytest.importorskip("pyarrow")
    plot.series(small).savefig(tmp_path / "series.svg")
