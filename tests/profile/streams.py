"""Streams that the tests share, and sketches of arrays, as Spark makes them of frames."""

import numpy as np
from hypothesis import strategies as st

from penstock.profile.locality import Locality
from penstock.profile.popularity import fit_zipf
from penstock.profile.sampled_profile import CountedKeys
from penstock.profile.sketch import Sketch, survey, take
from penstock.simulate.skewed import popularity

A = np.array([0.24, 0.12, 0.1, 0.08, 0.06])  # h = 5
B = 0.4

few_keys = st.lists(st.integers(0, 9), min_size=2, max_size=120).filter(lambda k: len(set(k)) > 1)


def local(length=200_000, keys=2000, alpha=1.0, seed=1):
    """Return a stream drawn from the locality model with A and B."""
    return Locality(A, B, popularity(keys, alpha)).sample(length, seed)


def independent(length, keys, alpha, seed=1):
    """Return independent draws."""
    return np.random.default_rng(seed).choice(keys, length, p=popularity(keys, alpha))


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
    return CountedKeys(seen, lambda key, in_runs: count[np.searchsorted(value, key)].astype(float))
