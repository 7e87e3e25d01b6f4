"""What the buckets of a join, a lookup and a thinning have in common.

A bucket takes the packets of one micro-batch after the other, gives out packets of results one by
one, so that they need not all be in memory, and reports its counters. All that it remembers can be
saved, and a bucket that is made of that goes on as if nothing had happened. What it does depends on
what it is given and on nothing else, so that micro-batches can be replayed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from .arrow import from_ipc
from .fingerprint import check_fingerprint
from .store import Stored, decode, encode


class MicroBatch(NamedTuple):
    """What comes for a bucket in one micro-batch."""

    packets: Sequence[tuple[int, bytes]]  # (side, rows) in the order of their packing
    watermark: int | None = None  # microseconds: in the next one, rows up to it come too late
    digests: Sequence[bytes] = ()  # of all packets of all buckets, where these share a budget
    heard: Sequence[bytes] = ()  # what the bucket learned elsewhere meanwhile: answers, times

    def tables(self, side: int) -> list[pa.Table]:
        """Return the packets of one side."""
        return [from_ipc(packet) for each, packet in self.packets if packet and each == side]


def micro_batch(rows: list[tuple], watermark: int | None) -> MicroBatch:
    """Return what came for a bucket in the order in which it was packed, however it came."""
    rows = sorted(rows, key=lambda row: row[:2])
    packets = [(int(side), packet) for side, _, _, packet in rows if packet]
    return MicroBatch(packets, watermark, [digest for _, _, digest, _ in rows if digest])


class About(NamedTuple):
    """What can be known of a packet of an archive without opening it."""

    rows: int
    oldest: int | None = None  # microseconds; None where the rows have no times
    newest: int | None = None


class Packet(NamedTuple):
    """Some results of one join, or a part of its archive."""

    join: int  # in an archive the kind of its rows: see `archiver`
    rows: bytes  # an Arrow IPC stream; in an archive a Parquet file
    about: About | None = None  # in an archive


class Bucket:
    """The part of an operator's work that belongs to the keys of one bucket."""

    plan: Any
    number: int
    totals: dict[str, float]
    silent = False  # while micro-batches are replayed: no packets are made
    outside: tuple[str, ...] = ("plan",)  # what an image of a bucket does not hold

    def open(self, state: bytes | None) -> None:
        """Go on where an earlier micro-batch stopped, if there was one."""
        if state is not None:
            stored = decode(state)
            check_fingerprint(stored.fingerprint, self.plan.fingerprint, self.plan.what)
            self.resume(stored)

    def attach(self, plan: Any) -> None:
        """Give an image of a bucket what is not in it."""
        self.plan = plan

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self.outside}

    def count_on(self, totals: dict[str, float], before: dict[str, Any]) -> None:
        """Count on from totals that were counted under the terms of before."""
        self.totals |= totals

    def resume(self, stored: Stored) -> None:
        """Go on from what was stored, perhaps with another budget or policy."""
        raise NotImplementedError

    def advance(self, batch: MicroBatch) -> Iterator[Packet]:
        """Take the packets of one micro-batch and return those of the results."""
        raise NotImplementedError

    def finish(self) -> Iterator[Packet]:
        """Return the packets of what is left when a batch ends."""
        return iter(())

    def replay(self, batch: MicroBatch) -> None:
        """Take a micro-batch again whose results were given out before."""
        self.silent = True
        for _ in self.advance(batch):
            pass
        self.silent = False

    def is_changed(self, batch: MicroBatch) -> bool:
        """Tell whether a micro-batch has changed what the bucket remembers."""
        return bool(batch.packets or batch.digests)

    def heard(self) -> list[bytes]:
        """Return what the bucket learned elsewhere in this micro-batch, to replay it."""
        return []

    def stored(self) -> Stored:
        """Return all that the bucket remembers."""
        raise NotImplementedError

    def save(self) -> bytes:
        """Return all that the bucket remembers as one binary."""
        return encode(self.stored())

    def report(self, state_bytes: int) -> dict[str, float]:
        """Return the counters since the query first started."""
        raise NotImplementedError

    def hottest(self) -> str | None:
        """Return what is shown of this bucket's keys, as JSON."""
        return None
