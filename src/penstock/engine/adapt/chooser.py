"""`auto`: find the policy while it runs. Candidates are tried in miniature; the best is in force.

The candidates differ in policy, parameters and layout, and are many; so only some are awake at a
time:

- At first every family is. A candidate that is clearly behind is put to sleep, until `AWAKE` are
  left.
- Then neighbours of the one in force are woken in turns, and now and then another one.
- A candidate that wakes is shown the last rows and compared with the one in force from there on.
- If the engine itself comes to find clearly more or less than it did, something has changed: what
  was found before is forgotten, and families are woken again.

Where all keys are sampled the engine is its own miniature, and the one in force needs none: so it
is what was really found that is compared.

The first candidate is *home*: good nearly everywhere. It never sleeps, to come back to it is easy,
and every return makes it harder to leave again. Miniatures may cost a part of what the engine
costs; when they have, all rest until that is made up for. Costs are counted in rows of a cheap
policy (`Policy.cost`), not measured: nothing may depend on how busy a machine is.

Candidates are compared look by look. Results come in bursts, so their number says little about its
own noise; differences between two that were shown the same rows do. What is longer ago counts less.

Some keys come so often that a sample of the keys says the wrong thing, with them or without: a key
with a tenth of all rows is either in the sample of a hundredth, and fills the miniature, or it is
not. So such *hot* keys are left out of samples, and so is the memory that they take.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...kernel.policy import KEEP_ALL
from ...policies import AUTO
from ..saved import part, prefixed
from .miniatures import Candidate, Columns, Ring, are_neighbours, room_for
from .pilot import Finder, Pilot, Tuner

if TYPE_CHECKING:
    from ..base import Engine

SMALLEST = 2  # rows in the budget
FIRST = 128  # sampled rows before the first choice
LOOKS = 24  # that are remembered
FEWEST = 4  # looks that two must have shared to be compared, and that the one in force is given
LEAD = 0.02  # the share by which another must promise to be ahead of the one in force,
SURE = 1.5  # and by how many standard errors it must have been,
MOST_DOUBT = 8.0  # times so much where those that took over before did not find what they promised;
EASE = 0.97  # what is left of that doubt after a look
HOME = 0.01  # the share by which home must have been ahead
TURN = 2_048.0  # sampled rows whose results a change costs, where not all keys are sampled
BEHIND = 0.02  # by which share a candidate must be behind to be put to sleep,
DOUBT = 3.0  # and by so many standard errors
AWAKE = 4  # candidates that stay awake, with the one in force
LATELY = 4_096  # sampled rows that a new miniature is shown at most
REST = 8_000  # sampled rows that a candidate sleeps at least, if nothing changes
FIT = 400_000.0  # what it costs to fit models to keys with an order
ROUND = 4_000  # sampled rows that can be afforded when a rest ends, and as many again
BEGIN = 16_000  # sampled rows in which more than `AWAKE` may be awake, after a change too
RECENT = 3  # looks in which the engine must have found clearly more or less than before,
CHANGED = 0.25  # by this share
STRANGE = 2.5  # and by so many standard deviations of a look
CAN_FIT = find_spec("scipy") is not None  # executors may do without it
SAVED = ("found", "awake", "slept", "own", "beaten")
FADE = 0.85  # what a look counts of the one after it
USUAL = 0.2  # by which share candidates differ, as a rule: what says more is doubted
ALLOWED = 0.1  # what miniatures may cost of what the engine costs
FREE = 1_000_000.0  # that may be spent before that counts: a tenth of a second or two
HOT = 1 / 128  # of the rows that came lately
ORDER_FEWEST = 64  # keys, to say anything about their order
ORDER_LAG = 4  # keys that came so shortly after each other are compared,
ORDER_NEARER = 0.6  # and must be nearer to each other than this share of the distance of any two


class Beside(NamedTuple):
    """Each candidate beside the one in force, over the looks that they shared."""

    share: np.ndarray  # by which share of its results each is ahead; NaN: too few looks
    error: np.ndarray  # the standard error of that
    total: np.ndarray  # the results of the one in force

    @property
    def promise(self) -> np.ndarray:
        """The share by which each may be expected to be ahead: less, the less is known."""
        return self.share * USUAL**2 / (USUAL**2 + self.error**2)


def compare(found: np.ndarray, choice: int, fewest: int) -> Beside:
    """Return how all did beside one of them: `found` are float64[looks, candidates], NaN: asleep.

    >>> beside = compare(np.array([[10.0, 12, 5], [10, 13, np.nan], [10, 11, np.nan]]), 0, 2)
    >>> beside.share.round(2).tolist()
    [0.0, 0.19, nan]
    """
    more = found - found[:, [choice]]
    shared = ~np.isnan(more)
    age = np.arange(len(found))[::-1, None]
    weight = np.where(shared, FADE**age, 0.0)
    more = np.where(shared, more, 0.0)
    count, whole = shared.sum(0), np.maximum(weight.sum(0), 1e-9)
    total = np.maximum((weight * np.where(shared, found[:, [choice]], 0.0)).sum(0), 1.0)
    mean = (weight * more).sum(0) / whole
    spread = ((weight * (more - mean)) ** 2).sum(0) * count / np.maximum(count - 1, 1)
    share = np.where(count < fewest, np.nan, mean * whole / total)
    return Beside(share, np.sqrt(spread) / total, total)


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


def fallback(rows: int, room: int, policy: str) -> str:
    """Return why nothing can be tried out beside a memory, or nothing if it can.

    >>> fallback(100, 100, "rate"), fallback(1, 1, "rate")[:38]
    ('', 'a budget of 1 row is too small to try ')
    """
    if rows >= SMALLEST and room > 0:
        return ""
    what = "row" if rows == 1 else "rows"
    return (
        f"a budget of {rows:,} {what} is too small to try anything out beside it: "
        f"{policy} is in force throughout"
    )


class Chooser(Finder):
    """Says from time to time which candidate should be in force."""

    def __init__(self, engine: "Engine", tried: tuple[Candidate, ...]):
        super().__init__(engine, tried, 0, FIRST)
        self.acting = self.candidate.chosen
        # Whether the engine serves as the miniature of the candidate in force.
        self._stands_in = engine.alike and self._waiting.share >= 1
        self._ring = Ring(room_for(engine.footprint.rows))
        count = len(tried)
        self._found = np.full((LOOKS, count), np.nan)  # in the last looks, the newest last
        self._awake = np.zeros(count, bool)
        self._slept = np.full(count, -REST)  # when each was put to sleep, in sampled rows
        families = [each.family for each in tried]
        self._firsts = [families.index(family) for family in sorted(set(families))]
        for number in self._firsts:
            self._awake[number] = not tried[number].chosen.policy.ordered
        self._looks = 0
        self._since = 0  # sampled rows when the choice was made
        self.switches = 0
        self._beaten = np.zeros(3)  # what was in force before, by how much it was beaten, the error
        self._missed = 0  # the last sampled rows that the miniatures were not shown: they rest
        self._earned, self._spent = 0.0, 0.0  # what the engine and the miniatures have cost
        self._ruled = FEWEST  # looks since the choice was made
        self._doubt = 1.0  # whatever leads at home is doubted so many times as much
        self._own = np.full(LOOKS, np.nan)  # results of the engine for each row, in the last looks
        self._results = 0  # of the engine, so far
        self._changed = 0  # sampled rows when a change was noticed

    def begin(self, results: int) -> None:
        """Take note of what the engine had found before anything was tried beside it."""
        self._results = results

    def learn(self, columns: Columns, start: int, stop: int, results: int) -> bool:
        self._ring.add(tuple(each[start:stop] for each in columns))
        self.looked = self._waiting.take(stop) >= self._need
        if not (self.looked and self._look(results)):
            return False
        self.acting = self.candidate.chosen
        return True

    @property
    def lately(self) -> Columns:  # type: ignore[override]
        return self._ring.columns()

    def _look(self, results: int) -> bool:
        waited = self._waiting.count
        rows = self._waiting.leave()
        self._seen += waited
        self._looks += 1
        self._doubt = 1 + (self._doubt - 1) * EASE
        self._earned += self._cost([self._choice]) * waited / self._waiting.share
        before = self._results
        news = self._watch_engine(results, waited)
        if self._rests(news):
            self._missed += waited
            return False
        self._catch_up(waited)
        self._found = np.vstack([self._found[1:], self._show(rows, results - before)])
        changed = not news and self._follow()
        self._thin_out()
        if news:
            self._start_over()
        else:
            self._wake_some()
        self._leave_out_hot_keys()
        return changed

    def _show(self, rows: Columns, own: int) -> np.ndarray:
        """Show rows to those awake; return what each found, and the engine itself: `own`."""
        found = self._trials.push(rows, self._shown())
        self._spend(len(rows[0]), self._shown())
        if self._stands_in:
            found[self._choice] = own
        found[~self._awake] = np.nan
        return found

    @property
    def hot(self) -> np.ndarray:  # type: ignore[override]
        """The keys that are left out of the sample."""
        return self._waiting.hot

    def _leave_out_hot_keys(self) -> None:
        """Find them anew after 1, 2, 4, 8, ... looks, and every 64."""
        if self._looks & (self._looks - 1) == 0 or self._looks % 64 == 0:
            self._waiting.leave_out(hot_keys(_keys(self._ring.columns()), self._waiting.share))

    def _watch_engine(self, results: int, waited: int) -> bool:
        """Tell whether the engine has come to find clearly more or less than it did."""
        self._own = np.append(self._own[1:], (results - self._results) / waited)
        self._results = results
        lately, before = self._own[-RECENT:], self._own[:-RECENT]
        before = before[~np.isnan(before)]
        if len(before) < 2 * RECENT:
            return False
        usual = before.mean()
        far = max(CHANGED * usual, STRANGE * before.std())
        if np.abs(lately - usual).min() <= far or np.ptp(np.sign(lately - usual)) > 0:
            return False
        self._own[:-RECENT] = np.nan
        self._changed = self._seen
        return True

    def _start_over(self) -> None:
        """Forget what was found before a change; wake the families that can be afforded."""
        self._found[:-RECENT] = np.nan
        self._slept[:] = self._seen - REST
        for number in self._firsts:
            if self._affords(1) and self._welcome(number):
                self._wake(number)

    def _welcome(self, number: int) -> bool:
        """Tell whether a candidate may be tried: models are fitted to keys with an order.

        A sample of the keys does not move as all of them do, so there none is.
        """
        if not self.candidates[number].chosen.policy.ordered:
            return True
        affordable = self._left >= FIT and self._waiting.share >= 1
        return affordable and CAN_FIT and looks_ordered(_keys(self._ring.columns()))

    def _rests(self, news: bool) -> bool:
        """Tell whether the miniatures have cost too much to be shown what waited.

        A round is kept back, to watch the one that has just taken over.
        """
        rounds = int(self._ruled >= FEWEST) + int(self._missed > 0 and not news)
        return not self._affords(rounds)

    def _affords(self, rounds: int) -> bool:
        return self._left >= rounds * ROUND * self._cost(self._shown())

    @property
    def _left(self) -> float:
        """What miniatures may still cost."""
        return FREE + ALLOWED * self._earned - self._spent

    def _cost(self, numbers: list[int]) -> float:
        return sum(self.candidates[number].chosen.policy.cost for number in numbers)

    def _spend(self, rows: int, numbers: list[int]) -> None:
        self._spent += rows * self._cost(numbers)

    def _catch_up(self, waited: int) -> None:
        """Show the miniatures what they missed while they rested, as far as it is known."""
        if self._missed:
            rows = self._known(waited)
            self._trials.push(tuple(each[-self._missed :] for each in rows), self._shown())
            self._spend(min(self._missed, len(rows[0])), self._shown())
            self._missed = 0

    def is_awake(self, number: int) -> bool:
        """Tell whether a candidate is being tried."""
        return bool(self._awake[number])

    def _numbers(self) -> list[int]:
        return np.flatnonzero(self._awake).tolist()

    def _shown(self) -> list[int]:
        """Return which candidates have a miniature."""
        return [each for each in self._numbers() if each != self._choice or not self._stands_in]

    def _known(self, but: int) -> Columns:
        """Return the sampled ones of the last rows, but for the newest so many of them."""
        columns = self._ring.columns()
        places = self._waiting.sampled(_keys(columns))
        places = places[: max(0, len(places) - but)][-LATELY:]
        return tuple(column[places] for column in columns)

    def _beside(self) -> Beside:
        """Compare all with the one in force."""
        return compare(self._found, self._choice, FEWEST)

    def _follow(self) -> bool:
        """Put the candidate in force that promises most, if one clearly does.

        Not before the one in force has had some looks. Home is asked for less, and its return says
        that the one in force was overrated.
        """
        self._ruled += 1
        if self._ruled < FEWEST:
            return False
        beside = self._beside()
        turn = TURN / self._seen if self._waiting.share < 1 else 0.0
        promise, sure = beside.promise, SURE * self._doubt * beside.error
        clearly = (promise > max(LEAD * self._doubt, turn)) & (beside.share > sure) & self._awake
        if self._choice:
            clearly[0] = beside.share[0] > max(HOME, turn)
        if not clearly.any():
            return False
        before, self._choice = self._choice, int(np.argmax(np.where(clearly, promise, -np.inf)))
        if not self._choice:
            self._doubt = min(2 * self._doubt, MOST_DOUBT)
        self._ruled = 0
        self._since = self._seen
        self.switches += 1
        self._beaten = np.array([before, beside.share[self._choice], beside.error[self._choice]])
        if self._stands_in:
            self._trials.forget(self._choice)
            self._show_lately(before)
        return True

    def _thin_out(self) -> None:
        """Put those to sleep that are clearly behind; the one in force and home are safe."""
        share, error, _ = self._beside()
        known = np.nan_to_num(share)
        ranked = sorted(self._numbers(), key=lambda number: float(known[number]))
        spare = len(ranked) - AWAKE if self._seen - self._changed > BEGIN else 0
        for place, number in enumerate(ranked):
            behind = share[number] < -BEHIND - DOUBT * error[number]
            if number not in (self._choice, 0) and (behind or place < spare):
                self._awake[number] = False
                self._slept[number] = self._seen
                self._trials.forget(number)

    def _wake_some(self) -> None:
        """Wake a neighbour of the one in force, or the one that slept longest."""
        for number in self._firsts:
            ordered = self.candidates[number].chosen.policy.ordered
            if ordered and self._rested[number] and self._welcome(number):
                self._wake(number)
        if self._awake.sum() < AWAKE:
            rested = np.flatnonzero(self._rested).tolist()
            waiting = [number for number in rested if self._may_wake(number)]
            if waiting:
                self._wake(min(waiting, key=lambda number: (self._slept[number], number)))

    def _may_wake(self, number: int) -> bool:
        near = number in self._firsts or are_neighbours(self.candidates[number], self.candidate)
        return near and self._welcome(number)

    @property
    def _rested(self) -> np.ndarray:
        """Which candidates have slept long enough."""
        return ~self._awake & (self._seen - self._slept >= REST)

    def _wake(self, number: int) -> None:
        if self._awake[number]:
            return
        self._awake[number] = True
        self._show_lately(number)
        self._spent += FIT if self.candidates[number].chosen.policy.ordered else 0.0

    def _show_lately(self, number: int) -> None:
        """Show the last rows to a miniature that is new."""
        rows = self._known(0)
        self._trials.push(rows, [number])
        self._spend(len(rows[0]), [number])

    def explain(self) -> dict[str, object]:
        """Return what is in force, since when and why, and what the others find beside it."""
        share, error, _ = self._beside()
        known = [number for number in self._numbers() if not np.isnan(share[number])]
        known.sort(key=lambda number: -share[number])
        return super().explain() | {
            "in_force": str(self.candidate),
            "layout": self.candidate.layout,
            "why": self._why(),
            "since": round(self._since / self._waiting.share),
            "rows": round(self._seen / self._waiting.share),
            "sampled": self._waiting.share,
            "switches": self.switches,
            "resting": bool(self._missed),
            "scores": {str(self.candidates[n]): round(1 + float(share[n]), 4) for n in known},
            "errors": {str(self.candidates[n]): round(float(error[n]), 4) for n in known},
        }

    def _why(self) -> str:
        if self._looks < FEWEST:
            return (
                f"too few rows to learn from so far ({self._seen + self._waiting.count} sampled): "
                f"{self.candidate} is in force until something is known"
            )
        if not self.switches:
            return f"nothing was clearly ahead of {self.candidate}, in force from the start"
        before, share, error = self._beaten.tolist()
        found = (
            f"in miniature it found {share:.1%} (standard error {error:.1%}) more than "
            f"{self.candidates[int(before)]}, which was in force before"
        )
        if self._choice:
            return found
        return (
            f"{self.candidate} is good nearly everywhere, and comes back where others fail: {found}"
        )

    def standing(self) -> dict[str, tuple[float, float]]:
        """Return how many results the best of each family had more than the one in force had, and
        how many that were.
        """
        share, _, total = self._beside()
        best: dict[str, tuple[float, float]] = {}
        for number in self._numbers():
            name, more = self.candidates[number].chosen.policy.name, share[number]
            if not np.isnan(more) and (name not in best or best[name][0] < more * total[number]):
                best[name] = more * total[number], total[number]
        return best

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return super().nbytes + self._ring.nbytes

    @property
    def tried(self) -> np.ndarray:
        """The names of all candidates as bytes: another package may have added or taken some."""
        return np.frombuffer("; ".join(map(str, self.candidates)).encode(), np.uint8)

    def is_like(self, saved: dict[str, np.ndarray]) -> bool:
        if "tuner.tried" in saved:  # older states lack it
            return np.array_equal(self.tried, saved["tuner.tried"])
        return super().is_like(saved)

    def save(self) -> dict[str, np.ndarray]:
        return prefixed("ring.", self._ring.save()) | super().save()

    def load(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        super().load(saved, resized)
        self._ring.load(part(saved, "ring."))
        self.acting = self.candidate.chosen

    def _save_own(self) -> dict[str, np.ndarray]:
        whole = [self._choice, self._since, self.switches, self._seen, self._missed]
        whole += [self._changed, self._results, self._looks, self._ruled]
        saved = {"numbers": np.array(whole), "doubt": np.array([self._doubt])}
        saved["tried"] = self.tried
        saved["funds"] = np.array([self._earned, self._spent])
        return saved | {name: getattr(self, f"_{name}").copy() for name in SAVED}

    def _load_own(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        self._choice, self._since, self.switches, *rest = saved["numbers"].tolist()
        self._awake[self._choice] = True
        if resized:
            self._since = 0
            return
        self._seen, self._missed, self._changed, self._results, self._looks, self._ruled = rest
        self._doubt = float(saved["doubt"][0])
        self._earned, self._spent = saved["funds"].tolist()
        for name in SAVED:
            setattr(self, f"_{name}", np.array(saved[name]))


def _keys(columns: Columns) -> np.ndarray:
    """Return the first attribute of the keys among the columns that miniatures are shown."""
    if not columns:
        return np.zeros(0, np.int64)
    key = columns[1] if len(columns) > 2 else columns[0]
    return key[:, 0] if key.ndim == 2 else key


def make_pilot(engine: "Engine") -> Pilot:
    """Return what knows, or finds, the policy of an engine."""
    chosen, (rows, room, _, _) = engine.chosen, engine.footprint
    if chosen.policy is AUTO:
        tried = engine._candidates()
        home = tried[0].chosen
        why = fallback(rows, room, str(home))
        return Pilot(chosen, home, why) if why else Chooser(engine, tried)
    if chosen.is_tuned:
        return Tuner(engine, engine._shares)
    return Pilot(chosen, chosen, "there is no budget" if chosen.policy is KEEP_ALL else "as asked")
