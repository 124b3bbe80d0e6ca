"""Results of runs: statistics, tables, files."""

from __future__ import annotations

import json
import os
from functools import cached_property
from html import escape
from typing import Any

from . import _core

_USUAL = (
    "download_time_s",
    "throughput_bps",
    "goodput_ratio",
    "segments_sent",
    "spurious_timeouts",
    "genuine_timeouts",
    "queue_delay_s",
    "page_time_s",
    "response_time_s",
    "message_delay_s",
    "loss_ratio",
)


class Run:
    """Every repetition of a run.

    An Arrow table by ``__arrow_c_stream__``: ``pandas.DataFrame(pyarrow.table(run))``, ``polars.DataFrame(run)``,
    ``duckdb.sql("from run")``. One row for each cell, repetition and flow, with the columns of ``flows.parquet``.
    """

    def __init__(self, rows: _core.Rows, title: str = "", name: str = "") -> None:
        self._rows = rows
        self.title = title
        self.name = name

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document of ``williwaw run --json``: cells, metrics, statistics."""
        document: dict[str, Any] = json.loads(self._rows.document(self.name))
        return document

    @property
    def cells(self) -> list[dict[str, str]]:
        """Grid values of each cell, by path."""
        return [dict(cell) for cell in self._rows.cells]

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return self._rows.seed

    def find(self, **params: Any) -> int:
        """Number of the only cell with these grid values, by the short names of their paths.

        >>> run.find(recovery="reno", spurious="eifel")  # doctest: +SKIP
        1
        """
        short = {path: name for path, name in self._rows.short_names}
        known = set(short.values())
        for name in params:
            if name.replace("__", ".") not in known:
                raise KeyError(f"the grid has no axis {name!r}; it has {sorted(known)}")
        wanted = {name.replace("__", "."): str(value) for name, value in params.items()}
        fits = [
            index
            for index, cell in enumerate(self._rows.cells)
            if wanted.items() <= {short[path]: value for path, value in cell}.items()
        ]
        if len(fits) != 1:
            raise KeyError(f"{len(fits)} cells have {wanted}")
        return fits[0]

    def values(self, metric: str, *, cell: int = 0, flow: str | None = None) -> list[float | None]:
        """A metric by repetition; None where a repetition has no such number. Without a flow: all taken together."""
        return self._rows.values(metric, cell, flow)

    def mean(self, metric: str, *, cell: int = 0, flow: str | None = None) -> float | None:
        """Mean of a metric over the repetitions of a cell."""
        return self.statistics(metric, cell=cell, flow=flow)["mean"]

    def statistics(self, metric: str, *, cell: int = 0, flow: str | None = None) -> dict[str, Any]:
        """Mean, standard deviation, 95 % interval and percentiles of a metric in a cell."""
        of = self.document["cells"][cell]
        metrics = of["metrics"] if flow is None else of["flows"][flow]
        if metric not in metrics:
            self._rows.values(metric, cell, flow)  # raises with the nearest name
        found: dict[str, Any] = metrics[metric]
        return found

    def __len__(self) -> int:
        return len(self._rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def short(self) -> _Short:
        """The same table, with short names in place of the paths of the grid."""
        return _Short(self._rows)

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes ``flows.parquet``: the bytes that ``williwaw run`` writes for these rows."""
        self._rows.write_parquet(os.fspath(path))

    def to_pandas(self) -> Any:
        """A pandas DataFrame; needs pandas and pyarrow."""
        import pyarrow

        return pyarrow.table(self).to_pandas()

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        short = [name for _, name in self._rows.short_names]
        cells = self.document["cells"]
        metrics = [m for m in _USUAL if any(cell["metrics"][m]["n"] for cell in cells)]
        rows = []
        for cell in cells:
            row = [str(value) for value in cell["params"].values()]
            for metric in metrics:
                found = cell["metrics"][metric]
                if not found["n"]:
                    row.append("–")
                elif found["ci95"] and found["ci95"][0] < found["ci95"][1]:
                    row.append(f"{found['mean']:.4g} ± {(found['ci95'][1] - found['ci95'][0]) / 2:.2g}")
                else:
                    row.append(f"{found['mean']:.4g}")
            rows.append([*row, str(cell["reps"])])
        return [*short, *metrics, "repetitions"], rows

    def __repr__(self) -> str:
        heads, rows = self._shown()
        widths = [max(len(line[i]) for line in [heads, *rows]) for i in range(len(heads))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in [heads, *rows]]
        return "\n".join([f"<Run of {self.title or self.name!r}, seed {self.seed}>", *lines])

    def _repr_html_(self) -> str:
        heads, rows = self._shown()
        head = "".join(f"<th>{escape(word)}</th>" for word in heads)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        bars = self._bars()
        return (
            f"<div><b>{escape(self.title or self.name)}</b>, seed {self.seed}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{bars}</div>"
        )

    def _bars(self) -> str:
        """Means of the first metric with their 95 % intervals, as SVG."""
        cells = self.document["cells"]
        metric = next((m for m in _USUAL if any(cell["metrics"][m]["n"] for cell in cells)), None)
        if metric is None or len(cells) > 40:
            return ""
        found = [cell["metrics"][metric] for cell in cells]
        top = max((f["ci95"] or [0, f["mean"]])[1] for f in found if f["n"]) or 1
        lines = []
        for i, (cell, f) in enumerate(zip(cells, found)):
            label = ", ".join(str(value) for value in cell["params"].values()) or self.name
            y = 24 + 22 * i
            lines.append(f'<text x="215" y="{y + 11}" text-anchor="end">{escape(label[:36])}</text>')
            if f["n"]:
                lines.append(
                    f'<rect x="220" y="{y}" width="{400 * f["mean"] / top:.1f}" height="14" fill="#0072b2"/>'
                )
            if f["ci95"]:
                low, high = (220 + 400 * max(x, 0) / top for x in f["ci95"])
                lines.append(f'<path d="M{low:.1f} {y + 7}H{high:.1f}" stroke="#d55e00" stroke-width="2"/>')
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{30 + 22 * len(cells)}" '
            f'font-family="sans-serif" font-size="11"><text x="220" y="14">{metric}, mean and 95 % interval, '
            f"0 to {top:.4g}</text>{''.join(lines)}</svg>"
        )


class _Short:
    """A table with short names of the grid."""

    def __init__(self, rows: _core.Rows) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema, short=True)


def read(path: str | os.PathLike[str]) -> Run:
    """Reads a run folder, finished or not, or a Parquet table of rows."""
    title = name = ""
    try:
        with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
            record = json.load(file)
        title, name = record.get("title", ""), record.get("scenario", "")
    except (OSError, ValueError):
        pass
    return Run(_core.read(os.fspath(path)), title, name)
