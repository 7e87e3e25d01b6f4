"""Replay a trace with the naive engine, whatever the shape of its joins."""

import numpy as np

from tests.naive.join import NaiveJoin
from tests.naive.policies import factory


def naive_replay(trace, name, memory, *, first=0, params=None, **options):
    """Return the results, as (join, row numbers), that the rows from `first` on complete."""
    if options.get("layout") == "split":
        options["shares"] = (np.bincount(trace.side) / len(trace)).tolist()
    twin = NaiveJoin(
        factory(name, joins=trace.joins, **params or {}),
        memory,
        joins=trace.joins,
        streams=trace.streams,
        together=trace.together,
        **options,
    )
    keys = trace.key.reshape(len(trace), -1).tolist()
    within = options.get("within")
    rows = []
    for row in range(len(trace)):
        time = int(trace.time[row])
        rows.append({"stream": int(trace.side[row]), "keys": tuple(keys[row]), "time": time})
        if trace.end is not None:
            end = int(trace.end[row])
            rows[-1]["end"] = max(time, end if within is None else min(end, time + within))
    return [result for result in twin.push(rows) if max(result[1]) >= first]
