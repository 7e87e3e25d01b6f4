"""Histograms that follow a curve: the mean of y near x, in buckets that are split and merged.

The first observations are cut into buckets of equal count. Every bucket keeps the count, mean and
sum of squares of its observations, by Knuth's recurrence, and where on the axis they lie on
average. After every so many observations the buckets that know more than so many fade, the one
that deviates most is split, and to make room the two neighbours that deviate least are merged.
Between the centres of two buckets the curve is a straight line, beyond the outermost it is flat.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005), section 6.2.
"""

from typing import NamedTuple

import numpy as np

from .jit import jit

FIRST = 64  # observations from which the buckets are laid out


class Histograms(NamedTuple):
    """Several histograms, each with as many buckets; `which` of them is the first index."""

    first: np.ndarray  # float64[histograms, FIRST, 2]: x and y until there are buckets
    edge: np.ndarray  # float64[histograms, buckets + 1]: where buckets begin; least and largest x
    centre: np.ndarray  # float64[histograms, buckets]: mean of x
    weight: np.ndarray  # float64[histograms, buckets]: the count of observations, faded
    mean: np.ndarray  # float64[histograms, buckets]: mean of y
    squares: np.ndarray  # float64[histograms, buckets]: of the distances of y from its mean
    size: np.ndarray  # int64[histograms]: buckets in use, 0 before they are laid out
    added: np.ndarray  # int64[histograms]: observations since the last rearrangement
    every: np.ndarray  # int64[1]: observations between two rearrangements
    fade: np.ndarray  # float64[1]: what is left of a count after one


def make_histograms(number: int, buckets: int, every: int, fade: float) -> Histograms:
    """Return empty histograms."""
    return Histograms(
        np.zeros((number, FIRST, 2)),
        np.zeros((number, buckets + 1)),
        np.zeros((number, buckets)),
        np.zeros((number, buckets)),
        np.zeros((number, buckets)),
        np.zeros((number, buckets)),
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        np.array([every], np.int64),
        np.array([fade], np.float64),
    )


@jit
def clear(h, which):
    h.size[which] = 0
    h.added[which] = 0


@jit
def at(h, which, x):
    """Return the curve at `x`; 0 before anything is known."""
    size = h.size[which]
    if size == 0:
        return 0.0
    right = 0
    while right < size and h.centre[which, right] <= x:
        right += 1
    if right == 0:
        return h.mean[which, 0]
    left = right - 1
    if right == size:
        return h.mean[which, left]
    start = h.centre[which, left]
    share = (x - start) / (h.centre[which, right] - start)
    return h.mean[which, left] + (h.mean[which, right] - h.mean[which, left]) * share


@jit
def add(h, which, x, y):
    """Take in an observation."""
    place = h.added[which]
    h.added[which] = place + 1
    if h.size[which] == 0:
        h.first[which, place, 0] = x
        h.first[which, place, 1] = y
        if place + 1 == FIRST:
            _lay_out(h, which)
            h.added[which] = 0
        return
    _put(h, which, x, y)
    if place + 1 == h.every[0]:
        h.added[which] = 0
        for bucket in range(h.size[which]):
            if h.weight[which, bucket] > h.every[0]:
                h.weight[which, bucket] *= h.fade[0]
                h.squares[which, bucket] *= h.fade[0]
        _rearrange(h, which)


@jit
def _lay_out(h, which):
    first = h.first[which]
    for i in range(1, FIRST):  # by insertion: it happens once, and keeps equals in order
        x, y = first[i, 0], first[i, 1]
        j = i
        while j > 0 and first[j - 1, 0] > x:
            first[j, 0], first[j, 1] = first[j - 1, 0], first[j - 1, 1]
            j -= 1
        first[j, 0], first[j, 1] = x, y
    buckets = h.centre.shape[1]
    size, inside = 0, 0
    for i in range(FIRST):
        full = inside * buckets >= FIRST and size < buckets
        if i == 0 or (full and first[i, 0] > first[i - 1, 0]):
            h.edge[which, size] = first[i, 0]
            h.centre[which, size] = first[i, 0]
            h.weight[which, size] = h.mean[which, size] = h.squares[which, size] = 0.0
            size += 1
            inside = 0
        inside += 1
    h.edge[which, size] = first[FIRST - 1, 0]
    h.size[which] = size
    for i in range(FIRST):
        _put(h, which, first[i, 0], first[i, 1])


@jit
def _put(h, which, x, y):
    size, edge = h.size[which], h.edge[which]
    edge[0] = min(edge[0], x)
    edge[size] = max(edge[size], x)
    b = 0
    while b + 1 < size and edge[b + 1] <= x:
        b += 1
    count = h.weight[which, b] + 1.0
    h.weight[which, b] = count
    before = y - h.mean[which, b]
    h.mean[which, b] += before / count
    h.squares[which, b] += before * (y - h.mean[which, b])
    centre = h.centre[which, b] + (x - h.centre[which, b]) / count
    h.centre[which, b] = min(max(centre, edge[b]), edge[b + 1])  # rounding must not unsort them


@jit
def _cut(h, which, b):
    """Return where to cut a bucket: next to its centre, between whole numbers.

    A bucket that holds one of them only cannot be cut; the answer is then outside or at its end.
    """
    cut = np.ceil(h.centre[which, b])
    return cut if cut < h.edge[which, b + 1] else np.floor(h.centre[which, b])


@jit
def _rearrange(h, which):
    """Split the bucket that deviates most; if there are enough, merge the two most alike first."""
    size, edge = h.size[which], h.edge[which]
    split, most = -1, 0.0
    for b in range(size):
        divides = edge[b] < _cut(h, which, b) < edge[b + 1]
        if divides and h.squares[which, b] > most:
            split, most = b, h.squares[which, b]
    if split < 0:
        return
    if size == h.centre.shape[1]:
        merge, least = -1, most
        for b in range(size - 1):
            if b != split and b + 1 != split:
                squares = _together(h, which, b)
                if squares < least:
                    merge, least = b, squares
        if merge < 0:
            return
        _merge(h, which, merge)
        if merge < split:
            split -= 1
    _split(h, which, split)


@jit
def _share(h, which, b):
    """Return which part of bucket `b` and its right neighbour is the neighbour's."""
    count = h.weight[which, b] + h.weight[which, b + 1]
    return h.weight[which, b + 1] / count if count > 0.0 else 0.0


@jit
def _together(h, which, b):
    """Return the sum of squares of bucket `b` and its right neighbour as one."""
    apart = h.mean[which, b + 1] - h.mean[which, b]
    between = apart * apart * h.weight[which, b] * _share(h, which, b)
    return h.squares[which, b] + h.squares[which, b + 1] + between


@jit
def _merge(h, which, b):
    share = _share(h, which, b)
    h.squares[which, b] = _together(h, which, b)
    h.mean[which, b] += (h.mean[which, b + 1] - h.mean[which, b]) * share
    h.centre[which, b] += (h.centre[which, b + 1] - h.centre[which, b]) * share
    h.weight[which, b] += h.weight[which, b + 1]
    size = h.size[which]
    for i in range(b + 1, size - 1):
        _copy(h, which, i + 1, i)
        h.edge[which, i] = h.edge[which, i + 1]
    h.edge[which, size - 1] = h.edge[which, size]
    h.size[which] = size - 1


@jit
def _split(h, which, b):
    """Cut a bucket; both parts have its mean and deviation and half its count."""
    size, edge = h.size[which], h.edge[which]
    cut = _cut(h, which, b)
    edge[size + 1] = edge[size]
    for i in range(size, b, -1):
        _copy(h, which, i - 1, i)
        edge[i] = edge[i - 1]
    edge[b + 1] = cut
    for half in range(b, b + 2):
        h.weight[which, half] *= 0.5
        h.squares[which, half] *= 0.5
        h.centre[which, half] = (edge[half] + edge[half + 1]) / 2.0
    h.size[which] = size + 1


@jit
def _copy(h, which, source, target):
    h.centre[which, target] = h.centre[which, source]
    h.weight[which, target] = h.weight[which, source]
    h.mean[which, target] = h.mean[which, source]
    h.squares[which, target] = h.squares[which, source]
