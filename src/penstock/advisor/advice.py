"""The answer: which policy, how much memory, what more or less of it would give, in bytes too."""

from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Any

from ..engine.footprint import SPARE, engine_line, footprint
from ..engine.join_kernel import Form
from ..kernel.gains import PAIRS, ROWS
from ..kernel.policy import JOINING
from ..kernel.shape import Shape
from ..numeric import Json
from ..policies import AUTO, choose, families
from .curves import Curve

EXACT = "fifo"  # stands for no policy at all, which remembers still less
# Spark: what its own join takes for a row in memory, beside the payload, with the default state
# store. Measured: 203 MB for 340,002 rows of 24 bytes in the third micro-batch, 596 bytes a row (in
# the first one 377: the store keeps older versions too).
SPARK_BYTES = 570
PAYLOAD = 24  # bytes, where nothing is known of the rows
NO_LIMIT = 1 << 60  # bytes


def spark_bytes(rows: float, payload: float) -> int:
    """Return what Spark's own join needs for so many rows."""
    return round(rows * (SPARK_BYTES + payload))


HALF = 0.5  # of the results: then a few keys decide recall
NEARLY = 0.9  # of the live rows


@dataclass(frozen=True)
class Streams:
    """What the advice is about."""

    problem: str  # joining or caching
    name: str
    rows: tuple[int, ...]  # of each stream
    keys: int
    mean: float  # live rows on average; for a cache, all keys
    peak: int  # rows at most: with so many nothing is lost
    most: float  # the recall, or hit ratio, of an unlimited memory
    skew: float | None  # the exponent of a Zipf law fitted to the keys
    hottest: float  # the share of all results, or hits, that one key makes
    payload: float = PAYLOAD  # bytes of a row
    call: str = ""  # the code to paste, with {policy} and {budget}

    def bytes_of(self, policy: str, rows: float, goal: str = PAIRS) -> int:
        """Return what Penstock needs for so many rows under a policy."""
        rows, chosen, form, is_join = ceil(rows), choose(policy), None, self.problem == JOINING
        if is_join:
            form = Form(Shape(), 1, False, False, True, goal == ROWS)
        if chosen.policy is AUTO:  # which tries others in shadow caches
            tried = families(self.problem, True, is_join, weighed=not is_join)
            taken = footprint(NO_LIMIT, chosen, tried, form, scale=max(1, rows))
            return round(taken.fixed + rows * (taken.charge + self.payload))
        line = engine_line(chosen, form)
        return round(line.fixed + rows * (line.slot * SPARE + line.scale + self.payload))


@dataclass(frozen=True)
class Answer:
    """What a memory gives."""

    policy: str
    rows: int
    bytes: int
    share: float  # of the goal: recall, or hit ratio
    error: float
    recall: float | None = None  # of pairs, of a join
    row_recall: float | None = None  # of the rows that have a partner

    def to_json(self) -> dict[str, Json]:
        """Return plain values, without those that are not known."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {n: round(v, 4) if isinstance(v, float) else v for n, v in known.items()}


@dataclass(frozen=True, eq=False)
class Advice:
    """How much memory, and which policy."""

    streams: Streams
    target: float
    curves: list[Curve]  # the best first
    sampled: dict[str, float]  # what was replayed
    said: list[str] = field(default_factory=list)  # what to beware of
    counted: str = PAIRS  # what the target is a part of, and a join's goal: pairs, or rows matched
    hot_pairs: float | None = None  # the part of all results that ten keys make, of a join

    @property
    def reached(self) -> bool:
        """Whether any memory reaches the target."""
        return self.target <= self.streams.most + 1e-9

    @property
    def best(self) -> Curve:
        """The curve that reaches the target, or comes near it, with the least memory."""
        return self.curves[0]

    @property
    def answer(self) -> Answer:
        """The least memory for the target; where none reaches it, for nearly all there is."""
        rows = self.best.rows_for(self.goal)
        # Up to the next whole row: less than the target would be less than was asked for.
        return self.with_rows(self.streams.peak if rows is None else ceil(rows - 1e-9))

    @property
    def goal(self) -> float:
        """The target, or where no memory reaches it the same part of what can be reached."""
        return self.target if self.reached else self.target * self.streams.most

    @property
    def between(self) -> tuple[int, int]:
        """The memory that the target needs, if the curve is off by its error either way."""
        low, high = (self.best.rows_for(self.goal, sigmas) for sigmas in (1, -1))
        peak = self.streams.peak
        return round(low or peak), round(high or peak)

    @property
    def half(self) -> Answer:
        """What half of the memory gives."""
        return self.with_rows(max(1, self.answer.rows // 2))

    @property
    def double(self) -> Answer:
        """What twice the memory gives; never more than all rows."""
        return self.with_rows(min(self.streams.peak, 2 * self.answer.rows))

    def with_rows(self, rows: int) -> Answer:
        """Return what the best policy finds with so many rows."""
        found = self.best.at(rows)
        size = self.bytes_of(self.best.policy, rows)
        both = {name: curve.at(rows).share for name, curve in self.measures(self.best).items()}
        return Answer(self.best.policy, rows, size, found.share, found.error, **both)

    def measures(self, curve: Curve) -> dict[str, Curve]:
        """Return a curve of a join by what it measures: `recall` of pairs, and `row_recall`."""
        if curve.beside is None:
            return {}
        if self.counted == ROWS:
            return {"recall": curve.beside, "row_recall": curve}
        return {"recall": curve, "row_recall": curve.beside}

    def by_measure(self) -> list[tuple[str, list[Curve]]]:
        """Return the names of what is measured and its curves, the goal first; "" of a cache."""
        if not self.measures(self.best):
            return [("", self.curves)]
        names = ("row_recall", "recall") if self.counted == ROWS else ("recall", "row_recall")
        return [(name, [self.measures(each)[name] for each in self.curves]) for name in names]

    @property
    def few_keys(self) -> bool:
        """Whether ten keys make more than half of the results, so that they decide recall."""
        return self.hot_pairs is not None and self.hot_pairs > HALF

    @property
    def exact(self) -> bool:
        """Whether a budget gains nothing, so that one might as well lose nothing.

        Nearly all rows are needed, or what the policy takes beside them is more than it saves.
        """
        if self.streams.problem != JOINING:
            return False
        nearly_all = self.answer.rows > NEARLY * self.streams.peak
        return nearly_all or self.answer.bytes >= self.exact_bytes

    def bytes_of(self, policy: str, rows: int) -> int:
        """Return what so many rows take under a policy."""
        return self.streams.bytes_of(policy, rows, self.counted)

    @property
    def exact_bytes(self) -> int:
        """What it takes to hold all rows."""
        return self.streams.bytes_of(EXACT, self.streams.peak)

    @property
    def budget(self) -> int | None:
        """The budget to set, in rows; None: leave it out."""
        return None if self.exact else self.answer.rows

    @property
    def code(self) -> str:
        """The line to paste."""
        budget = "None" if self.budget is None else f"{self.budget:_}"
        return self.call.format(policy=self.answer.policy, budget=budget)

    @property
    def call(self) -> str:
        """The line to paste, with {policy} and {budget}; it names a goal that is not the default.

        Where nothing is lost (`budget=None`) the goal decides nothing, and does no harm.
        """
        call = self.streams.call
        if self.counted == PAIRS or not call.endswith(")"):
            return call
        return f"{call[:-1]}, goal={self.counted!r})"

    def to_json(self) -> dict[str, Json]:
        """Return the advice as plain numbers, texts, lists and dictionaries."""
        streams, low_high = self.streams, self.between
        report: dict[str, Any] = {
            "problem": streams.problem,
            "name": streams.name,
            "target": self.target,
            "reached": self.reached,
            "answer": self.answer.to_json() | {"rows_between": list(low_high)},
            "half": self.half.to_json(),
            "double": self.double.to_json(),
            "exact": {
                "rows": streams.peak,
                "bytes": self.exact_bytes,
                "share": round(streams.most, 4),
            },
            "code": self.code,
            "said": self.said,
            "streams": {
                "rows": list(streams.rows),
                "keys": streams.keys,
                "zipf": streams.skew,
                "hottest_key": round(streams.hottest, 4),
                "window_rows": round(streams.mean),
                "row_bytes": round(streams.payload),
            },
            "sample": self.sampled,
            "curves": [
                {
                    "policy": curve.policy,
                    "rows": curve.rows.tolist(),
                    "share": curve.share.round(4).tolist(),
                    "error": curve.error.round(4).tolist(),
                    **self._both(curve),
                }
                for curve in self.curves
            ],
        }
        if streams.problem == "joining":
            size = spark_bytes(streams.peak, streams.payload)
            report["spark"] = {"rows": streams.peak, "bytes": size}
            report["goal"] = self.counted
            hot = self.hot_pairs
            report["streams"]["hot_pairs"] = None if hot is None else round(hot, 4)
        return report

    def _both(self, curve: Curve) -> dict[str, list[float]]:
        """Return both measures of a join's curve, with their errors."""
        report = {}
        for name, each in self.measures(curve).items():
            report[name] = each.share.round(4).tolist()
            report[f"{name}_error"] = each.error.round(4).tolist()
        return report
