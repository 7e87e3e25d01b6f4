"""The whole demonstration: one rule, two precisions, and a dead-band set by hand beside it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..rule import ASKED
from ..simulator import Outcome, Workload, best_fixed, replay
from .weather import Weather, read_weather

DELTAS = (1.0, 8.0)  # °C: queries that want to know precisely, and some that need not
VARIATION = 0.5
RULE = "settling"
BY_HAND = "static:width=2"
STATION = "JFK"
DAYS = 5  # that are shown, from the middle of what is there


class Track(NamedTuple):
    """One source for some days: its readings, and the interval that the cache holds after each."""

    hour: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sent: np.ndarray  # bool: the value had left, so the source sent an interval
    asked: np.ndarray  # bool: a query had to ask


class Run(NamedTuple):
    """What a rule cost, all sources together, and what it did for one of them."""

    rule: str
    sent: int
    asked: int
    track: Track

    @property
    def messages(self) -> int:
        """One for an interval that a source sends, two for a question and its answer."""
        return self.sent + 2 * self.asked


class Case(NamedTuple):
    """Queries of one precision."""

    delta: float
    ours: Run
    by_hand: Run
    best_width: float  # of all fixed widths, chosen with hindsight
    best_messages: int


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    weather: Weather
    readings: int  # that are counted: the first tenth is not
    cases: tuple[Case, ...]


def run_demo(months: int = 12) -> Demo:
    """Run both rules on the temperatures of the first months."""
    weather = read_weather(months)
    cases = tuple(_case(weather, delta) for delta in DELTAS)
    rows = len(weather.recorded.time)
    return Demo(weather, rows - rows // 10, cases)


def _case(weather: Weather, delta: float) -> Case:
    """Ask for the average of all airports, every hour."""
    sources = len(weather.names)
    workload = Workload(1.0, delta, VARIATION, query="avg", asked=sources, seed=1)
    ours, by_hand = (_run(weather, workload, rule) for rule in (RULE, BY_HAND))
    best = best_fixed(workload, recorded=weather.recorded)
    span = replay(BY_HAND, workload, weather.recorded).span
    return Case(delta, ours, by_hand, best.width, round(best.cost_rate * span))


def _run(weather: Weather, workload: Workload, rule: str) -> Run:
    rows = len(weather.recorded.time)
    found = replay(rule, workload, weather.recorded, log=4 * rows)
    sent, asked = (round(rate * found.span) for rate in (found.p_vr, found.p_qr))
    return Run(rule, sent, asked, _track(weather, found))


def _track(weather: Weather, found: Outcome) -> Track:
    """Cut the days that are shown out of what happened to one source."""
    station = weather.names.index(STATION)
    recorded = weather.recorded
    middle = recorded.time[-1] // 48 * 24  # midnight
    shown = (recorded.source == station) & (recorded.time >= middle)
    shown &= recorded.time < middle + 24 * DAYS
    hour, value = recorded.time[shown], recorded.value[shown]
    log = found.refreshes[found.refreshes["source"] == station]
    # After the reading of an hour, and the query that may follow at the same time.
    last = np.searchsorted(log["time"], hour, side="right") - 1
    before = np.searchsorted(log["time"], hour, side="left")
    asked = np.concatenate(([0], np.cumsum(log["why"] == ASKED)))
    asks = asked[last + 1] - asked[before]
    return Track(
        hour,
        value,
        log["low"][last],
        log["high"][last],
        last + 1 - before > asks,
        asks > 0,
    )
