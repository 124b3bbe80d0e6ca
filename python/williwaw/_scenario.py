"""Scenarios: TOML text or Python objects, read and checked by the reader of the command line."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _core


class ScenarioError(ValueError):
    """Mistakes in a scenario, all at once.

    ``str(error)`` is the report of the command line: file, line, column, what was meant. ``error.diagnostics`` has
    one mapping for each mistake with ``line``, ``column``, ``code``, ``message``, ``help``.
    """

    def __init__(self, text: str, diagnostics: list[dict[str, Any]]) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[Any, ...]:
        return ScenarioError, (str(self), self.diagnostics)


class ScenarioWarning(UserWarning):
    """Something in a scenario that is probably not meant."""


def _plain(value: Any) -> Any:
    """Python objects as JSON has them; entries of None are left out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "item"):  # numbers of numpy
        return _plain(value.item())
    return str(value)


def _toml_value(value: Any) -> str:
    """One value as the right-hand side of a change: `--set KEY=VALUE`."""
    value = _plain(value)
    if isinstance(value, str):
        return value
    text: str = _core.toml_of(json.dumps({"x": value}))
    return text.removeprefix("x = ").strip() if text.startswith("x = ") else json.dumps(value)


def _read(text: str, name: str, folder: str | None, changes: list[str], files: dict[str, bytes]) -> _core.Scene:
    report = document = ""
    scene = None
    try:
        scene = _core.Scene(text, name, folder, changes, files)
    except _core.WrongScenario as error:
        report, document = error.args
    if scene is None:
        # Raised here, so that it has no context that another process could not read.
        raise ScenarioError(report, json.loads(document)["diagnostics"])
    if scene.warnings:
        warnings.warn(scene.warnings, ScenarioWarning, stacklevel=4)
    return scene


class Scenario:
    """A scenario: path, weather, flows, grid.

    ``Scenario(path)`` reads a TOML file; ``Scenario(text)`` TOML text; ``Scenario(mapping)`` and
    ``Scenario(hop=[...], flow=[...])`` take the tables of the file as Python objects (:mod:`williwaw.tables` has
    their types, for completion). Files that the scenario names are looked for beside it, or in ``folder``.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        /,
        *,
        name: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        **tables: Any,
    ) -> None:
        if isinstance(source, Mapping) or (source is None and tables):
            content = {**(source or {}), **tables} if isinstance(source, Mapping) or source is None else tables
            content.setdefault("williwaw", 1)
            text = _core.toml_of(json.dumps(_plain(content)))
            name = name or "scenario.toml"
        elif source is None:
            raise TypeError("a scenario needs a file, a text or tables")
        elif tables:
            raise TypeError(f"{', '.join(tables)}: tables go with a mapping, not with a file or a text")
        elif isinstance(source, str) and "\n" in source:
            text, name = source, name or "scenario.toml"
        else:
            path = Path(source)
            text = path.read_text(encoding="utf-8")
            name = name or str(path)
            folder = folder if folder is not None else path.parent
        self._open(text, name, None if folder is None else os.fspath(folder), [], {})

    def _open(self, text: str, name: str, folder: str | None, changes: list[str], files: dict[str, bytes]) -> None:
        self._folder = folder
        self._scene = _read(text, name, folder, changes, files)

    @classmethod
    def starter(cls) -> Scenario:
        """The commented scenario that ``williwaw new`` writes."""
        return cls(_core.starter(), name="starter.toml")

    @classmethod
    def of_experiment(cls, id: str) -> Scenario:
        """The scenario behind an experiment of :func:`williwaw.experiments`."""
        return cls(_core.experiment_scenario(id), name=f"{id}.toml")

    def set(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Scenario:
        """The scenario with values changed by their paths.

        >>> Scenario.starter().set({"hop.radio.rate": "60 kbit/s"}).overrides
        ['hop.radio.rate=60 kbit/s']
        """
        all_changes = {**(changes or {}), **{key.replace("__", "."): value for key, value in more.items()}}
        lines = self.overrides + [f"{key}={_toml_value(value)}" for key, value in all_changes.items()]
        new = Scenario.__new__(Scenario)
        new._open(self.text, self.name, self._folder, lines, self._scene.files)
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.text, self.name, self.overrides, self._scene.files)

    @property
    def text(self) -> str:
        """The TOML text."""
        return self._scene.text

    @property
    def name(self) -> str:
        """File name, as errors show it."""
        return self._scene.name

    @property
    def title(self) -> str:
        """Title."""
        return self._scene.title

    @property
    def overrides(self) -> list[str]:
        """Changes, as ``KEY=VALUE``."""
        return self._scene.overrides

    @property
    def hash(self) -> str:
        """Hash of text, changes and files: part of the identity of results."""
        return self._scene.hash

    @property
    def grid(self) -> dict[str, list[Any]]:
        """Axes of the grid: path and values."""
        axes: dict[str, list[Any]] = json.loads(self._scene.grid)
        return axes

    @property
    def cells(self) -> int:
        """Combinations of the grid."""
        return self._scene.cells

    @property
    def flows(self) -> list[str]:
        """Names of the flows."""
        return self._scene.flows

    @property
    def repetitions(self) -> int:
        """Repetitions of each cell."""
        return self._scene.repetitions

    @property
    def seed(self) -> int:
        """Seed of all random streams."""
        return self._scene.seed

    def series(self, repetition: int = 0, *, cell: int = 0, seed: int | None = None) -> _core.Stream:
        """Time series of one repetition as an Arrow table: ``t_s``, ``series``, ``subject``, ``value``.

        Window, RTT, timeout, queue lengths, drops, states and gates; docs/results.md lists them.
        """
        return self._scene.series(cell, repetition, seed)

    def picture(
        self,
        repetition: int = 0,
        *,
        cell: int = 0,
        flow: str | int = 0,
        seed: int | None = None,
        width: int = 900,
        height: int = 560,
    ) -> Picture:
        """Time-sequence picture of a flow in one repetition."""
        index = self.flows.index(flow) if isinstance(flow, str) else flow
        data, svg = self._scene.picture(cell, repetition, index, seed, (width, height))
        return Picture(json.loads(data), svg)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and (self.hash, self.seed) == (other.hash, other.seed)

    def __hash__(self) -> int:
        return hash((self.hash, self.seed))

    def __repr__(self) -> str:
        cells = "1 cell" if self.cells == 1 else f"{self.cells} cells"
        return f"<Scenario {self.title or self.name!r}: {cells} of {self.repetitions} repetitions, seed {self.seed}>"

    def _repr_html_(self) -> str:
        from html import escape

        axes = "".join(
            f"<tr><td><code>{escape(key)}</code></td><td>{escape(', '.join(map(str, values)))}</td></tr>"
            for key, values in self.grid.items()
        )
        grid = f"<table>{axes}</table>" if axes else ""
        return (
            f"<div><b>{escape(self.title or self.name)}</b>, {self.cells} cells of {self.repetitions} repetitions, "
            f"seed {self.seed}{grid}<details><summary>scenario</summary><pre>{escape(self.text)}</pre></details></div>"
        )


def _restored(text: str, name: str, changes: list[str], files: dict[str, bytes]) -> Scenario:
    scenario = Scenario.__new__(Scenario)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        scenario._open(text, name, None, changes, files)
    return scenario


class Picture:
    """Time-sequence picture: ``data`` for own plots, SVG for notebooks."""

    def __init__(self, data: dict[str, Any], svg: str) -> None:
        self.data = data
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG."""
        Path(path).write_text(self.svg, encoding="utf-8")
