"""Replay a workload under several policies and compare what each of them got out of its memory."""

from .run import Played, play
from .scenario import Scenario
from .source import Generated, TraceFile, choose_source
from .summary import summarise
from .sweep import Sweep, sweep

__all__ = [
    "Generated",
    "Played",
    "Scenario",
    "Sweep",
    "TraceFile",
    "choose_source",
    "play",
    "summarise",
    "sweep",
]
