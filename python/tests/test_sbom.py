"""Bill of materials of `make licences`: every linked crate, with licence and checksum."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "sbom.py"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here")
def test_every_linked_crate_has_its_licence_and_checksum(tmp_path: Path) -> None:
    file = tmp_path / "williwaw.cdx.json"
    subprocess.run([sys.executable, str(PROGRAM), str(file)], check=True, capture_output=True)
    text = file.read_text()
    document = json.loads(text)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    spec = importlib.util.spec_from_file_location("sbom", PROGRAM)
    assert spec and spec.loader
    sbom = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sbom)
    components = document["components"]
    names = {(one["name"], one["version"]) for one in components}
    assert len(components) == len(names) > 100
    root = document["metadata"]["component"]
    assert names | {(root["name"], root["version"])} == sbom.tree("williwaw")
    for one in components:
        assert one["licenses"][0]["expression"], one
        # Our own crates come from no registry.
        assert one["name"].startswith("williwaw-") != ("hashes" in one), one
    known = {one["bom-ref"] for one in components} | {root["bom-ref"]}
    linked = {ref for one in document["dependencies"] for ref in one["dependsOn"]}
    assert known == {one["ref"] for one in document["dependencies"]} and linked == known - {root["bom-ref"]}
    again = tmp_path / "again.json"
    subprocess.run([sys.executable, str(PROGRAM), str(again)], check=True, capture_output=True)
    assert again.read_text() == text
