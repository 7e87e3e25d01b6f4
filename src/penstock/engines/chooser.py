"""Find the policy while it runs: candidates are tried in miniature, and who finds most rules.

The miniatures (`trials.py`) are fed a sample of the keys, as those that find parameters are
(`tuning.py`). Here the candidates differ in policy, parameters and layout, and are many; so only
some are awake at a time:

- At first every family is. Who is clearly behind is put to sleep, until `AWAKE` are left.
- Then neighbours of the leader are woken in turns, and now and then somebody else.
- Whoever wakes is shown the last rows (`ring.py`) and compared with the one in force from there on.
- If the engine itself comes to find clearly more or less than it did, something has changed: what
  was found before is forgotten, and families are woken again.

Where all keys are sampled the engine is its own miniature, and the one in force needs none: so it
is what was really found that is compared.

The first candidate is *home*: good nearly everywhere. It never sleeps, to come back to it is easy,
and every return makes it harder to leave again. Miniatures may cost a part of what the engine costs
(`funds.py`); when they have, all rest until that is made up for.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from .candidate import Candidate, are_neighbours
from .comparing import Beside, compare
from .funds import Funds
from .hot import hot_keys
from .order import looks_ordered
from .ring import Ring
from .saved import part
from .trials import Columns, Tools, Trials
from .tuning import PART, looks_of, share_of
from .waiting import Waiting

SMALLEST = 2  # rows in the budget
FIRST = 128  # sampled rows before the first choice
LOOKS = 24  # that are remembered
FEWEST = 4  # looks that two must have had in common to be compared, and that who rules is given
LEAD = 0.02  # the share by which another must promise to be ahead of the one in force,
SURE = 1.5  # and by how many standard errors it must have been,
MOST_DOUBT = 8.0  # times so much where those who took over before did not keep what they promised;
EASE = 0.97  # what is left of that doubt after a look
HOME = 0.01  # the share by which home must have been ahead
TURN = 2_048.0  # sampled rows whose results a change costs, where not all keys are sampled
BEHIND = 0.02  # by which share somebody must be behind to be put to sleep,
DOUBT = 3.0  # and by so many standard errors
AWAKE = 4  # candidates that stay awake, with the one in force
LATELY = 4_096  # sampled rows that a new miniature is shown at most
REST = 8_000  # sampled rows that a candidate sleeps at least, if nothing changes
FIT = 400_000.0  # what it costs to fit models to keys with an order
ROUND = 4_000  # sampled rows that can be paid when a rest ends, and as many again
BEGIN = 16_000  # sampled rows in which more than `AWAKE` may be awake, after a change too
RECENT = 3  # looks in which the engine must have found clearly more or less than before,
CHANGED = 0.25  # by this share
STRANGE = 2.5  # and by so many standard deviations of a look
CAN_FIT = find_spec("scipy") is not None  # executors may do without it
SAVED = ("found", "awake", "slept", "own", "beaten")


def fallback(rows: int, room: int, policy: str) -> str:
    """Return why nothing can be tried out beside a memory, or nothing if it can.

    >>> fallback(100, 100, "rate"), fallback(1, 1, "rate")
    ('', 'a budget of 1 row is too small to try anything out beside it: rate rules throughout')
    """
    if rows >= SMALLEST and room > 0:
        return ""
    what = "row" if rows == 1 else "rows"
    return (
        f"a budget of {rows:,} {what} is too small to try anything out beside it: "
        f"{policy} rules throughout"
    )


class Chooser:
    """Watches the rows that an engine takes, and says from time to time who should rule it.

    Used as a `Tuner` is; `take` is also told how many results the engine has.
    """

    def __init__(
        self,
        candidates: tuple[Candidate, ...],
        rows: int,
        room: int,
        makers: Callable[[float], Tools],
        ring: Ring,
    ):
        """Miniatures have `room` for a part of `rows`; `makers` makes tools for a share of keys."""
        self.candidates = candidates
        share = share_of(rows, room)
        tools = makers(share)
        self._most = looks_of(room)
        self._trials = Trials(candidates, tools)
        self._stands_in = tools.alike and share >= 1  # the engine, for the miniature of who rules
        self._waiting = Waiting(share)
        self._ring = ring
        count = len(candidates)
        self._found = np.full((LOOKS, count), np.nan)  # in the last looks, the newest last
        self._awake = np.zeros(count, bool)
        self._slept = np.full(count, -REST)  # when each was put to sleep, in sampled rows
        families = [each.family for each in candidates]
        self._firsts = [families.index(family) for family in sorted(set(families))]
        for number in self._firsts:
            self._awake[number] = not candidates[number].chosen.policy.ordered
        self.looked = False  # whether it has just been time for a look
        self._choice = 0
        self._looks = 0
        self._since = 0  # sampled rows when the choice was made
        self.switches = 0
        self._beaten = np.zeros(3)  # who ruled before, by how much that was beaten, and the error
        self._seen = 0  # sampled rows
        self._missed = 0  # the last of them that the miniatures were not shown, since they rest
        self._funds = Funds()
        self._ruled = FEWEST  # looks since the choice was made
        self._doubt = 1.0  # whoever leads at home is doubted so many times as much
        self._own = np.full(LOOKS, np.nan)  # results of the engine for each row, in the last looks
        self._results = 0  # of the engine, so far
        self._changed = 0  # sampled rows when a change was noticed

    @property
    def in_force(self) -> Candidate:
        """The candidate that rules."""
        return self.candidates[self._choice]

    def begin(self, results: int) -> None:
        """Take note of what the engine had found before anything was tried beside it."""
        self._results = results

    def resize(self) -> None:
        """Bring the miniatures to the size that the engine has now."""
        self._trials.resize()

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""
        self._waiting.watch(columns, key)

    def stop(self, most: int) -> int:
        """Return up to which row to go before asking again, `most` at most."""
        return self._waiting.stop(most, self._need)

    @property
    def _need(self) -> int:
        """How many sampled rows there are between the last look and the next."""
        return min(max(FIRST, self._seen // PART), self._most)

    def take(self, stop: int, results: int) -> bool:
        """Take note that the rows before `stop` were taken; tell whether to go on otherwise."""
        self.looked = self._waiting.take(stop) >= self._need
        return self.looked and self._look(results)

    def _look(self, results: int) -> bool:
        waited = self._waiting.count
        rows = self._waiting.leave()
        self._seen += waited
        self._looks += 1
        self._doubt = 1 + (self._doubt - 1) * EASE
        self._funds.earn(self._cost([self._choice]) * waited / self._waiting.share)
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
    def hot(self) -> np.ndarray:
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
        """Forget what was found before something changed; wake the families that can be paid."""
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
        affordable = self._funds.affords(FIT) and self._waiting.share >= 1
        return affordable and CAN_FIT and looks_ordered(_keys(self._ring.columns()))

    def _rests(self, news: bool) -> bool:
        """Tell whether the miniatures have cost too much to be shown what waited.

        A round is kept back, to watch how it goes with who has just taken over.
        """
        rounds = int(self._ruled >= FEWEST) + int(self._missed > 0 and not news)
        return not self._affords(rounds)

    def _affords(self, rounds: int) -> bool:
        return self._funds.affords(rounds * ROUND * self._cost(self._shown()))

    def _cost(self, numbers: list[int]) -> float:
        return sum(self.candidates[number].chosen.policy.cost for number in numbers)

    def _spend(self, rows: int, numbers: list[int]) -> None:
        self._funds.spend(rows * self._cost(numbers))

    def _catch_up(self, waited: int) -> None:
        """Show the miniatures what they missed while they rested, as far as it is known."""
        if self._missed:
            rows = self._known(waited)
            self._trials.push(tuple(each[-self._missed :] for each in rows), self._shown())
            self._spend(min(self._missed, len(rows[0])), self._shown())
            self._missed = 0

    def _numbers(self) -> list[int]:
        return np.flatnonzero(self._awake).tolist()

    def _shown(self) -> list[int]:
        """Return who has a miniature."""
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
        """Let the candidate rule that promises most, if one clearly does.

        Not before who rules has had some looks. Home is asked for less, and its return says that
        who ruled was overrated.
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
        """Put those to sleep who are clearly behind; the one in force and home are safe."""
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
        """Wake a neighbour of the one in force, or whoever slept longest."""
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
        near = number in self._firsts or are_neighbours(self.candidates[number], self.in_force)
        return near and self._welcome(number)

    @property
    def _rested(self) -> np.ndarray:
        """Who has slept long enough."""
        return ~self._awake & (self._seen - self._slept >= REST)

    def _wake(self, number: int) -> None:
        if self._awake[number]:
            return
        self._awake[number] = True
        self._show_lately(number)
        self._funds.spend(FIT if self.candidates[number].chosen.policy.ordered else 0.0)

    def _show_lately(self, number: int) -> None:
        """Show the last rows to a miniature that is new."""
        rows = self._known(0)
        self._trials.push(rows, [number])
        self._spend(len(rows[0]), [number])

    def explain(self) -> dict[str, Any]:
        """Return who rules, since when and why, and what the others find beside it."""
        share, error, _ = self._beside()
        known = [number for number in self._numbers() if not np.isnan(share[number])]
        known.sort(key=lambda number: -share[number])
        return {
            "in_force": str(self.in_force),
            "layout": self.in_force.layout,
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
                f"{self.in_force} rules until something is known"
            )
        if not self.switches:
            return f"nobody was clearly ahead of {self.in_force}, which rules from the start"
        before, share, error = self._beaten.tolist()
        found = (
            f"in miniature it found {share:.1%} (standard error {error:.1%}) more than "
            f"{self.candidates[int(before)]}, which ruled before"
        )
        if self._choice:
            return found
        return (
            f"{self.in_force} is good nearly everywhere, and comes back where others fail: {found}"
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
    def nbytes(self) -> int:
        """The bytes of what is tried, and of the rows that wait."""
        return self._trials.nbytes + self._waiting.nbytes

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        saved = {f"trials.{name}": array for name, array in self._trials.save().items()}
        saved |= {f"waiting.{name}": array for name, array in self._waiting.save().items()}
        whole = [self._choice, self._since, self.switches, self._seen, self._missed]
        saved["numbers"] = np.array(
            [*whole, self._changed, self._results, self._looks, self._ruled]
        )
        saved["doubt"] = np.array([self._doubt])
        saved["funds"] = self._funds.save()
        for name in SAVED:
            saved[name] = getattr(self, f"_{name}").copy()
        return saved

    def load(self, saved: dict[str, np.ndarray], resized: bool = False) -> None:
        """Go on where `save` left off; if the memory was resized only with the choice."""
        self._choice, self._since, self.switches, *rest = saved["numbers"].tolist()
        self._awake[self._choice] = True
        if resized:
            self._since = 0
            return
        self._seen, self._missed, self._changed, self._results, self._looks, self._ruled = rest
        self._doubt = float(saved["doubt"][0])
        self._funds.load(saved["funds"])
        for name in SAVED:
            setattr(self, f"_{name}", np.array(saved[name]))
        self._trials.load(part(saved, "trials."))
        self._waiting.load(part(saved, "waiting."))


def _keys(columns: Columns) -> np.ndarray:
    """Return the first attribute of the keys among the columns that miniatures are shown."""
    if not columns:
        return np.zeros(0, np.int64)
    key = columns[1] if len(columns) > 2 else columns[0]
    return key[:, 0] if key.ndim == 2 else key
