"""Joins drawn at random: streams and their files, windows, budgets, policies, stops and starts.

No row is ever late: its time lies behind those that came before by less than the delay. A case is
told by its name alone, such as `pair-17`: the shape of the join, and a seed.
"""

import itertools
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tests.spark.drawn_types import MICROS, Draw, Kind, draw_kind, nullable
from tests.spark.streams import START

SHAPES = {"pair": 6, "batch": 3, "many": 1, "group": 1}  # how often each is drawn
POLICIES = ("fifo", "lru", "prob", "rate")  # few, since every one is a kernel to compile
AMPLE = 10**6  # rows or kilobytes: more than any case could hold
NAMES = (
    "k", "v", "W", "ts", "at", "a.b", "c d", "é", "q`q", "order", "null", "_", "x" * 70,
    "join", "packet", "side", "bucket", "time", "key", "c0", "left", "value_1",
)  # fmt: skip


@dataclass(frozen=True)
class Stream:
    """One frame: its columns, and its rows file by file, in the order in which they arrive."""

    columns: tuple[tuple[str, str], ...]  # (name, type)
    keys: tuple[str, ...]
    time: str
    files: tuple[list[tuple], ...]

    @property
    def schema(self) -> str:
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in self.columns)

    @property
    def rows(self) -> int:
        return sum(map(len, self.files))


class Leg(NamedTuple):
    """A start of the query: how many files of each stream are there by now, and its options."""

    files: tuple[int, ...]
    options: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A join: which streams, by which keys; and how it is run."""

    name: str
    shape: str
    streams: tuple[Stream, ...]
    joins: tuple[tuple[int, ...], ...]  # the streams of each join
    within: int | None  # microseconds
    fixed: dict[str, Any]  # options that a restart may not change
    legs: tuple[Leg, ...]

    @property
    def never_short(self) -> bool:
        """Whether memory was always enough."""
        return all(is_ample(leg.options["budget"]) for leg in self.legs)


def is_ample(budget: int | str | None) -> bool:
    return budget is None or str(budget).split(" ")[0] == str(AMPLE)


def draw_name(rng: random.Random) -> str:
    """Draw the name of a case."""
    (shape,) = rng.choices(list(SHAPES), list(SHAPES.values()))
    return f"{shape}-{rng.randrange(10**9)}"


def draw_case(name: str) -> Case:
    """Return the case of a name."""
    shape, _, seed = name.partition("-")
    if shape not in SHAPES or not seed.isdigit():
        raise ValueError(f"a case is called like pair-17, with one of {[*SHAPES]}; got {name!r}")
    rng = random.Random(name)
    joins = {"many": ((0, 1, 2),), "group": ((0, 1), (2, 3))}.get(shape, ((0, 1),))
    clock = _draw_clock(rng, shape)
    streams: list[Stream] = []
    for legs in joins:
        streams += _draw_streams(rng, len(legs), clock)
    fixed = _draw_fixed(rng, shape, clock)
    return Case(
        name,
        shape,
        tuple(streams),
        joins,
        clock.within,
        fixed,
        tuple(_draw_legs(rng, shape, streams, clock, fixed)),
    )


# ---------------------------------------------------------------- time


class Clock(NamedTuple):
    """How times lie, in microseconds."""

    kind: str
    within: int | None
    span: int  # the first to the last time
    grain: int  # times are multiples of it,
    edge: bool  # or next to one
    delay: int  # more than any row is late
    rows: int  # about how many each stream has


def _draw_clock(rng: random.Random, shape: str) -> Clock:
    within = rng.choice([1, 1_500_000, 20 * MICROS, 20 * MICROS, 3600 * MICROS])
    grain = rng.choice([1, within, max(1, within // 2), MICROS, 60 * MICROS])
    span = rng.choice([0, within, 4 * within, 10 * within, 30 * within])
    if grain > 1 and span:
        span = max(span, 3 * grain)
    delay = rng.choice([MICROS, max(within // 3, MICROS), max(2 * within, MICROS)])
    rows = rng.choice([0, 3, 20, 40, 60, 60, 250]) if shape in ("pair", "batch") else 25
    limit = None if rng.random() < 0.06 else within
    kind = rng.choice(["timestamp", "timestamp", "timestamp_ntz"])
    return Clock(kind, limit, span, grain, rng.random() < 0.5, delay, rows)


def _draw_time(rng: random.Random, clock: Clock) -> int:
    time = rng.randrange(clock.span + 1) // clock.grain * clock.grain
    return time + (rng.choice([0, 0, 1, -1]) if clock.edge else 0)


def _moment(micros: int, kind: str) -> datetime:
    moment = START + timedelta(microseconds=micros)
    return moment if kind == "timestamp" else moment.replace(tzinfo=None)


# ---------------------------------------------------------------- rows


def _draw_streams(rng: random.Random, count: int, clock: Clock) -> list[Stream]:
    """Draw the streams of one join: equal keys, different payloads."""
    names = rng.sample(NAMES, len(NAMES))
    columns = rng.choice([1, 1, 1, 2, 3])
    keys = {names.pop(): _draw_key(rng, 8 // columns) for _ in range(columns)}
    times = [names.pop()] * count if rng.random() < 0.5 else [names.pop() for _ in range(count)]
    by_time = len(set(times)) == 1 and rng.random() < 0.08  # the time is a key too
    aligned = rng.random() < 0.5
    marks = _draw_marks(rng)
    streams = []
    for time in times:
        wide = rng.choice([0, 1, 2, 4] if clock.rows < 100 else [0, 1])
        payload = {name: nullable(draw_kind(rng)) for name in rng.sample(names, wide)}
        columns = [*((name, kind) for name, (kind, _) in keys.items()), (time, None)]
        columns += payload.items()
        rng.shuffle(columns)
        rows = _draw_rows(rng, clock, columns, {name: draw for name, (_, draw) in keys.items()})
        cuts = marks if aligned else _draw_marks(rng)
        streams.append(
            Stream(
                tuple((name, kind.ddl if kind else clock.kind) for name, kind in columns),
                (*keys, *([time] if by_time else [])),
                time,
                tuple(_cut(rows, cuts)),
            )
        )
    return streams


def _draw_key(rng: random.Random, most: int) -> tuple[Kind, Draw]:
    """Return the type of a key column, and a way to draw from a few values of it, some more often.

    Values are the same for all streams of a join; nulls are rare.
    """
    kind = draw_kind(rng, key=True)
    values = [kind.draw(rng) for _ in range(rng.randrange(most) + 1)]
    steepness = rng.choice([0.0, 1.0, 3.0])  # 3: one key has nearly all rows
    weights = [(place + 1) ** -steepness for place in range(len(values))]

    def draw(rng: random.Random) -> Any:
        return None if rng.random() < 0.04 else rng.choices(values, weights)[0]

    return kind, draw


def _draw_rows(
    rng: random.Random, clock: Clock, columns: list, keys: dict[str, Draw]
) -> list[tuple]:
    """Return rows in the order in which they arrive."""
    arriving = []
    for _ in range(rng.randrange(clock.rows + 1) + clock.rows // 2):
        time = _draw_time(rng, clock)
        values = []
        for name, kind in columns:
            draw = keys.get(name) or (kind.draw if kind else None)
            values.append(draw(rng) if draw else _moment(time, clock.kind))
        if rng.random() < 0.03:
            values = [None if kind is None else v for v, (_, kind) in zip(values, columns)]
        arriving.append((time + rng.randrange(clock.delay), len(arriving), tuple(values)))
    return [row for *_, row in sorted(arriving, key=lambda each: each[:2])]


def _draw_marks(rng: random.Random) -> list[float]:
    """Draw where a stream is cut into files; some may be empty."""
    return [rng.random() for _ in range(rng.choice([0, 1, 2, 2, 3]))]


def _cut(rows: list[tuple], marks: list[float]) -> list[list[tuple]]:
    places = [0, *sorted(int(mark * (len(rows) + 1)) for mark in marks), len(rows)]
    return [rows[start:end] for start, end in itertools.pairwise(places)]


# ---------------------------------------------------------------- options


def _draw_fixed(rng: random.Random, shape: str, clock: Clock) -> dict[str, Any]:
    """Draw what a restart may not change. Few combinations: each is a kernel to compile."""
    counts = "rows"
    layout = "unified"
    if shape in ("pair", "batch"):
        counts = rng.choice(["rows", "rows", "rows", "bytes"])
        layout = rng.choice(["unified"] * 4 + ["split"]) if counts == "rows" else layout
    within = None if clock.within is None else timedelta(microseconds=clock.within)
    buckets = rng.choice([None, 1, 3, 5])
    return {
        "within": within,
        "buckets": buckets,
        "layout": layout,
        "seed": rng.randrange(100),
        "counts": counts,
    }


def _draw_legs(
    rng: random.Random, shape: str, streams: list[Stream], clock: Clock, fixed: dict[str, Any]
) -> list[Leg]:
    """Draw the starts of the query; the last of them sees all files."""
    short = rng.random() < 0.5
    most = max(len(stream.files) for stream in streams)
    stops = rng.sample(range(1, most), min(most - 1, rng.choice([0, 1, 1, 2])))
    again = [most] if rng.random() < 0.1 else []  # a start that finds nothing new
    after = [most] if shape == "batch" else [*sorted(stops), *again, most]
    legs = []
    for there in after:
        policy = "prob" if shape in ("many", "group") else rng.choice(POLICIES)
        if fixed["layout"] == "split" or fixed["counts"] == "bytes":
            policy = "fifo"
        options = {
            "budget": _draw_budget(rng, short, streams, fixed),
            "policy": policy,
            "delay": timedelta(microseconds=clock.delay * rng.choice([1, 1, 3])),
            "recall_sample": rng.choice([0.0, 0.01, 0.5, 1.0]),
        }
        legs.append(Leg(tuple(min(there, len(stream.files)) for stream in streams), options))
    return legs


def _draw_budget(
    rng: random.Random, short: bool, streams: list[Stream], fixed: dict[str, Any]
) -> int | str | None:
    if fixed["counts"] == "bytes":
        return f"{rng.randrange(4, 30) if short else AMPLE} kB"
    if not short:
        return rng.choice([None, None, AMPLE])
    least = 2 * (fixed["buckets"] or 2)  # a row for each side of each bucket
    total = sum(stream.rows for stream in streams)
    return rng.choice([least, least + total // 10, least + total // 3, None, AMPLE])
