"""How a policy divides one memory between the streams.

A unified memory gives no stream a fixed share: the rows that a policy keeps decide the shares.

Source: "Memory allocation" in section 8, figure 16, of Xie, Yang and Chen, "On Joining and Caching
Stochastic Streams" (SIGMOD 2005).
"""

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.engine import Join
from penstock.errors import BadInput
from penstock.kernel.policy import JOINING, Configured
from penstock.models import Model
from penstock.simulate.flowexpect import FLOWEXPECT, FlowExpect
from penstock.simulate.player import HINDSIGHT, choose
from penstock.simulate.traces import JoinTrace, arrivals, steps_of


def memory_shares(
    trace: JoinTrace,
    policy: str | Configured,
    memory: int,
    *,
    within: int | None = None,
    first: int = 0,
    seed: int = 0,
    models: Sequence[Model] | None = None,
) -> np.ndarray:
    """Return the mean share of the memory that each stream's tuples hold: float[streams].

    The mean is over the decisions from the row number `first` on: one a step where rows of a time
    come together, else one a row. Empty slots count for no stream.

    >>> trace = JoinTrace([0, 1, 0, 1], [1, 2, 3, 4], [0, 0, 1, 1], together=True)
    >>> memory_shares(trace, "fifo", memory=4).tolist()  # a quarter each, then a half
    [0.375, 0.375]
    """
    chosen = choose(policy, JOINING) if isinstance(policy, str) else policy
    if chosen.policy in HINDSIGHT:
        raise BadInput(
            f"{chosen.policy.name!r} tells how many results there can be, not what to hold; "
            "choose a policy"
        )
    if not 0 <= first < len(trace):
        raise BadInput(f"first must be from 0 to below the {len(trace)} rows, got {first}")
    if chosen.policy is FLOWEXPECT:
        planner = FlowExpect(models, memory, within=within, **chosen.all_params)
        held = _held_by_plan(trace, planner)
    else:
        join = Join(
            chosen,
            memory,
            within=within,
            joins=trace.joins,
            together=trace.together,
            seed=seed,
            models=models,
        )
        held = _held_by_join(trace, join)
    counted = [count for row, count in held if row >= first]
    return np.mean(counted, axis=0) / memory


def _held_by_join(trace: JoinTrace, join: Join) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the last row of each decision, and how many tuples of each stream are held after it."""
    rows = arrivals(trace, join.within)
    width = trace.streams if trace.together else 1
    for start in range(0, len(trace), width):
        part = slice(start, start + width)
        end = None if rows.end is None else rows.end[part]
        join.push(rows.side[part], rows.key[part], rows.time[part], end=end, emit=False)
        stream = join.tuples["stream"].astype(np.int64)
        yield start + width - 1, np.bincount(stream, minlength=trace.streams)


def _held_by_plan(trace: JoinTrace, planner: FlowExpect) -> Iterator[tuple[int, np.ndarray]]:
    for number, step in enumerate(steps_of(trace, planner.within)):
        planner.push(*step)
        yield 2 * number + 1, np.bincount(planner.side, minlength=2)
