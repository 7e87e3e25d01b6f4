"""Sketches of arrays, as Spark makes them of frames."""

import numpy as np

from penstock.profiling import fit_zipf
from penstock.sampling import Sketch, survey, take
from penstock.sampling.popular import Counted


def sketched(keys, times=None, *, rows, seed=0, cuts=1, counting=True, sampled=None):
    """Return the sketch of a stream that comes in so many batches."""
    times = np.arange(len(keys)) if times is None else times
    sketch = Sketch(rows, sampled or rows, seed, counting=counting)
    for key, time in zip(np.array_split(keys, cuts), np.array_split(times, cuts)):
        plan = sketch.plan(survey(time, 0), most=rows)
        sketch.push([take(plan, key, time, sketch.seen)])
    return sketch


def exactly(keys):
    """Return the popularity of a stream all of whose keys are counted."""
    value, count = np.unique(keys, return_counts=True)
    often, alike = np.unique(count, return_counts=True)
    seen = fit_zipf(often[::-1], alike[::-1])
    return Counted(seen, lambda key, in_runs: count[np.searchsorted(value, key)].astype(float))
