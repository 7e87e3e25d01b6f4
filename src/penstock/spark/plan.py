"""What is joined with what, worked out from the frames before anything runs.

A plan is made of plain values, so that it travels to the workers, and its fingerprint tells
whether a checkpoint was written by the same join.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..core.shape import Joins
from ..errors import BadInput

KEY = "__penstock_key"
WATERMARK = "spark.watermarkDelayMs"
EXACT = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
NESTED = (T.ArrayType, T.StructType)


@dataclass(frozen=True)
class Input:
    """One frame as the operator sees it."""

    keys: tuple[str, ...]
    time: str
    names: tuple[str, ...]  # all columns, in their order
    types: tuple[str, ...]  # Spark's words for their types


@dataclass(frozen=True)
class Plan:
    """Everything the operator must know."""

    inputs: tuple[Input, ...]
    joins: Joins
    exact_key: bool  # the key is one whole number and stands for itself; otherwise it is a hash
    within: int | None
    delay: int
    budget: int | None
    in_bytes: bool
    policy: str
    layout: str
    buckets: int
    labels: tuple[int, ...]
    seed: int
    sample: float
    output: tuple[tuple[int, str, str], ...] = field(default=())  # (input, its column, new name)

    @property
    def fingerprint(self) -> dict[str, object]:
        """What a checkpoint must agree on; budget and policy may change."""
        return {
            "columns": [
                [f"{name}: {kind}" for name, kind in zip(i.names, i.types, strict=True)]
                for i in self.inputs
            ],
            "keys": [list(i.keys) for i in self.inputs],
            "time": [i.time for i in self.inputs],
            "within": self.within,
            "buckets": self.buckets,
            "layout": self.layout,
            "budget counts": "bytes" if self.in_bytes else "rows",
        }


def as_names(on: str | list[str] | tuple[str, ...], argument: str) -> tuple[str, ...]:
    """Return one or several column names as a tuple."""
    names = (on,) if isinstance(on, str) else tuple(on)
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(f"{argument} must name a column or several, got {on!r}")
    return names


def read_input(frame: DataFrame, who: str, keys: tuple[str, ...], time: str) -> Input:
    """Check that a frame has the columns that are named, and describe it."""
    for name in (*keys, time):
        find_column(frame, who, name)
    kind = frame.schema[time].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise BadInput(
            f"time column {time!r} of the {who} frame must be a timestamp, got "
            f"{kind.simpleString()}; cast it with to_timestamp or timestamp_micros"
        )
    for name in keys:
        if _holds_map(frame.schema[name].dataType):
            raise BadInput(
                f"key column {name!r} of the {who} frame must be hashable, got "
                f"{frame.schema[name].dataType.simpleString()}; maps have no equality in Spark"
            )
    fields = frame.schema.fields
    return Input(
        keys, time, tuple(f.name for f in fields), tuple(f.dataType.simpleString() for f in fields)
    )


def find_column(frame: DataFrame, who: str, name: str) -> None:
    """Refuse a name that the frame lacks or has twice."""
    count = frame.columns.count(name)
    if count == 1:
        return
    if count > 1:
        raise BadInput(
            f"column {name!r} is there {count} times in the {who} frame; rename all but one of them"
        )
    near = get_close_matches(name, frame.columns, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise BadInput(
        f"the {who} frame has no column {name!r}; {hint}it has {', '.join(frame.columns)}"
    )


def _holds_map(kind: T.DataType) -> bool:
    if isinstance(kind, T.MapType):
        return True
    if isinstance(kind, T.ArrayType):
        return _holds_map(kind.elementType)
    if isinstance(kind, T.StructType):
        return any(_holds_map(f.dataType) for f in kind.fields)
    return False


def check_same_types(frames: list[DataFrame], inputs: list[Input], who: list[str]) -> None:
    """Refuse keys or times whose types differ between the frames."""
    for position in range(len(inputs[0].keys)):
        kinds = [f.schema[i.keys[position]].dataType for f, i in zip(frames, inputs, strict=True)]
        for kind, name, source in zip(kinds, who, inputs, strict=True):
            if kind != kinds[0] and _bare(kind) != _bare(kinds[0]):
                raise BadInput(
                    f"key column {source.keys[position]!r} must have one type in all frames, got "
                    f"{kinds[0].simpleString()} in the {who[0]} frame and {kind.simpleString()} in "
                    f"the {name} frame; cast one of them"
                )
    clocks = [f.schema[i.time].dataType for f, i in zip(frames, inputs, strict=True)]
    if len(set(map(type, clocks))) > 1:
        raise BadInput(
            "time columns must be of one type in all frames, got "
            f"{', '.join(kind.simpleString() for kind in clocks)}; cast one of them"
        )


def _bare(kind: T.DataType) -> str:
    return kind.simpleString()


def is_exact(frame: DataFrame, keys: tuple[str, ...]) -> bool:
    """Tell whether the key is one whole number, which needs no hash."""
    return len(keys) == 1 and isinstance(frame.schema[keys[0]].dataType, EXACT)


def key_column(keys: tuple[str, ...], exact: bool) -> Column:
    """Return the 64-bit key of a row; null if any of its columns is."""
    columns = [F.col(quote(name)) for name in keys]
    if exact:
        return columns[0].cast("long").alias(KEY)
    present = columns[0].isNotNull()
    for column in columns[1:]:
        present = present & column.isNotNull()
    return F.when(present, F.xxhash64(*columns)).alias(KEY)


def quote(name: str) -> str:
    """Return a column name that Spark takes literally, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def carried_delay(frames: list[DataFrame], inputs: list[Input]) -> int | None:
    """Return the longest watermark delay that the frames carry, in microseconds."""
    found = [
        (frame.schema[source.time].metadata or {}).get(WATERMARK)
        for frame, source in zip(frames, inputs, strict=True)
    ]
    known = [int(delay) for delay in found if delay is not None]
    return 1000 * max(known) if known else None


def output_columns(
    inputs: list[Input], suffixes: tuple[str, ...]
) -> tuple[tuple[int, str, str], ...]:
    """Return where each output column comes from: keys once, then the rest frame by frame."""
    columns = [(0, name, name) for name in inputs[0].keys]
    rest = [
        (number, name)
        for number, source in enumerate(inputs)
        for name in source.names
        if name not in source.keys
    ]
    plain = [name for _, name in rest] + list(inputs[0].keys)
    for number, name in rest:
        new = name + suffixes[number] if plain.count(name) > 1 else name
        columns.append((number, name, new))
    names = [new for _, _, new in columns]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(
                f"the result would have the column {name!r} twice; rename it in a frame, or pass "
                "other suffixes="
            )
    return tuple(columns)
