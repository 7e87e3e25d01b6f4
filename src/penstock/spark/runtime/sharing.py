"""The part of the budget that a bucket may hold, which it computes as all others do.

Every bucket keeps the same ledger (`engine.ledger`) in its state and takes the same digests. So
the buckets that one worker serves in a micro-batch compute a step of it once. It is known by what
goes into it, the ledger before and the digests, and by nothing else: a repeated micro-batch gives
the same shares, whichever worker runs it.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...engine.ledger import Ledger, decode, split_budget
from ...kernel.shape import Joins
from ..plan import JoinPlan
from .labels import bucket_of

STEPS = 8  # that a worker remembers; more than one query may run in it
NAMED = 10  # keys that the figures of a query name


class LedgerTerms(NamedTuple):
    """What a ledger is made of."""

    joins: Joins
    buckets: int
    budget: int
    within: int | None
    goal: str

    def ledger(self, state: bytes | None) -> Ledger:
        """Return the ledger as it was, under the budget of now."""
        made = Ledger(self.joins, self.buckets, self.budget, self.within, bucket_of, self.goal)
        if state is not None:
            made.load(state)
            made.resize(self.budget)
        return made


class LedgerStep(NamedTuple):
    """A ledger after a micro-batch, and what buckets want to know of it."""

    state: bytes
    during: np.ndarray  # what each bucket may hold while it takes the micro-batch
    shares: np.ndarray  # and after it
    hottest: tuple[tuple[int, int, float, int], ...]  # join, key, share of the rows, bucket


@functools.lru_cache(STEPS)
def advanced(terms: LedgerTerms, state: bytes | None, digests: tuple[bytes, ...]) -> LedgerStep:
    """Return the ledger after a micro-batch with these digests."""
    ledger = terms.ledger(state)
    shares = ledger.take([decode(each) for each in digests])
    found = ledger.hottest(NAMED)
    place = bucket_of(np.array([key for _, key, _ in found], np.int64), terms.buckets)
    hottest = tuple((*each, at) for each, at in zip(found, place.tolist(), strict=True))
    return LedgerStep(ledger.encode(), ledger.during, shares, hottest)


class Share:
    """The share of one bucket, of which `fixed` is taken before it holds any row."""

    def __init__(self, plan: JoinPlan, number: int, fixed: int = 0):
        assert plan.budget is not None
        budget = plan.budget - plan.buckets * fixed
        self._terms = LedgerTerms(plan.joins, plan.buckets, budget, plan.lifetime, plan.goal)
        self._fixed = fixed
        self._in_bytes = plan.in_bytes
        self._number = number
        self._state: bytes | None = None
        self._hottest: tuple[tuple[int, int, float, int], ...] = ()

    def resume(self, saved: dict[str, np.ndarray]) -> int | None:
        """Go on with the shares as they were; return that of this bucket if the budget is another.

        Where there was no ledger, or one of another unit, all buckets begin with the same share.
        """
        ledger = self._terms.ledger(None)
        if not saved or bool(saved["in_bytes"][0]) != self._in_bytes:
            ledger.shares = np.array(split_budget(ledger.budget, ledger.buckets))
            self._state = ledger.encode()
            return None
        self._state = saved["state"].tobytes()
        ledger.load(self._state)
        if ledger.budget == self._terms.budget:
            return None
        return int(ledger.resize(self._terms.budget)[self._number]) + self._fixed

    def take(self, digests: Sequence[bytes]) -> tuple[int, int]:
        """Return what the bucket may hold while it takes the micro-batch, and after it."""
        step = advanced(self._terms, self._state, tuple(digests))
        self._state, self._hottest = step.state, step.hottest
        during, after = step.during[self._number], step.shares[self._number]
        return int(during) + self._fixed, int(after) + self._fixed

    def hottest(self) -> list[tuple[int, int, float]]:
        """Return (join, key, share of its join's rows) of the frequent keys of this bucket."""
        return [each[:3] for each in self._hottest if each[3] == self._number]

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        state = b"" if self._state is None else self._state
        return {"state": np.frombuffer(state, np.uint8), "in_bytes": np.array([self._in_bytes])}
