"""One bucket of the join, one micro-batch at a time: packets in, packets of results out.

Holds no algorithm: Arrow to NumPy columns, the engine, and back. The payloads of the rows held
lie side by side with the engine's tuples.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from .. import policies
from ..core.policy import JOINING
from ..engines import Join, standing
from ..engines.shares import split_budget
from ..errors import BadInput
from ..profile.lossy import LossyCounter
from .chances import FIRST_BYTES
from .estimate import SUMS, no_sums
from .packets import from_ipc
from .pairs import PairShadow
from .plan import Plan
from .results import Ending, Gatherer, MicroBatch, Packets, Results, Streaming
from .rows import Side, read_side, row_bytes, take_rows
from .shadow import KeyShadow
from .sharing import TOLD, Share
from .store import Stored, check_fingerprint, decode, encode
from .watched import placed

HOT = 0.005  # the share of the rows that a key has which the figures of a query name
LONGEST = 100  # characters of a key that are told
PAIRS_ERROR = 0.001  # of the share of the pairs that a key makes
ANOTHER = np.int64(0x5851F42D4C957F2D)  # takes the keys of one join away from those of another
STEPS = 64  # in which rows make room for those that are watched
COUNTED = ("arrived", "late", "null", "rows_matched", "expired", "evicted", "refused")


def counter_names(streams: int) -> list[str]:
    """Return the names of the counters that every bucket reports."""
    names = [f"{name}_{stream}" for name in COUNTED for stream in range(streams)]
    names += ["no_time", "matched", "held", "bytes", "share", *(f"shadow_{each}" for each in SUMS)]
    names += [f"rows_{each}_{stream}" for each in SUMS for stream in range(streams)]
    return names + standing.names(JOINING)


class Bucket(Streaming):
    """The join of the keys that fall into one bucket."""

    def __init__(self, plan: Plan, number: int, state: bytes | None = None):
        self.plan = plan
        self.number = number
        shared = plan.shared is not None
        self.share = Share(plan, number, fixed_bytes(plan)) if shared else None
        # Of the budget, as long as there is no share.
        self.allowed = None if plan.budget is None else _part(plan, number)
        self.stored_bytes = len(state or b"")
        self.totals: dict[str, float] = {"no_time": 0.0, "matched": 0.0}
        self.payloads = [pa.table({}) for _ in plan.inputs]
        self.shadow: PairShadow | KeyShadow | None = None
        self.pairs = LossyCounter(PAIRS_ERROR)  # results by key, under a budget
        if state is None:
            self.join = make_join(plan, number)
            if plan.budget is not None:
                self.shadow = make_shadow(plan, number)
        else:
            self._resume(decode(state), number)

    def _resume(self, stored: Stored, number: int) -> None:
        """Go on where an earlier micro-batch stopped, perhaps with another budget or policy."""
        check_fingerprint(stored.fingerprint, self.plan.fingerprint)
        saved = stored.part("join.")
        self.payloads = list(stored.payloads)
        unsized = self.plan.in_bytes and "held.size" not in saved  # the budget was one of rows
        share = None if self.share is None else self.share.resume(stored.part("ledger."))
        resized = None if share is None else share - watch_bytes(self.plan)
        self.join = Join.restore(
            saved,
            policy=self.plan.policy,
            budget=bucket_budget(self.plan, number),
            goal=self.plan.goal,
            resized=resized,
            in_bytes=self.plan.in_bytes,
            size=_held_sizes(saved["held.stream"], self.payloads) if unsized else None,
        )
        self.join.delay = self.plan.delay
        self.totals = dict(stored.totals)
        pairs = stored.part("pairs.")
        self.pairs = LossyCounter.restore(pairs) if pairs else self.pairs
        self._resume_shadow(stored.part("shadow."), saved, number)
        if self.share is None:
            self._fit()
        if self.join.held < len(saved["held.time"]):  # a smaller budget: some had to go
            self._drop(saved["held.stream"])
        if self.shadow is not None:
            self.shadow.forget(self.join, self._gone())

    def _resume_shadow(
        self, shadow: dict[str, np.ndarray], saved: dict[str, np.ndarray], number: int
    ) -> None:
        """Go on estimating, which begins with the first budget and then never ends."""
        if self.plan.budget is None and not shadow:
            return
        self.shadow = make_shadow(self.plan, number)
        held = placed(saved["held.stream"], saved["held.key"][:, 0], saved["held.time"])
        matched = np.unpackbits(saved["matched"], count=len(held.key)).astype(bool)
        evicted_now = len(saved["held.time"]) - self.join.held
        self.shadow.resume(shadow, held, matched, self._gone() - evicted_now)

    def _gone(self) -> int:
        """Return how many rows were evicted or rejected so far."""
        counters = self.join.counters
        return int(counters["evicted"].sum() + counters["refused"].sum())

    def _drop(self, streams: np.ndarray) -> None:
        """Drop the payloads of rows that a smaller budget pushed out."""
        kept = self.join.renumber()
        for number, payload in enumerate(self.payloads):
            place = np.cumsum(streams == number) - 1
            mine = place[kept[streams[kept] == number]]
            self.payloads[number] = take_rows(payload, mine)
            if self.shadow is not None:
                self.shadow.keep(number, mine, int((streams == number).sum()))

    def stream(self, batch: MicroBatch) -> Packets:
        """Take the packets of one micro-batch."""
        tables: list[list[pa.Table]] = [[] for _ in self.plan.inputs]
        for side, packet in batch.packets:
            if packet:
                tables[side].append(self._without_null_times(side, from_ipc(packet)))
        if not any(tables) and self.stored_bytes and not (self.share and batch.digests):
            return Ending(self._report(self.stored_bytes), None, self._told_keys())
        after = self._take_share(batch.digests)
        sides = self._sides(tables)
        for part in self._results(sides):
            self.totals["matched"] += part.total
            if self.shadow is not None:
                self.shadow.found(sides, part)
                self._count_pairs(sides, part)
            yield from part.packets
        if batch.latest is not None:
            self.join.advance(batch.latest)
        self.allowed = after
        if self.shadow is not None:
            self.shadow.forget(self.join, self._gone())
        self._fit()  # the share may be smaller, and more rows may be watched than before
        if self.shadow is not None:
            self.shadow.forget(self.join, self._gone())
        self._keep(sides)
        # Even an empty bucket writes its state once: so a restart always meets a fingerprint.
        state = encode(self._stored())
        return Ending(self._report(len(state)), state, self._told_keys())

    def _take_share(self, digests: Sequence[bytes]) -> int | None:
        """Give the engine what it may have in this micro-batch; return what it may have after."""
        after = self.allowed
        if self.share is not None:
            self.allowed, after = self.share.take(digests)
        before = self.join.tuples["stream"]
        self._fit()
        if self.join.held < len(before):
            self._drop(before)
        return after

    def _fit(self) -> None:
        """Give the engine its share, less the bytes that the estimate of recall takes."""
        if self.allowed is not None:
            engine = self.allowed - watch_bytes(self.plan)
            rows = max(0, engine - self.join.footprint.fixed)
            step = 1 + rows // STEPS  # so that it seldom changes
            watching = -(-self._watching_bytes // step) * step
            self.join.resize(engine - min(watching, rows))

    @property
    def _watching_bytes(self) -> int:
        """What the estimate of recall takes of a budget in bytes, beside what it begins with."""
        if self.shadow is None or not self.plan.in_bytes:
            return 0
        return max(0, self.shadow.nbytes - watch_bytes(self.plan))

    def _count_pairs(self, sides: list[Side], part: Results) -> None:
        """Count results by key; a key of another join is another key."""
        for join, rows in part.found:
            first = self.plan.joins[join][0][0]
            self.pairs.push(sides[first].key[rows[:, 0]] + join * ANOTHER)

    def _told_keys(self) -> str | None:
        """Return what a person is told of this bucket's keys, as JSON: the frequent ones with their
        share of the rows, and the most results that a key has."""
        if self.shadow is None:
            return None
        pairs = self.pairs.most(TOLD).lowest.tolist()
        return json.dumps({"hottest": self._hottest(), "pairs": pairs})

    def _hottest(self) -> list[tuple[str, float]]:
        """Return the keys of this bucket that are frequent, with their share of the rows."""
        if self.share is None:
            return []
        return [
            (self._name_of(join, key), round(share, 4))
            for join, key, share in self.share.hottest()
            if share >= HOT
        ]

    def _name_of(self, join: int, key: int) -> str:
        """Return a key as a person reads it, as far as a row with it is held."""
        for stream, _ in self.plan.joins[join]:
            source, payload = self.plan.inputs[stream], self.payloads[stream]
            if source.exact:
                return str(key)
            held = self.join.tuples
            here = held["key"][held["stream"] == stream, 0] == key
            if here.any():
                row = int(np.flatnonzero(here)[0])
                named = [name for name in source.keys if source.pays(name)]  # not the time
                values = [payload.column(name)[row].as_py() for name in named]
                return ", ".join(str(value)[:LONGEST] for value in values)
        return f"(hash {key})"

    def _without_null_times(self, side: int, table: pa.Table) -> pa.Table:
        column = table.column(self.plan.inputs[side].time)
        if column.null_count:
            self.totals["no_time"] += column.null_count
            return table.filter(column.is_valid())
        return table

    def _sides(self, tables: list[list[pa.Table]]) -> list[Side]:
        held = self.join.tuples
        sides = []
        for number, source in enumerate(self.plan.inputs):
            mine = held["stream"] == number
            key, time = held["key"][mine, 0], held["time"][mine]
            sides.append(read_side(source, key, time, self.payloads[number], tables[number]))
        return sides

    def _results(self, sides: list[Side]) -> Iterator[Results]:
        """Push the new rows, and return the results in parts as they are found."""
        streams = [np.full(side.new, number, np.int8) for number, side in enumerate(sides)]
        stream = np.concatenate(streams)
        key = np.concatenate([side.key[side.held :] for side in sides])
        time = np.concatenate([side.time[side.held :] for side in sides])
        null = np.concatenate([side.null[side.held :] for side in sides])
        self._positions = self._number(sides)
        if self.shadow is not None:
            watermark = self.join.watermark
            taken = ~null if watermark is None else ~null & (time >= watermark)
            at = self._positions[self.join.held :]
            self.shadow.take(placed(stream[taken], key[taken], time[taken], at[taken]))
        parts = self.join.push_parts(
            stream,
            key,
            time,
            null=null if null.any() else None,
            size=_sizes(sides) if self.plan.in_bytes else None,
        )
        gatherer = Gatherer(self.plan, sides)
        for found, joined in parts:
            rows = np.where(found >= 0, self._positions[found], -1)
            yield from gatherer.gather(rows, joined)

    def _number(self, sides: list[Side]) -> np.ndarray:
        """Return the position within its side of every row that the engine can name."""
        held = self.join.tuples["stream"]
        positions = np.empty(len(held) + sum(side.new for side in sides), np.int64)
        at = len(held)
        for number, side in enumerate(sides):
            positions[: len(held)][held == number] = np.arange(side.held)
            positions[at : at + side.new] = np.arange(side.held, side.held + side.new)
            at += side.new
        return positions

    def _keep(self, sides: list[Side]) -> None:
        """Keep the payloads of the rows that the engine holds."""
        kept = self._positions[self.join.renumber()]
        streams = self.join.tuples["stream"]
        for number, side in enumerate(sides):
            mine = kept[streams == number]
            self.payloads[number] = take_rows(side.payload, mine)
            if self.shadow is not None:
                self.shadow.keep(number, mine, len(side.key))

    def _stored(self) -> Stored:
        arrays = {f"join.{name}": array for name, array in self.join.save(copy=False).items()}
        shadow = {} if self.shadow is None else self.shadow.save()
        arrays |= {f"shadow.{name}": array for name, array in shadow.items()}
        if self.share is not None:
            arrays |= {f"ledger.{name}": array for name, array in self.share.save().items()}
        if self.shadow is not None:
            arrays |= {f"pairs.{name}": array for name, array in self.pairs.save().items()}
        return Stored(self.plan.fingerprint, arrays, self.payloads, self.totals)

    def _report(self, state_bytes: int) -> dict[str, float]:
        report = {
            f"{name}_{stream}": float(count)
            for name in COUNTED
            for stream, count in enumerate(self.join.counters[name])
        }
        report |= self.totals
        report["held"] = float(self.join.held)
        report["share"] = float(self.join.budget or 0)
        used = self.join.used + watch_bytes(self.plan) + self._watching_bytes
        report["bytes"] = float(used if self.plan.in_bytes else state_bytes)
        sums = self.shadow.sums() if self.shadow is not None else no_sums()
        report |= {f"shadow_{name}": value for name, value in sums.items()}
        nothing = [no_sums()] * len(self.plan.inputs)
        of_rows = self.shadow.row_sums() if self.shadow is not None else nothing
        report |= {
            f"rows_{name}_{stream}": value
            for stream, sums in enumerate(of_rows)
            for name, value in sums.items()
        }
        return report | standing.counters(self.join, JOINING)


def _part(plan: Plan, number: int) -> int:
    """Return an equal part of the budget."""
    return split_budget(plan.budget or 0, plan.buckets)[number]


def bucket_budget(plan: Plan, number: int) -> int | None:
    """Return what the engine of one bucket may hold, as it starts."""
    if plan.budget is None:
        return None
    part, watching = _part(plan, number), watch_bytes(plan)
    if part <= watching:
        raise BadInput(
            f"a bucket takes {watching:,} bytes to estimate recall, and may take {part:,}; raise "
            "the budget, use fewer buckets, or pass recall_sample=0"
        )
    return part - watching


def watch_bytes(plan: Plan) -> int:
    """Return what the estimate of recall takes of a budget in bytes before it watches any row."""
    pairs = all(len(join) == 2 for join in plan.joins)
    return FIRST_BYTES * len(plan.inputs) if plan.in_bytes and plan.sample and pairs else 0


@lru_cache(maxsize=16)
def fixed_bytes(plan: Plan) -> int:
    """Return what one bucket takes of a budget in bytes before it holds any row."""
    return make_join(plan, 0).footprint.fixed + watch_bytes(plan) if plan.in_bytes else 0


def make_shadow(plan: Plan, number: int) -> PairShadow | KeyShadow:
    """Return what estimates the recall of a bucket."""
    pairs = all(len(join) == 2 for join in plan.joins)
    return PairShadow(plan, number) if pairs else KeyShadow(plan)


def make_join(plan: Plan, number: int) -> Join:
    """Return the engine of a bucket, as it starts."""
    return Join(
        plan.policy,
        bucket_budget(plan, number),
        goal=plan.goal,
        within=plan.within,
        joins=plan.joins,
        layout=plan.layout,
        delay=plan.delay,
        clock=plan.clock,
        in_bytes=plan.in_bytes,
        seed=plan.seed + number,
    )


def check_engine(plan: Plan) -> None:
    """Refuse what no bucket could run: an unknown policy or layout, a share of nothing."""
    policy = policies.choose(plan.policy, "joining").policy  # also where nobody will ask it
    for source in plan.inputs:
        if policy.ordered and not source.exact:
            raise BadInput(
                f"policy {policy.name!r} goes by the order of keys, so on must name one column of "
                f"whole numbers, got {', '.join(source.keys)}; number the keys, or choose another "
                "policy"
            )
    last = make_join(plan, plan.buckets - 1)  # which has the smallest share
    last.push([], [], [], size=[])


def _sizes(sides: list[Side]) -> np.ndarray:
    parts = [row_bytes(side.payload.slice(side.held), side.new) for side in sides]
    return np.maximum(1, np.concatenate(parts))


def _held_sizes(streams: np.ndarray, payloads: list[pa.Table]) -> np.ndarray:
    """Return the bytes of the rows held, in the engine's order, as `_sizes` does of new ones."""
    sizes = np.empty(len(streams), np.int64)
    for number, payload in enumerate(payloads):
        mine = streams == number
        sizes[mine] = np.maximum(1, row_bytes(payload, int(mine.sum())))
    return sizes
