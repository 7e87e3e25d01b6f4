"""Which rows lost all of their partners, estimated from the rows under watch.

A row is *lost* if an unlimited memory would have matched it and the join did not. Rows that the
join matched are counted exactly, so the lost ones are all that has to be estimated. There are two
kinds, and each lost row is of exactly one of them:

- it has a later partner: a watched row sees its later partners itself;
- it has earlier partners only: it is then a *follower* of the latest of them, in the order of
  arrival. A watched row sees its followers, so a follower is counted with the chance of that row.

A follower stays open until a later partner comes (then it is of the first kind) or it expires.
A row that other rows of its side and key have overtaken has no more followers, so hot keys cost no
more than others: all but a few of their watched rows are closed within a micro-batch.
"""

from typing import NamedTuple

import numpy as np

from ..core.jit import jit, kernel
from .estimate import SUMS, add, no_sums, weighed
from .watched import Placed

NONE = -1
ABOVE = np.iinfo(np.int64).max  # no row of the same side and key has come since with a later time
BELOW = np.iinfo(np.int64).min  # nor with an earlier one
NO_WINDOW = -1


class Units(NamedTuple):
    """One entry per watched row."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    at: np.ndarray  # int64: its position among the rows of its side, -1 once it is not held
    chance: np.ndarray  # float64: how likely it was to be watched
    later: np.ndarray  # bool: a partner has come after it
    found: np.ndarray  # bool: the join has matched it
    above: (
        np.ndarray
    )  # int64: the first time from its own on, of rows of its side and key since
    below: np.ndarray  # int64: and the last one before its own
    met: np.ndarray  # int64: its followers so far
    lost: np.ndarray  # int64: those of them that expired without any match
    open: np.ndarray  # int64: those of them that are open, all unmatched

    def pick(self, chosen: np.ndarray) -> "Units":
        """Return some of them."""
        return Units(*(column[chosen] for column in self))

    def and_more(self, more: "Units") -> "Units":
        """Return these, then some more."""
        return Units(*(np.concatenate(both) for both in zip(self, more, strict=True)))


class Followers(NamedTuple):
    """Unmatched rows whose latest earlier partner is a watched row."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    row: np.ndarray  # int64: its place in the micro-batch, -1 in a later one
    unit: np.ndarray  # int64: which watched row it follows; -1 once it is closed

    def pick(self, chosen: np.ndarray) -> "Followers":
        """Return some of them."""
        return Followers(*(column[chosen] for column in self))


class Arrivals(NamedTuple):
    """The rows of a micro-batch, in order."""

    name: np.ndarray  # int64: the number of the key among those under watch, or -1
    side: np.ndarray  # int64
    time: np.ndarray  # int64
    unit: np.ndarray  # int64: which watched row it is, or -1
    key: np.ndarray  # int64


class Lists(NamedTuple):
    """Linked lists per key and side, by their first members."""

    latest: np.ndarray  # int64[names, sides]: watched rows that nothing of a later time overtook
    next_latest: np.ndarray  # int64[units]
    older: np.ndarray  # int64[names, sides]: the other watched rows
    next_older: np.ndarray  # int64[units]
    top: np.ndarray  # int64[names, sides]: the largest `above` among the older
    waiting: np.ndarray  # int64[names, sides]: watched rows without a later partner
    next_waiting: np.ndarray  # int64[units]
    follower: np.ndarray  # int64[names, sides]: open followers
    next_follower: np.ndarray  # int64[followers]
    count: np.ndarray  # int64[1]: followers in use


@jit
def _near(a, b, within):
    return within == NO_WINDOW or (a - b <= within and b - a <= within)


@jit
def _leads(units, unit, time, within):
    """Tell whether no row that came after a watched row is a partner of this time too."""
    above, below = units.above[unit], units.below[unit]
    if within == NO_WINDOW:
        return above == ABOVE and below == BELOW
    over = above != ABOVE and above - within <= time
    under = below != BELOW and below + within >= time
    return not over and not under


@jit
def _partner_came(units, followers, lists, name, side, time, within):
    """Close what was waiting for a later partner."""
    before, unit = np.int64(NONE), lists.waiting[name, side]
    while unit != NONE:
        after = lists.next_waiting[unit]
        if _near(time, units.time[unit], within):
            units.later[unit] = True
            if before == NONE:
                lists.waiting[name, side] = after
            else:
                lists.next_waiting[before] = after
        else:
            before = unit
        unit = after
    before, one = np.int64(NONE), lists.follower[name, side]
    while one != NONE:
        after = lists.next_follower[one]
        if _near(time, followers.time[one], within):
            units.open[followers.unit[one]] -= 1
            followers.unit[one] = NONE
            if before == NONE:
                lists.follower[name, side] = after
            else:
                lists.next_follower[before] = after
        else:
            before = one
        one = after


@jit
def _leader(units, lists, name, side, time, within):
    """Return the watched row that is the latest earlier partner of a row of this time, or -1."""
    unit = lists.latest[name, side]
    while unit != NONE:
        if _near(time, units.time[unit], within) and _leads(units, unit, time, within):
            return unit
        unit = lists.next_latest[unit]
    if within != NO_WINDOW and lists.top[name, side] > time + within:
        unit = lists.older[name, side]
        while unit != NONE:
            if _near(time, units.time[unit], within) and _leads(units, unit, time, within):
                return unit
            unit = lists.next_older[unit]
    return np.int64(NONE)


@jit
def _overtake(units, lists, name, side, time):
    """Take note that a row of a side and key came after the watched ones."""
    if time < lists.top[name, side]:
        unit = lists.older[name, side]
        while unit != NONE:
            if time >= units.time[unit]:
                units.above[unit] = min(time, units.above[unit])
            else:
                units.below[unit] = max(time, units.below[unit])
            unit = lists.next_older[unit]
    before, unit = np.int64(NONE), lists.latest[name, side]
    while unit != NONE:
        after = lists.next_latest[unit]
        if time >= units.time[unit]:
            units.above[unit] = time
            lists.top[name, side] = max(time, lists.top[name, side])
            if before == NONE:
                lists.latest[name, side] = after
            else:
                lists.next_latest[before] = after
            lists.next_older[unit], lists.older[name, side] = lists.older[name, side], unit
        else:
            units.below[unit] = max(time, units.below[unit])
            before = unit
        unit = after


@jit
def _link_unit(units, lists, name, side, unit):
    if units.above[unit] == ABOVE:
        lists.next_latest[unit], lists.latest[name, side] = lists.latest[name, side], unit
    else:
        lists.next_older[unit], lists.older[name, side] = lists.older[name, side], unit
        lists.top[name, side] = max(units.above[unit], lists.top[name, side])
    if not units.later[unit]:
        lists.next_waiting[unit], lists.waiting[name, side] = lists.waiting[name, side], unit


@jit
def _link_follower(lists, name, side, one):
    lists.next_follower[one], lists.follower[name, side] = lists.follower[name, side], one


@kernel
def _meet(units, old, unit_name, followers, follower_name, lists, arrivals, partner, within):
    """Let watched rows see the rows of a micro-batch; the first `old` came before it."""
    for unit in range(old):
        _link_unit(units, lists, unit_name[unit], units.side[unit], unit)
    for one in range(lists.count[0]):
        _link_follower(lists, follower_name[one], followers.side[one], one)
    for i in range(len(arrivals.name)):
        name, side, time = arrivals.name[i], arrivals.side[i], arrivals.time[i]
        if name == NONE:
            continue
        other = partner[side]
        _partner_came(units, followers, lists, name, other, time, within)
        leader = _leader(units, lists, name, other, time, within)
        _overtake(units, lists, name, side, time)
        if leader != NONE:
            one = lists.count[0]
            lists.count[0] = one + 1
            followers.side[one], followers.key[one] = side, arrivals.key[i]
            followers.time[one], followers.row[one] = time, i
            followers.unit[one] = leader
            units.met[leader] += 1
            units.open[leader] += 1
            _link_follower(lists, name, side, one)
        if arrivals.unit[i] != NONE:
            _link_unit(units, lists, name, side, arrivals.unit[i])


class LostRows:
    """The watched rows of one bucket as far as they tell which rows lost all of their partners.

    Per micro-batch: `take` its rows; tell which were `found` in results; `settle` what is known.
    """

    def __init__(self, partner: np.ndarray, within: int | None):
        self.partner = partner  # of each stream
        self.within = NO_WINDOW if within is None else within
        self.units = _no_units()
        self.followers = _no_followers(0)
        self.past = [no_sums() for _ in partner]  # per stream, of what is closed
        self._rows = Placed(*(np.zeros(0, np.int64) for _ in Placed._fields))

    def take(self, rows: Placed, watched: np.ndarray, chance: np.ndarray) -> None:
        """Take rows in order; `watched` are the places of those that are drawn, by `chance`."""
        self._rows = rows
        old = len(self.units.key)
        self.units = self.units.and_more(_begun(rows.pick(watched), chance))
        unit = np.full(len(rows.key), NONE, np.int64)
        unit[watched] = np.arange(old, len(self.units.key))
        names = np.unique(np.concatenate([self.units.key, self.followers.key]))
        if not len(names):
            return
        name = np.minimum(np.searchsorted(names, rows.key), len(names) - 1)
        name[names[name] != rows.key] = NONE
        count = len(self.followers.key)
        followers = _no_followers(count + int((name != NONE).sum()))
        for column, before in zip(followers, self.followers, strict=True):
            column[:count] = before
        lists = _no_lists(len(names), len(self.partner), len(self.units.key), len(followers.key))
        lists.count[0] = count
        _meet(
            self.units,
            old,
            np.searchsorted(names, self.units.key),
            followers,
            np.searchsorted(names, self.followers.key),
            lists,
            Arrivals(name, rows.side, rows.time, unit, rows.key),
            self.partner,
            self.within,
        )
        self.followers = followers.pick(followers.unit != NONE)

    def settle(self, matched: list[np.ndarray], watermark: int | None) -> None:
        """Close what is known; `matched` tells per side which rows, by position, were found."""
        units, followers = self.units, self.followers
        for side, rows in enumerate(matched):
            held = (units.side == side) & (units.at >= 0)
            units.found[held] |= rows[units.at[held]]
            new = np.flatnonzero((followers.side == side) & (followers.row >= 0))
            at = self._rows.at[followers.row[new]]
            self._close_followers(new[rows[at]], lost=False)
        self.followers.row[:] = NONE
        self.followers = self.followers.pick(self.followers.unit != NONE)
        if watermark is not None and self.within != NO_WINDOW:
            over = np.flatnonzero(self.followers.time + self.within < watermark)
            self._close_followers(over, lost=True)
            self.followers = self.followers.pick(self.followers.unit != NONE)
        self._close_units(watermark)

    def _close_followers(self, chosen: np.ndarray, lost: bool) -> None:
        unit = self.followers.unit[chosen]
        np.subtract.at(self.units.open, unit, 1)
        if lost:
            np.add.at(self.units.lost, unit, 1)
        self.followers.unit[chosen] = NONE

    def _close_units(self, watermark: int | None) -> None:
        """Close the watched rows that can tell nothing more."""
        units = self.units
        expired = np.zeros(len(units.key), bool)
        overtaken = units.above != ABOVE
        if self.within == NO_WINDOW:
            overtaken |= units.below != BELOW
        else:
            low = BELOW if watermark is None else watermark
            # Rows to come are not earlier than the watermark, so none of them is too early
            # for the row that overtook.
            overtaken &= units.above - self.within <= low
            expired = units.time + self.within < low
        told = units.later | units.found
        self._close(expired | (told & overtaken))

    def _close(self, ended: np.ndarray) -> None:
        """Add watched rows without open followers to what is past."""
        ended = ended & (self.units.open == 0)
        if not ended.any():
            return
        for stream, sums in enumerate(self._weighed(self.units.pick(ended))):
            self.past[stream] = add(self.past[stream], sums)
        place = np.cumsum(~ended) - 1
        self.units = self.units.pick(~ended)
        self.followers.unit[:] = place[self.followers.unit]

    def keep(self, number: int, position: np.ndarray) -> None:
        """Take note where the rows of a side stand now: by old position, -1 if not held."""
        mine = self.units.side == number
        self.units.at[mine] = position[self.units.at[mine]]

    def _weighed(self, units: Units) -> list[dict[str, float]]:
        """Return what watched rows add to the sums of each stream."""
        found = []
        for stream, partner in enumerate(self.partner):
            mine, others = units.side == stream, units.side == partner
            own = weighed(units.chance[mine], units.later[mine] * 1.0, _own(units.pick(mine)))
            lead = units.pick(others)
            led = weighed(lead.chance, lead.met * 1.0, (lead.lost + lead.open) * 1.0)
            found.append(add(own, led | {"watched": 0.0}))
        return found

    def sums(self) -> list[dict[str, float]]:
        """Return what the estimate needs, per stream."""
        return [add(a, b) for a, b in zip(self.past, self._weighed(self.units), strict=True)]

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        past = np.array([[each[name] for name in SUMS] for each in self.past])
        units = {f"units.{name}": array for name, array in self.units._asdict().items()}
        open_ = {f"followers.{name}": array for name, array in self.followers._asdict().items()}
        return units | open_ | {"past": past}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self.units = Units(*(np.array(saved[f"units.{name}"]) for name in Units._fields))
        columns = (np.array(saved[f"followers.{name}"]) for name in Followers._fields)
        self.followers = Followers(*columns)
        self.past = [dict(zip(SUMS, map(float, row), strict=True)) for row in saved["past"]]


def _own(units: Units) -> np.ndarray:
    """Return which watched rows are lost themselves and have a later partner: 1.0 or 0.0."""
    return (units.later & ~units.found) * 1.0


def _begun(rows: Placed, chance: np.ndarray) -> Units:
    count = len(rows.key)
    no, none = np.zeros(count, bool), np.zeros(count, np.int64)
    above, below = np.full(count, ABOVE), np.full(count, BELOW)
    counts = none, none.copy(), none.copy()
    return Units(*rows, chance, no, no.copy(), above, below, *counts)


def _no_units() -> Units:
    none = np.zeros(0, np.int64)
    return _begun(Placed(none, none, none, none), np.zeros(0))


def _no_followers(count: int) -> Followers:
    return Followers(*(np.full(count, NONE, np.int64) for _ in Followers._fields))


def _no_lists(names: int, sides: int, units: int, followers: int) -> Lists:
    def heads() -> np.ndarray:
        return np.full((names, sides), NONE, np.int64)

    def links(count: int) -> np.ndarray:
        return np.full(count, NONE, np.int64)

    return Lists(
        heads(),
        links(units),
        heads(),
        links(units),
        np.full((names, sides), BELOW),
        heads(),
        links(units),
        heads(),
        links(followers),
        np.zeros(1, np.int64),
    )
