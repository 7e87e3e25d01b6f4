"""What needs a person, in plain sentences, from the course of a query's figures."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..advisor import Advice, Curve
from .history import QueryHistory, Sample

FALL = 0.05  # of recall that is worth a sentence
GREW = 1.5  # times as many arrivals, which explain a fall
LATE = 0.01  # the share of late rows that is worth a sentence
SLOW = 1.1  # times as many rows that come as are processed
LAST = 5  # samples over which a query must fall behind
UNFOUND = 0.5  # the share of events without a row above which something must be wrong


class Said(NamedTuple):
    """A sentence, since when it holds, and whether something is wrong."""

    at: float
    sentence: str
    wrong: bool = True


def attention(history: QueryHistory, advice: Advice | None = None) -> list[Said]:
    """Return what a person should know now, the most urgent first."""
    samples, about = history.samples, history.about
    found: list[Said] = []
    if about.get("error"):
        at = float(about.get("ended") or samples[-1]["at"])
        found.append(Said(at, f"the query failed at {clock(at)}: {about['error']}"))
    if samples:
        for rule in CHECKS.get(about.get("kind", ""), ()):
            found += rule(samples, advice)
        found += _falls_behind(samples)
    return found


def clock(at: float, now: float | None = None) -> str:
    """Return a time of day as people write it, in UTC; with the day if that is not today.

    >>> clock(1_700_000_000), clock(1_700_000_000, now=1_700_090_000)
    ('22:13', '22:13 on 2023-11-14')
    """
    when, today = datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(now or at, UTC)
    return when.strftime("%H:%M" if when.date() == today.date() else "%H:%M on %Y-%m-%d")


def _recall_fell(samples: Sequence[Sample], advice: Advice | None) -> Iterator[Said]:
    """Say that recall is lower than it was, since when, and what would restore it.

    Only where the intervals do not overlap, and both are of times at which the budget was full.
    """
    short = [each for each in samples if each.get("recent") and each["recent"]["gone"] > 0]
    known = [each for each in short if each["recent"]["recall"] is not None]
    if len(known) < 2 or known[-1] is not samples[-1]:
        return
    now = known[-1]
    before = max(known, key=lambda each: each["recent"]["low"])
    was, is_now = before["recent"], now["recent"]
    if was["low"] <= is_now["high"] or was["recall"] - is_now["recall"] < FALL:
        return
    later = known[known.index(before) + 1 :]
    fell = next(each for each in later if each["recent"]["high"] < was["low"])
    why = _why(before, now)
    factor = budget_factor(advice, now["figures"], was["recall"], is_now["recall"])
    way_out = f"; {factor:.1f} times the budget would restore it" if factor else ""
    said = f"recall fell from {was['recall']:.2f} to {is_now['recall']:.2f}"
    said += f" at {clock(fell['at'], now['at'])}"
    yield Said(fell["at"], f"{said}{why}{way_out}")


def _why(before: Sample, now: Sample) -> str:
    """Return what else has changed between two samples."""
    then, today = (each["recent"]["arrivals"] for each in (before, now))
    if then > 0 and today >= GREW * then:
        times = today / then
        doubled = abs(times - 2) < 0.15
        return ": arrivals doubled" if doubled else f": {times:.1f} times as many rows arrive"
    changed = [_in_force(each["figures"]) for each in (before, now)]
    if changed[0] != changed[1]:
        return f": the policy in force changed from {changed[0]} to {changed[1]}"
    budgets = [each["figures"].get("budget") for each in (before, now)]
    if None not in budgets and budgets[1] < budgets[0]:
        return f": the budget was cut from {budgets[0]:,} to {budgets[1]:,}"
    return ""


def _in_force(figures: dict[str, Any]) -> str:
    """Return the policy that is in force in most buckets."""
    buckets = figures["in_force"]["buckets"]
    return max(buckets, key=buckets.get) if buckets else figures.get("policy", "")


def budget_factor(
    advice: Advice | None, figures: dict[str, Any], was: float, is_now: float
) -> float | None:
    """Return how many times the budget would bring recall back, by the advisor's curve.

    The curve says how many rows of memory either recall takes in the streams that were sampled.
    Where more rows arrive, all of it takes more memory, but the ratio of the two stays.
    """
    if advice is None:
        return None
    curves = {each.policy.partition(":")[0]: each for each in advice.curves}
    curve: Curve = curves.get(_in_force(figures).partition(":")[0], advice.best)
    curve = advice.measures(curve).get("recall", curve)
    needed, has = curve.rows_for(was), curve.rows_for(is_now)
    if needed is None or has is None or has <= 0 or needed <= 1.05 * has:
        return None
    return needed / has


def _late(samples: Sequence[Sample], _: Advice | None) -> Iterator[Said]:
    recent = samples[-1].get("recent")
    if not recent or recent["arrivals"] <= 0:
        return
    share = recent["late"] / recent["arrivals"]
    if share >= LATE:
        said = f"{share:.1%} of the rows came late in the last minute and were dropped"
        yield Said(samples[-1]["at"], f"{said}: a larger delay= would keep them")


def _falls_behind(samples: Sequence[Sample]) -> Iterator[Said]:
    last = samples[-LAST:]
    if len(last) < LAST:
        return
    since = clock(last[0]["at"], last[-1]["at"])
    waiting = [each.get("waiting") or 0 for each in last]
    if min(waiting) > 0 and waiting[-1] > waiting[0]:  # the rates of bounded micro-batches agree
        said = (
            f"{waiting[-1]:,} rows wait in Kafka, {waiting[-1] - waiting[0]:,} more than at {since}"
        )
    elif all(into > SLOW * done > 0 for into, done in (each["rates"] for each in last)):
        into, done = last[-1]["rates"]
        said = f"{into:,.0f} rows a second arrive and {done:,.0f} are processed since {since}"
    else:
        return
    yield Said(last[0]["at"], f"{said}: the query falls behind")


def _unfound(samples: Sequence[Sample], _: Advice | None) -> Iterator[Said]:
    figures = samples[-1]["figures"]
    asked = figures["events"] - figures["null_keys"]
    missing = asked - figures["found"]
    if asked and missing > UNFOUND * asked:
        said = f"{missing / asked:.0%} of {asked:,} events found no row in the relation"
        yield Said(samples[-1]["at"], said)


def _few_keys(samples: Sequence[Sample], _: Advice | None) -> Iterator[Said]:
    """Say so where a few keys decide what recall is."""
    figures = samples[-1]["figures"]
    hot, found = figures["hot_pairs"], [each for each in figures["row_recall"] if each is not None]
    if figures["goal"] != "rows" and hot and hot > 0.5 and found and min(found) < 1:
        said = f"ten keys make {hot:.0%} of all pairs, so recall is mostly about these keys"
        yield Said(samples[-1]["at"], f"{said}: if rows count, pass goal='rows'", wrong=False)


Check = Callable[[Sequence[Sample], Advice | None], Iterator[Said]]
CHECKS: dict[str, tuple[Check, ...]] = {
    "join": (_recall_fell, _late, _few_keys),
    "lookup": (_unfound,),
}
