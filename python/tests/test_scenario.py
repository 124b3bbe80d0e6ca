"""Scenarios from text and objects, and the reader's errors."""

import copy
import pickle
from pathlib import Path

import pytest

import williwaw
from conftest import SMALL

OBJECTS = {
    "title": "A small grid",
    "hop": [
        {
            "name": "radio",
            "between": ["server", "phone"],
            "rate": "30 kbit/s",
            "delay": "300 ms",
            "queue": {"drop-tail": {"limit": "10 packets"}},
            "gate": [
                {
                    "name": "reselection",
                    "every": "uniform(20 s, 40 s)",
                    "first": "stationary",
                    "lasts": "uniform(3 s, 15 s)",
                }
            ],
        }
    ],
    "flow": [
        {
            "name": "download",
            "from": "server",
            "to": "phone",
            "transport": {"tcp": {"profile": "ns2-2001", "recovery": "reno", "timestamps": True}},
            "app": {"bulk": {"bytes": "20 KiB"}},
        }
    ],
    "run": {"repetitions": 5, "seed": 1, "limit": "1 h"},
    "grid": {
        "flow.download.transport.tcp.recovery": ["reno", "sack"],
        "flow.download.transport.tcp.spurious": ["none", "eifel"],
    },
}


def test_objects_and_text_give_the_same_numbers(small: williwaw.Scenario) -> None:
    objects = williwaw.Scenario(OBJECTS)
    assert objects.grid == small.grid and objects.flows == ["download"] and objects.cells == 4
    a, b = (williwaw.run(scenario, repetitions=2) for scenario in (objects, small))
    assert a.document["cells"] == b.document["cells"]
    keywords = williwaw.Scenario(**{key: value for key, value in OBJECTS.items()})
    assert keywords.hash == objects.hash


def test_mistakes_are_told_all_at_once_with_places() -> None:
    wrong = SMALL.replace('"30 kbit/s"', '"30 kbits"').replace("lasts =", "lats =")
    with pytest.raises(williwaw.ScenarioError) as caught:
        williwaw.Scenario(wrong, name="wrong.toml")
    error = caught.value
    assert "wrong.toml:8:8" in str(error) and "did you mean `lasts`?" in str(error)
    assert [d["line"] for d in error.diagnostics if d["severity"] == "error"] == sorted(
        d["line"] for d in error.diagnostics if d["severity"] == "error"
    )
    assert pickle.loads(pickle.dumps(error)).diagnostics == error.diagnostics
    objects = copy.deepcopy(OBJECTS)
    objects["flow"][0]["transport"]["tcp"]["recovery"] = "rennet"  # type: ignore[index]
    with pytest.raises(williwaw.ScenarioError, match="rennet"):
        williwaw.Scenario(objects)


def test_check_tells_cost_or_mistakes(small: williwaw.Scenario) -> None:
    good = williwaw.check(small)
    assert good["good"] and good["runs"] == 20 and good["packets"] > 0
    bad = williwaw.check(SMALL.replace("30 kbit/s", "30 kbits"))
    assert not bad["good"] and bad["diagnostics"][0]["line"] == 8


def test_a_changed_scenario_is_another(small: williwaw.Scenario) -> None:
    changed = small.set({"hop.radio.rate": "60 kbit/s", "run.repetitions": 2})
    assert changed.repetitions == 2 and small.repetitions == 5
    assert changed.hash != small.hash and changed == small.set(hop__radio__rate="60 kbit/s", run__repetitions=2)
    assert pickle.loads(pickle.dumps(changed)) == changed
    with pytest.raises(williwaw.ScenarioError, match="did you mean"):
        small.set({"hop.radio.rat": "60 kbit/s"})


def test_files_are_found_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "spikes.csv").write_text("rep,start_s,length_s\n0,1,3\n1,2,4\n")
    gate = 'every = "uniform(20 s, 40 s)"\nfirst = "stationary"\nlasts = "uniform(3 s, 15 s)"'
    text = SMALL.replace(gate, 'file = "spikes.csv"')
    (tmp_path / "s.toml").write_text(text)
    scenario = williwaw.Scenario(tmp_path / "s.toml")
    again = pickle.loads(pickle.dumps(scenario))
    (tmp_path / "spikes.csv").unlink()
    # The file travels with the scenario.
    assert williwaw.run(again, repetitions=2).mean("gate_closures") == pytest.approx(1, abs=1)
    with pytest.raises(williwaw.ScenarioError, match="spikes.csv"):
        williwaw.Scenario(tmp_path / "s.toml")


def test_shown_in_a_notebook(small: williwaw.Scenario) -> None:
    html = small._repr_html_()
    assert "A small grid" in html and "recovery" in html and "<script" not in html
    assert "<svg" in small.picture(0)._repr_svg_()


def test_series_are_a_table(small: williwaw.Scenario) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    stream = small.series(0)
    table = pyarrow.table(stream)
    assert table.column_names == ["t_s", "series", "subject", "value"] and len(table) == len(stream)
    names = set(table["series"].to_pylist())
    assert {"cwnd_bytes", "srtt_s", "queue_packets", "acked_bytes"} <= names
    closed = [pyarrow.table(small.series(n)).to_pylist() for n in range(5)]
    gates = [row["value"] for rows in closed for row in rows if row["series"] == "gate_closed"]
    assert gates and set(gates) == {0.0, 1.0}
    rows = table.to_pylist()
    acked = [row["value"] for row in rows if row["series"] == "acked_bytes"]
    assert acked == sorted(acked) and acked[-1] >= 20 * 1024
    queue = [row["value"] for row in rows if row["series"] == "queue_packets"]
    assert min(queue) >= 0 and max(queue) <= 10
