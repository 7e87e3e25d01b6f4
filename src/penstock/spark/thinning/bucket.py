"""One bucket of a thinning, one micro-batch at a time: readings in, refreshes out.

Holds no algorithm: `Thinner` decides what is sent.
"""

import numpy as np

from ...precision.thinning import KINDS
from ..results import Ending, MicroBatch, Packets, Streaming
from ..store import Stored, check_fingerprint, decode, encode
from .figures import COUNTED
from .plan import ThinPlan
from .rows import QUERIES, READINGS, Side, read_side, to_packets


class ThinBucket(Streaming):
    """The sources of the keys that fall into one bucket."""

    def __init__(self, plan: ThinPlan, number: int, state: bytes | None = None):
        self.plan = plan
        self.stored_bytes = len(state or b"")
        self.totals = dict.fromkeys(COUNTED, 0.0)
        self.thinner = plan.thinner()
        if state is not None:
            stored = decode(state)
            check_fingerprint(stored.fingerprint, plan.fingerprint, "thin")
            self.totals |= stored.totals
            self.thinner.restore(stored.arrays)

    def stream(self, batch: MicroBatch) -> Packets:
        """Take the packets of one micro-batch and return the refreshes."""
        packets = batch.packets
        if self.stored_bytes and not any(packet for _, packet in packets):
            return Ending(self._report(self.stored_bytes), None)
        plan = self.plan
        readings, queries = sides = [
            read_side(source, [packet for side, packet in packets if side == mine], *numbers)
            for mine, source, numbers in (
                (READINGS, plan.readings, (plan.value, -np.inf, plan.rounded)),
                (QUERIES, plan.queries, (plan.delta, 0.0, None)),
            )
        ]
        found = self.thinner.push(
            readings.key,
            readings.time,
            readings.number,
            rounded=readings.rounded,
            asked=queries.key,
            asked_time=queries.time,
            delta=queries.number,
        )
        self._count(sides, found.why)
        yield from to_packets(plan, sides, found)
        # Even an empty bucket writes its state once: so a restart always meets a fingerprint.
        state = encode(Stored(plan.fingerprint, self.thinner.save(), [], self.totals))
        return Ending(self._report(len(state)), state)

    def _count(self, sides: list[Side], why: np.ndarray) -> None:
        self.totals["readings"] += sides[READINGS].size
        self.totals["queries"] += sides[QUERIES].size
        for side in sides:
            for name, count in side.dropped.items():
                self.totals[name] += count
        for name, count in zip(KINDS, np.bincount(why, minlength=len(KINDS)), strict=True):
            self.totals[name] += int(count)

    def _report(self, state_bytes: int) -> dict[str, float]:
        size = {"keys": len(self.thinner), "bytes": state_bytes}
        return self.totals | {name: float(n) for name, n in (self.thinner.counters | size).items()}
