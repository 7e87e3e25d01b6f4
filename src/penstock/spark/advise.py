"""How much memory a join or a cache of frames needs: Spark counts and draws, others replay.

What makes the advice is imported when it is asked for: every worker of a join imports this file.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from ..core.durations import microseconds
from ..core.gains import PAIRS
from ..errors import BadInput
from .assemble import Span
from .checks import whole
from .keyed import keyed_rows
from .plan import Names, as_names, check_frame, check_same_types, read_input

if TYPE_CHECKING:
    from ..advisor import Advice

LOOKED_AT = 1000  # rows whose size is measured


def advise(
    left: DataFrame,
    right: DataFrame | None = None,
    *,
    on: Names,
    time: str | tuple[str, str],
    within: Span | None = None,
    target: float = 0.95,
    goal: str = PAIRS,
    policies: Sequence[str] = (),
    work: int | None = None,
    seed: int = 0,
) -> "Advice":
    """Say how much memory the join of two batch frames needs to find a share of all results.

    With one frame: how much a cache needs, that looks up the row of each event's key, to hit with a
    share of the events.

    Parameters:
        on, time, within: as for `join`.
        target: the share of all results (recall), or of all events (hit ratio), to be found.
        goal: what a join gets the most of, and the target counts: `pairs`, that is results, or
            `rows` that find at least one partner.
        policies: those to try; by default all that are worth a trial.
        work: how many rows, or as much in matches, every replay may take. The more, the smaller
            the errors.
        seed: decides which keys and stretches of time are sampled.

    The frames are read three times; if they are expensive to make, or random, store them first.
    """
    from ..advisor.advise import check_goal, check_target
    from ..advisor.draw import WORK

    check_target(target)
    check_goal(goal)
    whole(seed, "seed", 0)
    size = WORK if work is None else whole(work, "work", 10_000)
    for frame, who in ((left, "left"), (right, "right")):
        if frame is not None:
            check_frame(frame, who)
            _refuse_streams(frame, who)
    if isinstance(policies, str):
        raise BadInput(f"policies must be a list of names, got {policies!r}; write [{policies!r}]")
    options = {"target": target, "tried": tuple(policies), "seed": seed}
    if right is None:
        if goal != PAIRS:
            raise BadInput("a cache has hits, and no rows to match; leave out goal=")
        return _cache(left, on, time, within, size, options)
    return _join(left, right, on, time, within, size, options | {"goal": goal})


def _join(
    left: DataFrame,
    right: DataFrame,
    on: Names,
    time: str | tuple[str, str],
    within: Span | None,
    work: int,
    options: dict[str, Any],
) -> "Advice":
    from .advise_draw import Wanted, advise_frames

    keys = as_names(on, "on")
    clocks = (time, time) if isinstance(time, str) else as_names(time, "time")
    if len(clocks) != 2:
        raise BadInput(f"time must name a column, or one of each frame, got {time!r}")
    frames, who = [left, right], ["left", "right"]
    inputs = [
        read_input(frame, name, keys, clock)
        for frame, name, clock in zip(frames, who, clocks, strict=True)
    ]
    check_same_types(frames, inputs, who)
    span = None if within is None else microseconds(within, "within")
    window = "" if within is None else f", within={within!r}"
    named = list(keys) if len(keys) > 1 else keys[0]
    call = f"join(left, right, on={named!r}, time={time!r}{window}, "
    rows = [
        keyed_rows(frame, list(keys), clock) for frame, clock in zip(frames, clocks, strict=True)
    ]
    payload = sum(_row_bytes(frame) for frame in frames) / 2
    wanted = Wanted(span, work, payload, call + "budget={budget}, policy={policy!r})")
    return advise_frames(rows, wanted, **options)


def _cache(
    events: DataFrame,
    on: Names,
    time: str | tuple[str, str],
    within: Span | None,
    work: int,
    options: dict[str, Any],
) -> "Advice":
    from .advise_draw import Wanted, advise_events

    if within is not None:
        raise BadInput(f"a cache has no window, got within {within!r}; leave it out")
    if not isinstance(time, str):
        raise BadInput(f"time must name a column of the events, got {time!r}")
    keys = as_names(on, "on")
    rows = keyed_rows(events, list(keys), time)
    named = list(keys) if len(keys) > 1 else keys[0]
    call = f"lookup(events, relation, on={named!r}, memory={{budget}}, policy={{policy!r}})"
    return advise_events(rows, Wanted(None, work, None, call), **options)


def _row_bytes(frame: DataFrame) -> float:
    """Return how many bytes a row takes, from the first ones."""
    table = frame.limit(LOOKED_AT).toArrow()
    return table.nbytes / max(1, table.num_rows)


def _refuse_streams(frame: DataFrame, who: str) -> None:
    if frame.isStreaming:
        raise BadInput(
            f"the {who} frame must be a batch, got a stream: advice needs data that has come "
            "already; read the same source with spark.read"
        )
