"""Checks of arguments that several operators take."""

import io
import re
import sys
import warnings
from collections.abc import Iterable
from contextlib import redirect_stdout
from datetime import timedelta
from fractions import Fraction
from numbers import Integral, Real
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import DataFrame

from .. import policies
from ..errors import BadInput
from ..kernel.options import at_least

if TYPE_CHECKING:
    from .frames import Input

Span = str | timedelta
MOST = 2**53  # every share of a whole number up to this is exact
BUCKETS = 100_000  # each of them sends a row with every packet
USUAL = 32  # buckets at most, unless more are asked for: each costs time and a little recall


def whole(number: Any, argument: str, least: int, most: int = MOST) -> int:
    """Return a whole number, refusing anything else and anything outside of the bounds."""
    at_least(argument, number, least)
    if int(number) > most:
        raise BadInput(f"{argument} must be at most {most}, got {number!r}; lower it")
    return int(number)


def share(number: Any, argument: str) -> float:
    """Return a number from 0 to 1, refusing anything else."""
    is_number = isinstance(number, Real) and not isinstance(number, bool)
    if not is_number or not 0 <= float(number) <= 1:
        raise BadInput(f"{argument} must be a number from 0 to 1, got {number!r}")
    return float(number)


def choice(value: Any, argument: str, choices: tuple[str, ...]) -> str:
    """Return one of the choices, refusing anything else."""
    if not isinstance(value, str) or value not in choices:
        raise BadInput(f"{argument} must be one of {', '.join(choices)}, got {value!r}")
    return value


def warn_user(sentence: str) -> None:
    """Warn, at the line outside of this package that brought it about."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("penstock."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, stacklevel=depth)


def text(value: Any, argument: str) -> str:
    """Return a text, refusing anything else."""
    if not isinstance(value, str):
        raise BadInput(f"{argument} must be a text, got {value!r}")
    return value


def check_policy(policy: str, problem: str, inputs: Iterable["Input"]) -> None:
    """Refuse a policy that is not known, or goes by the order of keys that have none."""
    chosen = policies.choose(policy, problem).policy
    for source in inputs:
        if chosen.ordered and not source.exact:
            raise BadInput(
                f"policy {chosen.name!r} goes by the order of keys, so on must name one column of "
                f"whole numbers, got {', '.join(source.keys)}; number the keys, or choose another "
                "policy"
            )


UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}
SIZE = re.compile(r"^\s*(\d{1,1000}(?:\.\d{1,1000})?)\s*([kmgt]?i?b)\s*$", re.IGNORECASE)


class Budget(NamedTuple):
    """How much may be held: rows or bytes; None for all that the window needs."""

    amount: int | None
    in_bytes: bool


def read_budget(budget: int | str | None, buckets: int) -> Budget:
    """Return the budget, refusing one that leaves a bucket without a row.

    >>> read_budget("64 MB", buckets=4)
    Budget(amount=67108864, in_bytes=True)
    """
    if budget is None:
        return Budget(None, False)
    amount = _amount(budget)
    if amount < max(1, buckets):
        raise BadInput(
            f"budget must be at least 1 per bucket ({buckets} of them), got {budget!r}; raise "
            "it, or pass fewer buckets="
        )
    if amount > MOST:
        raise BadInput(
            f"budget must be at most 2**53 rows, or as many bytes ('8192 TB'), got {budget!r}; "
            "lower it"
        )
    return Budget(amount, isinstance(budget, str))


def too_small(budget: Any, plan: Any, least: int) -> BadInput:
    """Return the refusal of a budget in bytes whose smallest share has no room for a single row.

    `least` is what a bucket takes with one.
    """
    return BadInput(
        f"budget must be at least {_written(least * plan.buckets)!r} here, got {budget!r}: each of "
        f"{plan.buckets} buckets takes {least:,} bytes with a single row (policy {plan.policy!r}); "
        "raise it, pass fewer buckets=, or choose a policy that remembers less"
    )


def _written(size: int) -> str:
    """Return a budget in bytes as one writes it, rounded up.

    >>> _written(8 * 65_239), _written(32 * 65_239)
    ('510 kB', '2.0 MB')
    """
    if size <= 999 * UNITS["kb"]:
        return f"{-(-size // UNITS['kb'])} kB"
    return f"{-(-10 * size // UNITS['mb']) / 10:.1f} MB"


def _amount(budget: Any) -> int:
    """Return how many rows or bytes a budget is."""
    if isinstance(budget, str):
        size = SIZE.match(budget)
        if size is not None:
            unit = size.group(2).lower().replace("i", "")
            return int(Fraction(size.group(1)) * UNITS[unit])
    elif isinstance(budget, Integral) and not isinstance(budget, bool):
        return int(budget)
    hint = "; pass rows without quotes" if str(budget).strip().isdigit() else ""
    raise BadInput(f"budget must be rows (45_000) or bytes ('64 MB'), got {budget!r}{hint}")


# Spark marks the streaming parts of a plan with a tilde. Aggregations, deduplication, its own joins
# and ours may come before a join of ours; these may not.
WATERMARK = "spark.watermarkDelayMs"
BEHIND = "penstock.behindMs"  # by how much the watermark of a query is behind that of its join
FORBIDDEN = {
    "FlatMapGroupsInPandasWithState": "an applyInPandasWithState",
    "FlatMapGroupsWithState": "a flatMapGroupsWithState",
}
# After these Spark allows no new watermark, so the time must carry that of before.
FINAL = {
    "EventTimeWatermark": (
        "a withWatermark on another column, or on what this one was made of",
        "pass delay= and leave that out, or call it on the time column as it is passed",
    ),
    "Aggregate": ("an aggregation", "take window_time(window) for the time"),
    "TransformWithState": (
        "a join, lookup or thin of Penstock, or a transformWithState",
        "pass delay= and within= to a join before this one, and no withWatermark to its frames; or "
        "join several frames at once with join_many",
    ),
}


_explaining = Lock()


def check_upstream(
    frame: DataFrame, who: str, time: str | None = None, figures: str | None = None
) -> list[str]:
    """Refuse a stream that passed a stateful operator which Spark forbids before another one.

    Returns the names of the figures that are observed on its way: `figures` may not be among them.
    """
    plan = _plan_text(frame)
    unmarked = time is not None and WATERMARK not in (frame.schema[time].metadata or {})
    for node in re.findall(r"^[\s:+|-]*~(\w+)", plan, re.MULTILINE):
        for name, words in FORBIDDEN.items():
            if node.startswith(name):
                raise BadInput(
                    f"the {who} frame comes from {words}, and Spark allows no second stateful "
                    "operator after it in one query; write the first query to a table and read "
                    "that as a stream"
                )
        for name, (words, way_out) in FINAL.items():
            if node.startswith(name) and unmarked:
                raise BadInput(
                    f"the {who} frame comes from {words}, and its time column {time!r} has no "
                    f"watermark; {way_out}"
                )
    observed = re.findall(r"^[\s:+|-]*~CollectMetrics (\w+)", plan, re.MULTILINE)
    if figures in observed:
        raise BadInput(
            f"the {who} frame has passed such an operator of Penstock already, and the figures of "
            f"both would be called {figures!r} in the query; write the first query to a table and "
            "read that as a stream"
        )
    return observed


def _plan_text(frame: DataFrame) -> str:
    """Return the analysed plan as text; on Spark Connect there is no other way to see it."""
    said = io.StringIO()
    # One at a time: else one thread would put back what another one had put in its place.
    with _explaining, redirect_stdout(said):
        frame.explain(extended=True)
    analysed = said.getvalue().partition("== Analyzed Logical Plan ==")[2]
    return analysed.partition("== Optimized Logical Plan ==")[0]
