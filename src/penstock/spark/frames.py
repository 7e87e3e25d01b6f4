"""The frames that an operator is given: their columns, checked, and as Spark expressions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from inspect import signature
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type

from ..errors import BadInput
from ..kernel.options import closest
from .checks import WATERMARK

Names = str | list[str] | tuple[str, ...]
Keys = Names | Mapping[str, str]  # the last: by their names in the left frame, and in the right one
Output = tuple[tuple[int, str, str], ...]  # (input, its column, new name)

EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
KEY = "__penstock_key"  # how the 64-bit key is called in a packet, unless a column is called so
MARKED = "marked keys"
WHOLE = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
EXACT = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
# Spark 4.0 gives timestamps this zone by itself, and later versions by this setting.
ZONE: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
)


@dataclass(frozen=True)
class Input:
    """One frame as the operator sees it."""

    keys: tuple[str, ...]
    time: str | None  # a lookup needs none
    names: tuple[str, ...]  # all columns, in their order
    types: tuple[str, ...]  # Spark's words for their types
    exact: bool = False  # the key is one whole number and stands for itself; else it is a hash
    near: str | None = None  # in a band join the column whose values must be near

    def is_payload(self, name: str) -> bool:
        """Tell whether a column is payload: the engine itself holds time and whole-number keys."""
        return name != self.time and not (self.exact and name in self.keys)

    def type_of(self, name: str) -> str:
        """Return Spark's word for the type of a column."""
        return self.types[self.names.index(name)]

    @property
    def marks(self) -> dict[str, int]:
        """What a checkpoint says of the hash of keys; see `hashed_key`. Of plain ones nothing."""
        nested = any(self.type_of(key).startswith(("struct<", "array<")) for key in self.keys)
        return {MARKED: 1} if nested else {}

    def whole_key(self, numbers: Any) -> Any:
        """Return an Arrow column of 64-bit numbers as the whole-number key that they are."""
        return numbers.cast(WHOLE[self.type_of(self.keys[0])])

    def timestamps(self, microseconds: np.ndarray) -> pa.Array:
        """Return times as the column that they are."""
        zone = None if self.type_of(str(self.time)) == "timestamp_ntz" else "UTC"
        return pa.array(microseconds).view(pa.timestamp("us", zone))

    @property
    def packed(self) -> tuple[str, ...]:
        """The columns of a packet: the 64-bit key first, by a name that no other column has.

        >>> names, types = ("k", "t", "__penstock_key"), ("int", "timestamp", "int")
        >>> Input(("k",), "t", names, types, exact=True).packed
        ('__penstock_key_', 't', '__penstock_key')
        """
        used = (name for name in self.names if self.is_payload(name) or name == self.time)
        return (free_name(KEY, self.names), *used)


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return a name that no other column has."""
    known = {str(each).lower() for each in taken}
    while name in known:
        name += "_"
    return name


def as_names(on: Names, argument: str) -> tuple[str, ...]:
    """Return one or several column names as a tuple."""
    names = (on,) if isinstance(on, str) else on
    some = names if isinstance(names, list | tuple) else ()
    if not some or not all(isinstance(name, str) for name in some):
        raise BadInput(
            f"{argument} must name a column ('k') or several (['k', 'v']), got {on!r}; pass names, "
            "not columns"
        )
    return tuple(some)


def read_keys(on: Keys, frames: list[DataFrame]) -> list[tuple[str, ...]]:
    """Return the names of the key columns in each frame."""
    if isinstance(on, Mapping) and len(frames) == 2:
        return [as_names(list(names), "on") for names in (on.keys(), on.values())]
    names = as_names(on, "on")  # type: ignore[arg-type]
    if len(names) == len(frames) == 2:
        (a, b), (left, right) = names, ({*frame.columns} for frame in frames)
        if a in left and b in right and not {a, b} <= left & right:
            raise BadInput(
                f"on={on!r} names two columns of both frames, and not both frames have both; for a "
                f"key of two names pass on={{{a!r}: {b!r}}}"
            )
    return [names] * len(frames)


def check_frame(frame: Any, who: str) -> None:
    """Refuse what is no DataFrame, and one whose columns cannot be told apart by name."""
    if not hasattr(frame, "sparkSession"):  # classic and Connect have no class in common
        raise BadInput(f"the {who} frame must be a Spark DataFrame, got {type(frame).__name__}")
    seen = [fold(frame, name) for name in frame.columns]
    for name, known in zip(frame.columns, seen, strict=True):
        if seen.count(known) > 1:
            raise BadInput(
                f"column {name!r} is there {seen.count(known)} times in the {who} frame; rename "
                "all but one of them"
            )


def fold(frame: DataFrame, name: str) -> str:
    """Return a column's name in a form that is equal where Spark takes two names for one."""
    exactly = str(frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    return name if exactly else name.lower()


def check_columns(frame: Any, who: str, names: Iterable[str]) -> None:
    """Refuse what is no frame, or lacks one of the columns."""
    check_frame(frame, who)
    for name in names:
        find_column(frame, who, name)


def refuse_stream(frame: DataFrame, function: str, way_out: str) -> None:
    """Refuse a stream where a function needs all rows at once."""
    if frame.isStreaming:
        raise BadInput(f"{function} takes a batch frame, got a stream; {way_out}")


def refuse_result_names(names: Iterable[str], results: Iterable[str]) -> None:
    """Refuse columns that would be in the result beside others of the same name."""
    taken = {name.lower() for name in results}
    for name in names:
        if name.lower() in taken:
            raise BadInput(f"column {name!r} has the name of a result; rename it")


def are_streams(frames: Mapping[str, DataFrame]) -> bool:
    """Tell whether the frames, by how messages call them, are streams; refuse some of each."""
    still = [who for who, frame in frames.items() if not frame.isStreaming]
    if still and len(still) < len(frames):
        raise BadInput(
            f"all frames must be streams or none, and the {', '.join(still)} frame is not; read it "
            "with readStream, or use Spark's own join with a static table"
        )
    return not still


def is_exact(frame: DataFrame, keys: Sequence[str]) -> bool:
    """Tell whether the key is one whole number, which stands for itself; else it is hashed."""
    return len(keys) == 1 and isinstance(frame.schema[keys[0]].dataType, EXACT)


def read_input(
    frame: DataFrame, who: str, keys: tuple[str, ...], time: str | None, near: str | None = None
) -> Input:
    """Check that a frame has the columns that are named, and describe it."""
    check_columns(frame, who, keys)
    if time is not None:
        _check_time(frame, who, time)
    check_keys(frame, who, keys)
    fields = frame.schema.fields
    for field in fields:
        _check_arrow(field, who)
    names = tuple(f.name for f in fields)
    kinds = tuple(f.dataType.simpleString() for f in fields)
    return Input(keys, time, names, kinds, is_exact(frame, keys) and near is None, near)


def _check_time(frame: DataFrame, who: str, time: str) -> None:
    find_column(frame, who, time)
    kind = frame.schema[time].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise BadInput(
            f"time column {time!r} of the {who} frame must be a timestamp, got "
            f"{kind.simpleString()}; cast it with to_timestamp or timestamp_micros"
        )


def fields_of(kinds: Mapping[str, T.DataType], nullable: bool = True) -> T.StructType:
    """Return the type of rows with these columns."""
    return T.StructType([T.StructField(name, kind, nullable) for name, kind in kinds.items()])


def arrow_type(kind: T.DataType) -> pa.DataType:
    """Return a type of Spark as Arrow has it, with timestamps in UTC.

    >>> arrow_type(T.ArrayType(T.TimestampType(), containsNull=False))
    ListType(list<element: timestamp[us, tz=UTC] not null>)
    """
    return to_arrow_type(kind, **ZONE)


def arrow_schema(schema: T.StructType, wide: bool = False) -> pa.Schema:
    """Return a schema of Spark as Arrow has it; `wide`: with offsets of 64 bits."""
    return to_arrow_schema(schema, prefers_large_types=wide, **ZONE)


def _check_arrow(field: T.StructField, who: str) -> None:
    """Refuse a column that cannot travel to Python."""
    try:
        arrow_type(field.dataType)
    except Exception:  # PySpark has changed its mind about which
        raise BadInput(
            f"column {field.name!r} of the {who} frame has the type "
            f"{field.dataType.simpleString()}, which Spark cannot hand to Python; cast it (to a "
            "string or a number), or drop it"
        ) from None
    name = _twin(field.dataType)
    if name is not None:
        raise BadInput(
            f"column {field.name!r} of the {who} frame has two fields called {name!r} in one "
            "struct, which Spark cannot hand to Python; rename one of them, or drop the column"
        )


def _twin(kind: T.DataType) -> str | None:
    """Return a name that two fields of one struct have, None if there is none."""
    if isinstance(kind, T.StructType):
        twins = [name for name in kind.names if kind.names.count(name) > 1]
        inside = [field.dataType for field in kind.fields]
    elif isinstance(kind, T.ArrayType):
        twins, inside = [], [kind.elementType]
    elif isinstance(kind, T.MapType):
        twins, inside = [], [kind.keyType, kind.valueType]
    else:
        return None
    return next(filter(None, [*twins, *map(_twin, inside)]), None)


def check_keys(frame: DataFrame, who: str, keys: tuple[str, ...], given: str = "on") -> None:
    """Refuse key columns that are named twice or cannot be compared."""
    if len(set(keys)) < len(keys):
        raise BadInput(f"{given} must name each column once, got {list(keys)!r}")
    for name in keys:
        reason = _no_key(frame.schema[name].dataType)
        if reason:
            raise BadInput(
                f"key column {name!r} of the {who} frame cannot be a key: "
                f"{frame.schema[name].dataType.simpleString()} {reason}"
            )


def find_column(frame: DataFrame, who: str, name: str, way_out: str = "") -> None:
    """Refuse a name that the frame lacks, and say the way out, if there is one."""
    if not isinstance(name, str):
        raise BadInput(f"a column of the {who} frame must be given by its name, got {name!r}")
    if name in frame.columns:
        return
    near = closest(name, frame.columns)
    hint = f"did you mean {near!r}? " if near else ""
    raise BadInput(
        f"the {who} frame has no column {name!r}; {hint}it has {', '.join(frame.columns)}{way_out}"
    )


def find_shared(frames: list[DataFrame], who: list[str], on: Any, time: Any) -> None:
    """Refuse one name for a column of two frames that only one of them has."""
    for argument, name in (("on", on), ("time", time)):
        has = [isinstance(name, str) and name in frame.columns for frame in frames]
        if len(frames) != 2 or has[0] == has[1]:
            continue
        lacks = has.index(False)
        left, right = (repr("...") if lacks == at else repr(name) for at in (0, 1))
        pair = f"{{{left}: {right}}}" if argument == "on" else f"({left}, {right})"
        way_out = f"; if it is called otherwise there, pass {argument}={pair}"
        find_column(frames[lacks], who[lacks], name, way_out)


def _no_key(kind: T.DataType) -> str:
    """Say why values of a type cannot be compared by their hash; empty if they can."""
    if kind.typeName() in ("map", "variant", "void"):
        return "has no equality in Spark; take a part of it out"
    if "collate" in kind.simpleString():
        return "has equal texts of different bytes; lower it or cast it to string first"
    if isinstance(kind, T.ArrayType):
        return _no_key(kind.elementType)
    if isinstance(kind, T.StructType):
        return next(filter(None, (_no_key(f.dataType) for f in kind.fields)), "")
    return ""


def check_same_types(inputs: Mapping[str, Input]) -> None:
    """Refuse keys or times whose types differ between frames, by how messages call these."""
    (first_who, first), *others = inputs.items()
    for who, other in others:
        named = [*zip(first.keys, other.keys, strict=True), (first.time, other.time)]
        for mine, theirs in named if first.time is not None else named[:-1]:
            kinds = first.type_of(str(mine)), other.type_of(str(theirs))
            if kinds[0] != kinds[1]:
                raise BadInput(
                    f"column {mine!r} of the {first_who} frame and column {theirs!r} of the {who} "
                    f"frame must have one type, got {kinds[0]} and {kinds[1]}; cast one of them"
                )


def hashed_key(
    frame: DataFrame, keys: tuple[str, ...], exact: bool, near: str | None = None
) -> Column:
    """Return 64 bits that stand for key columns; one whole number (`exact`) is its own.

    They are null where a key is missing, or what must be `near`: a NaN or an infinity never is.
    """
    columns = [F.col(quote(name)) for name in keys]
    if exact:
        return columns[0].cast("long")
    present = [column.isNotNull() for column in columns]
    if near is not None:
        size = F.abs(F.col(quote(near)).cast("double"))
        present.append(F.coalesce(size < float("inf"), F.lit(False)))  # NaN is above it in Spark
    kinds = [frame.schema[name].dataType for name in keys]
    parts = [_distinct(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    hashed = F.xxhash64(*parts) if parts else F.lit(0).cast("long")
    return F.when(reduce(and_, present), hashed)


def _distinct(value: Column, kind: T.DataType) -> Column:
    """Return what stands for a value whose hash by Spark differs from that of all not equal.

    Spark hashes the parts of a struct or an array one after the other and passes over nulls: the
    hash of [1, null], [null, 1] and [1] is one. So each part gets a mark, and an array its length.
    """
    if not isinstance(kind, T.StructType | T.ArrayType):
        return value
    return _marked(value.cast(_by_place(kind)), kind)


def _by_place(kind: T.DataType) -> T.DataType:
    """Return a type whose fields are called by their places: two may have one name."""
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_by_place(kind.elementType))
    if isinstance(kind, T.StructType):
        parts = [_by_place(field.dataType) for field in kind.fields]
        return T.StructType([T.StructField(f"f{place}", part) for place, part in enumerate(parts)])
    return kind


def _marked(value: Column, kind: T.DataType) -> Column:
    def part(one: Column, its: T.DataType) -> Column:
        return F.struct(one.isNull(), _marked(one, its))

    if isinstance(kind, T.ArrayType):
        inside = kind.elementType
        return F.struct(F.array_size(value), F.transform(value, lambda one: part(one, inside)))
    if isinstance(kind, T.StructType) and kind.fields:
        parts = enumerate(field.dataType for field in kind.fields)
        return F.struct(*(part(value[f"f{place}"], its) for place, its in parts))
    return value


def quote(name: str) -> str:
    """Return a column name that Spark takes literally, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def micros(name: str, kind: T.DataType) -> Column:
    """Return a timestamp, by its quoted name, in microseconds; one without a zone is in UTC."""
    if isinstance(kind, T.TimestampNTZType):
        return F.expr(f"timestampdiff(MICROSECOND, {EPOCH}, {name})")
    return F.unix_micros(F.col(name))


def carried_delay(frame: DataFrame, time: str | None) -> int | None:
    """Return the watermark delay that a frame carries, in microseconds; None without one."""
    delay = (frame.schema[str(time)].metadata or {}).get(WATERMARK)
    return None if delay is None else 1000 * int(delay)


def result_type(frames: list[DataFrame], output: Output) -> T.StructType:
    """Return the type of the results of one join.

    Nothing in it is promised not to be null: a held row may be older than such a promise.
    """
    kinds = {new: frames[number].schema[name].dataType for number, name, new in output}
    return fields_of(kinds).toNullable()


def shared_keys(first: Input, other: Input) -> set[str]:
    """Return the key columns that have one name in two frames."""
    return {a for a, b in zip(first.keys, other.keys, strict=True) if a == b}


def output_columns(
    inputs: tuple[Input, ...],
    streams: tuple[int, ...],
    suffixes: tuple[str, ...],
    folded: Callable[[str], str],
) -> Output:
    """Return where each output column comes from: keys once, then the rest frame by frame.

    A key column that has another name than in the first frame is a column of the rest.
    `folded` returns a name in a form that is equal where Spark takes two names for one.
    """
    keys = inputs[streams[0]].keys
    columns = [(streams[0], name, name) for name in keys]
    rest = [
        (leg, stream, name)
        for leg, stream in enumerate(streams)
        for name in inputs[stream].names
        if name not in (shared_keys(inputs[streams[0]], inputs[stream]) if leg else keys)
    ]
    plain = [folded(name) for name in (*(name for _, _, name in rest), *keys)]
    for leg, stream, name in rest:
        new = name + suffixes[leg] if plain.count(folded(name)) > 1 else name
        columns.append((stream, name, new))
    names = [folded(new) for _, _, new in columns]
    for _, _, new in columns:
        if names.count(folded(new)) > 1:
            raise BadInput(
                f"the result would have the column {new!r} twice; rename it in a frame, or pass "
                "other suffixes="
            )
    return tuple(columns)
