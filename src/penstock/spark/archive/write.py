"""Write the results of a join and its archive, both exactly once.

    joined = penstock.spark.join(a, b, "k", ..., budget="64 MB")
    query = penstock.spark.write(joined, results="/results", archive="/archive")

A micro-batch becomes one folder of results, `batch=N`, and one of the archive, `batch-N`. Both are
written aside and moved into place as a whole, and a micro-batch that Spark repeats replaces what
its earlier attempt has left. Only micro-batches that Spark has committed are reconciled.

What is archived stays in the packets in which it left the operator (`runtime.archiver`), and is
stored as it is; `reconcile` opens them.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import permutations
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.query import StreamingQuery

from ...errors import BadInput, BadState
from ..figures import JOIN
from ..frames import Output, fields_of, shared_keys
from ..observe import ADDED, figures_of
from ..plan import JoinPlan
from ..runtime.archiver import LEFT, TOLD
from ..runtime.bucket import About
from ..runtime.result_rows import rows_of
from .folders import Folders, last_commit, watermark_of

SIDES = ("left", "right")
INPUTS = "inputs"  # in place of a path: what is missed is found from the inputs, which are kept
HELD_BY = "_penstock_archived"  # the attribute of a joined frame that `write` looks for
INFO = "_join.json"
KEPT_IN = "_archive"  # in the folder of results, where the archive is the inputs
OWNER = "_owner.json"  # in the folders of results and checkpoint: which join has them
# In the folder of a micro-batch: its watermark, which Spark forgets after a while, and how many
# results were missed before it, as estimated.
WATERMARK = "_watermark"
ADDED_BY = "_added-"  # and a number: how many results were added up to there, see `Added`
TAKEN = ("batch", "change", "upto")  # columns of the results and corrections themselves
METADATA = "_spark_metadata"  # where it is Spark reads the files that it names, and no others
FORMAT = 2  # of an archive
# How packets are stored: these are compressed, but small ones are much alike. zstd takes longer.
PACKED = {"compression": "snappy", "parquet.enable.dictionary": "false"}
FILE_BYTES = 32 << 20  # of packets, for one file
QUERIES = 100  # whose figures are added to, of those that this process has started

Ends = tuple[float | None, float | None, float | None]  # an estimate and its interval

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Info:
    """What an archive says of the join that it belongs to."""

    how: str
    within: tuple[int, int]  # of right time minus left time, in microseconds
    keys: tuple[tuple[str, ...], ...]
    times: tuple[str, ...]
    output: Output
    shared: tuple[str, ...]  # key columns of one name in both frames
    behind: int
    records: str  # the type of the rows that are kept by `reconcile`, as JSON
    results: str
    checkpoint: str
    inputs: bool  # whether the archive is the inputs: then it holds no rows
    near: tuple[str, str, float] | None = None  # of a band join: see `near.NearColumn`
    format: int = FORMAT

    @property
    def type(self) -> T.StructType:
        """The type of the rows that are kept by `reconcile`."""
        return T.StructType.fromJson(json.loads(self.records))

    @property
    def columns(self) -> T.StructType:
        """The type of the results."""
        return fields_of({new: self.kind(SIDES[at], name) for at, name, new in self.output})

    def kind(self, side: str, name: str) -> T.DataType:
        """Return the type of a column of one side."""
        columns: Any = self.type[side].dataType
        kind: T.DataType = columns[name].dataType
        return kind

    def encode(self) -> str:
        """Return this as text."""
        said = asdict(self)
        if self.near is None:  # as it was before there were band joins
            del said["near"]
        return json.dumps(said)


def read_info(archive: Folders) -> Info | None:
    """Return what an archive says of its join, None where there is none."""
    text = archive.read_text(INFO)
    if text is None:
        return None
    return decoded(text)


def difference(owner: Info, info: Info) -> str:
    """Return in what two joins differ first, with both values where they are short."""
    name, theirs, mine = next(
        (each.name, *both)
        for each in fields(Info)
        if (both := (getattr(owner, each.name), getattr(info, each.name))) and both[0] != both[1]
    )
    if name in ("output", "records"):
        return "its columns are others"
    return f"its {name} is {theirs!r}, that of this one is {mine!r}"


def decoded(text: str) -> Info:
    """Return what was encoded, perhaps by a version that stored metadata beside the types."""
    said = json.loads(text)
    if said["inputs"]:  # nothing is archived
        said["format"] = FORMAT
    if said.get("format", 1) != FORMAT:
        raise BadState(
            f"the archive of this join has format {said.get('format', 1)}, this Penstock reads "
            f"format {FORMAT}; reconcile with the version that wrote it, and start with new folders"
        )
    for name in {"within", "keys", "times", "output", "shared", "near"} & {*said}:
        said[name] = tuple(tuple(x) if isinstance(x, list) else x for x in said[name])
    said["records"] = bare(T.StructType.fromJson(json.loads(said["records"]))).json()
    return Info(**said)


@dataclass(frozen=True)
class Archived:
    """A join whose results and archive leave it in the same packets."""

    packets: DataFrame
    plan: JoinPlan
    inputs: tuple[T.StructType, ...]
    results: T.StructType
    path: str


@dataclass(frozen=True)
class Held:
    """What `join` leaves for `write`."""

    path: Path | None  # of the archive, where it is known
    made: Callable[[str], Archived]


def hold_back(joined: Archived) -> DataFrame:
    """Return results that can be looked at.

    A query that writes them in another way fails: it would lose what is missed.
    """

    def refuse(batches: Any) -> Any:
        raise BadInput(
            "a join with archive= is written with penstock.spark.write(joined, results=...), which "
            "writes the archive too; writeStream would lose it"
        )
        yield from batches

    return joined.packets.mapInArrow(refuse, joined.results)


def records_type(inputs: tuple[T.StructType, ...]) -> T.StructType:
    """Return the type of the rows that are kept by `reconcile`.

    They have the numbers of their micro-batch, and of that in which they left alone. `side` tells
    which columns there are without reading them.
    """
    number, long = T.IntegerType(), T.LongType()
    kinds: dict[str, T.DataType] = {"batch": number, "side": number, "row": long, "last": long}
    kinds |= {"alone": number, "left": inputs[0], "right": inputs[1]}
    kind = bare(fields_of(kinds).toNullable())
    assert isinstance(kind, T.StructType)
    return kind


def bare(kind: T.DataType) -> T.DataType:
    """Return a type without the metadata of its fields, in which Spark keeps a delay, for example.

    >>> field = T.StructField("a", T.LongType(), metadata={"spark.watermarkDelayMs": 1000})
    >>> bare(T.ArrayType(T.StructType([field]))).elementType["a"].metadata
    {}
    """
    if isinstance(kind, T.StructType):
        fields = (T.StructField(each.name, bare(each.dataType), each.nullable) for each in kind)
        return T.StructType([*fields])
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(bare(kind.elementType), kind.containsNull)
    if isinstance(kind, T.MapType):
        return T.MapType(bare(kind.keyType), bare(kind.valueType), kind.valueContainsNull)
    return kind


def parts_of(kind: T.DataType) -> Iterator[T.DataType]:
    """Return a type and all that it is made of."""
    yield kind
    inner: list[T.DataType] = []
    if isinstance(kind, T.StructType):
        inner = [each.dataType for each in kind]
    elif isinstance(kind, T.ArrayType):
        inner = [kind.elementType]
    elif isinstance(kind, T.MapType):
        inner = [kind.keyType, kind.valueType]
    for each in inner:
        yield from parts_of(each)


def missed(found: Mapping[str, Any]) -> Ends:
    """Return how many results were missed since a query first started, and the interval of that.

    >>> missed({"matches": 80, "recall": 0.8, "recall_low": 0.5, "recall_high": 1.0})
    (20.0, 0.0, 80.0)
    """
    matches = found["matches"]
    shares = (found[f"recall{end}"] for end in ("", "_high", "_low"))
    value, low, high = (matches / share - matches if share else None for share in shares)
    return value, low, high


@dataclass(frozen=True)
class Added:
    """What reconciling has done so far."""

    results: int = 0  # corrected: added, or in an anti join taken away
    missed: Ends = (None, None, None)  # in all up to there, as estimated then; None: not known

    def encode(self) -> str:
        """Return this as text."""
        return json.dumps(asdict(self))

    def owed(self, now: Ends) -> Ends:
        """Return how many results are owed by what was missed up to `now`, as it is estimated.

        That is by how much the estimate has grown, if it is known what it was: what was corrected
        is not estimated, so that the difference of both would never be nothing.

        >>> Added(17, (20.0, 10.0, 30.0)).owed((25.0, 12.0, 40.0))
        (5.0, 2.0, 10.0)
        >>> Added(17).owed((25.0, 12.0, None))
        (8.0, 0.0, None)
        """
        before = (self.results,) * 3 if None in self.missed else self.missed
        value, *ends = (
            None if one is None or other is None else max(0.0, one - other)
            for one, other in zip(now, before, strict=True)
        )
        known = [each for each in (value, *ends) if each is not None]
        low, high = (
            None if each is None else end(known) for each, end in zip(ends, (min, max), strict=True)
        )
        return value, low, high


@dataclass
class Debt:
    """What an archive holds that is to be reconciled, as far as folders tell."""

    inputs: bool  # whether the archive is the inputs: then the last time counts that it was done
    owed: dict[int, tuple[int, float]] = field(default_factory=dict)  # micro-batch: bytes, when
    oldest: float | None = None  # when the oldest of them was written, in seconds since 1970
    added: Added = Added()
    query: StreamingQuery | None = None

    def look(self, archive: Folders) -> None:
        """Look at the archive, which may have been reconciled meanwhile: that takes the oldest."""
        if self.inputs or not self.owed or not archive.has(f"batch-{min(self.owed)}"):
            bases = archive.numbers("base-")
            done = bases[-1] if bases else -1
            there = {n: at for n, at in archive.written("batch-").items() if n > done}
            self.owed = {n: (archive.size(f"batch-{n}"), at) for n, at in there.items()}
            self.added = added_upto(archive, done)
        if self.inputs:
            marks = [at for name, at in archive.names() if name.startswith(("base-", INFO))]
            self.oldest = max(marks, default=None)
        else:
            self.oldest = min((at for _, at in self.owed.values()), default=None)

    def took(self, archive: Folders, number: int) -> None:
        """Take note of a micro-batch that was written, perhaps once more."""
        others = {n: each for n, each in self.owed.items() if n != number}
        if archive.has(f"batch-{number}"):
            others[number] = archive.size(f"batch-{number}"), time.time()
        self.owed = others  # as a whole: a listener may read it meanwhile

    def missed_so_far(self) -> Ends:
        """Return how many results were missed before this micro-batch, as the query tells."""
        progress = None if self.query is None else self.query.lastProgress
        found = figures_of(progress, JOIN) if progress else None
        return missed(found) if found else (None, None, None)

    def figures(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return what `metrics` and the monitor tell of it, beside the figures of the query."""
        is_none = not self.inputs and not self.owed
        ends = (0.0,) * 3 if is_none else self.added.owed(missed(found))
        pairs = zip(("", "_low", "_high"), ends, strict=True)
        age = None if self.oldest is None else max(0.0, time.time() - self.oldest)
        told = {f"owed_pairs{end}": each for end, each in pairs}
        size = sum(size for size, _ in self.owed.values())
        return told | {"owed_bytes": size, "owed_seconds": age}


def added_upto(archive: Folders, done: int) -> Added:
    """Return what reconciling has done up to where it is done."""
    said = json.loads(archive.read_text(f"{ADDED_BY}{done}") or "0")
    if isinstance(said, int):  # as it once was
        return Added(said)
    return Added(said["results"], tuple(said["missed"]))


@dataclass(frozen=True)
class Sink:
    """What becomes of one micro-batch."""

    archive: str
    info: Info
    columns: T.StructType
    debt: Debt

    def __call__(self, packets: DataFrame, number: int) -> None:
        """Write a micro-batch, or write it again."""
        session = packets.sparkSession
        results, archive = Folders(session, self.info.results), Folders(session, self.archive)
        if self.debt.inputs:
            results.publish(rows_of(packets, self.columns), f"batch={number}")
        else:
            self._write_both(packets, number, results, archive)
        self.debt.look(archive)

    def _write_both(
        self, packets: DataFrame, number: int, results: Folders, archive: Folders
    ) -> None:
        packets = packets.persist()  # the join itself must run once
        try:
            kind, size = F.col("join"), Observation()
            length = F.when(kind >= LEFT, F.length("packet"))
            # Rows of results and packets of them, by the types of their columns; see `rows_of`.
            found = packets.observe(size, F.sum(length).alias("bytes")).where(kind < LEFT)
            results.publish(rows_of(found, self.columns), f"batch={number}")
            if archived := size.get["bytes"]:
                side = F.when(kind < TOLD, kind - LEFT).alias("side")
                owed = packets.where(kind >= LEFT).coalesce(1 + archived // FILE_BYTES)
                owed = owed.select(F.lit(number).alias("batch"), side, "packet", *About._fields)
                time = watermark_of(Folders(packets.sparkSession, self.info.checkpoint), number)
                beside = {WATERMARK: f"{time} {json.dumps(self.debt.missed_so_far())}"}
                archive.publish(owed, f"batch-{number}", beside, **PACKED)
            else:
                archive.discard(f"batch-{number}")  # of an attempt that evicted more
        finally:
            packets.unpersist()
        self.debt.took(archive, number)


def write(
    joined: DataFrame,
    *,
    results: Path,
    archive: Path | None = None,
    checkpoint: Path | None = None,
    name: str | None = None,
    **trigger: str | bool,
) -> StreamingQuery:
    """Start a query that writes results and archive of a join, both exactly once.

    Parameters:
        joined: what `join` of two streams returned, as it is.
        results: the folder of the results: Parquet, partitioned by the micro-batch (`batch`).
        archive: as `join` takes it; it can be given there or here. A `join` that is given the
            checkpoint compares both, so that it must be given the archive too.
        checkpoint: the folder of the query's checkpoint; by default the one that `join` was given,
            or `_checkpoint` in the folder of the results, where readers overlook it.
        name: of the query.
        trigger: as DataStreamWriter.trigger takes it: `processingTime="10 seconds"`.

    The file systems must be able to move a folder in one step, as local ones, HDFS and ABFS are.
    Archive and results must be new folders, or those of the same join with the same checkpoint.
    """
    held = _held(joined, archive)
    session, plan = joined.sparkSession, held.plan
    out = Folders(session, os.fspath(results))
    where = checkpoint if checkpoint is not None else plan.checkpoint
    state = out.within("_checkpoint") if where is None else Folders(session, os.fspath(where))
    kept = out.within(KEPT_IN) if held.path == INPUTS else Folders(session, held.path)
    assert plan.within is not None
    left, right = plan.inputs
    info = Info(
        plan.how,
        plan.within if isinstance(plan.within, tuple) else (-plan.within, plan.within),
        tuple(source.keys for source in plan.inputs),
        tuple(str(source.time) for source in plan.inputs),
        plan.output[0],
        tuple(sorted(shared_keys(left, right))),
        plan.behind,
        records_type(held.inputs).json(),
        out.root,
        state.root,
        held.path == INPUTS,
        None if plan.near is None else (str(left.near), str(right.near), plan.near),
    )
    _check(info, kept, out, state)
    debt = Debt(info.inputs)
    sink = Sink(kept.root, info, held.results, debt)
    query = held.packets.writeStream.foreachBatch(sink)
    query = query.option("checkpointLocation", info.checkpoint).outputMode("append")
    query = query.queryName(name) if name else query
    debt.look(kept)
    started = (query.trigger(**trigger) if trigger else query).start()  # type: ignore[arg-type]
    debt.query = started
    ADDED.pop(str(started.id), None)
    ADDED[str(started.id)] = debt.figures
    for old in [*ADDED][:-QUERIES]:
        ADDED.pop(old, None)
    return started


def _held(joined: DataFrame, archive: Path | None) -> Archived:
    """Return what `join` has left for `write`, with the archive that was given there or here."""
    held: Held | None = getattr(joined, HELD_BY, None)
    if held is None:
        raise BadInput(
            "write takes what join of two streams returned, as it is; change the frames before the "
            "join, or the results after they are written"
        )
    given = [os.fspath(each) for each in (held.path, archive) if each is not None]
    if len({*given}) > 1:
        raise BadInput(
            f"join was given archive={given[0]!r} and write archive={given[1]!r}; give it to one "
            "of them"
        )
    if not given:
        raise BadInput(
            "write needs an archive: pass archive='/path', to join or to write, or "
            "archive='inputs' where the inputs are kept; without one use writeStream"
        )
    return held.made(given[0])


def _check(info: Info, archive: Folders, results: Folders, checkpoint: Folders) -> None:
    """Refuse folders that hold something else, or each other where that would be read."""
    for one, other in permutations((archive.root, results.root, checkpoint.root), 2):
        inner = one.removeprefix(f"{other}/")
        if one == other or (inner != one and inner[0] not in "_."):  # and so it would be read
            raise BadInput(
                f"{one} is in {other}, whose files would be mixed with it; pass another folder for "
                "results=, archive= or checkpoint="
            )
    taken = [name for name in info.columns.names if name.lower() in TAKEN]
    if taken:
        raise BadInput(
            f"the results have a column {taken[0]!r}, which is how write calls one of its own "
            f"({', '.join(TAKEN)}); rename it before the join"
        )
    for each in info.columns if info.inputs else ():
        for part in parts_of(each.dataType):
            if isinstance(part, (T.MapType, T.VariantType)):
                raise BadInput(
                    f"archive='inputs' compares results, and column {each.name!r} holds a "
                    f"{part.typeName()}, which Spark cannot compare; drop it before the join, or "
                    "pass a folder as archive="
                )
    if read_info(archive) is None:
        for folder, what in ((archive, "archive"), (results, "results")):
            there = [name for name, _ in folder.names() if name[0] not in "_." or name == METADATA]
            if there:
                raise BadState(
                    f"{folder.root} holds {there[0]!r} and is not of this join; pass an empty "
                    f"folder as {what}="
                )
        if last_commit(checkpoint) is not None:
            raise BadState(
                f"the query of {checkpoint.root} has written results elsewhere, before it had this "
                "archive; start with a new checkpoint"
            )
    for ask in (Folders.read_text, Folders.claim):  # others may claim them at the same time
        for folder, name in ((checkpoint, OWNER), (results, OWNER), (archive, INFO)):
            owner = decoded(ask(folder, name, info.encode()) or "")
            if owner != info:
                raise BadState(
                    f"{folder.root} belongs to another join: {difference(owner, info)}; pass the "
                    "same, or another folder"
                )
    written = archive.numbers("batch-") + results.numbers("batch=")
    written += [] if info.inputs else archive.numbers("base-")
    if max(written, default=-1) > max(checkpoint.within("offsets").numbers(""), default=-1):
        raise BadState(
            f"micro-batch {max(written)} was written with the checkpoint in {checkpoint.root}, "
            "which is another one now or an older copy: its results would be replaced by others; "
            "restore it, or pass new folders for results=, archive= and checkpoint="
        )
