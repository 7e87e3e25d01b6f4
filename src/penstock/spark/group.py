"""Several joins under one budget: memory goes to whichever join can use it best."""

import os
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from .. import policies
from ..core.gains import PAIRS
from ..errors import BadInput
from .assemble import Options, Source, Span, make_plan, run_plan
from .join import check_suffixes, read_sources
from .plan import Names, result_type
from .unpack import make_unpacker


def join_group(
    joins: Mapping[str, tuple[Any, ...]],
    *,
    time: Names | Mapping[str, Names],
    within: Span | None = None,
    budget: int | str | None = None,
    policy: str = policies.DEFAULT,
    goal: str = PAIRS,
    delay: Span | None = None,
    layout: str = "unified",
    buckets: int | None = None,
    seed: int = 0,
    recall_sample: float = 0.01,
    suffixes: tuple[str, ...] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Run several joins in one operator, under one budget.

        join_group({"clicks": (a, b, "k"), "bids": (c, d, ["x", "y"])}, time="ts", ...)

    Each join is a name with its frames and, last, its key column or columns. `time` is as in
    `join`, or one such value per name. A frame may take part in several joins: it is then read
    once for each of them, and its rows are held and counted once for each of them.

    Returns the column `join` with the name, and one struct column per join, null in the rows of
    the others. The other parameters are those of `join`.
    """
    if not isinstance(joins, Mapping) or not joins:
        raise BadInput(f"joins must map names to (left, right, on), got {joins!r}")
    _check_names(list(joins))
    sources: list[Source] = []
    shape = []
    ends = []
    for name, entry in joins.items():
        mine = _sources(name, entry, time)
        shape.append(tuple((len(sources) + leg, 0) for leg in range(len(mine))))
        ends.append(_suffixes(suffixes, len(mine)))
        sources += mine
    options = Options(
        within, budget, policy, goal, delay, layout, buckets, seed, recall_sample, checkpoint
    )
    plan = make_plan(sources, tuple(shape), ends, options)
    frames = [source.frame for source in sources]
    kinds = [result_type(frames, output) for output in plan.output]
    fields = [T.StructField(name, kind) for name, kind in zip(joins, kinds, strict=True)]
    schema = T.StructType([T.StructField("join", T.StringType()), *fields])
    unpacker = make_unpacker(list(joins), [to_arrow_type(kind, timezone="UTC") for kind in kinds])
    return run_plan(sources, plan).mapInArrow(unpacker, schema)


def _check_names(names: list[Any]) -> None:
    """Refuse names that cannot be columns beside each other and beside `join`."""
    for name in names:
        if not isinstance(name, str) or not name or name.lower() == "join":
            raise BadInput(f"the name of a join must be a text other than 'join', got {name!r}")
    folded = [name.lower() for name in names]
    for name in names:
        if folded.count(name.lower()) > 1:
            raise BadInput(f"the names of joins must differ by more than case, got {name!r} twice")


def _sources(name: str, entry: tuple[Any, ...], time: Names | Mapping[str, Names]) -> list[Source]:
    if not isinstance(entry, tuple | list) or len(entry) < 3:
        raise BadInput(f"join {name!r} must be (left, right, on), got {entry!r}")
    *frames, on = entry
    if isinstance(time, Mapping) and name not in time:
        raise BadInput(f"time says nothing of join {name!r}; it names {', '.join(map(str, time))}")
    mine = time[name] if isinstance(time, Mapping) else time
    who = [f"{name} {number}." for number in range(1, len(frames) + 1)]
    if len(frames) == 2:
        who = [f"{name} left", f"{name} right"]
    return read_sources(frames, who, on, mine)


def _suffixes(suffixes: tuple[str, ...] | None, count: int) -> tuple[str, ...]:
    if suffixes is None:
        usual = tuple(f"_{number}" for number in range(1, count + 1))
        return ("_left", "_right") if count == 2 else usual
    return check_suffixes(suffixes, count)
