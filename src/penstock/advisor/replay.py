"""One policy with one memory over a sample: which part of the results it finds."""

from typing import Any, NamedTuple

import numpy as np

from ..engine import Join, Lookup
from ..kernel.gains import PAIRS, ROWS
from ..numeric import Floats, student_within
from .sample import JoinSample, LookupSample, sizes

SURE = 0.95
# Why the replay of a sample differs from that of the whole, beside chance: memories of few slots,
# keys of which many rows leave together. As one standard deviation of a recall r: this times
# 2 sqrt(r (1 - r)).
UNLIKE = 0.01
# The same for rows that find a partner where of crowded keys only some rows may be kept, and for
# pairs if rows are the goal. What a row that stands for many does not fill of a memory is filled
# with rows of rare keys, and these count as much as any. On a drawn stream of two windows PROB with
# 5 % of the window was said to match 0.168, and did 0.111.
UNLIKE_CROWD = 0.03
# Which keys are in the sample decides not only what these find but what room they leave to others,
# which `SampledKeys.variance` does not see. By once of it 50 to 83 of 100 intervals held the truth
# on a drawn stream of two windows (12 seeds); that twice is enough has not been measured.
OTHERS = 2


class Measured(NamedTuple):
    """A recall or hit ratio, and half the width of an interval that holds the truth 95 of 100."""

    share: float
    error: float
    beside: "Measured | None" = None  # of a join: the same of what is not its goal


def replay_join(
    sample: JoinSample, policy: str, budget: float, seed: int = 0, goal: str = PAIRS
) -> Measured:
    """Return the recall of a policy that may hold `budget` rows of the whole streams.

    It is that of the goal: of pairs, or of the rows that have a partner. The other is beside it.
    """
    if sample.whole:
        join = Join(policy, max(1, round(budget)), within=sample.within, seed=seed, goal=goal)
        join.push(sample.side, sample.key, sample.time, emit=False)
        pairs = Measured(join.results / max(1.0, float(sample.exact.sum())), 0.0)
        rows = Measured(join.rows_matched / max(1.0, float(sample.matchable.sum())), 0.0)
    else:
        results, matched = _found(sample, policy, budget, seed, goal)
        crowd = UNLIKE_CROWD if (sample.weight > sample.comes).any() else UNLIKE
        pairs = _ratio(results, sample.exact, sample, crowd if goal == ROWS else UNLIKE)
        rows = _ratio(matched, sample.matchable, sample, crowd)
    first, second = (rows, pairs) if goal == ROWS else (pairs, rows)
    return first._replace(beside=second)


def _found(
    sample: JoinSample, policy: str, budget: float, seed: int, goal: str
) -> tuple[Floats, Floats]:
    """Return for each row what it finds, in results it stands for, and the rows that are matched
    for the first time when it comes, likewise; 0 where it does not count.
    """
    size, unit = sizes(sample.weight)
    memory = max(1, round(budget * unit))
    scale = max(1, round(budget / float(sample.weight[sample.kept].mean())))
    size[~sample.kept] = memory + 1  # what is larger than the memory is rejected
    within = sample.within
    terms: dict[str, Any] = {"within": within, "sized": sample.weighted, "scale": scale}
    join = Join(policy, memory, **terms, seed=seed, goal=goal)
    columns = sample.side, sample.key, sample.time
    results, matched = join.tallies(*columns, size=size if sample.weighted else None)
    itself = results > 0
    rows = itself * sample.comes + (matched - itself) * sample.weight
    found = results * sample.worth
    for first, start, _ in sample.parts:
        found[first:start] = rows[first:start] = 0  # memories were filling
    return found, rows


def _ratio(found: Floats, exact: Floats, sample: JoinSample, unlike: float) -> Measured:
    """Return the recall over all stretches, and its error by keys and by stretches.

    exact: what an unlimited memory finds at each row.
    """
    matches = sample.by_part(exact)
    total, count = float(matches.sum()), len(matches)
    if not total:
        return Measured(1.0, 1.0)
    parts = sample.by_part(found)
    recall = min(1.0, float(parts.sum()) / total)
    by_keys = OTHERS * sample.keys.variance(found - recall * exact) / total**2
    variance = by_keys + (_unlike(recall, unlike) if sample.weighted else 0.0)
    sure = 1.96
    if count > 1:
        by_time = float(((parts - recall * matches) ** 2).sum())
        variance += by_time * count / (count - 1) / total**2
        sure = student_within(SURE, count - 1)
    return Measured(recall, sure * float(np.sqrt(variance)))


def _unlike(share: float, unlike: float = UNLIKE) -> float:
    return unlike**2 * 4 * share * (1 - share)


def replay_lookup(sample: LookupSample, policy: str, budget: float, seed: int = 0) -> Measured:
    """Return the hit ratio of a cache that may hold `budget` rows."""
    memory = max(1, round(budget))
    if sample.whole:
        cache = Lookup(policy, memory, seed=seed)
        cache.push(sample.key, emit=False)
        return Measured(cache.hits / len(sample.key), 0.0)
    size, total = sizes(sample.weight)[0], float(sample.weight.sum())
    scale = max(1, round(budget / float(sample.weight.mean())))
    cache = Lookup(policy, memory, sized=True, scale=scale, seed=seed)
    hit = cache.push(sample.key, size=size).hit
    ratio = float(sample.weight[hit].sum()) / total
    by_keys = OTHERS * sample.keys.variance(sample.weight * (hit - ratio)) / total**2
    return Measured(ratio, 1.96 * float(np.sqrt(by_keys + _unlike(ratio))))
