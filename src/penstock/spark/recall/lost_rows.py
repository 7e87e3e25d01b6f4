"""Which rows lost all of their partners, estimated from the rows under watch.

A row is *lost* if an unlimited memory would have matched it and the join did not. Rows that the
join matched are counted exactly, so the lost ones are all that has to be estimated. There are two
kinds, and each lost row is of exactly one of them:

- it has a later partner: a watched row sees its later partners itself;
- it has earlier partners only: it then *follows* one of the latest of them, in the order of
  arrival. A watched row sees its followers, so a follower counts with the chance of that row.

The latest partners of a row are those of one time, key and micro-batch: a *group*. Each follower
of a group is dealt to one of its members by a hash. Were the last member followed by all, a
hundred rows of one minute would depend on whether that one is watched.

A follower stays open until a later partner comes (then it is of the first kind) or it expires. A
group that other rows of its side and key have overtaken is followed no more, so hot keys cost no
more than others: all but a few of their watched rows are closed within a micro-batch.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...engine.saved import flatten, unflatten
from ...kernel.jit import jit, kernel
from ...kernel.rng import mix
from .estimate import SUMS, add, no_sums, weighed
from .watched import Arrived, pick, renumbered, together

NONE = -1
ABOVE = np.iinfo(np.int64).max  # no row of the same side and key has come since with a later time
BELOW = np.iinfo(np.int64).min  # nor with an earlier one
NO_WINDOW = -1
ODD = np.uint64(0x9E3779B97F4A7C15)


class Groups(NamedTuple):
    """Rows of one side, key, time and micro-batch of which some are watched."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    size: np.ndarray  # int64: all rows of it, watched or not
    above: np.ndarray  # int64: the first time from its own on, of rows of its side and key since
    below: np.ndarray  # int64: and the last one before its own


class Units(NamedTuple):
    """One entry per watched row, in the order of their groups, then of their places there."""

    group: np.ndarray  # int64
    place: np.ndarray  # int64: in its group, from 0
    row: np.ndarray  # int64: its number; -1: it is held no more, and was not renumbered
    chance: np.ndarray  # float64: how likely it was to be watched
    later: np.ndarray  # bool: a partner has come after it
    found: np.ndarray  # bool: the join has matched it
    met: np.ndarray  # int64: its followers so far
    lost: np.ndarray  # int64: those of them that expired without any match
    open: np.ndarray  # int64: those of them that are open, all unmatched


class Followers(NamedTuple):
    """Unmatched rows that follow a watched row."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    row: np.ndarray  # int64: its place in the micro-batch, -1 in a later one
    unit: np.ndarray  # int64: which watched row it follows; -1 once it is closed


class WatchedKeyRows(NamedTuple):
    """The rows of a micro-batch whose keys are under watch, in order."""

    row: np.ndarray  # int64: the place in the micro-batch
    name: np.ndarray  # int64: the number of the key
    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    group: np.ndarray  # int64: -1: no row of its group is watched
    unit: np.ndarray  # int64: which watched row it is, or -1


class Chain(NamedTuple):
    """A linked list per key and side."""

    head: np.ndarray  # int64[names, sides]: the first member
    next: np.ndarray  # int64[members]


class Lists(NamedTuple):
    """What is looked for, per key and side."""

    latest: Chain  # groups that nothing of a later time overtook
    older: Chain  # the other groups
    top: np.ndarray  # int64[names, sides]: the largest `above` among the older
    last: np.ndarray  # int64[names, sides]: the time of the last arrival, once there was one
    waiting: Chain  # watched rows without a later partner
    follower: Chain  # open followers
    used: np.ndarray  # int64[1]: followers in use


@jit
def _put(chain, name, side, one):
    """Make a member the first of its list."""
    chain.next[one], chain.head[name, side] = chain.head[name, side], one


@jit
def _take_out(chain, name, side, before, after):
    """Take out the member between two others; `before` is NONE if it is the first."""
    if before == NONE:
        chain.head[name, side] = after
    else:
        chain.next[before] = after


@jit
def _near(a, b, within):
    return within == NO_WINDOW or (a - b <= within and b - a <= within)


@jit
def _leads(groups, group, time, within):
    """Tell whether a group is a partner of a row of this time, and nothing since is one too."""
    if not _near(time, groups.time[group], within):
        return False
    above, below = groups.above[group], groups.below[group]
    if within == NO_WINDOW:
        return above == ABOVE and below == BELOW
    over = above != ABOVE and above - within <= time
    under = below != BELOW and below + within >= time
    return not over and not under


@jit
def _partner_came(groups, units, followers, lists, name, side, time, within):
    """Close what was waiting for a later partner."""
    before, unit = np.int64(NONE), lists.waiting.head[name, side]
    while unit != NONE:
        after = lists.waiting.next[unit]
        if _near(time, groups.time[units.group[unit]], within):
            units.later[unit] = True
            _take_out(lists.waiting, name, side, before, after)
        else:
            before = unit
        unit = after
    before, one = np.int64(NONE), lists.follower.head[name, side]
    while one != NONE:
        after = lists.follower.next[one]
        if _near(time, followers.time[one], within):
            units.open[followers.unit[one]] -= 1
            followers.unit[one] = NONE
            _take_out(lists.follower, name, side, before, after)
        else:
            before = one
        one = after


@jit
def _leader(groups, lists, name, side, time, within):
    """Return the group of the latest earlier partners of a row of this time, or -1."""
    group = lists.latest.head[name, side]
    while group != NONE:
        if _leads(groups, group, time, within):
            return group
        group = lists.latest.next[group]
    if within != NO_WINDOW and lists.top[name, side] > time + within:
        group = lists.older.head[name, side]
        while group != NONE:
            if _leads(groups, group, time, within):
                return group
            group = lists.older.next[group]
    return np.int64(NONE)


@jit
def _member(units, first, group, place):
    """Return the watched row at this place of a group, or -1."""
    low, high = first[group], first[group + 1]
    while low < high:
        middle = (low + high) // 2
        if units.place[middle] < place:
            low = middle + 1
        else:
            high = middle
    found = low < first[group + 1] and units.place[low] == place
    return low if found else np.int64(NONE)


@jit
def _overtake(groups, lists, name, side, time):
    """Take note that a row of a side and key came after the groups there are."""
    if time < lists.top[name, side]:
        group = lists.older.head[name, side]
        while group != NONE:
            if time >= groups.time[group]:
                groups.above[group] = min(time, groups.above[group])
            else:
                groups.below[group] = max(time, groups.below[group])
            group = lists.older.next[group]
    before, group = np.int64(NONE), lists.latest.head[name, side]
    while group != NONE:
        after = lists.latest.next[group]
        if time >= groups.time[group]:
            groups.above[group] = time
            lists.top[name, side] = max(time, lists.top[name, side])
            _take_out(lists.latest, name, side, before, after)
            _put(lists.older, name, side, group)
        else:
            groups.below[group] = max(time, groups.below[group])
            before = group
        group = after


@jit
def _link_group(groups, lists, name, group):
    side = groups.side[group]
    if groups.above[group] == ABOVE:
        _put(lists.latest, name, side, group)
    else:
        _put(lists.older, name, side, group)
        lists.top[name, side] = max(groups.above[group], lists.top[name, side])


@kernel
def _link(groups, group_name, units, old, followers, follower_name, lists):
    """Put what was there before a micro-batch, `old` groups with their units, into lists."""
    for group in range(old):
        _link_group(groups, lists, group_name[group], group)
    for unit in range(len(units.group)):
        group = units.group[unit]
        if group < old and not units.later[unit]:
            _put(lists.waiting, group_name[group], groups.side[group], unit)
    for one in range(lists.used[0]):
        _put(lists.follower, follower_name[one], followers.side[one], one)


@kernel
def _meet(groups, units, first, followers, lists, arrivals, partner, within):
    """Let watched rows see the rows of a micro-batch."""
    for i in range(len(arrivals.name)):
        name, side, time = arrivals.name[i], arrivals.side[i], arrivals.time[i]
        other = partner[side]
        _partner_came(groups, units, followers, lists, name, other, time, within)
        leader = _leader(groups, lists, name, other, time, within)
        if lists.last[name, side] != time:  # the first row of its group
            _overtake(groups, lists, name, side, time)
            lists.last[name, side] = time
            if arrivals.group[i] != NONE:
                _link_group(groups, lists, name, arrivals.group[i])
        unit = np.int64(NONE)
        if leader != NONE:
            chance = mix(np.uint64(time) + np.uint64(arrivals.row[i]) * ODD)
            place = np.int64(chance % np.uint64(groups.size[leader]))
            unit = _member(units, first, leader, place)
        if unit != NONE:
            one = lists.used[0]
            lists.used[0] = one + 1
            followers.side[one], followers.key[one] = side, arrivals.key[i]
            followers.time[one], followers.row[one] = time, arrivals.row[i]
            followers.unit[one] = unit
            units.met[unit] += 1
            units.open[unit] += 1
            _put(lists.follower, name, side, one)
        if arrivals.unit[i] != NONE:
            _put(lists.waiting, name, side, arrivals.unit[i])


class LostRows:
    """The watched rows of one bucket as far as they tell which rows lost all of their partners.

    Per micro-batch: `take` its rows; `close` what is known when its results are.
    """

    def __init__(self, partner: np.ndarray, within: int | None):
        self.partner = partner  # of each stream
        self.within = NO_WINDOW if within is None else within
        self.groups = Groups(*(np.zeros(0, np.int64) for _ in Groups._fields))
        none = np.zeros(0, np.int64)
        self.units = _begun(none, none, none, np.zeros(0))
        self.followers = _no_followers(0)
        self.past = [no_sums() for _ in partner]  # per stream, of what is closed
        self._rows = Arrived(*(np.zeros(0, np.int64) for _ in Arrived._fields))

    def take(self, rows: Arrived, watched: np.ndarray, chance: np.ndarray) -> None:
        """Take rows in the order of (time, side), so that groups lie side by side.

        `watched` are the places of those that are drawn, by `chance`.
        """
        self._rows = rows
        keys = self.groups.key, self.followers.key, rows.key[watched]
        names = np.unique(np.concatenate(keys))
        if not len(names):
            return
        name = np.minimum(np.searchsorted(names, rows.key), len(names) - 1)
        mine = np.flatnonzero(names[name] == rows.key)
        old = len(self.groups.key)
        group, unit = self._begin(rows, mine, name[mine], watched, chance)
        group_name = np.searchsorted(names, self.groups.key)
        count = len(self.followers.key)
        followers = _no_followers(count + len(mine))
        for column, before in zip(followers, self.followers, strict=True):
            column[:count] = before
        sizes = len(self.groups.key), len(self.units.group), count, len(mine)
        lists = _no_lists(len(names), len(self.partner), *sizes)
        follower_name = np.searchsorted(names, self.followers.key)
        _link(self.groups, group_name, self.units, old, followers, follower_name, lists)
        first = np.searchsorted(self.units.group, np.arange(len(self.groups.key) + 1))
        columns = name[mine], rows.side[mine], rows.key[mine], rows.time[mine]
        arrivals = WatchedKeyRows(mine, *columns, group, unit)
        _meet(self.groups, self.units, first, followers, lists, arrivals, self.partner, self.within)
        self.followers = pick(followers, followers.unit != NONE)

    def _begin(
        self,
        rows: Arrived,
        mine: np.ndarray,
        name: np.ndarray,
        watched: np.ndarray,
        chance: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Begin to watch rows; return group and unit of `mine`, the rows of keys under watch."""
        time, side = rows.time[mine], rows.side[mine]
        order = np.lexsort((time, side, name))  # groups side by side, each in the order of arrival
        starts = np.ones(len(order), bool)
        for column in (name, side, time):
            starts[1:] &= column[order][1:] == column[order][:-1]
        starts[1:] = ~starts[1:]
        number = np.cumsum(starts) - 1  # of the group, in this order
        begins = np.flatnonzero(starts)
        sizes = np.diff(np.append(begins, len(order)))
        drawn = np.full(len(rows.key), NONE, np.int64)
        drawn[watched] = np.arange(len(watched))
        of = drawn[mine][order]  # which of the watched rows each is, or -1
        known = np.zeros(len(begins), bool)
        known[number[of != NONE]] = True
        old, units = len(self.groups.key), len(self.units.group)
        numbers = np.where(known, np.cumsum(known) - 1 + old, NONE)
        leading = mine[order[begins[known]]]
        first = pick(rows, leading)
        above, below = np.full(len(leading), ABOVE), np.full(len(leading), BELOW)
        began = Groups(first.side, first.key, first.time, sizes[known], above, below)
        self.groups = together(self.groups, began)
        new = np.flatnonzero(of != NONE)
        place = new - begins[number[new]]
        chosen = of[new]
        row = rows.row[watched[chosen]]
        began_units = _begun(numbers[number[new]], place, row, chance[chosen])
        self.units = together(self.units, began_units)
        group, unit = np.empty(len(mine), np.int64), np.full(len(mine), NONE, np.int64)
        group[order] = numbers[number]
        unit[order[new]] = np.arange(units, len(self.units.group))
        return group, unit

    def close(self, matched: Callable[[np.ndarray], np.ndarray], watermark: int | None) -> None:
        """Close what is known; `matched` tells of rows, by number, whether they were found."""
        self.units.found[:] |= matched(self.units.row)
        new = np.flatnonzero(self.followers.row >= 0)
        found = matched(self._rows.row[self.followers.row[new]])
        self._close_followers(new[found], lost=False)
        self.followers.row[:] = NONE
        if watermark is not None and self.within != NO_WINDOW:
            over = np.flatnonzero(self.followers.time + self.within < watermark)
            self._close_followers(over, lost=True)
        self._close_units(watermark)

    def _close_followers(self, chosen: np.ndarray, lost: bool) -> None:
        unit = self.followers.unit[chosen]
        np.subtract.at(self.units.open, unit, 1)
        if lost:
            np.add.at(self.units.lost, unit, 1)
        kept = np.ones(len(self.followers.unit), bool)
        kept[chosen] = False
        self.followers = pick(self.followers, kept)

    def _close_units(self, watermark: int | None) -> None:
        """Close the watched rows that can tell nothing more."""
        groups, units = self.groups, self.units
        expired = np.zeros(len(groups.key), bool)
        overtaken = groups.above != ABOVE
        if self.within == NO_WINDOW:
            overtaken |= groups.below != BELOW
        else:
            # Rows to come are not earlier than the watermark, so none of them is too early to be
            # a partner of what overtook.
            low = BELOW if watermark is None else watermark
            overtaken &= groups.above - self.within <= low
            expired = groups.time + self.within < low
        told = units.later | units.found
        self._close(expired[units.group] | (told & overtaken[units.group]))

    def close_held(self, held: np.ndarray) -> None:
        """Close the watched rows that are held."""
        self._close(np.isin(self.units.row, held))

    def _close(self, ended: np.ndarray) -> None:
        """Add watched rows without open followers to what is past."""
        ended = ended & (self.units.open == 0)
        if not ended.any():
            return
        for stream, sums in enumerate(self._weighed(pick(self.units, ended))):
            self.past[stream] = add(self.past[stream], sums)
        self.followers.unit[:] = (np.cumsum(~ended) - 1)[self.followers.unit]
        units = pick(self.units, ~ended)
        kept = np.zeros(len(self.groups.key), bool)
        kept[units.group] = True
        self.groups = pick(self.groups, kept)
        self.units = units._replace(group=(np.cumsum(kept) - 1)[units.group])

    def renumber(self, old: np.ndarray, new: np.ndarray) -> None:
        """Know rows by other numbers; `old` ascends, and rows that are not in it are not held."""
        self.units = self.units._replace(row=renumbered(self.units.row, old, new))

    def _weighed(self, units: Units) -> list[dict[str, float]]:
        """Return what watched rows add to the sums of each stream."""
        found, side = [], self.groups.side[units.group]
        for stream, partner in enumerate(self.partner):
            mine, lead = pick(units, side == stream), pick(units, side == partner)
            own = weighed(mine.chance, mine.later * 1.0, (mine.later & ~mine.found) * 1.0)
            led = weighed(lead.chance, lead.met * 1.0, (lead.lost + lead.open) * 1.0)
            found.append(add(own, led | {"watched": 0.0}))
        return found

    def sums(self) -> list[dict[str, float]]:
        """Return what the estimate needs, per stream."""
        return [add(a, b) for a, b in zip(self.past, self._weighed(self.units), strict=True)]

    @property
    def tables(self) -> tuple[Groups, Units, Followers]:
        """All that is remembered."""
        return self.groups, self.units, self.followers

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        past = np.array([[each[name] for name in SUMS] for each in self.past])
        groups, units, followers = (
            flatten(table, type(table).__name__, copy=False) for table in self.tables
        )
        return groups | units | followers | {"past": past}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self.groups, self.units, self.followers = (
            unflatten(table, type(table).__name__, saved) for table in self.tables
        )
        self.past = [dict(zip(SUMS, map(float, row), strict=True)) for row in saved["past"]]


def _begun(group: np.ndarray, place: np.ndarray, row: np.ndarray, chance: np.ndarray) -> Units:
    count = len(group)
    flags = (np.zeros(count, bool) for _ in range(2))
    return Units(group, place, row, chance, *flags, *(np.zeros(count, np.int64) for _ in range(3)))


def _no_followers(count: int) -> Followers:
    return Followers(*(np.full(count, NONE, np.int64) for _ in Followers._fields))


def _no_lists(names: int, sides: int, groups: int, units: int, followers: int, new: int) -> Lists:
    def chain(members: int) -> Chain:
        return Chain(np.full((names, sides), NONE), np.full(members, NONE))

    top, last = np.full((names, sides), BELOW), np.full((names, sides), BELOW)
    both = chain(groups), chain(groups)
    return Lists(*both, top, last, chain(units), chain(followers + new), np.array([followers]))
