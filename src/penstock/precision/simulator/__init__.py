"""The compiled simulator: rules over random walks and recordings, and the best fixed width."""

from .best import Fixed, best_fixed
from .kernel import Walk
from .run import Recorded, replay, simulate
from .workload import Outcome, Workload

__all__ = [
    "Fixed",
    "Outcome",
    "Recorded",
    "Walk",
    "Workload",
    "best_fixed",
    "replay",
    "simulate",
]
