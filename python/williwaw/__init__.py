"""A laboratory for transport protocols on mobile links.

One description of a path, its weather and the flows over it (a :class:`Scenario`) runs in virtual time. Results are
tables that pandas, polars, DuckDB and pyarrow read without a copy in between.

>>> import williwaw
>>> run = williwaw.run(williwaw.Scenario.starter(), repetitions=3, progress=False)
>>> run.mean("download_time_s") > 0
True
"""

from __future__ import annotations

from ._command import CommandFailed, analyse, compare, program
from ._core import __version__
from ._papers import Experiment, Reproduction, experiments, reproduce
from ._results import Run, read
from ._run import check, metrics, presets, run
from ._scenario import Scenario, ScenarioError, ScenarioWarning
from ._sweep import Sweep, SweepInterrupted, sweep

__all__ = [
    "CommandFailed",
    "Experiment",
    "Reproduction",
    "Run",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "Sweep",
    "SweepInterrupted",
    "__version__",
    "analyse",
    "check",
    "compare",
    "experiments",
    "metrics",
    "presets",
    "program",
    "read",
    "reproduce",
    "run",
    "sweep",
]
