"""Verbs of the command line program of the wheel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from ._scenario import Scenario


class CommandFailed(RuntimeError):
    """The program refused or failed; ``code`` is its exit code, the text is its message."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return CommandFailed, (str(self), self.code)


def program() -> str:
    """Path of the command line program: the one of this installation, else the first on PATH."""
    own = Path(sysconfig.get_path("scripts")) / "williwaw"
    found = str(own) if own.is_file() else shutil.which("williwaw")
    if found is None:
        raise CommandFailed("there is no program `williwaw` beside this package or on PATH", 3)
    return found


def _json(args: list[str], cwd: str | None = None) -> dict[str, Any]:
    # The interpreter's lock is free while it runs, and Ctrl-C reaches both processes.
    done = subprocess.run([program(), *args, "--json"], capture_output=True, text=True, cwd=cwd, check=False)
    if done.returncode not in (0, 1):
        raise CommandFailed(done.stderr.strip(), done.returncode)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def compare(a: Scenario, b: Scenario, *, repetitions: int | None = None, seed: int | None = None) -> dict[str, Any]:
    """Runs two scenarios under the same weather and gives the paired differences: ``williwaw compare --json``."""
    with tempfile.TemporaryDirectory(prefix="williwaw-") as folder:
        args = ["compare"]
        for side, scenario in (("a", a), ("b", b)):
            place = Path(folder) / side
            place.mkdir()
            for name, content in scenario._scene.files.items():
                file = place / name
                if not file.resolve().is_relative_to(place.resolve()):
                    raise ValueError(f"{name}: compare reads only files below the folder of the scenario")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            (place / "scenario.toml").write_text(scenario.text, encoding="utf-8")
            args.append(f"{side}/scenario.toml")
            for change in scenario.overrides:
                args += [f"--set-{side}", change]
        if repetitions is not None:
            args += ["--reps", str(repetitions)]
        if seed is not None:
            args += ["--seed", str(seed)]
        return _json(args, cwd=folder)


def analyse(
    capture: str | os.PathLike[str], *, receiver: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Verdicts on a capture: ``williwaw analyse --json``."""
    args = ["analyse", os.path.abspath(capture)]
    if receiver is not None:
        args += ["--receiver", os.path.abspath(receiver)]
    return _json(args)
