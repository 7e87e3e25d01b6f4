"""A source: one value that changes, and for each cache the interval that was sent last.

A cache holds an `Interval` of a value, and `Refresh` is the message that carries it. Nearly all
intervals are fixed. Some move with time in a way that source and cache compute alike: after
`elapsed` units of time both bounds have drifted by `drift` × elapsed, or each bound lies `spread` ×
elapsed ** `power` further out.

A source is a pure state machine. Its driver (a simulation, a broker, Spark) passes it new values,
requests and the time, and delivers the messages that it returns.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput, BadState
from ..kernel.rng import B11, STEP, make_rng, mix
from ..numeric import Json, check_number
from .rounding import down, is_rounded, up
from .rule import ABOVE, ASKED, BELOW, SPOKE, Costs, Rule, hook
from .rules import tune

FORMAT = 1


class Interval(NamedTuple):
    """Bounds of a value from the time `at` on.

    >>> Interval(3.0, 5.0).bounds(now=7)
    (3.0, 5.0)
    >>> Interval(1.0, 1.0, at=10.0, spread=2.0, power=0.5).bounds(now=14)
    (-3.0, 5.0)
    >>> Interval(1.0, 3.0, at=10.0, drift=0.5).until(value=2.5)
    13.0
    """

    low: float
    high: float
    at: float = 0.0  # the time at which it was made
    drift: float = 0.0
    spread: float = 0.0
    power: float = 0.0

    def bounds(self, now: float) -> tuple[float, float]:
        """Return the bounds at a time."""
        if self.spread != 0:  # contains its first bounds, so that rounding cannot make it too small
            return moved(self.low, self.high, now - self.at, self.drift, self.spread, self.power)
        if self.drift == 0:
            return self.low, self.high
        shift = Fraction(self.drift) * (Fraction(now) - Fraction(self.at))
        low = down(Fraction(self.low) + shift) if self.low > -math.inf else self.low
        return low, up(Fraction(self.high) + shift) if self.high < math.inf else self.high

    def until(self, value: float) -> float:
        """Return the time at which a drifting interval no longer contains this value, rounded down.

        Infinity if that never happens.
        """
        end = self.low if self.drift > 0 else self.high
        if self.drift == 0 or math.isinf(end):
            return math.inf
        return down(Fraction(self.at) + (Fraction(value) - Fraction(end)) / Fraction(self.drift))


class Refresh(NamedTuple):
    """A message from a source to a cache: the value of a key, and the interval to hold from now on.

    Of two messages about one key the one with the larger (run, number) is the later one, in
    whatever order they arrive.
    """

    key: str
    value: float  # exact at the time of sending, unless `rounded`
    interval: Interval
    rank: float  # the original width: a full cache evicts the largest
    why: int  # ABOVE, BELOW, ASKED or SPOKE: see rule.py
    run: int  # grows with every restart of the source
    number: int  # grows with every message of a run
    sent: float
    max_silence: float = math.inf  # without a later message for so long the source counts as lost
    rounded: bool = False  # no float equals the value: it lies between the neighbours of `value`

    @property
    def order(self) -> tuple[int, int]:
        """The position of the message among those of its key."""
        return self.run, self.number


def check_limits(limits: Iterable[float]) -> tuple[float, ...]:
    """Return alarm limits in order; a limit that is not a float becomes the next float above.

    A float is at or above the limit exactly if it is at or above that float.

    >>> check_limits([30, 10]), check_limits([2**53 + 1])
    ((10.0, 30.0), (9007199254740994.0,))
    """
    numbers = list(limits)
    for limit in numbers:
        check_number("an alarm limit", limit)
    return tuple(sorted(map(up, numbers)))


@hook
def cut_at_limits(low, high, value, limits):
    """Cut an interval back to the side of each limit that the value is on.

    So no interval contains values on both sides of a limit, and no crossing is hidden. A value at
    the limit counts as above it.

    >>> cut_at_limits(20.0, 40.0, 29.5, (30.0,))
    (20.0, 29.999999999999996)
    >>> cut_at_limits(20.0, 40.0, 30.0, (30.0,))
    (30.0, 40.0)
    """
    for limit in limits:
        if value >= limit:
            low = max(low, limit)
        else:
            high = min(high, math.nextafter(limit, -math.inf))
    return low, high


@hook
def ends(value, rounded):
    """Return the floats between which a value lies; a rounded value lies between two neighbours.

    >>> ends(1.5, False), ends(2.0**53, True)
    ((1.5, 1.5), (9007199254740991.0, 9007199254740994.0))
    """
    if rounded:
        return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
    return value, value


@hook
def around(low, high, value, rounded):
    """Return an interval, widened where necessary so that it contains the value.

    For a value near the largest float a rule may compute bounds that are NaN.

    >>> around(1.0, 2.0, 1.5, False), around(1.5, math.nan, 1.5, True)
    ((1.0, 2.0), (1.4999999999999998, 1.5000000000000002))
    """
    least, most = ends(value, rounded)
    return low if low <= least else least, high if high >= most else most


@hook
def moved(low, high, elapsed, drift, spread, power):
    """Return the bounds of a moving interval after some time."""
    shift = drift * elapsed
    wider = spread * elapsed**power
    return low + shift - wider, high + shift + wider


def check_rule(rule: Rule, limited: bool = False, fixed_by: str = "") -> None:
    """Reject a rule that a source cannot follow.

    limited: there are alarm limits. fixed_by: what carries only intervals that do not move.
    """
    if rule.counts_reads:
        raise BadInput(
            f"rule {rule.name!r} counts reads that a cache answers by itself, which a source"
            " does not see; choose another rule, this one is for simulations"
        )
    if rule.moves and limited:
        raise BadInput(
            f"intervals of rule {rule.name!r} move and could cross an alarm limit;"
            " choose another rule, or leave out limits"
        )
    if rule.moves and fixed_by:
        raise BadInput(
            f"intervals of rule {rule.name!r} move with time, which {fixed_by} cannot carry;"
            " choose another rule, or use a Source"
        )


def draw(rng: np.ndarray) -> float:
    """Draw a number from [0, 1), as `kernel.rng.uniform` does in compiled code.

    >>> rng = make_rng(1)
    >>> 0 <= draw(rng) != draw(rng) < 1
    True
    """
    rng += STEP  # an array wraps around without a warning
    return float(mix(rng)[0] >> B11) * 2.0**-53


class _Line:
    """The state that a source keeps for one cache."""

    def __init__(self, memory: Iterable[float], seed: int):
        self.memory = list(memory)
        self.rng = make_rng(seed)
        self.interval = Interval(math.nan, math.nan)
        self.sent = -math.inf


class Source:
    """One value, and the intervals that caches hold of it.

    key: the name of the value.
    value: its current value, any real number. One that is not a float, such as 2**53 + 1, is sent
        as the nearest float and marked as `rounded`; intervals contain the number itself.
    rule: how widths are chosen, `NAME` or `NAME:key=value,...`; each cache has widths of its own.
    costs: C_vr and C_qr.
    limits: values that no interval may straddle.
    max_silence: the longest time between two messages to a cache.
    run: larger than that of any earlier source of this key, so that its messages count as later.

    >>> source = Source("boiler", 20.0, rule="adaptive:alpha=1,width=4")
    >>> source.subscribe("north", now=0).interval[:2]
    (18.0, 22.0)
    >>> source.update(21.0, now=1)  # still inside: nothing to send
    {}
    >>> source.update(23.0, now=2)["north"].interval[:2]  # it left, so the next one is wider
    (19.0, 27.0)
    >>> source.ask("north", now=3).interval[:2]  # a query needed it exactly: narrower again
    (21.0, 25.0)
    """

    def __init__(
        self,
        key: str,
        value: float,
        *,
        rule: str = "settling",
        costs: Costs | None = None,
        limits: Iterable[float] = (),
        max_silence: float = math.inf,
        seed: int = 0,
        run: int = 0,
    ):
        self.key = key
        self._set(value)
        self.limits = check_limits(limits)
        if max_silence != math.inf:
            max_silence = check_number("max_silence", max_silence, 0, above=True)
        self.max_silence = max_silence
        self.run = run
        self._tuned = tune(rule, costs)
        self._costs = costs or Costs()
        self._seed = seed
        self._lines: dict[str, _Line] = {}
        self._number = 0
        check_rule(self._tuned.rule, bool(self.limits))

    def subscribe(self, cache: str, now: float) -> Refresh:
        """Begin to inform a cache, and return its first interval."""
        now = check_number("now", now)
        seed = self._seed + 0x9E3779B9 * len(self._lines)
        line = self._lines.setdefault(cache, _Line(self._tuned.start(), seed))
        return self._send(line, SPOKE, now, 0.0)

    def forget(self, cache: str) -> None:
        """Stop informing a cache."""
        self._lines.pop(cache, None)

    def update(self, value: float, now: float) -> dict[str, Refresh]:
        """Set a new value, and return the messages to send, by cache."""
        now, before = check_number("now", now), self.value
        self._set(value)
        rule, par = self._tuned.rule, self._tuned.par
        least, most = ends(self.value, self.rounded)
        found = {}
        for cache, line in self._lines.items():
            if self.value != before:
                rule.on_update(par, line.memory, self.value, now)
            low, high = line.interval.bounds(now)
            if most > high or least < low:
                found[cache] = self._send(line, ABOVE if most > high else BELOW, now, 0.0)
        return found | self.tick(now)

    def ask(self, cache: str, now: float, need: float = 0.0) -> Refresh:
        """Answer a query that needs the exact value.

        need: the width of an interval that the query could have used, if it is known.
        """
        if cache not in self._lines:
            known = ", ".join(self._lines) or "none"
            raise BadInput(
                f"{self.key!r} has no cache {cache!r}; subscribe it first. Known: {known}"
            )
        now, need = check_number("now", now), check_number("need", need, 0)
        return self._send(self._lines[cache], ASKED, now, need)

    def tick(self, now: float) -> dict[str, Refresh]:
        """Return the messages to send because time has passed: see `next_deadline`."""
        now, found = check_number("now", now), {}
        for cache, line in self._lines.items():
            if now >= self._until(line):
                why = BELOW if line.interval.drift > 0 else ABOVE
                found[cache] = self._send(line, why, now, 0.0)
            elif now >= line.sent + self.max_silence:
                found[cache] = self._send(line, SPOKE, now, 0.0)
        return found

    def next_deadline(self) -> float:
        """Return when `tick` must be called if nothing happens before; infinity if never."""
        lines = self._lines.values()
        times = (min(line.sent + self.max_silence, self._until(line)) for line in lines)
        return min(times, default=math.inf)

    def save(self) -> dict[str, Json]:
        """Return the whole state as plain values, for `restore`."""
        return {
            "format": FORMAT,
            "key": self.key,
            "value": self.value,
            "rounded": self.rounded,
            "rule": self._tuned.text,
            "costs": list(self._costs),
            "limits": list(self.limits),
            "max_silence": self.max_silence,
            "seed": self._seed,
            "run": self.run,
            "number": self._number,
            "lines": {
                cache: [line.memory[:], int(line.rng[0]), list(line.interval), line.sent]
                for cache, line in self._lines.items()
            },
        }

    @classmethod
    def restore(cls, saved: dict[str, Json]) -> "Source":
        """Return a source that continues where `save` left off."""
        if saved.get("format") != FORMAT:
            raise BadState(f"a saved source must be of format {FORMAT}, got {saved.get('format')}")
        plain: dict[str, Any] = saved
        options = {name: plain[name] for name in ("rule", "limits", "max_silence", "seed", "run")}
        source = cls(plain["key"], plain["value"], costs=Costs(*plain["costs"]), **options)
        source._number = plain["number"]
        source.rounded = plain["rounded"]
        for cache, (memory, state, interval, sent) in plain["lines"].items():
            line = source._lines[cache] = _Line(memory, state)
            line.interval, line.sent = Interval(*interval), sent
        return source

    def _set(self, value: float) -> None:
        self.value = check_number(f"the value of {self.key!r}", value)
        self.rounded = is_rounded(value)

    def _until(self, line: _Line) -> float:
        """Return when the value leaves a drifting interval, if neither is changed."""
        least, most = ends(self.value, self.rounded)
        return line.interval.until(least if line.interval.drift > 0 else most)

    def _send(self, line: _Line, why: int, now: float, need: float) -> Refresh:
        """Let the rule learn, and return the next interval."""
        rule, par = self._tuned.rule, self._tuned.par
        rule.on_refresh(par, line.memory, why, self.value, now, need, draw(line.rng))
        low, high, *motion = rule.shape(par, line.memory, self.value)
        low, high = cut_at_limits(low, high, self.value, self.limits)
        low, high = around(low, high, self.value, self.rounded)
        line.interval = Interval(low, high, now, *motion)
        line.sent = now
        self._number += 1
        rank = rule.rank(par, line.memory)
        return Refresh(
            self.key, self.value, line.interval, rank, why, self.run, self._number, now,
            self.max_silence, self.rounded,
        )  # fmt: skip
