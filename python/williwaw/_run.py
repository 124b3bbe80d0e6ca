"""Runs of a scenario in virtual time."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from . import _core
from ._results import Run
from ._scenario import Scenario, ScenarioError

Progress = bool | Callable[[int, int], object]


class _Bar:
    """Progress on one line of stderr, once a run has lasted a second."""

    def __init__(self, what: str) -> None:
        self._what, self._began, self._shown = what, time.monotonic(), False

    def __call__(self, done: int, total: int) -> None:
        elapsed = time.monotonic() - self._began
        if elapsed < 1 or not total:
            return
        left = elapsed / done * (total - done) if done else float("inf")
        eta = "" if left == float("inf") else f", {left:.0f} s left"
        sys.stderr.write(f"\r\x1b[K{done} of {total} {self._what}{eta}")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _in_notebook() -> bool:
    # A notebook of marimo can be run as a program, too: then its stderr is that of any program.
    marimo = getattr(sys.modules.get("marimo"), "running_in_notebook", lambda: False)
    return "ipykernel" in sys.modules or bool(marimo())


def _progress(wish: Progress | None, what: str) -> tuple[Callable[[int, int], object] | None, Callable[[], None]]:
    if callable(wish):
        return wish, lambda: None
    if wish is None:
        wish = sys.stderr.isatty() or _in_notebook()
    if not wish:
        return None, lambda: None
    bar = _Bar(what)
    return bar, bar.close


def run(
    scenario: Scenario | str | os.PathLike[str],
    *,
    repetitions: int | None = None,
    seed: int | None = None,
    jobs: int = 0,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Runs every cell of a scenario in virtual time, on ``jobs`` threads (0: one for each core).

    The numbers are those of ``williwaw run``, bit for bit. With a ``folder``, each finished repetition is kept there
    at once; the same call continues a run that was interrupted. ``progress`` is a function of (done, total), or
    whether to show a line. The interpreter stays free for other threads, and Ctrl-C ends the run within a moment.
    """
    scenario = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    tell, close = _progress(progress, "repetitions")
    try:
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        place = None if folder is None else (os.fspath(folder), started)
        rows = _core.run(scenario._scene, repetitions, seed, jobs, None, place, tell)
    finally:
        close()
    return Run(rows, scenario.title, scenario.name)


def check(scenario: Scenario | str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a scenario without running it: what it will do and cost, or every mistake in it.

    The mapping has ``good``, ``diagnostics`` and, where it is good, ``cells``, ``runs``, ``packets``, ``cpu_s``.
    """
    try:
        scenario = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    except ScenarioError as error:
        return {"good": False, "diagnostics": error.diagnostics, "text": str(error)}
    return {"good": True, "diagnostics": [], "hash": scenario.hash, **json.loads(scenario._scene.cost())}


def metrics() -> dict[str, str]:
    """Every metric with its unit; docs/results.md defines them."""
    return dict(_core.metrics()[0])


def presets() -> list[str]:
    """Names of links with published or measured parameters."""
    return _core.preset_names()
