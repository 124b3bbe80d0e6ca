"""Bill of materials of the program in CycloneDX 1.5: every crate that is linked, its version, licence and checksum.

    python3 python/sbom.py FILE

Written from what cargo says and from `Cargo.lock`; without times and serial numbers, so that equal sources give equal bytes.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CARGO = os.environ.get("CARGO", "cargo")


def metadata() -> dict[str, Any]:
    """What cargo resolves for the machine that it runs on."""
    version = subprocess.run([CARGO, "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.search(r"^host: (\S+)$", version, flags=re.M)
    assert host, version
    command = [CARGO, "metadata", "--format-version", "1", "--locked", "--filter-platform", host[1]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def tree(name: str) -> set[tuple[str, str]]:
    """Name and version of the crates that a package links with its own features; those of `metadata` are the workspace's."""
    command = [CARGO, "tree", "--locked", "-p", name, "-e", "normal", "--prefix", "none", "--format", "{p}"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {(line.split()[0], line.split()[1].removeprefix("v")) for line in lines if line}


def checksums(lock: str) -> dict[tuple[str, str], str]:
    """SHA-256 of the crates that come from a registry, by name and version."""
    found = re.findall(r'^name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"$', lock, flags=re.M)
    return {(name, version): checksum for name, version, checksum in found}


def linked(document: dict[str, Any], root: str, names: set[tuple[str, str]]) -> dict[str, list[str]]:
    """Packages of `names` that `root` links, each with those that it links itself; not what only builds and tests need."""
    nodes = {node["id"]: node for node in document["resolve"]["nodes"]}
    known = {package["id"] for package in document["packages"] if (package["name"], package["version"]) in names}
    found: dict[str, list[str]] = {}
    waiting = [root]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        normal = [d["pkg"] for d in nodes[package]["deps"] if d["pkg"] in known and any(k["kind"] is None for k in d["dep_kinds"])]
        found[package] = sorted(normal)
        waiting.extend(normal)
    return found


def bill(name: str) -> dict[str, Any]:
    document, sums = metadata(), checksums((ROOT / "Cargo.lock").read_text())
    packages = {package["id"]: package for package in document["packages"]}
    root = next(p["id"] for p in document["packages"] if p["name"] == name and p["id"] in document["workspace_members"])
    found = linked(document, root, tree(name))

    def reference(package: str) -> str:
        return f"pkg:cargo/{packages[package]['name']}@{packages[package]['version']}"

    def component(package: str, kind: str) -> dict[str, Any]:
        one = packages[package]
        # Before SPDX expressions cargo had a slash for `OR`.
        licence = (one["license"] or "").replace("/", " OR ")
        out = {"type": kind, "bom-ref": reference(package), "name": one["name"], "version": one["version"], "purl": reference(package)}
        if licence:
            out["licenses"] = [{"expression": licence}]
        if checksum := sums.get((one["name"], one["version"])):
            out["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return out

    rest = sorted((p for p in found if p != root), key=reference)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root, "application")},
        "components": [component(package, "library") for package in rest],
        "dependencies": [{"ref": reference(p), "dependsOn": sorted(map(reference, found[p]))} for p in [root, *rest]],
    }


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    document = bill("williwaw")
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1) + "\n")
    print(f"{sys.argv[1]}: {len(document['components'])} crates")


if __name__ == "__main__":
    main()
