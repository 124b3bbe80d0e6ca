"""Figures for papers with matplotlib: CDF, box plot, time-sequence, throughput against delay.

Colours are those of Okabe and Ito, which remain apart for colour-blind readers and in grey; sizes are those of columns
in two-column papers. Each function returns the Figure: ``williwaw.plot.cdf(run, "download_time_s").savefig("cdf.pdf")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._results import Run
from ._run import metrics as _metrics
from ._scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito (2008): blue, vermilion, green, orange, purple, light blue, black.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
#: Widths in inches: IEEE and ACM columns, and the full page.
WIDTHS = {"column": 3.5, "page": 7.16}
_STYLES = ("-", "--", "-.", ":")


def _new(width: str | float, aspect: float = 0.62) -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("williwaw.plot needs matplotlib: pip install 'williwaw[plot]'") from error
    inches = WIDTHS[width] if isinstance(width, str) else width
    figure = Figure(figsize=(inches, inches * aspect), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _label(metric: str) -> str:
    unit = _metrics().get(metric, "")
    words = metric.removesuffix("_bps").removesuffix("_s").replace("_", " ")
    return f"{words} [{unit}]" if unit else words


def _names(run: Run) -> list[str]:
    short = dict(run._rows.short_names)
    names = [", ".join(f"{short[key]} = {value}" for key, value in cell) for cell in run._rows.cells]
    return [name or run.title or run.name for name in names]


def _values(run: Run, metric: str, cell: int, flow: str | None) -> list[float]:
    return [value for value in run.values(metric, cell=cell, flow=flow) if value is not None]


def cdf(
    run: Run,
    metric: str = "download_time_s",
    *,
    cells: Sequence[int] | None = None,
    flow: str | None = None,
    width: str | float = "column",
) -> Figure:
    """Empirical distribution of a metric, one curve for each cell."""
    figure, axes = _new(width)
    names = _names(run)
    for i, cell in enumerate(range(len(names)) if cells is None else cells):
        values = sorted(_values(run, metric, cell, flow))
        if values:
            shares = [(k + 1) / len(values) for k in range(len(values))]
            style = {"color": PALETTE[i % len(PALETTE)], "linestyle": _STYLES[i // len(PALETTE) % len(_STYLES)]}
            axes.step([values[0], *values], [0.0, *shares], where="post", linewidth=1.2, label=names[cell], **style)
    axes.set_xlabel(_label(metric), fontsize=8)
    axes.set_ylabel("share of repetitions", fontsize=8)
    axes.set_ylim(0, 1)
    if len(names) > 1:
        axes.legend(fontsize=7, frameon=False)
    return figure


def box(
    run: Run,
    metric: str = "download_time_s",
    *,
    cells: Sequence[int] | None = None,
    flow: str | None = None,
    width: str | float = "column",
) -> Figure:
    """Quartiles with whiskers at the 5th and 95th percentile, one box for each cell."""
    figure, axes = _new(width)
    names = _names(run)
    chosen = list(range(len(names)) if cells is None else cells)
    drawn = axes.boxplot(
        [_values(run, metric, cell, flow) for cell in chosen],
        whis=(5, 95),
        widths=0.6,
        patch_artist=True,
        flierprops={"markersize": 2},
    )
    for i, patch in enumerate(drawn["boxes"]):
        patch.set_facecolor(PALETTE[i % len(PALETTE)])
        patch.set_alpha(0.55)
    for line in drawn["medians"]:
        line.set_color("#000000")
    axes.set_xticks(range(1, len(chosen) + 1))
    tilt = {"rotation": 25, "ha": "right"} if max(len(names[cell]) for cell in chosen) > 10 else {}
    axes.set_xticklabels([names[cell] for cell in chosen], fontsize=7, **tilt)
    axes.set_ylabel(_label(metric), fontsize=8)
    return figure


def tradeoff(
    run: Run,
    *,
    delay: str = "queue_delay_s",
    rate: str = "throughput_bps",
    flow: str | None = None,
    width: str | float = "column",
) -> Figure:
    """Throughput against delay: a point for each cell with the middle 80 % of its repetitions; better is up and left."""
    figure, axes = _new(width, 0.8)
    for i, name in enumerate(_names(run)):
        x, y = (run.statistics(metric, cell=i, flow=flow) for metric in (delay, rate))
        if x["n"] and y["n"]:
            colour = PALETTE[i % len(PALETTE)]
            axes.plot([x["p10"], x["p90"]], [y["median"]] * 2, color=colour, linewidth=0.8)
            axes.plot([x["median"]] * 2, [y["p10"], y["p90"]], color=colour, linewidth=0.8)
            axes.plot([x["median"]], [y["median"]], "o", color=colour, markersize=4, label=name)
    axes.invert_xaxis()
    axes.set_xlabel(_label(delay), fontsize=8)
    axes.set_ylabel(_label(rate), fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    return figure


def time_sequence(
    scenario: Scenario,
    repetition: int = 0,
    *,
    cell: int = 0,
    flow: str | int = 0,
    width: str | float = "page",
) -> Figure:
    """Segments and acknowledgements over time, with retransmissions, timeouts, losses and closed gates."""
    data = scenario.picture(repetition, cell=cell, flow=flow).data
    figure, axes = _new(width, 0.5)
    kinds = {
        "new": ("data", ".", PALETTE[0]),
        "retransmission": ("retransmission", "s", PALETTE[3]),
        "unneeded": ("unneeded retransmission", "x", PALETTE[1]),
    }
    for kind, (label, marker, colour) in kinds.items():
        points = [(s["t"], s["end"] / 1000) for s in data["sent"] if s["kind"] == kind]
        if points:
            axes.plot(*zip(*points), marker, color=colour, markersize=3, label=label)
    acks = [(a["t"], a["ack"] / 1000) for a in data["acks"]]
    if acks:
        axes.step(*zip(*acks), where="post", color=PALETTE[2], linewidth=0.8, label="acknowledged")
    drops = [(d["t"], d["end"] / 1000) for d in data["drops"]]
    if drops:
        axes.plot(*zip(*drops), "v", color=PALETTE[6], markersize=3, label="dropped")
    for timeout in data["timeouts"]:
        spurious = timeout["truth"] == "spurious"
        axes.axvline(timeout["t"], color=PALETTE[1 if spurious else 6], linewidth=0.8, linestyle=":")
    for spike in data["spikes"]:
        axes.axvspan(spike["from"], spike["until"], color="#000000", alpha=0.08, linewidth=0)
    axes.set_xlabel("time [s]", fontsize=8)
    axes.set_ylabel("stream offset [kB]", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    return figure


def series(
    scenario: Scenario,
    names: Sequence[str] = ("cwnd_bytes", "queue_packets", "srtt_s"),
    repetition: int = 0,
    *,
    cell: int = 0,
    width: str | float = "page",
) -> Figure:
    """Time series of one repetition below each other; needs pyarrow."""
    import pyarrow

    rows = pyarrow.table(scenario.series(repetition, cell=cell)).to_pylist()
    figure, first = _new(width, 0.25 * len(names) + 0.1)
    first.remove()
    grid = figure.subplots(len(names), 1, sharex=True, squeeze=False)
    for axes, name in zip((row[0] for row in grid), names):
        subjects = sorted({row["subject"] for row in rows if row["series"] == name})
        for i, subject in enumerate(subjects):
            points = [(r["t_s"], r["value"]) for r in rows if r["series"] == name and r["subject"] == subject]
            axes.step(*zip(*points), where="post", color=PALETTE[i % len(PALETTE)], linewidth=0.9, label=subject)
        axes.set_ylabel(name.replace("_", " "), fontsize=7)
        axes.tick_params(labelsize=7)
        if subjects:
            axes.legend(fontsize=6, frameon=False)
    grid[-1][0].set_xlabel("time [s]", fontsize=8)
    return figure
