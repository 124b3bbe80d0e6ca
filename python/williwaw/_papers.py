"""Experiments of the papers: published beside measured, claims checked."""

from __future__ import annotations

import json
from html import escape
from typing import Any, NamedTuple

from . import _core
from ._run import Progress, _progress


class Experiment(NamedTuple):
    """An experiment: id and title."""

    id: str
    title: str


def experiments() -> list[Experiment]:
    """Every experiment of the papers."""
    return [Experiment(id, title) for id, title in _core.experiments()]


class Reproduction:
    """Experiments that were run: the document of ``williwaw reproduce --json``."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def values(self) -> list[dict[str, Any]]:
        """Every published value beside the measured one, with the id of its experiment."""
        return [{"id": e["id"], **value} for e in self.document["experiments"] for value in e["values"]]

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Every claim, with the id of its experiment."""
        return [{"experiment": e["id"], **claim} for e in self.document["experiments"] for claim in e["claims"]]

    def __repr__(self) -> str:
        s = self.document["summary"]
        return (
            f"<Reproduction: {s['within']} of {s['values']} values inside their bands, "
            f"{s['hold']} of {s['claims']} claims hold>"
        )

    def _repr_html_(self) -> str:
        heads = ("experiment", "key", "published", "measured", "95 % interval", "verdict")
        rows = []
        for v in self.values:
            low, high = v["ci95"] or (None, None)
            interval = "" if low is None else f"{low:.4g} .. {high:.4g}"
            verdict = "inside" if v["within"] else "<b>outside</b>"
            cells = (escape(v["id"]), escape(v["key"]), f"{v['published']:g}", f"{v['measured']:.4g}", interval, verdict)
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        head = "".join(f"<th>{word}</th>" for word in heads)
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{''.join(rows)}</table>"


def reproduce(
    *ids: str,
    repetitions: int | None = None,
    seed: int = 1,
    jobs: int = 0,
    progress: Progress | None = None,
) -> Reproduction:
    """Runs experiments of the papers and judges them; an id may end early (``"gprs-eifel"``: all of that paper)."""
    known = [experiment.id for experiment in experiments()]
    chosen: list[str] = []
    for word in ids or ("",):
        word = word.rstrip("/")
        found = [id for id in known if not word or id == word or id.startswith(word + "/")]
        if not found:
            raise ValueError(f"there is no experiment `{word}`; williwaw.experiments() names them all")
        chosen += [id for id in found if id not in chosen]
    tell, close = _progress(progress, "parts")
    try:
        return Reproduction(json.loads(_core.reproduce(chosen, repetitions, seed, jobs, tell)))
    finally:
        close()
