"""Frequent keys of a sliding window: the last N rows, or the rows of the last span of time.

The stream is cut into frames as long as the window, so that a window is the current frame and the
end of the one before. In each frame keys are counted as Misra and Gries do: a table of at most 2k
keys; where it is full, the k + 1st largest count d is subtracted from all, and what is left with
nothing is forgotten. So a count is too low by the sum D of these d, at most 1/k of the rows of the
frame. A key that has been counted T times leaves a note (where, key, how often) and is counted from
0 again; at the end of a frame all counts become notes. Notes expire with the window.

A count within the window then lies between

    lowest:  notes of the current frame + current count + notes of the frame before, but the first
    highest: lowest + that first note + D of both frames

since the first note may stand for rows before the window, and no other does. With k = 4 / epsilon
and T = epsilon N / 2 they differ by at most epsilon N, and at most 8 / epsilon keys and
16 / epsilon notes are held, however long the window. In a span of time N is the larger number of
rows of both frames, and T is epsilon / 2 of the rows of a frame so far, so that there are up to
1 + ln(epsilon N / 2) times as many notes. How many rows such a window has is noted likewise.

Source: Misra, Gries, "Finding repeated elements" (1982); notes as the overflows of Ben-Basat,
Einziger, Friedman, Kassner, "Heavy hitters in streams and sliding windows" (INFOCOM 2016), who
count rows only and bound counts from above only.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..kernel import keymap
from ..kernel.jit import jit, kernel
from ..kernel.options import at_least
from .lossy import FORMAT, Frequent, as_keys, check_support, saved_epsilon, share

KEY, COUNT = 0, 1  # columns of an entry
WHERE, WHOSE, OFTEN, KIND = 0, 1, 2, 3  # columns of a note
REST, REACHED, ROWS = 0, 1, 2  # kinds of notes: the rest of a frame, T reached, rows of any key
USED, NOTES, NOW, IN_FRAME, UNNOTED = 0, 1, 2, 3, 4  # places in totals
SEEN, BEGIN, LOST, LOST_BEFORE, PEAK = 5, 6, 7, 8, 9
EARLIEST, LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max  # places
DONE, FULL, NO_ROOM, NEXT_FRAME = 0, 1, 2, 3  # why the kernel returns


class WindowCounter:
    """Counts the keys of a sliding window with an error of at most `epsilon` times its rows.

    epsilon: the error, above 0 and below 1; a tenth of the support asked for is a good choice.
    rows: the window is the last so many rows.
    span: or the rows whose time is above that of the last row minus the span; times are whole
        numbers and never go back.

    >>> counter = WindowCounter(epsilon=0.1, rows=100)
    >>> counter.push([7] * 500)
    >>> counter.push(np.arange(40) % 2)
    >>> lowest, highest = counter.bounds(7)
    >>> lowest <= 60 <= highest <= lowest + 10
    True
    >>> counter.frequent(support=0.5).key.tolist()
    [7]
    """

    def __init__(
        self, epsilon: float | Fraction, rows: int | None = None, span: int | None = None
    ) -> None:
        if (rows is None) == (span is None):
            raise BadInput(f"one of rows and span must be given, got rows {rows}, span {span}")
        self.epsilon, self.rows, self.span = epsilon, rows, span
        error = share("epsilon", epsilon)
        named, length = ("rows", rows) if span is None else ("span", span)
        assert length is not None
        at_least(named, length, 1)
        if length > LATEST:
            raise BadInput(f"{named} must fit 64 bits, got {length}")
        self._length = int(length)
        self._keep = math.ceil(4 / error)  # k
        self._width = math.ceil(2 / error)  # rows for each one of T
        self._least = max(1, self._length // self._width) if rows is not None else 0  # T; 0: grows
        self._entry = np.zeros((2 * self._keep, 2), np.int64)
        self._buckets = keymap.make_buckets(2 * self._keep)
        self._note = np.zeros((4 * self._keep, 4), np.int64)
        self._totals = np.zeros(10, np.int64)

    @property
    def seen(self) -> int:
        """The number of rows counted so far, in all."""
        return int(self._totals[SEEN])

    @property
    def held(self) -> int:
        """The number of keys and notes held now."""
        return int(self._totals[USED] + self._totals[NOTES])

    @property
    def peak(self) -> int:
        """The largest number of keys and notes held so far."""
        return max(self.held, int(self._totals[PEAK]))

    @property
    def missing(self) -> int:
        """The largest possible count of a key that is not held."""
        return int(self._totals[LOST] + self._totals[LOST_BEFORE])

    @property
    def in_window(self) -> tuple[int, int]:
        """The smallest and the largest possible number of rows in the window."""
        if self.rows is not None:
            return min(self.seen, self.rows), min(self.seen, self.rows)
        _, lowest, highest = self._noted(of_rows=True)
        counted = int(self._totals[UNNOTED])
        return int(lowest.sum()) + counted, int(highest.sum()) + counted

    def push(self, keys: ArrayLike, times: ArrayLike | None = None) -> None:
        """Count a batch of keys: 64-bit integers, with their times where the window is a span."""
        items = as_keys(keys)
        where = self._places(len(items), times)
        if len(items) and not self.seen:
            self._totals[[NOW, BEGIN]] = where[0]
        done = 0
        while done < len(items):
            held = self._entry, self._buckets, self._note, self._totals
            last = min(int(self._totals[BEGIN]) + self._length - 1, LATEST)
            done, why = _count(*held, items, where, done, last, self._least, self._width)
            self._totals[PEAK] = self.peak
            if why == FULL:
                self._prune()
            elif why == NO_ROOM:
                self._make_room()
            elif why == NEXT_FRAME:
                self._begin_frame(int(where[done]))
        self._expire()

    def bounds(self, key: int) -> tuple[int, int]:
        """Return the smallest and the largest possible count of a key in the window."""
        found = self._all()
        at = np.flatnonzero(found.key == as_keys([key])[0])
        if not len(at):
            return 0, self.missing
        return int(found.lowest[at[0]]), int(found.highest[at[0]])

    def frequent(self, support: float | Fraction) -> Frequent:
        """Return the keys that may have a share of at least `support` of the window.

        No key with that share is missing. In a window of rows none is returned whose share is below
        support - epsilon.
        """
        least = math.ceil(check_support(support, self.epsilon) * self.in_window[0])
        found = self.most(self.held)
        return Frequent(*(column[found.highest >= max(1, least)] for column in found))

    def most(self, keys: int) -> Frequent:
        """Return the keys with the highest counts, at most this many."""
        found = self._all()
        order = np.lexsort((found.key, -found.highest, -found.lowest))[:keys]
        return Frequent(*(column[order] for column in found))

    def save(self) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays, for `restore`."""
        return {
            "format": np.array([FORMAT], np.int64),
            "epsilon": np.array([str(self.epsilon)]),
            "window": np.array([self.rows or 0, self.span or 0], np.int64),
            "totals": self._totals.copy(),
            "entries": self._entries.copy(),
            "notes": self._notes.copy(),
        }

    @classmethod
    def restore(cls, saved: dict[str, np.ndarray]) -> "WindowCounter":
        """Return the counter that `save` was called on."""
        epsilon = saved_epsilon(saved, "window", "totals", "entries", "notes")
        rows, span = (int(each) or None for each in saved["window"])
        counter = cls(epsilon, rows, span)
        counter._totals[:] = saved["totals"]
        counter._fill(saved["entries"])
        room = max(len(counter._note), len(saved["notes"]) + 2 * counter._keep)
        counter._note = np.zeros((room, 4), np.int64)
        counter._note[: len(saved["notes"])] = saved["notes"]
        return counter

    @property
    def _entries(self) -> np.ndarray:
        return self._entry[: self._totals[USED]]

    @property
    def _notes(self) -> np.ndarray:
        return self._note[: self._totals[NOTES]]

    def _places(self, count: int, times: ArrayLike | None) -> np.ndarray:
        """Return where in the stream each row is: its number, or its time."""
        if self.rows is not None:
            if times is not None:
                raise BadInput("times must not be given for a window of rows; give span instead")
            return np.arange(self.seen, self.seen + count)
        where = np.asarray([] if times is None else times)
        fits = where.dtype.kind == "i" or (where.dtype.kind == "u" and not (where > LATEST).any())
        if where.shape != (count,) or (count and not fits):
            raise BadInput(
                f"times must be {count} whole numbers of 64 bits, one for each key, got"
                f" {where.shape} of {where.dtype}"
            )
        where = np.ascontiguousarray(where, np.int64)
        if count:
            before = np.append(self._totals[NOW] if self.seen else where[0], where[:-1])
            if (where < before).any():
                row = int(np.argmax(where < before))
                raise BadInput(
                    f"times must not go back, got {where[row]} after {before[row]}; sort the rows"
                )
        return where

    def _prune(self) -> None:
        """Subtract the k + 1st largest count from all, and forget what is left with nothing."""
        entries = self._entries
        cut = int(np.partition(entries[:, COUNT], -self._keep - 1)[-self._keep - 1])
        self._totals[LOST] += cut
        left = entries[entries[:, COUNT] > cut]
        self._fill(left - np.array([0, cut]))

    def _fill(self, entries: np.ndarray) -> None:
        self._buckets[:] = keymap.EMPTY
        self._entry[: len(entries)] = entries
        self._totals[USED] = len(entries)
        keymap.fill(self._buckets, 0, self._entries[:, KEY], np.arange(len(entries)))

    def _begin_frame(self, at: int) -> None:
        """Let the counts of a frame become notes, and begin the frame with the row at a place."""
        totals, entries = self._totals, self._entries
        rest = entries[entries[:, COUNT] > 0]
        notes = np.zeros((len(rest) + 1, 4), np.int64)
        notes[:, WHERE] = totals[NOW]
        notes[:-1, WHOSE], notes[:-1, OFTEN] = rest.T
        notes[-1, OFTEN], notes[-1, KIND] = totals[UNNOTED], ROWS
        if self.rows is not None:  # their number in a window is known
            notes = notes[:-1]
        self._make_room(len(notes))
        self._note[totals[NOTES] : totals[NOTES] + len(notes)] = notes
        totals[NOTES] += len(notes)
        totals[PEAK] = self.peak
        frames = (at - int(totals[BEGIN])) // self._length
        totals[LOST_BEFORE] = totals[LOST] if frames == 1 else 0
        totals[BEGIN] = int(totals[BEGIN]) + frames * self._length
        totals[[LOST, IN_FRAME, UNNOTED]] = 0
        self._fill(entries[:0])
        totals[NOW] = at
        self._expire()

    def _expire(self) -> None:
        """Remove the notes from before the window, and of frames before the last but one."""
        notes = self._notes
        first = max(int(self._totals[NOW]) - self._length + 1, EARLIEST)
        gone = int(np.searchsorted(notes[:, WHERE], first))
        if gone:
            self._note[: len(notes) - gone] = notes[gone:].copy()
            self._totals[NOTES] -= gone

    def _make_room(self, more: int = 2) -> None:
        """Let there be room for so many more notes."""
        self._expire()
        used = int(self._totals[NOTES])
        if used + more > len(self._note):
            larger = np.zeros((2 * (used + more), 4), np.int64)
            larger[:used] = self._notes
            self._note = larger

    def _all(self) -> Frequent:
        """Return every key held, in the order of the keys, with its bounds."""
        key, lowest, highest = self._noted(of_rows=False)
        entries = self._entries
        every, place = np.unique(np.concatenate((key, entries[:, KEY])), return_inverse=True)
        low, high = (
            np.bincount(place, np.concatenate((noted, entries[:, COUNT])), len(every))
            for noted in (lowest, highest)
        )
        return Frequent(every, low.astype(np.int64), high.astype(np.int64) + self.missing)

    def _noted(self, of_rows: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return of each note within the window its key, and how often at least and at most."""
        notes = self._notes
        notes = notes[(notes[:, KIND] == ROWS) == of_rows]
        key, often = notes[:, WHOSE], notes[:, OFTEN]
        lowest = often.copy()
        before = np.flatnonzero(notes[:, WHERE] < self._totals[BEGIN])
        _, first = np.unique(key[before], return_index=True)
        straddling = before[first]
        # The row that reached T is where the note is; the rest of a frame may come from anywhere.
        lowest[straddling] = notes[straddling, KIND] != REST if not of_rows else 1
        return key, np.minimum(lowest, often), often


@jit
def _note(note, totals, whose, often, kind):
    """Write a note of what has come up to now."""
    at = totals[NOTES]
    totals[NOTES] = at + 1
    note[at, WHERE], note[at, WHOSE] = totals[NOW], whose
    note[at, OFTEN], note[at, KIND] = often, kind


@kernel
def _count(entry, buckets, note, totals, keys, where, start, last, least, width):
    """Count keys until something is to be done first; return how many are counted, and what.

    last: the last place of the frame.
    """
    i = start
    why = DONE
    while i < len(keys):
        if where[i] > last:
            why = NEXT_FRAME
            break
        if totals[NOTES] + 2 > note.shape[0]:
            why = NO_ROOM
            break
        place = keymap.find(buckets, 0, entry[:, KEY], keys[i])
        if place < 0:
            if totals[USED] == entry.shape[0]:
                why = FULL
                break
            place = totals[USED]
            totals[USED] += 1
            entry[place, KEY], entry[place, COUNT] = keys[i], 0
            keymap.add(buckets, 0, keys[i], place)
        entry[place, COUNT] += 1
        totals[IN_FRAME] += 1
        totals[UNNOTED] += 1
        totals[SEEN] += 1
        totals[NOW] = where[i]
        often = least if least > 0 else max(1, totals[IN_FRAME] // width)
        if entry[place, COUNT] >= often:
            _note(note, totals, keys[i], entry[place, COUNT], REACHED)
            entry[place, COUNT] = 0
        if least == 0 and totals[UNNOTED] >= often:
            _note(note, totals, 0, totals[UNNOTED], ROWS)
            totals[UNNOTED] = 0
        i += 1
    return i, why
