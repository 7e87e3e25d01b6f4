"""One cell of the comparison: a policy, or the best there can be, over a stream in some memory.

    {"stream": "join: zipf", "steps": 6000, "share": 0.05, "layout": "unified", "policy": "lru"}

The memory is a share of the rows that are live on average (of a cache: of its keys). Results are
counted over the whole run, and once more after the first ten windows, or what is as long for a
cache: ten times its memory. No more than half of a stream is left out so.
"""

from typing import Any

import numpy as np

from penstock.simulate.optimum import full_results
from penstock.simulate.player import play
from penstock.simulate.traces import JoinTrace, arrivals

from .streams import Arriving, arriving

BEST = "best"  # the name of what policies are measured against
OPTIMUM, FULL = "the optimum", "all results"
MOST_ROWS = 12_000  # for which the optimum of a join is computed
WINDOWS = 10


def quality_cell(given: dict[str, Any]) -> dict[str, Any]:
    """Return the results over the whole run and of its later part.

    >>> cell = {"stream": "cache: zipf", "steps": 200, "share": 0.1, "layout": "unified"}
    >>> best, lru = (quality_cell(cell | {"policy": name}) for name in ("best", "lru"))
    >>> best["of"], best["memory"] == lru["memory"], best["whole"] >= lru["whole"] > 0
    ('the optimum', True, True)
    """
    stream = arriving(given["stream"], given["steps"])
    memory = memory_of(stream, given["share"])
    first = first_row(stream, memory)
    if given["policy"] == BEST:
        found = _best(stream, memory, first)
    else:
        played = play(
            stream.trace,
            given["policy"],
            memory,
            within=stream.within,
            layout=given["layout"],
            first=first,
        )
        found = {"whole": played.before + played.results, "after": played.results}
        found["seconds"] = round(played.seconds, 4)
    return found | {"memory": memory, "rows": len(stream.trace), "first": first}


def memory_of(stream: Arriving, share: float) -> int:
    """Return how many rows a share is; a join has one for each of its streams at least."""
    trace = stream.trace
    if not isinstance(trace, JoinTrace):
        return max(1, round(share * len(np.unique(trace.key))))
    rows = arrivals(trace, stream.within)
    assert rows.end is not None, "all streams have a window"
    live = np.arange(1, len(trace) + 1) - np.searchsorted(np.sort(rows.end), rows.time)
    return max(trace.streams, round(share * float(live.mean())))


def first_row(stream: Arriving, memory: int) -> int:
    """Return from which row on the later part is counted."""
    trace = stream.trace
    if not isinstance(trace, JoinTrace):
        return min(WINDOWS * memory, len(trace) // 2)
    rows = arrivals(trace, stream.within)
    window = stream.within
    if window is None:
        assert rows.end is not None, "all streams have a window"
        window = int(np.ceil((rows.end - rows.time).mean()))
    begin = min(rows.time[0] + WINDOWS * window, rows.time[len(trace) // 2])
    return int(np.searchsorted(rows.time, begin))


def _best(stream: Arriving, memory: int, first: int) -> dict[str, Any]:
    """Return the optimum, or where that takes too long what a memory without limit would find."""
    trace, within = stream.trace, stream.within
    if isinstance(trace, JoinTrace) and (len(trace) > MOST_ROWS or trace.streams != 2):
        whole, after = (full_results(trace, within, start) for start in (0, first))
        return {"whole": whole, "after": after, "of": FULL}
    whole, after = (
        play(trace, "opt", memory, within=within, first=start).results for start in (0, first)
    )
    return {"whole": whole, "after": after, "of": OPTIMUM}
