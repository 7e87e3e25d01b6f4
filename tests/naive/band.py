"""The band join: rows match when their keys are equal and their values lie at most so far apart.

`NaiveBand` compares every held tuple with the newcomer. Cells play no part in that: policies know a
tuple by its key and its cell, and a newcomer's matches are reported cell by cell.
"""

import math

from .how import NaiveHow, exact_results
from .join import overlap
from .rng import MASK, mix

FARTHEST = 2**47
SALT = 0x8CB92BA72F3D8DD7


def cell_of(value, near):
    """Return the cell of a value; those of floats are a sixteenth wider than `near`."""
    if isinstance(near, int):
        return value // max(1, near)
    return min(max(math.floor(value / (near * 1.0625)), -FARTHEST), FARTHEST)


def name_of(key, cell):
    """Return the number by which policies know a key and a cell: signed, of 64 bits."""
    number = (mix(key ^ SALT) + cell) & MASK
    return number - 2**64 if number >> 63 else number


def is_near(a, b, near):
    """Compare as Spark does: what is missing, NaN or infinite is never near."""
    return a is not None and b is not None and abs(a - b) <= near


class NaiveBand(NaiveHow):
    """A join of streams 0 and 1, whose rows have a `value` beside their key."""

    def __init__(self, policy_factory, budget, *, near, **options):
        super().__init__(policy_factory, budget, **options)
        self.near = near
        self.values = {}  # row number -> its key and value

    def _enter(self, number, row):
        value, keys = row["value"], None
        if row["keys"] is not None and value is not None and math.isfinite(value):
            keys = (name_of(row["keys"][0], cell_of(value, self.near)),)
        self.values[number] = row["keys"], value
        return super()._enter(number, row | {"keys": keys})

    def _match(self, a, b):
        (one, value), (other, another) = self.values[a.row], self.values[b.row]
        return a.stream != b.stream and one == other and is_near(value, another, self.near)

    def _probe(self, t, number, join, results):
        met = [
            h for h in self.held if self._match(h, t) and (self.window == "count" or overlap(h, t))
        ]
        if t.stream in self.single:
            met = met[:1]
        met.reverse()  # newest first
        met.sort(key=lambda h: cell_of(self.values[h.row][1], self.near))
        for partner in met:
            self._pair(t, partner, results)

    def _pairs(self, a, b):
        return int(self._match(a, b) and overlap(a, b))


def exact_band(rows, within, how, near):
    """Return the results with memory enough, by nested loops; `rows` are (number, row)."""
    values = {number: row["value"] for number, row in rows}
    pairs = [
        (a, b)
        for a, b in exact_results(rows, within, "inner")
        if is_near(values[a], values[b], near)
    ]
    left, right = ({n for n, row in rows if row["stream"] == side} for side in (0, 1))
    alone_left = [(n, -1) for n in left - {a for a, _ in pairs}]
    alone_right = [(-1, n) for n in right - {b for _, b in pairs}]
    return {
        "inner": pairs,
        "left": pairs + alone_left,
        "right": pairs + alone_right,
        "full": pairs + alone_left + alone_right,
        "semi": [(n, -1) for n in {a for a, _ in pairs}],
        "anti": alone_left,
    }[how]
