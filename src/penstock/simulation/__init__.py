"""Replay a workload under several policies and compare what each of them got out of its memory."""

from .cell import measure, simulate_cell
from .distortion import Distortion, distortion
from .run import Played, play
from .scenario import Scenario
from .source import Generated, TraceFile, choose_source
from .summary import summarise
from .sweep import Sweep, sweep
from .tallies import exact_tally, tally

__all__ = [
    "Distortion",
    "Generated",
    "Played",
    "Scenario",
    "Sweep",
    "TraceFile",
    "choose_source",
    "distortion",
    "exact_tally",
    "measure",
    "play",
    "simulate_cell",
    "summarise",
    "sweep",
    "tally",
]
