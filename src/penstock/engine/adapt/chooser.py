"""`auto`: find the policy, or its parameters, while the engine runs.

One policy is in force, the *incumbent*. From time to time the others are its *challengers* in a
trial: each has a shadow cache (`shadows.py`), and all are shown the same rows. In a *look*, taken
whenever a part of the rows has come again, what each found is compared with what the incumbent
found in the same rows. Every `ROUND` looks the challengers that are clearly behind are dropped;
when none is left, or after `LENGTH` looks, the trial is over. A challenger takes over as soon as
its lead, over the last `LOOKS` looks, is more than what a change costs, `TURN` memories full of the
incumbent's results, and `SURE` standard errors; the trial goes on, with the policy that was in
force among the challengers. When a trial ends undecided, one standard error is enough for the
policy that `auto` began with, and for any where the one in force has no evidence. A trial begins
when the last one is paid for: they may cost `FREE` at first, and in the long run `SPEND` of what
the engine costs. When the engine's own results have clearly changed, earlier looks are forgotten
and a trial begins at once.

What counts for the incumbent is what the engine itself found, where all keys are sampled. Where
they are not, a cache counts what its shadow cache found in the rows of a look, but hardly more than
the engine found in the same rows: an engine that holds what is of no use any more falls behind its
own shadow cache. In a join the engine's results count against the policy that was in force before:
if the engine finds less than that policy would have, the change is undone, and the next change must
bring twice as much.

Where keys have an order and all are sampled, a policy that goes by it (HEEB) takes over at the
first look, without evidence.

Costs are counted in rows of a cheap policy (`Policy.cost`), not measured: nothing may depend on how
busy a machine is. Decision 21 (docs/decisions) has the reasons and what it reaches.
"""

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...kernel.policy import CACHING, KEEP_ALL, Configured
from ...policies import AUTO
from ..saved import part, prefixed
from .pilot import Gained, Pilot
from .shadows import Columns, Ring, Sample, Shadows, room_for, share_of

if TYPE_CHECKING:
    from ..base import Engine

SMALLEST = 2  # rows in the budget
FIRST, PART = 128, 8  # sampled rows before the first look; then a look per such a part of all,
LONGEST = 512  # of at most so many rows; between trials also
REST = 100_000.0  # of more, up to so many that they cost the engine so much
ROUND, FEWEST = 3, 6  # looks after which some are dropped, and before a change
LENGTH = 18  # looks of a trial at most, from the last change on
LOOKS = 64  # that are remembered
BEHIND = 2.0  # standard errors: a challenger that is so far behind is dropped
TURN = 0.1  # memories full of rows: a change costs what the incumbent finds in these,
MOST_DOUBT = 16.0  # times so much at most, after changes that were undone
SURE = 2.0  # standard errors by which a challenger must lead,
SURE_JOINING = 4.0  # and in joins, which begin with what is hardly ever beaten
FELL = 1.1  # times what the engine found: what its shadow cache found counts up to this
NEAR = 0.01  # challengers whose leads differ by less, as a share, are equally good
FREE, FREE_CACHING = 40_000.0, 80_000.0  # what trials may cost at first and owe later,
ADVANCE = 20_000.0  # what they may cost at least when the stream has changed,
SPEND = 0.015  # and in the long run of what the engine costs
CACHED = 1 / 6  # what a reference costs a cache, in rows of a join
SHOWN = 150.0  # the costs of showing any rows at all,
FIT = 400_000.0  # and of fitting models to keys with an order
WARM = 1_024  # sampled rows that a new shadow cache is shown
RECENT = 3  # looks that are compared with those before
CHANGED, STRANGE = 0.25, 3.0  # in shares and in standard deviations: what is a clear change
HOT = 1 / 128  # of the rows: such a key makes a sample of the keys unlike all keys
ORDER_FEWEST = 64  # keys, to say anything about their order
ORDER_LAG = 4  # keys that came so shortly after each other are compared,
ORDER_NEARER = 0.6  # and must be nearer to each other than this share of the distance of any two
SAVED = (
    *("choice", "before", "since", "seen", "rows", "count", "trial", "results", "gained"),
    *("funds", "doubt", "alive", "looks", "usual", "beaten", "whole", "real"),
)
ROWS, OWN, FIRST_ONE = 0, 1, 2  # columns of a look: rows, the engine's results, then each policy's


def hot_keys(key: np.ndarray) -> np.ndarray:
    """Return the keys that are hot, in order.

    >>> hot_keys(np.array([7] * 50 + list(range(1000)))).tolist()
    [7]
    """
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


def evidence(rows: np.ndarray, found: np.ndarray, beside: np.ndarray) -> Evidence:
    """Return what looks say of what was found in them beside what else might have been.

    Rows are looks; NaN is what is not known. For the error one more look is assumed that had no
    lead: few looks may agree by chance.

    >>> found = np.array([[4.0], [9.0], [13.0]])
    >>> known = evidence(np.full(3, 10.0), found, np.array([[3.0], [6.0], [11.0]]))
    >>> known.lead.tolist(), known.error.round(3).tolist()
    ([6.0], [2.582])
    """
    leads = found - beside
    known = ~np.isnan(leads)
    looks, leads = known.sum(axis=0), np.where(known, leads, 0.0)
    lead = leads.sum(axis=0)
    spread = np.maximum((leads**2).sum(axis=0) - lead**2 / (looks + 1), 0.0)
    error = np.sqrt(spread * (looks + 1) / np.maximum(looks, 1))
    base = np.where(known, beside, 0.0).sum(axis=0)
    return Evidence(looks, rows @ known, np.maximum(base, 1.0), lead, error)


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
        caching = engine.problem == CACHING
        self._leaves_out = not caching and not self._is_whole  # hot keys
        self._knows_gains = caching and not self._is_whole  # what the engine found in sampled rows
        scale, self._sure, self._free = 1.0, SURE_JOINING, FREE
        if caching:
            scale, self._sure, self._free = CACHED, SURE, FREE_CACHING
        self._costs = [scale * each.policy.cost for each in tried]  # of a row
        self._mean_cost = sum(self._costs) / count
        self._start, self._choice, self._before = start, start, -1
        self._alive = np.zeros(count, bool)  # challengers in the trial
        self._looks = np.zeros((0, FIRST_ONE + count))  # the last ones, of trials
        self._usual: list[float] = []  # results of the engine for each row, in the last looks
        self._whole = np.zeros(2)  # results of engine and incumbent's shadow cache so far
        self._real = np.zeros(2)  # and of the one before it
        self._results = 0  # of the engine, so far
        self._gained = 0  # in the sampled rows since the last look, where that is known
        self._seen, self._rows = 0, 0  # sampled rows, and all
        self._count, self._trial = 0, 0  # looks so far, and in this trial
        self._funds = self._free  # what shadow caches may cost now
        self._doubt = 1.0  # how many times as much a change must bring
        self._since = 0  # rows when the incumbent took over
        self.switches = 0
        self._beaten = np.zeros(3)  # the last incumbent, by which share it was beaten, the error

    def begin(self, results: int) -> None:
        self._results = results

    @property
    def lately(self) -> Columns:  # type: ignore[override]
        return self._ring.last()

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
            most = max(LONGEST, int(REST * self._sample.share / self._costs[self._choice]))
        return max(FIRST, min(self._seen // PART, most))

    @property
    def _is_over(self) -> bool:
        """Whether the trial has taken too long, or cost too much."""
        return self._trial >= LENGTH or self._funds < -self._free

    @property
    def _is_unproved(self) -> bool:
        """Whether the policy in force took over without evidence."""
        return self.in_force.policy.ordered and not self._beaten[1]

    @property
    def _is_whole(self) -> bool:
        """Whether all keys are sampled: then the engine is the incumbent's shadow cache."""
        return self._sample.share >= 1

    def learn(self, columns: Columns, start: int, stop: int, results: int, gained: Gained) -> bool:
        self._ring.add(tuple(each[start:stop] for each in columns))
        taken, need = self._sample.take(stop), self._need
        if not self._is_whole:
            self._sampled.add(tuple(each[taken[-WARM:]] for each in columns))
        if self._knows_gains:
            self._gained += gained(taken)
        if self._sample.count < need:
            return False
        own, self._results = results - self._results, results
        changed = self._look(*self._sample.begin(), own)
        self._gained = 0
        if self._leaves_out and (self._count & (self._count - 1) == 0 or self._count % 64 == 0):
            self._find_hot()
        return changed

    def _find_hot(self) -> None:
        """Leave hot keys out; results of another sample are not compared with those so far."""
        if self._sample.leave_out(hot_keys(_keys(self._ring.last(2 * WARM)))):
            self._whole, self._real = np.zeros(2), np.zeros(2)

    def _look(self, count: int, rows: int, own: int) -> bool:
        """Compare what was found in the last rows; tell whether another policy takes over."""
        self._seen += count
        self._rows += rows
        self._count += 1
        self._funds += SPEND * max(self._costs[self._choice], self._mean_cost) * rows
        if self._count == 1 and self._orders():
            return True
        is_other, is_trial = self._is_another_stream(own / rows), bool(self._alive.any())
        if is_other:
            self._looks = self._looks[:0]
            self._funds = max(self._funds, ADVANCE)
        if is_trial:
            self._show(count, own)
            if self._follow():
                return True
            if self._trial % ROUND == 0:
                self._drop()
        if is_other or (not is_trial and self._seen >= self._memory and self._funds >= 0):
            self._begin()
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
        self._usual = [*self._usual[1 - LOOKS :], own]
        lately, before = self._usual[-RECENT:], self._usual[:-RECENT]
        if len(before) < 2 * RECENT:
            return False
        usual = sum(before) / len(before)
        spread = max(0.0, sum(each * each for each in before) / len(before) - usual * usual)
        far = max(CHANGED * usual, STRANGE * sqrt(spread))
        if max(lately) >= usual - far and min(lately) <= usual + far:
            return False
        self._usual = lately
        return True

    # A trial

    def _begin(self) -> None:
        """Begin a trial with all challengers; of earlier looks the later half counts."""
        self._looks = self._looks[len(self._looks) // 2 :]
        self._trial = 0
        for number in range(len(self.candidates)):
            self._alive[number] = number != self._choice and self._is_welcome(number)
            if self._alive[number] or (number == self._choice and not self._is_whole):
                self._enter(number)

    def _enter(self, number: int) -> None:
        """Let a policy have a shadow cache: of all keys a copy of the engine, which it takes over;
        of a sample an empty one that is shown the last rows.
        """
        if number in self._shadows.numbers():
            return
        if self._is_whole:
            self._shadows.begin(number)
        else:
            self._show_to(number, self._last(WARM))
        self._funds -= FIT * self.candidates[number].policy.ordered

    def _is_welcome(self, number: int) -> bool:
        """Tell whether a policy may be tried: models are fitted to keys with an order only.

        A sample of the keys does not move as all of them do, so there none is.
        """
        if not self.candidates[number].policy.ordered:
            return True
        return self._is_whole and looks_ordered(_keys(self._ring.last()))

    def _last(self, count: int) -> Columns:
        """Return so many of the last sampled rows, as far as they are remembered."""
        return (self._ring if self._is_whole else self._sampled).last(count)

    def _show_to(self, number: int, rows: Columns) -> int:
        self._funds -= SHOWN + self._costs[number] * len(rows[0])
        return self._shadows.show(number, rows)

    def _show(self, count: int, own: int) -> None:
        """Show the last rows to the shadow caches, and note what each found."""
        self._trial += 1
        rows, found = self._last(count), np.full(self._looks.shape[1], np.nan)
        found[:FIRST_ONE] = count, self._gained if self._knows_gains else own
        found[FIRST_ONE + self._choice] = own
        for number in sorted(self._shadows.numbers()):
            found[FIRST_ONE + number] = self._show_to(number, rows)
        self._whole += own, found[FIRST_ONE + self._choice]
        self._looks = np.vstack((self._looks[1 - LOOKS :], found))

    def _evidence(self) -> Evidence:
        """Return what is known of all policies, beside what counts for the incumbent."""
        found = self._looks[:, FIRST_ONE:]
        beside = np.repeat(found[:, self._choice, None], found.shape[1], axis=1)
        if self._knows_gains:
            beside = np.minimum(beside, FELL * self._looks[:, OWN, None])
        elif not self._is_whole and self._before >= 0 and self._real.min() > 0:
            beside[:, self._before] = self._looks[:, OWN] * (self._real[1] / self._real[0])
        return evidence(self._looks[:, ROWS], found, beside)

    def _follow(self) -> bool:
        """Let the best challenger take over, if one is clearly worth the change."""
        looks, rows, base, lead, error = self._evidence()
        turn = self._doubt * TURN * self._memory * base / np.maximum(rows, 1)
        here = self.policy
        free = [  # a copy of the engine has itself paid for what a change costs
            (self._is_whole and self._doubt <= 1)
            or (each.policy is here and here.retuned is not None)
            for each in self.candidates
        ]
        sure = np.full(len(self.candidates), self._sure)
        for number, each in enumerate(self.candidates):
            if each.policy.ordered or (self._is_whole and number == self._start):
                sure[number] = SURE
        if self._is_over:  # undecided: a challenger is put before what has less to be said for it
            sure[slice(None) if self._is_unproved else self._start] = 1.0
        worth = lead > np.where(free, 0.0, turn) + sure * error
        worth &= self._alive & (looks >= FEWEST)
        if not worth.any():
            return False
        share = np.where(worth, lead / base, -np.inf)
        near = np.flatnonzero(share >= share.max() - NEAR).tolist()
        choice = min(near, key=lambda number: (self._costs[number], -share[number]))
        if choice == self._before:
            self._doubt = min(2 * self._doubt, MOST_DOUBT)
        self._take_over(choice, share[choice], error[choice] / base[choice])
        return True

    def _take_over(self, choice: int, share: float, error: float) -> None:
        """Put a challenger in force, which found this share more; the trial goes on."""
        self._enter(self._choice)  # while the engine is still under this policy
        self._beaten = np.array([self._choice, share, error])
        self._real, self._whole = self._whole, np.zeros(2)
        self._looks = self._looks[:0]
        self._choice, self._before = choice, self._choice
        self.in_force = self.candidates[choice]
        self._since = self._rows
        self.switches += 1
        self._alive[self._before], self._alive[choice], self._trial = True, False, 0
        if self._is_whole:
            self._shadows.drop(choice)

    def _drop(self) -> None:
        """Drop the challengers that are clearly behind, and all when the trial has taken too long.

        With the last one the trial is over.
        """
        _, _, _, lead, error = self._evidence()
        kept = self._alive & (lead > -BEHIND * error) & (not self._is_over)
        for number in np.flatnonzero(self._alive & ~kept).tolist():
            self._shadows.drop(number)
        self._alive = kept
        if not kept.any():
            self._shadows.drop(self._choice)
            self._doubt = max(1.0, self._doubt / 2)

    # What is told

    def explain(self) -> dict[str, object]:
        """Return what is in force, since when and why, and what the others find beside it."""
        known = self._evidence()
        share, error = known.lead / known.base, known.error / known.base
        ranked = self._ranked(known)
        return super().explain() | {
            "in_force": str(self.in_force),
            "why": self._why(),
            "since": self._since,
            "rows": self._rows,
            "sampled": self._sample.share,
            "switches": self.switches,
            "resting": not self._alive.any(),
            "scores": {str(self.candidates[n]): round(1 + float(share[n]), 4) for n in ranked},
            "errors": {str(self.candidates[n]): round(float(error[n]), 4) for n in ranked},
        }

    def _why(self) -> str:
        if not self.switches and not len(self._looks):
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
        known = self._evidence()
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
        # States of 0.2.0 have sums in the place of looks.
        same = np.array_equal(self.tried, saved.get("tuner.tried", ()))
        return same and "tuner.looks" in saved

    def save(self) -> dict[str, np.ndarray]:
        saved = {"tried": self.tried, "switches": np.array(self.switches)}
        saved |= {name: np.array(getattr(self, f"_{name}")) for name in SAVED}
        for name in ("shadows", "sampled", "sample"):
            saved |= prefixed(f"{name}.", getattr(self, f"_{name}").save())
        return prefixed("ring.", self._ring.save()) | prefixed("tuner.", saved)

    def load(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        own = part(saved, "tuner.")
        self._choice, self.switches = int(own["choice"]), int(own["switches"])
        self.in_force = self.candidates[self._choice]
        self._ring.load(part(saved, "ring."))
        if resized:
            return
        for name in (each for each in SAVED if each in own):  # older states have no gains
            setattr(self, f"_{name}", own[name].item() if own[name].ndim == 0 else own[name].copy())
        for name in ("shadows", "sampled", "sample"):
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
