"""The durable state of a bucket: a base, and a log of what came since.

The base is all that the bucket remembered at some time. The log holds what each later micro-batch
brought; a bucket is deterministic, so the base with the log replayed on it is the bucket as it is
now. A micro-batch writes what it brought and no more, until the log has outgrown the base: then a
new base takes the place of both. In the long run that writes what comes in, and the rows that are
held once for each time that one and a half times as much has come.

All of it is one map in Spark's state store, since each that there is takes every task some time:
the version, that says what there is, the pieces of the log, and those of the base. Their numbers
are chosen so that RocksDB has them in this order (it compares the lowest byte first): what changes
is side by side, and the base behind it need not be rewritten, and uploaded again, with every few
pieces of the log.

Every version has a random token, by which an image of the bucket in memory is known to be this
version and no other. Spark commits all of it together with the results, or nothing.
"""

import json
import os
import secrets
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ...errors import BadInput, BadState
from .bucket import Bucket, MicroBatch
from .fingerprint import check_fingerprint, first_difference
from .store import DAMAGED, MAGIC, Stored, decode, encode

FORMAT = 4
OPERATOR = "transformWithStateInPandasExec"  # as Spark calls it in a checkpoint
EARLIER = "applyInPandasWithState"
STATE = "base"  # the map, which until format 2 held the base alone
VERSION = 0  # the number of the version in it
STEP = 256  # between the numbers of pieces: the lowest byte says of what they are
BASE = STEP - 1  # the number of the first piece of the base; that of the log is STEP
CHUNK = 8 << 20  # bytes of one value in Spark's state store
LEAST = 1 << 20  # bytes of log for which no new base is written
GROWTH = 1.5  # bytes of log for each byte of the base before a new one is written
MOST = 1000  # pieces of log
FEW = 16  # pieces that are removed one by one; to remove all, Spark reads all that there is
LENGTH = struct.Struct("<Q")  # bytes before they were compressed
ZSTD = pa.Codec("zstd", 1)


class Map(Protocol):
    """A map in Spark's state store, from numbers to binaries."""

    def getValue(self, key: tuple) -> tuple | None:
        """Return one value."""

    def updateValue(self, key: tuple, value: tuple) -> None:
        """Write one value."""

    def removeKey(self, key: tuple) -> None:
        """Remove one value."""

    def clear(self) -> None:
        """Remove all values."""


@dataclass
class Version:
    """What is said about the state of a bucket, beside the state itself."""

    fingerprint: dict[str, Any]  # of the query
    terms: dict[str, Any]  # of the query, which may change at a restart
    name: str = field(default_factory=lambda: secrets.token_hex(16))  # of the bucket, for images
    token: str = ""
    format: int = FORMAT
    chunks: int = 0  # of the base
    base_bytes: int = 0
    pieces: int = 0  # of the log
    log_bytes: int = 0
    totals: dict[str, float] = field(default_factory=dict)
    timer: int | None = None  # milliseconds: for when Spark was asked to call the bucket

    @property
    def size(self) -> int:
        """All that the state store holds of the bucket."""
        return self.base_bytes + self.log_bytes

    def encode(self) -> bytes:
        """Return this as a binary."""
        return MAGIC + json.dumps(vars(self)).encode()


def read_version(blob: bytes) -> Version:
    """Return what was said about the state of a bucket."""
    if blob[: len(MAGIC)] != MAGIC:
        raise BadState("the state of a bucket was not written by Penstock; use another checkpoint")
    said = blob[len(MAGIC) :]
    # In format 2 the first piece of the base was in this place.
    found = json.loads(said) if said[:1] == b"{" else {"format": 2}
    if found.get("format") != FORMAT:
        raise BadState(
            f"the checkpoint has state of format {found.get('format')}, this Penstock reads format "
            f"{FORMAT}; restart with the version that wrote it, or use another checkpoint"
        )
    return Version(**found)


def check_checkpoint(session: Any, checkpoint: Any, plan: Any, streaming: bool) -> None:
    """Refuse a checkpoint that was written by another query; one that is not there yet passes."""
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise BadInput(
            "checkpoint must be the path that option('checkpointLocation', ...) gets, got "
            f"{checkpoint!r}"
        )
    if not streaming:
        raise BadInput(f"checkpoint is for streams, and a {plan.what} of batch frames has none")
    versions = [read_version(found) for found in _read_versions(session, os.fspath(checkpoint))]
    known, wanted = [each.fingerprint for each in versions], plan.fingerprint
    # A query may have several operators: one of them must be this one.
    if known and all(first_difference(each, wanted, plan.what) for each in known):
        check_fingerprint(known[0], wanted, plan.what)


def _read_versions(session: Any, path: str) -> list[bytes]:
    """Return what is said about the state of some bucket of each operator that Spark can read."""
    try:
        operators = session.read.format("state-metadata").load(path)
        numbers = [(row.operatorName, row.operatorId) for row in operators.collect()]
        found = []
        for number in sorted({number for name, number in numbers if name == OPERATOR}):
            state = session.read.format("statestore").option("operatorId", number)
            pieces = state.option("stateVarName", STATE).load(path)
            said = pieces.where(f"user_map_key.number = {VERSION}").select("user_map_value.chunk")
            found += [bytes(row[0]) for row in said.limit(1).collect()]
    except Exception:  # no batch was committed yet; whatever else is wrong, the query will tell
        return []
    if not found and EARLIER in dict(numbers):
        raise BadState(
            "the checkpoint was written by Penstock before its state had format 2; restart with "
            "the version that wrote it, or use another checkpoint"
        )
    return found


class Journal:
    """The durable state of one bucket in Spark's state store."""

    def __init__(self, pieces: Map, plan: Any, number: int):
        self._pieces = pieces
        self.plan = plan
        self.number = number
        found = pieces.getValue((VERSION,))
        if found is None:
            self.version = Version(json.loads(json.dumps(plan.fingerprint)), plan.terms)
            self.is_new = True
        else:
            self.version = read_version(bytes(found[0]))
            check_fingerprint(self.version.fingerprint, plan.fingerprint, plan.what)
            self.is_new = False

    @property
    def is_same(self) -> bool:
        """Whether the query has the terms that the state was written under."""
        return self.version.terms == json.loads(json.dumps(self.plan.terms))

    def rebuild(self, make: Callable[[Any, int, bytes | None], Bucket]) -> Bucket:
        """Return the bucket from its base and log, under the terms that these were written."""
        version = self.version
        if not self.plan.can_go_on(version.terms):
            bucket = make(self.plan, self.number, None)
            bucket.count_on(version.totals, version.terms)
            return bucket
        plan = self.plan if self.is_same else self.plan.under(version.terms)
        state = b"".join(self._read(BASE + STEP * number) for number in range(version.chunks))
        bucket = make(plan, self.number, _decompressed(state) if state else None)
        for batch in self._batches():
            bucket.replay(batch)
        return bucket

    def _batches(self) -> Iterator[MicroBatch]:
        """Return what the log holds, one micro-batch after the other."""
        parts: list[bytes] = []
        for number in range(1, self.version.pieces + 1):
            blob = self._read(STEP * number)
            parts.append(blob[1:])
            if blob[0]:  # the last piece of a micro-batch
                yield decode_batch(_decompressed(b"".join(parts)))
                parts = []

    def _read(self, number: int) -> bytes:
        found = self._pieces.getValue((number,))
        if found is None:
            raise BadState("the state of a bucket is damaged: a part of it is missing")
        return bytes(found[0])

    def commit(self, bucket: Bucket, batch: MicroBatch, force_base: bool) -> str:
        """Write what a micro-batch changed; return the token of the new version."""
        version = self.version
        entry = encode_batch(batch)
        outgrown = version.log_bytes + len(entry) > max(LEAST, GROWTH * version.base_bytes)
        outgrown = outgrown or version.pieces >= MOST
        if force_base or outgrown or self.is_new:
            self._write_base(bucket.save())
        else:
            pieces = _pieces(entry)
            for piece in pieces:
                last = piece is pieces[-1]
                version.pieces += 1
                self._write(STEP * version.pieces, bytes([last]) + piece)
            version.log_bytes += len(entry)
        version.terms, version.totals = self.plan.terms, bucket.totals
        version.token = secrets.token_hex(16)
        self._write(VERSION, version.encode())
        return version.token

    def _write(self, number: int, piece: bytes) -> None:
        self._pieces.updateValue((number,), (piece,))

    def _write_base(self, state: bytes) -> None:
        version, chunks = self.version, _pieces(state)
        old = [STEP * number for number in range(1, version.pieces + 1)]
        old += [BASE + STEP * number for number in range(len(chunks), version.chunks)]
        if len(old) > FEW:
            self._pieces.clear()
        else:
            for number in old:
                self._pieces.removeKey((number,))
        for number, chunk in enumerate(chunks):
            self._write(BASE + STEP * number, chunk)
        version.chunks, version.base_bytes = len(chunks), len(state)
        version.pieces, version.log_bytes = 0, 0


def _pieces(blob: bytes) -> list[bytes]:
    """Return a binary compressed, in pieces: it is copied often on its way to the disk."""
    packed = LENGTH.pack(len(blob)) + ZSTD.compress(blob, asbytes=True)
    return [packed[at : at + CHUNK] for at in range(0, len(packed), CHUNK)]


def _decompressed(packed: bytes) -> bytes:
    """Return the binary that was compressed."""
    try:
        (size,) = LENGTH.unpack_from(packed)
        made: bytes = ZSTD.decompress(memoryview(packed)[LENGTH.size :], size, asbytes=True)
        return made
    except (struct.error, pa.ArrowException, OSError, MemoryError) as error:
        raise BadState(DAMAGED) from error


def encode_batch(batch: MicroBatch) -> bytes:
    """Return a micro-batch as one binary."""
    blobs = {
        "packets": [blob for _, blob in batch.packets],
        "digests": batch.digests,
        "heard": batch.heard,
    }
    said = {"watermark": batch.watermark, "sides": [side for side, _ in batch.packets]}
    arrays = {
        f"{name}.{number}": np.frombuffer(blob, np.uint8)
        for name, some in blobs.items()
        for number, blob in enumerate(some)
    }
    return encode(Stored(said, arrays, [], {}))


def decode_batch(blob: bytes) -> MicroBatch:
    """Return the micro-batch of a binary."""
    stored = decode(blob)

    def some(name: str) -> list[bytes]:
        return [array.tobytes() for array in stored.part(f"{name}.").values()]

    sides = stored.fingerprint["sides"]
    packets = list(zip(sides, some("packets"), strict=True))
    return MicroBatch(packets, stored.fingerprint["watermark"], some("digests"), some("heard"))
