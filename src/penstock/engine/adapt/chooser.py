"""`auto`: find the policy, or its parameters, while the engine runs.

One policy is in force, the *incumbent*. From time to time the others are its *challengers* in a
trial: each has a shadow cache (`shadows.py`), and all are shown the same rows. In a *look*, taken
whenever a part of the rows has come again, what each found is compared with what the incumbent
found in the same rows. After every `ROUND` looks the worse half of the challengers is dropped; when
one is left and dropped too, the trial is over. A challenger takes over as soon as its lead is more
than what a change costs, `TURN` memories full of the incumbent's results, and `SURE` standard
errors. Then, and when the engine's own results have clearly changed, a trial begins with
all challengers and no evidence. Otherwise the next trial begins when the last one is paid for:
shadow caches may cost `SPEND` of what the engine costs. Evidence of earlier trials counts half.

Where all keys are sampled, it is the engine's own results that count for the incumbent. Where they
are not, they count against the policy that was in force before: if the engine finds less than that
policy would have, the change is undone, and the next change must bring twice as much.

Where keys have an order and all are sampled, a policy that goes by it (HEEB) takes over at the
first look, without evidence.

Costs are counted in rows of a cheap policy (`Policy.cost`), not measured: nothing may depend on how
busy a machine is. Decision 21 (docs/decisions) has the reasons and what it reaches.
"""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...kernel.policy import KEEP_ALL, Configured
from ...policies import AUTO
from ..saved import part, prefixed
from .pilot import Pilot
from .shadows import Columns, Ring, Sample, Shadows, room_for, share_of

if TYPE_CHECKING:
    from ..base import Engine

SMALLEST = 2  # rows in the budget
FIRST, PART = 128, 16  # sampled rows before the first look; then a look per such a part of all,
LONGEST = 1_024  # of at most so many rows,
REST = 10_000.0  # or between trials rows that cost the engine so much
ROUND, FEWEST = 4, 6  # looks after which the worse half is dropped, and before a change
TURN = 0.5  # memories full of rows: a change costs what the incumbent finds in these,
MOST_DOUBT = 16.0  # times so much at most, after changes that were undone
SURE, BACK = 4.0, 1.0  # standard errors by which a challenger must lead; one that is expected to
NEAR = 0.01  # challengers whose leads differ by less, as a share, are equally good
SPEND = 0.1  # what shadow caches may cost of what the engine costs,
FREE = 600_000.0  # and at first: about 60 milliseconds,
SHOWN = 1_500.0  # with so much for showing them any rows at all,
FIT = 400_000.0  # and so much for fitting models to keys with an order
WARM = 2_048  # sampled rows that a new shadow cache is shown
LOOKS, RECENT = 24, 3  # of the engine's own results: remembered, and compared with those before,
CHANGED, STRANGE = 0.25, 3.0  # in shares and in standard deviations: what is a clear change
HOT = 1 / 128  # of the rows: such a key makes a sample of the keys unlike all keys
ORDER_FEWEST = 64  # keys, to say anything about their order
ORDER_LAG = 4  # keys that came so shortly after each other are compared,
ORDER_NEARER = 0.6  # and must be nearer to each other than this share of the distance of any two
SAVED = ("alive", "sums", "own", "beaten", "whole", "real")


def hot_keys(key: np.ndarray, share: float) -> np.ndarray:
    """Return the keys that are hot, in order; among all keys (a share of 1) none is.

    >>> hot_keys(np.array([7] * 50 + list(range(1000))), 0.1).tolist()
    [7]
    """
    if share >= 1 or not len(key):
        return np.zeros(0, np.int64)
    values, counts = np.unique(key, return_counts=True)
    return values[counts > HOT * len(key)]


def cold_share(held: np.ndarray, hot: np.ndarray) -> float:
    """Return which share of the held rows is left for keys that are not hot, half at least."""
    if not len(hot) or not len(held):
        return 1.0
    return max(0.5, 1.0 - float(np.isin(held, hot).mean()))


def looks_ordered(keys: np.ndarray) -> bool:
    """Tell whether keys that follow each other are near each other, so that their order matters.

    Of keys that are hashes, or names by number, two that follow each other are as far apart as any
    two, unless they are the same: that says nothing about order.

    >>> drawn = np.random.default_rng(1).integers(0, 1000, 500)
    >>> looks_ordered(drawn), looks_ordered(np.arange(500) + drawn // 50)
    (False, True)
    """
    if len(keys) < ORDER_FEWEST:
        return False
    values = keys.astype(np.float64)
    near = np.abs(values[ORDER_LAG:] - values[:-ORDER_LAG])
    far = np.abs(values - np.roll(values, len(values) // 2))
    near, far = near[near > 0], far[far > 0]
    return min(len(near), len(far)) > 0 and bool(np.mean(near) < ORDER_NEARER * np.mean(far))


class Evidence(NamedTuple):
    """Each challenger beside the incumbent, over the looks in which it had a shadow cache."""

    looks: np.ndarray
    rows: np.ndarray  # in these looks,
    base: np.ndarray  # the incumbent's results in these, 1 at least,
    lead: np.ndarray  # and how many more the challenger had
    error: np.ndarray  # the standard error of the lead


def evidence(sums: np.ndarray) -> Evidence:
    """Return what sums over looks say: of looks, rows, base, lead, and squares of leads.

    For the error one more look is assumed that had no lead: few looks may agree by chance.

    >>> found = evidence(np.array([[3.0], [30.0], [20.0], [6.0], [14.0]]))
    >>> found.lead.tolist(), found.error.round(3).tolist()
    ([6.0], [2.582])
    """
    looks, rows, base, lead, squares = sums
    spread = np.maximum(squares - lead**2 / (looks + 1), 0.0)
    error = np.sqrt(spread * (looks + 1) / np.maximum(looks, 1))
    return Evidence(looks, rows, np.maximum(base, 1.0), lead, error)


class Chooser(Pilot):
    """Says from time to time which of some policies should be in force."""

    finds = True

    def __init__(self, engine: "Engine", tried: Sequence[Configured], start: int):
        super().__init__(engine.chosen, tried[start], "")
        self.candidates, count = tuple(tried), len(tried)
        rows, room = engine.footprint.rows, engine.footprint.room
        self._sample = Sample(share_of(rows, room))
        self._shadows = Shadows(self.candidates, engine, self._sample.share)
        self._ring, self._sampled = Ring(room_for(rows)), Ring(WARM)  # the last rows
        self._memory = min(rows, room)
        self._start, self._choice, self._before = start, start, -1
        self._alive = np.zeros(count, bool)  # challengers in the trial
        self._sums = np.zeros((5, count))  # see `evidence`
        self._whole = np.zeros(2)  # results of engine and incumbent's shadow cache in this trial,
        self._real = np.zeros(2)  # and in the one before the last change
        self._own = np.full(LOOKS, np.nan)  # results of the engine for each row, in the last looks
        self._results = 0  # of the engine, so far
        self._seen = 0  # sampled rows
        self._looks, self._trial = 0, 0  # looks so far, and in this trial
        self._funds = FREE  # what shadow caches may cost now: below 0, they have cost too much
        self._doubt = 1.0  # how many times as much a change must bring
        self._since = 0  # sampled rows when the incumbent took over
        self.switches = 0
        self._beaten = np.zeros(3)  # the last incumbent, by which share it was beaten, the error

    def begin(self, results: int) -> None:
        self._results = results

    @property
    def lately(self) -> Columns:  # type: ignore[override]
        return self._ring.columns()

    @property
    def hot(self) -> np.ndarray:  # type: ignore[override]
        """The keys that are left out of the sample."""
        return self._sample.hot

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._shadows.nbytes + self._ring.nbytes + self._sampled.nbytes

    def discard(self, keys: np.ndarray) -> None:
        self._shadows.discard(keys)

    def resize(self) -> None:
        self._shadows.resize()

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        self._sample.watch(key)

    def stop(self, most: int) -> int:
        return self._sample.stop(most, self._need)

    @property
    def _need(self) -> int:
        """How many sampled rows there are between the last look and the next."""
        most = LONGEST
        if not self._alive.any():
            most = max(LONGEST, int(REST * self._sample.share / self._cost(self._choice)))
        return max(FIRST, min(self._seen // PART, most))

    @property
    def _is_whole(self) -> bool:
        """Whether all keys are sampled: then the engine is the incumbent's shadow cache."""
        return self._sample.share >= 1

    def learn(self, columns: Columns, start: int, stop: int, results: int) -> bool:
        self._ring.add(tuple(each[start:stop] for each in columns))
        taken, need = self._sample.take(stop), self._need
        if not self._is_whole and len(taken):
            self._sampled.add(tuple(each[taken] for each in columns))
        if self._sample.count < need:
            return False
        count, self._sample.count = self._sample.count, 0
        own, self._results = results - self._results, results
        changed = self._look(count, own)
        if self._looks & (self._looks - 1) == 0 or self._looks % 64 == 0:
            self._sample.leave_out(hot_keys(_keys(self._ring.columns()), self._sample.share))
        return changed

    def _look(self, count: int, own: int) -> bool:
        """Compare what was found in the last rows; tell whether another policy takes over."""
        self._seen += count
        self._looks += 1
        self._funds += SPEND * self._cost(self._choice) * count / self._sample.share
        if self._looks == 1 and self._orders():
            return True
        if self._is_another_stream(own / count):
            self._begin(0.0)
        elif self._alive.any():
            self._show(self._last(count), own)
            if self._follow():
                return True
            if self._trial % ROUND == 0:
                self._halve()
        elif self._funds >= 0 and self._seen >= self._memory:
            self._begin(0.5)
        return False

    def _orders(self) -> bool:
        """Let a policy that goes by the order of keys take over at first, if they have one."""
        ordered = [n for n, each in enumerate(self.candidates) if each.policy.ordered]
        if not ordered or self.policy.ordered or not self._is_welcome(ordered[0]):
            return False
        self._take_over(ordered[0], 0.0, 0.0)
        return True

    def _is_another_stream(self, own: float) -> bool:
        """Tell whether the engine has come to find clearly more or less for each row."""
        self._own = np.append(self._own[1:], own)
        lately, before = self._own[-RECENT:], self._own[:-RECENT]
        before = before[~np.isnan(before)]
        if len(before) < 2 * RECENT:
            return False
        usual = before.mean()
        far = max(CHANGED * usual, STRANGE * before.std())
        if np.abs(lately - usual).min() <= far or np.ptp(np.sign(lately - usual)) > 0:
            return False
        self._own[:-RECENT] = np.nan
        return True

    # A trial

    def _begin(self, kept: float) -> None:
        """Begin a trial with all challengers; `kept` is what earlier evidence counts."""
        self._sums *= kept
        self._whole, self._trial = np.zeros(2), 0
        for number in range(len(self.candidates)):
            self._alive[number] = number != self._choice and self._is_welcome(number)
            if number in self._shadows.numbers() or not self._has_shadow(number):
                continue
            self._show_to(number, self._last(WARM))
            if self.candidates[number].policy.ordered:
                self._funds -= FIT

    def _has_shadow(self, number: int) -> bool:
        return self._alive[number] or (number == self._choice and not self._is_whole)

    def _is_welcome(self, number: int) -> bool:
        """Tell whether a policy may be tried: models are fitted to keys with an order only.

        A sample of the keys does not move as all of them do, so there none is.
        """
        if not self.candidates[number].policy.ordered:
            return True
        return self._is_whole and looks_ordered(_keys(self._ring.columns()))

    def _last(self, count: int) -> Columns:
        """Return so many of the last sampled rows, as far as they are remembered."""
        columns = (self._ring if self._is_whole else self._sampled).columns()
        return tuple(column[-count:] for column in columns)

    def _show_to(self, number: int, rows: Columns) -> int:
        self._funds -= SHOWN + self._cost(number) * len(rows[0])
        return self._shadows.show(number, rows)

    def _cost(self, number: int) -> float:
        return self.candidates[number].policy.cost

    def _show(self, rows: Columns, own: int) -> None:
        """Show rows to the shadow caches, and add up what each found beside the incumbent."""
        self._trial += 1
        base = float(own)
        if not self._is_whole:
            base = self._show_to(self._choice, rows)
            self._whole += own, base
        for number in np.flatnonzero(self._alive).tolist():
            beside = base
            if number == self._before and self._real.min() > 0:  # what the engine would have found
                beside = own * self._real[1] / self._real[0]
            lead = self._show_to(number, rows) - beside
            self._sums[:, number] += 1, len(rows[0]), beside, lead, lead * lead

    def _follow(self) -> bool:
        """Let the best challenger take over, if one is clearly worth the change."""
        looks, rows, base, lead, error = evidence(self._sums)
        turn = self._doubt * TURN * self._memory * base / np.maximum(rows, 1)
        here = self.policy
        free = [each.policy is here and here.retuned is not None for each in self.candidates]
        expected = [
            each.policy.ordered or (self._is_whole and number == self._start)
            for number, each in enumerate(self.candidates)
        ]
        worth = lead > np.where(free, 0.0, turn) + np.where(expected, BACK, SURE) * error
        worth &= self._alive & (looks >= FEWEST)
        if not worth.any():
            return False
        share = np.where(worth, lead / base, -np.inf)
        near = np.flatnonzero(share >= share.max() - NEAR).tolist()
        choice = min(near, key=lambda number: (self._cost(number), -share[number]))
        if choice == self._before:
            self._doubt = min(2 * self._doubt, MOST_DOUBT)
        self._take_over(choice, share[choice], error[choice] / base[choice])
        return True

    def _take_over(self, choice: int, share: float, error: float) -> None:
        """Put a challenger in force, which found this share more."""
        self._beaten = np.array([self._choice, share, error])
        self._real = self._whole
        self._choice, self._before = choice, self._choice
        self.in_force = self.candidates[choice]
        self._since = self._seen
        self.switches += 1
        if self._is_whole:
            self._shadows.drop(choice)
        self._begin(0.0)

    def _halve(self) -> None:
        """Drop the worse half of the challengers, or the last one, if it does not lead.

        With the last one the trial is over.
        """
        _, _, base, lead, error = evidence(self._sums)
        ranked = sorted(np.flatnonzero(self._alive).tolist(), key=lambda n: -lead[n] / base[n])
        kept = ceil(len(ranked) / 2) if len(ranked) > 1 else int(lead[ranked[0]] > error[ranked[0]])
        for number in ranked[kept:]:
            self._alive[number] = False
            self._shadows.drop(number)
        if not kept:
            self._shadows.drop(self._choice)
            self._doubt = max(1.0, self._doubt / 2)

    # What is told

    def explain(self) -> dict[str, object]:
        """Return what is in force, since when and why, and what the others find beside it."""
        known = evidence(self._sums)
        share, error = known.lead / known.base, known.error / known.base
        ranked = self._ranked(known)
        return super().explain() | {
            "in_force": str(self.in_force),
            "why": self._why(),
            "since": round(self._since / self._sample.share),
            "rows": round(self._seen / self._sample.share),
            "sampled": self._sample.share,
            "switches": self.switches,
            "resting": not self._alive.any(),
            "scores": {str(self.candidates[n]): round(1 + float(share[n]), 4) for n in ranked},
            "errors": {str(self.candidates[n]): round(float(error[n]), 4) for n in ranked},
        }

    def _why(self) -> str:
        if not self.switches and self._looks <= ROUND:
            return (
                f"too few rows to learn from so far ({self._seen + self._sample.count} sampled): "
                f"{self.in_force} is in force until something is known"
            )
        if not self.switches:
            return f"nothing was clearly ahead of {self.in_force}, in force from the start"
        before, share, error = self._beaten.tolist()
        if not share:
            return f"keys that follow each other are near each other, which {self.in_force} uses"
        return (
            f"in a shadow cache it found {share:.1%} (standard error {error:.1%}) more than "
            f"{self.candidates[int(before)]}, which was in force before"
        )

    def standing(self) -> dict[str, tuple[float, float]]:
        """Return how many results the best of each policy had more than the incumbent had, and how
        many that were.
        """
        known = evidence(self._sums)
        best: dict[str, tuple[float, float]] = {}
        for number in self._ranked(known):  # the best one first
            each = float(known.lead[number]), float(known.base[number])
            best.setdefault(self.candidates[number].policy.name, each)
        return best

    def _ranked(self, known: Evidence) -> list[int]:
        """Return the incumbent and all of which something is known, by their leads."""
        order = np.argsort(-known.lead / known.base, kind="stable").tolist()
        return [number for number in order if known.looks[number] > 0 or number == self._choice]

    # Saving

    @property
    def tried(self) -> np.ndarray:
        """The names of all policies as bytes: another package may have added or taken some."""
        return np.frombuffer("; ".join(map(str, self.candidates)).encode(), np.uint8)

    def is_like(self, saved: dict[str, np.ndarray]) -> bool:
        return np.array_equal(self.tried, saved.get("tuner.tried", ()))

    def save(self) -> dict[str, np.ndarray]:
        numbers = [self._choice, self._before, self._since, self.switches, self._seen]
        numbers += [self._looks, self._trial, self._results, self._sample.count]
        saved = {"numbers": np.array(numbers), "tried": self.tried}
        saved["amounts"] = np.array([self._funds, self._doubt])
        saved |= {name: getattr(self, f"_{name}").copy() for name in SAVED}
        saved["hot"] = self.hot
        for name in ("shadows", "sampled"):
            saved |= prefixed(f"{name}.", getattr(self, f"_{name}").save())
        return prefixed("ring.", self._ring.save()) | prefixed("tuner.", saved)

    def load(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        own = part(saved, "tuner.")
        self._choice, before, since, self.switches, *rest = own["numbers"].tolist()
        self.in_force = self.candidates[self._choice]
        self._ring.load(part(saved, "ring."))
        if resized:
            return
        self._before, self._since = before, since
        self._seen, self._looks, self._trial, self._results, self._sample.count = rest
        self._sample.hot = np.array(own["hot"])
        self._funds, self._doubt = own["amounts"].tolist()
        for name in SAVED:
            setattr(self, f"_{name}", np.array(own[name]))
        for name in ("shadows", "sampled"):
            getattr(self, f"_{name}").load(part(own, f"{name}."))


def _keys(columns: Columns) -> np.ndarray:
    """Return the first attribute of the keys among the columns that shadow caches are shown."""
    if not columns:
        return np.zeros(0, np.int64)
    key = columns[1] if len(columns) > 3 else columns[0]  # of a cache: keys, sizes, costs
    return key[:, 0] if key.ndim == 2 else key


def make_pilot(engine: "Engine") -> Pilot:
    """Return what knows, or finds, the policy of an engine."""
    chosen, (rows, room, _, _) = engine.chosen, engine.footprint
    if chosen.policy is AUTO:
        tried = engine._tried()
        if rows >= SMALLEST and room > 0:
            return Chooser(engine, tried, 0)
        what = "row" if rows == 1 else "rows"
        why = (
            f"a budget of {rows:,} {what} is too small to try anything out beside it: "
            f"{tried[0]} is in force throughout"
        )
        return Pilot(chosen, tried[0], why)
    if chosen.is_tuned:
        tried = list(chosen.candidates)
        return Chooser(engine, tried, tried.index(chosen.starting))
    return Pilot(chosen, chosen, "there is no budget" if chosen.policy is KEEP_ALL else "as asked")
