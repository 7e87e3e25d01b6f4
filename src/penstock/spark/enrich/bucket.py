"""One bucket of a lookup, one micro-batch at a time: events in, events with their rows out.

Holds no algorithm: the engine decides what is a hit and what to keep, in the order of the events.
All keys that are not cached when a piece of work begins are fetched together before the engine is
asked, so that it knows how large each row is, and no key is fetched twice for one piece.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from ...core.policy import CACHING
from ...engines import Lookup, standing
from ...errors import BadInput
from ...relations import Fetcher
from ...relations.fetching import said
from ..keys import equal
from ..packets import from_ipc
from ..pieces import pieces
from ..results import Ending, MicroBatch, Packet, Packets, Streaming
from ..rows import row_bytes, together
from ..store import Stored, check_fingerprint, decode, encode
from ..wide import take_column
from . import ages
from .events import Events, read_events, to_packets
from .figures import COUNTED
from .held import Rows, held_in, numbered, place_of
from .plan import LookupPlan

EVENTS, CHANGES = 0, 1  # the sides that packets come from
PIECE = 250_000  # events served at a time; as many rows may be at hand beside the cache
PIECE_BYTES = 256 << 20  # and about so many bytes of events


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000


class LookupBucket(Streaming):
    """The cache of the keys that fall into one bucket."""

    def __init__(
        self,
        plan: LookupPlan,
        number: int,
        state: bytes | None = None,
        clock: Callable[[], int] = now,
    ):
        self.plan = plan
        self.clock = clock
        self.fetcher = Fetcher(plan.source, plan.promised, plan.patience, clock)
        self.stored_bytes = len(state or b"")
        self.totals = dict.fromkeys((*COUNTED, *ages.NAMES), 0.0)
        self.cache = plan.engine(number)
        self.held = held_in(np.empty(0, np.int64), self._no_rows())
        if state is not None:
            self._resume(decode(state), number)

    def _no_rows(self) -> Rows:
        kinds = [self.plan.promised.field(name).type for name, _ in self.plan.columns]
        kinds = [pa.null()] * self.plan.held_keys + kinds
        fields = [pa.field(str(place), kind) for place, kind in enumerate(kinds)]
        return Rows(pa.schema(fields).empty_table(), np.empty(0, bool), np.empty(0, np.int64))

    def _resume(self, stored: Stored, number: int) -> None:
        """Go on where an earlier micro-batch stopped, perhaps with other memory or policy."""
        check_fingerprint(stored.fingerprint, self.plan.fingerprint, "lookup")
        self.totals |= stored.totals
        if any(stored.fingerprint.get(n) != value for n, value in self.plan.meaning.items()):
            return  # other columns or another relation: what was cached is of no use
        saved = stored.part("cache.")
        rows = self._no_rows()
        if len(stored.arrays["found"]):
            table = numbered(stored.payloads[0])
            rows = Rows(table, stored.arrays["found"], stored.arrays["sent"])
        self.held = held_in(saved["slot"].astype(np.int64), rows)
        self.cache = Lookup.restore(saved, policy=self.plan.policy, budget=self.plan.budget(number))

    def stream(self, batch: MicroBatch) -> Packets:
        """Take the packets of one micro-batch and return the events with their rows."""
        packets = batch.packets
        if self.stored_bytes and not any(packet for _, packet in packets):
            return Ending(self._report(self.stored_bytes), None)
        yield from self.serve(packets)
        # Even an empty bucket writes its state once: so a restart always meets a fingerprint.
        state = encode(self._stored())
        return Ending(self._report(len(state)), state)

    def serve(self, packets: list[tuple[int, bytes]]) -> Iterator[Packet]:
        """Take changes first, then the events in their order."""
        tables: list[list[pa.Table]] = [[], []]
        for side, packet in packets:
            if packet:
                tables[side].append(from_ipc(packet))
        for table in tables[CHANGES]:
            self._invalidate(table.column(0).drop_null().to_numpy())
        if tables[EVENTS]:
            whole = pa.concat_tables(tables[EVENTS])
            for part in pieces(row_bytes(whole, whole.num_rows), PIECE, PIECE_BYTES):
                some = whole.slice(part.start, part.stop - part.start).combine_chunks()
                yield from self._serve(read_events(self.plan.events, some))

    def _invalidate(self, keys: np.ndarray) -> None:
        self.totals["changes"] += len(keys)
        self.totals["invalidated"] += int(self.cache.discard(keys).sum())

    def _serve(self, events: Events) -> Iterator[Packet]:
        """Give every event its row."""
        self._expire()
        hand, at = self._gather(events)
        hand, row = self._tell_apart(events, hand, at)
        self._refuse_missing(events, hand, row)
        before = self.cache.counters
        hit = self.cache.push(events.key, size=self._sizes(events, hand, at)).hit
        for name in ("evicted", "refused"):
            self.totals[name] += self.cache.counters[name] - before[name]
        self._count(events, hand, row, hit)
        self._keep(events, hand, at)
        return to_packets(self.plan, events, hand, row)

    def _expire(self) -> None:
        """Let go what has become too old."""
        if self.plan.ttl is not None:
            slots = self.cache.slots
            old = self._is_old(self.held.rows.sent[place_of(self.held, slots)])
            self.totals["expired"] += int(self.cache.discard(self.cache.resident[old]).sum())

    def _is_old(self, sent: np.ndarray) -> np.ndarray:
        return self.clock() - sent > self.plan.ttl

    def _gather(self, events: Events) -> tuple[Rows, np.ndarray]:
        """Return the rows at hand, and where among them that of each different key is."""
        slots = self.cache.find(events.different)
        at = place_of(self.held, slots)
        hand = self._fetch(events, self.held.rows, at, np.flatnonzero(slots < 0))
        cached = np.flatnonzero(slots >= 0)
        while self.plan.ttl is not None and len(cached):  # to fetch may have taken long
            old = self._is_old(hand.sent[at[cached]])
            if not old.any():
                break
            self.totals["expired"] += int(self.cache.discard(events.different[cached[old]]).sum())
            hand = self._fetch(events, hand, at, cached[old])
            cached = cached[~old]
        return hand, at

    def _fetch(self, events: Events, hand: Rows, at: np.ndarray, which: np.ndarray) -> Rows:
        """Fetch some of the different keys, put their rows behind those at hand, and say where."""
        if not len(which):
            return hand
        at[which] = len(hand) + np.arange(len(which))
        return hand.plus(self._ask(events, events.first[which]))

    def _ask(self, events: Events, rows: np.ndarray) -> Rows:
        """Return the relation's rows for the keys of some events, all different."""
        keys = events.key_columns.take(pa.array(rows))
        before = dict(self.fetcher.counts)
        answer = self.fetcher.fetch(keys)
        for name, count in self.fetcher.counts.items():
            self.totals[name] += count - before[name]
        names = [name for name, _ in self.plan.columns]
        found = together([answer.rows.select(names)])
        table = found.take(pa.array(answer.row, mask=answer.row < 0))
        held = keys.select(range(self.plan.held_keys))
        return Rows(numbered(held, table).combine_chunks(), answer.row >= 0, answer.sent)

    def _tell_apart(self, events: Events, hand: Rows, at: np.ndarray) -> tuple[Rows, np.ndarray]:
        """Return which row each event with a key gets: equal hashes alone are not enough.

        Whose key only looks like that of another is served apart, and its row is not kept.
        """
        row = at[events.number]
        if self.plan.events.exact or not len(row):
            return hand, row
        same = np.ones(len(row), bool)
        for place, name in enumerate(self.plan.events.keys):
            theirs = take_column(hand.table, place, pa.array(row))
            same &= equal(events.key_columns.column(name).take(pa.array(events.known)), theirs)
        odd = np.flatnonzero(~same)
        if not len(odd):
            return hand, row
        keys = events.key_columns.take(pa.array(events.known[odd])).to_pylist()
        names = [repr(key) for key in keys]
        _, first, number = np.unique(names, return_index=True, return_inverse=True)
        row[odd] = len(hand) + number
        return hand.plus(self._ask(events, events.known[odd[first]])), row

    def _refuse_missing(self, events: Events, hand: Rows, row: np.ndarray) -> None:
        missing = np.flatnonzero(~hand.found[row])
        if self.plan.on_missing == "error" and len(missing):
            key = events.key_columns.slice(int(events.known[missing[0]]), 1).to_pylist()[0]
            raise BadInput(
                f"{self.plan.source.name} has no row for the key {said(key)}, and {len(missing)} "
                f"of {len(row)} events here found none; pass on_missing='null' to let them pass"
            )

    def _sizes(self, events: Events, hand: Rows, at: np.ndarray) -> np.ndarray | None:
        if not self.plan.in_bytes:
            return None
        beside = hand.found.itemsize + hand.sent.itemsize  # what is known of a row, and since when
        return (row_bytes(hand.table, len(hand)) + beside)[at][events.number]

    def _count(self, events: Events, hand: Rows, row: np.ndarray, hit: np.ndarray) -> None:
        found = hand.found[row]
        self.totals["events"] += events.table.num_rows
        self.totals["null"] += events.table.num_rows - len(row)
        self.totals["hits"] += int((hit & found).sum())
        self.totals["known_missing"] += int((hit & ~found).sum())
        self.totals["misses"] += int((~hit).sum())
        self.totals["found"] += int(found.sum())
        counted = ages.count_ages(np.maximum(0, self.clock() - hand.sent[row]))
        for name, count in zip(ages.NAMES, counted.tolist(), strict=True):
            self.totals[name] += count

    def _keep(self, events: Events, hand: Rows, at: np.ndarray) -> None:
        """Keep the rows whose keys are cached now."""
        keys, slots = self.cache.resident, self.cache.slots
        chosen = place_of(self.held, slots)
        if len(events.different):
            number = np.minimum(np.searchsorted(events.different, keys), len(events.different) - 1)
            chosen = np.where(events.different[number] == keys, at[number], chosen)
        self.held = held_in(slots, hand.take(chosen))

    def _stored(self) -> Stored:
        arrays = {f"cache.{name}": array for name, array in self.cache.save().items()}
        rows = self.held.rows
        if len(rows) > self.cache.held:  # a change, or a smaller memory, has let some go
            rows = rows.take(place_of(self.held, self.cache.slots))
        arrays |= {"found": rows.found, "sent": rows.sent}
        said_of_it = self.plan.fingerprint | self.plan.meaning
        return Stored(said_of_it, arrays, [rows.table], self.totals)

    def _report(self, state_bytes: int) -> dict[str, float]:
        used = self.cache.used if self.plan.in_bytes else state_bytes
        report = self.totals | {"held": float(self.cache.held), "bytes": float(used)}
        return report | standing.counters(self.cache, CACHING)
