"""Replay a workload under several policies and compare what each of them got out of its memory."""

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
    "play",
    "summarise",
    "sweep",
    "tally",
]
