"""From streams, as arrays or in files, to advice."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import policies
from ..errors import BadInput
from ..kernel.durations import in_words, microseconds
from ..kernel.gains import GOALS, PAIRS
from ..kernel.policy import CACHING, JOINING
from ..numeric import Ints
from ..profile.popularity import fit_zipf
from ..profile.stream_profile import Progress
from ..simulate.comparison import cores
from ..simulate.scenario import check_within, read_within
from ..simulate.tracefiles import File, read_lookup, read_pair, row_bytes
from . import curves as drawing
from .advice import PAYLOAD, Advice, Streams
from .compiling import compiled_beside
from .curves import Curve
from .draw import ERROR, WORK
from .replay import Measured, replay_join, replay_lookup
from .sample import JoinSample, Live, LookupSample, draw_join, draw_lookup

SLOW = (policies.AUTO.name,)  # a replay takes as long as several: tried with few memories only
LEADERS = 2  # policies that are tried with many memories
TEN = 10  # keys: where they make most of the results they decide recall
FEWEST = 200  # results, or references: fewer say nothing
FEW = 2000


class Asked(NamedTuple):
    """What advice is asked for; `advise_join` says what each part means."""

    target: float = 0.95
    goal: str = PAIRS
    tried: Sequence[str] = ()
    seed: int = 0
    progress: Progress | None = None

    def checked(self) -> "Asked":
        """Return it, refusing a target that is no part of the results, and an unknown goal."""
        if not isinstance(self.target, Real) or not 0 < float(self.target) <= 1:
            raise BadInput(f"target must be above 0 and at most 1, got {self.target!r}")
        if self.goal not in GOALS:
            raise BadInput(f"goal must be 'pairs' or 'rows', got {self.goal!r}")
        return self


def advise_join(
    side: NDArray,
    key: Ints,
    time: Ints,
    within: int | None,
    *,
    target: float = 0.95,
    goal: str = PAIRS,
    tried: Sequence[str] = (),
    name: str = "streams",
    payload: float = PAYLOAD,
    call: str = "Join(policy={policy!r}, budget={budget})",
    micro: bool = False,
    work: int = WORK,
    error: float = ERROR,
    seed: int = 0,
    progress: Progress | None = None,
) -> Advice:
    """Say how much memory the join of two streams needs to find a part `target` of its results.

    side, key, time: of each row; sorted by time.
    within: how far apart the times of a match may be; None: no limit.
    goal: what the target counts, and the join gets the most of: `pairs`, that is results, or `rows`
        that find at least one partner.
    tried: the policies; by default all that are worth a trial.
    payload: bytes of a row, beside its key and time.
    micro: times are microseconds, and said in seconds.
    work: how many rows, or as much in matches, each replay may take: the more, the smaller the
        errors. error: what the choice of keys may add to them, as one standard deviation.

    >>> random = np.random.default_rng(1)
    >>> key = (100 * random.random(20_000) ** 3).astype(np.int64)
    >>> row, tried = np.arange(20_000), ("fifo", "lru", "prob")
    >>> made = advise_join(row % 2, key, row, within=500, tried=tried, payload=1000)
    >>> made.streams.peak, made.answer.policy, made.answer.rows < 300
    (501, 'prob', True)
    """
    asked = Asked(target, goal, tried, seed, progress).checked()
    order = np.lexsort((side, time))
    side, key, time = np.asarray(side, np.int8)[order], key[order], time[order]
    check_streams(side, key, time, within, micro)
    sample, live = draw_join(side, key, time, within, work, error, seed, goal)
    keys, counts = np.unique(key, return_counts=True)
    rows = tuple(np.bincount(side, minlength=2).tolist())
    facts = live.mean, live.peak, 1.0, skew_of(counts), sample.top(1), payload, call
    streams = Streams(JOINING, name, rows, len(keys), *facts)
    doubts = window_doubts(int(time[-1] - time[0]), within)
    return from_join_sample(sample, streams, live, doubts, asked)


def from_join_sample(
    sample: JoinSample, streams: Streams, live: Live, doubts: list[str], asked: Asked
) -> Advice:
    """Return the advice that a sample leads to, wherever it was drawn."""
    found = float((sample.exact / sample.worth).sum())
    _check_enough(found, "results", sample.whole)
    names = [
        each
        for each in _chosen(asked.tried, JOINING)
        if sample.within is not None or not policies.choose(each).policy.needs_window
    ]
    # What is live in the sample differs a little from the whole: a memory is a part of what is.
    ratio = sample.live / live.mean if sample.live else 1.0

    def replay(policy: str, budget: float) -> Measured:
        return replay_join(sample, policy, budget * ratio, asked.seed, asked.goal)

    rows = drawing.grid(live.mean, live.peak)
    with compiled_beside(names, JOINING, sample.weighted, asked.goal):
        cost = partial(streams.bytes_of, goal=asked.goal)
        progress = asked.progress
        curves = _curves(names, rows, 1.0, asked.target, replay, cost, progress, beside=True)
    sampled: dict[str, float] = {
        "rows": len(sample.key),
        "stretches": len(sample.parts),
        "weight": int(sample.keys.alike.max()),
        "crowded": round(float((sample.weight / sample.keys.alike[sample.keys.number]).max()), 1),
        "results": float(sample.exact.sum()),
        "whole": sample.whole,
    }
    doubts = doubts + _few(found, "results")
    return Advice(streams, asked.target, curves, sampled, doubts, asked.goal, sample.top(TEN))


def advise_lookup(
    key: Ints,
    *,
    target: float = 0.95,
    tried: Sequence[str] = (),
    name: str = "events",
    payload: float = PAYLOAD,
    call: str = "Lookup(policy={policy!r}, budget={budget})",
    work: int = WORK,
    error: float = ERROR,
    seed: int = 0,
    progress: Progress | None = None,
) -> Advice:
    """Say how much memory a cache needs to hit with a part `target` of all references.

    >>> key = (1000 * np.random.default_rng(1).random(20_000) ** 4).astype(np.int64)
    >>> made = advise_lookup(key, target=0.8, tried=("fifo", "lru"))
    >>> made.reached, 100 < made.answer.rows < 700
    (True, True)
    """
    asked = Asked(target, PAIRS, tried, seed, progress).checked()
    _check_enough(len(key), "references", True)
    keys, counts = np.unique(key, return_counts=True)
    if len(keys) == len(key):
        raise BadInput(
            f"every key of {name} comes once, so that no cache finds anything; choose another key"
        )
    counted = (len(key),), *(len(keys),) * 3, 1 - len(keys) / len(key)
    facts = skew_of(counts), int(counts.max()) / len(key), payload, call
    streams = Streams(CACHING, name, *counted, *facts)
    return from_lookup_sample(draw_lookup(key, work, error, seed), streams, asked)


def from_lookup_sample(sample: LookupSample, streams: Streams, asked: Asked) -> Advice:
    """Return the advice that a sample of references leads to."""
    doubts, target = _few(len(sample.key), "references"), asked.target
    goal = target
    if target > streams.most:
        goal = target * streams.most
        doubts.insert(
            0,
            f"no memory reaches a hit ratio of {target:.0%}: with every row cached it is "
            f"{streams.most:.1%}, for the first reference to a key cannot hit. What follows is for "
            f"{target:.0%} of that, {goal:.1%}",
        )
    ratio = float(sample.weight.sum() / streams.rows[0])

    def replay(policy: str, budget: float) -> Measured:
        return replay_lookup(sample, policy, budget * ratio, asked.seed)

    names = _chosen(asked.tried, CACHING)
    rows = drawing.grid(streams.mean, streams.peak)
    with compiled_beside(names, CACHING, not sample.whole):
        cost, progress = streams.bytes_of, asked.progress
        curves = _curves(names, rows, streams.most, goal, replay, cost, progress)
    sampled: dict[str, float] = {
        "rows": len(sample.key),
        "weight": int(sample.weight.max()),
        "whole": sample.whole,
    }
    return Advice(streams, target, curves, sampled, doubts)


def _curves(
    names: Sequence[str],
    rows: Ints,
    most: float,
    goal: float,
    replay: Callable[[str, float], Measured],
    cost: Callable[[str, float], float],
    progress: Progress | None,
    beside: bool = False,
) -> list[Curve]:
    """Return the curves, the best first: the one that needs the least memory for the goal.

    cost: the bytes that a policy takes with so many rows, what it remembers beside them included.

    All are tried with few memories, and the leaders with many where their curves are steep. Those
    that are slow are tried last, with the memory that the best of the others needs for the goal,
    and few others. Compiled code lets other threads run, so each core has a policy of its own.
    """
    few, asked = drawing.rough(rows), itertools.count(1)
    slow = [name for name in names if name in SLOW and len(names) > len(SLOW)]
    quick = [name for name in names if name not in slow]
    most_asked = len(names) * (len(few) - 1) + LEADERS * (len(rows) - len(few))

    def need(curve: Curve) -> float:
        wanted = curve.rows_for(goal)
        return np.inf if wanted is None else cost(curve.policy, wanted)

    def trial(policy: str, budget: float) -> Measured:
        found = replay(policy, budget)
        if progress is not None:
            progress(min(next(asked), most_asked), most_asked)
        return found

    with ThreadPoolExecutor(cores()) as pool:
        # Those that take longest first, so that no core waits for the other in the end.
        drawn = pool.map(
            lambda name: drawing.draw_curve(name, few, most, trial, beside), reversed(quick)
        )
        curves = list(drawn)[::-1]
        curves.sort(key=need)
        needed = round(curves[0].rows_for(goal) or drawing.middle(few))
        some = np.unique([few[0], needed, drawing.upper(few)]).tolist()
        tried = [
            pool.submit(drawing.draw_curve, name, few, most, trial, beside, some, drawing.ROUGHLY)
            for name in slow
        ]
        leaders = pool.map(
            lambda curve: drawing.fill(curve, rows, trial, drawing.STEEP, drawing.BESIDE),
            curves[:LEADERS],
        )
        curves[:LEADERS] = leaders
        curves = sorted([*curves, *(each.result() for each in tried)], key=need)
        curves[:2] = pool.map(lambda curve: drawing.refine(curve, goal, replay), curves[:2])
    if progress is not None:
        progress(most_asked, most_asked)
    return sorted(curves, key=need)


def _chosen(tried: Sequence[str], problem: str) -> list[str]:
    """Return what to try; where two policies need the same memory the first is chosen."""
    names = list(dict.fromkeys(tried or policies.tried_by_advise(problem)))
    for name in names:
        policies.choose(name, problem)
    return names


def skew_of(counts: Any, alike: Any = None) -> float | None:
    """Return the exponent of a Zipf law, where there are keys enough to fit one.

    alike: how many keys have each count, 1 by default.
    """
    keys = len(counts) if alike is None else alike.sum()
    counts = np.sort(counts)[::-1] if alike is None else counts  # by rank
    return round(float(fit_zipf(counts, alike).exponent.value), 3) if keys > 2 else None


def check_streams(
    side: NDArray, key: Ints, time: Ints, within: int | None, micro: bool = False
) -> None:
    """Refuse streams of which nothing can be said."""
    left, right = np.unique(key[side == 0]), np.unique(key[side == 1])
    if not len(left) or not len(right):
        raise BadInput("both streams must have rows with a key and a time, and one has none")
    if not np.isin(left, right).any():
        refuse_disjoint(len(left), len(right))
    check_span(int(time[-1] - time[0]), within, micro)


def refuse_disjoint(left: int, right: int) -> None:
    """Refuse streams that have no key in common."""
    raise BadInput(
        f"the streams have no key in common ({left:,} keys on the left, {right:,} on the right), "
        "so nothing will ever match; check the columns of on="
    )


def check_span(span: int, within: int | None, micro: bool = True) -> None:
    """Refuse data that is shorter than a window; `micro`: both are microseconds."""
    if within is not None and within >= span:
        window, whole = (in_words(each) if micro else f"{each:,}" for each in (within, span))
        raise BadInput(
            f"the window must be shorter than the data, got within {window} and times that span "
            f"{whole}: nothing would leave the memory here, and how much a longer run needs "
            "cannot be said; give more data, or a shorter within="
        )


def window_doubts(span: float, within: float | None) -> list[str]:
    """Say what a short stretch of data leaves open."""
    if within is None:
        return ["without a window rows never leave: the memory for a target grows with the stream"]
    if span < 3 * within:
        return [
            f"the data spans only {span / within:.1f} windows, and in the first of them memories "
            "fill; give more data to be sure"
        ]
    return []


def _check_enough(found: float, what: str, whole: bool) -> None:
    if found < FEWEST:
        way = "give more data" if whole else "give more data, or a larger sample"
        raise BadInput(
            f"there must be at least {FEWEST} {what} to say anything about memory, got "
            f"{found:,.0f}; {way}"
        )


def _few(found: float, what: str) -> list[str]:
    if found >= FEW:
        return []
    return [f"only {found:,.0f} {what} were there to learn from: take the figures for a guess"]


DELAY = "10 seconds"  # in the line to paste, where nothing is known


def advise_files(
    left: File,
    right: File,
    on: str,
    time: str | None,
    within: str | None,
    delay: str = DELAY,
    **options: Any,
) -> Advice:
    """Say how much memory the join of two files needs, taken as streams.

    The files may be in any order. delay: how late rows may come on Spark, for the line to paste.
    """
    microseconds(delay, "delay")
    Asked(**options).checked()
    if within is not None:
        check_within(within)
    with _named_on():
        trace = read_pair(left, right, key=on, time=time)
    window = None if within is None else read_within(within, trace.micro, trace.name)
    return advise_join(
        trace.side,
        trace.key,
        trace.time,
        window,
        name=trace.name,
        payload=(row_bytes(left) + row_bytes(right)) / 2,
        call=_join_call(on, time, within, delay, trace.micro),
        micro=trace.micro,
        **options,
    )


def advise_references(events: File, on: str, time: str | None, **options: Any) -> Advice:
    """Say how much memory a cache needs for the keys of a file."""
    Asked(**options).checked()
    with _named_on():
        trace = read_lookup(events, key=on, time=time, sort=True)
    call = lookup_call(_split(on))
    return advise_lookup(trace.key, name=Path(events).name, call=call, **options)


@contextmanager
def _named_on() -> Iterator[None]:
    """Name the key as it is named here: what readers call `key=` is `on=`."""
    try:
        yield
    except BadInput as error:
        raise BadInput(str(error).replace("key=", "on=")) from None


def _join_call(on: str, time: str | None, within: str | None, delay: str, micro: bool) -> str:
    """Return the call to paste: on Spark where times are timestamps, else of the engine."""
    if micro:
        columns = _split(time or "time")
        clock = columns[0] if len(columns) == 1 else tuple(columns)
        return join_call(_split(on), clock, within, delay)
    window = "" if within is None else f", within={within.strip()}"
    return f"Join(policy={{policy!r}}, budget={{budget}}{window})"


def _split(names: str) -> list[str]:
    return [each.strip() for each in names.split(",")]


def join_call(on: Sequence[str], time: str | tuple[str, ...], within: object, delay: object) -> str:
    """Return the call of Spark's join to paste, with places for the policy and the budget."""
    window = "" if within is None else f", within={within!r}"
    return (
        f"join(left, right, on={_named(on)}, time={time!r}{window}, delay={delay!r}, "
        "budget={budget}, policy={policy!r})"
    )


def lookup_call(on: Sequence[str]) -> str:
    """Return the call of Spark's lookup to paste, with places for the policy and the budget."""
    return f"lookup(events, relation, on={_named(on)}, budget={{budget}}, policy={{policy!r}})"


def _named(columns: Sequence[str]) -> str:
    return repr(columns[0] if len(columns) == 1 else list(columns))
