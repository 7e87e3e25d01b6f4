"""One policy with one memory over a sample: which part of the results it finds."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..engines import Join, Lookup
from .sample import JoinSample, LookupSample

PART = 16_384  # rows between two looks at the results, of which each may have many
SURE = 0.95


class Measured(NamedTuple):
    """A recall or hit ratio, and half the width of an interval that holds the truth 95 of 100."""

    share: float
    error: float


def replay_join(sample: JoinSample, policy: str, budget: float, seed: int = 0) -> Measured:
    """Return the recall of a policy that may hold `budget` rows of the whole streams."""
    memory = max(1, round(budget))
    scale = max(1, round(budget / _mean_weight(sample)))
    within, weighted = sample.within, sample.weighted
    join = Join(policy, memory, within=within, sized=weighted, scale=scale, seed=seed)
    found = np.zeros(len(sample.parts))
    for number, (first, start, stop) in enumerate(sample.parts):
        _push(join, sample, first, start, emit=False)
        before = join.results
        if weighted:
            found[number] = _weighted_results(join, sample, start, stop)
        else:
            _push(join, sample, start, stop, emit=False)
            found[number] = join.results - before
    return _ratio(found, sample)


def _push(join: Join, sample: JoinSample, start: int, stop: int, emit: bool) -> Any:
    rows = slice(start, stop)
    size = sample.weight[rows] if sample.weighted else None
    return join.push(sample.side[rows], sample.key[rows], sample.time[rows], size=size, emit=emit)


def _weighted_results(join: Join, sample: JoinSample, start: int, stop: int) -> float:
    """Take rows and add up what the results stand for: as much as either of their rows."""
    found = 0.0
    offset = start - int(join.counters["arrived"].sum())  # rows before a stretch were left out
    for begin in range(start, stop, PART):
        matches = _push(join, sample, begin, min(begin + PART, stop), emit=True).rows
        latest = np.maximum(matches[:, 0], matches[:, 1]) + offset
        found += float(sample.weight[latest].sum())
    return found


def _ratio(found: np.ndarray, sample: JoinSample) -> Measured:
    """Return the recall over all stretches, and its error by keys and by stretches."""
    total = sample.matches.sum()
    if not total:
        return Measured(1.0, 1.0)
    recall = float(found.sum() / total)
    by_keys = max(0.0, recall * (1 - recall)) * sample.spread**2
    by_time, count, sure = 0.0, len(found), 1.96
    if count > 1:
        apart = found - recall * sample.matches
        by_time = float((apart**2).sum() * count / (count - 1) / total**2)
        sure = float(stats.t.ppf(0.5 + SURE / 2, count - 1))
    return Measured(min(recall, 1.0), sure * float(np.sqrt(by_keys + by_time)))


def replay_lookup(sample: LookupSample, policy: str, budget: float, seed: int = 0) -> Measured:
    """Return the hit ratio of a cache that may hold `budget` rows."""
    memory = max(1, round(budget))
    scale = max(1, round(budget / _mean_weight(sample)))
    cache = Lookup(policy, memory, sized=sample.weighted, scale=scale, seed=seed)
    if not sample.weighted:
        cache.push(sample.key, emit=False)
        return Measured(cache.hits / len(sample.key), 0.0)
    hit = cache.push(sample.key, size=sample.weight).hit
    ratio = float(sample.weight[hit].sum() / sample.weight.sum())
    return Measured(ratio, 1.96 * float(np.sqrt(ratio * (1 - ratio))) * sample.spread)


def _mean_weight(sample: JoinSample | LookupSample) -> float:
    return float(sample.weight.mean())
