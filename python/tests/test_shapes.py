"""Published JSON schemas beside real output."""

import json
import subprocess
from pathlib import Path

import pytest

import williwaw
from conftest import SMALL

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("more", [[], ["--shard", "1/2"], ["--set", "run.limit=2 s"]])
def test_documents_and_records_fit_their_schemas(more: list[str], tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    (tmp_path / "small.toml").write_text(SMALL)
    args = [williwaw.program(), "run", "small.toml", "--out", "run", "--json", "--quiet", *more]
    out = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    pairs = [("run", json.loads(out)), ("folder", json.loads((tmp_path / "run/run.json").read_text()))]
    for name, document in pairs:
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
        jsonschema.validate(document, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, "seed": "one"}, schema)


def test_folders_of_python_fit_the_schema(small: williwaw.Scenario, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    williwaw.run(small, folder=tmp_path / "run")
    record = json.loads((tmp_path / "run/run.json").read_text())
    jsonschema.validate(record, json.loads((SCHEMAS / "folder.schema.json").read_text()))
    assert record["complete"]
