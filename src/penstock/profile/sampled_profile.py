"""The profile of a stream from its sketch, with the errors of what was estimated."""

from dataclasses import replace

import numpy as np

from ..numeric import Estimate
from .distances import Distances, Reuse
from .entropy import conditional
from .locality_fit import LONGEST, likeliest
from .ranked import Stretches, check_varied
from .sampled_curves import joined, mean_error, random_order, short_depths, short_gaps
from .sampled_popularity import Counted, as_stretches, drawn, estimated
from .sketch import Sketch
from .stream_profile import Profile, Sampling, assembled, profile


def describe(
    sketch: Sketch,
    *,
    h: int | None = None,
    name: str = "stream",
    counted: Counted | None = None,
) -> Profile:
    """Return the profile of the stream that a sketch was made from.

    h: how many preceding rows the locality model looks back on; None: as many as are enough.
    counted: the popularity, if all keys were counted elsewhere.
    """
    seed = sketch.keys.seed
    if sketch.stretches.covers(sketch.seen):
        key = np.concatenate([sketch.keys.key[:0], *(each.key for each in sketch.stretches.held)])
        check_varied(len(np.unique(key)), sketch.seen)
        made = profile(key, h=h, seed=seed, name=name)
        return replace(made, bursts=sketch.arrivals.bursts(), skipped=sketch.skipped)
    counted = estimated(sketch) if counted is None else counted
    check_varied(counted.seen.keys, sketch.seen)
    known = as_stretches([each.key for each in sketch.stretches.useful()], counted, seed)
    shortest, rows = int(np.diff(known.starts).min()), len(known.key)
    part = rows / sketch.seen
    made = assembled(
        known,
        drawn(counted.seen, rows, seed),
        h,
        min(max(h or 0, LONGEST), shortest - 1),
        name=name,
        popularity=counted.seen,
        distances=_distances(sketch, known, counted, part),
        permuted=random_order(counted.seen),
        reuse=_reuse(sketch, known, counted, part),
        bursts=sketch.arrivals.bursts(),
    )
    b_error, bits_error = _errors(made, known, part)
    errors = Sampling(
        rate=sketch.keys.rate,
        stretches=len(known.starts) - 1,
        tuples=rows,
        keys_error=counted.keys_error,
        b_error=b_error,
        entropy_error=float(np.hypot(bits_error, made.likelihood.b * counted.bits_error)),
    )
    return replace(made, sampling=errors, skipped=sketch.skipped)


def _distances(sketch: Sketch, known: Stretches, counted: Counted, part: float) -> Distances:
    keys = sketch.keys
    short = short_gaps(known, min(sketch.near, int(np.diff(known.starts).min()) // 2))
    end, total = _repeating(sketch, counted), keys.gap.sum(axis=0)
    return joined(Distances, short, total, keys.gap, end, sketch.seen, part, keys.rate)


def _reuse(sketch: Sketch, known: Stretches, counted: Counted, part: float) -> Reuse:
    keys, short = sketch.keys, short_depths(known, sketch.keys.rate)
    end, (total, *groups) = _repeating(sketch, counted), keys.depth
    return joined(Reuse, short, total, np.array(groups), end, sketch.seen, part, keys.rate)


def _repeating(sketch: Sketch, counted: Counted) -> Estimate:
    """Return the share of all rows that repeat a key."""
    return Estimate(1 - counted.seen.keys / sketch.seen, counted.keys_error / sketch.seen)


def _errors(made: Profile, known: Stretches, part: float) -> tuple[float, float]:
    """Return the errors of b and of the entropy, from fits to each stretch alone.

    Where b is near 1, a fit to few rows is biased. The bias shows in the mean of these fits, and is
    added; so is the rate that an event can have without occurring in n rows, 3 / n.
    """
    weights, bits = made.likelihood, made.entropy.popularity
    unseen = 3 * weights.h / len(known.key)
    fits = [likeliest(one, weights.h, weights) for one in known.each()]
    b = np.array([fit.b for fit in fits])
    entropy = np.array([conditional(one, fit, bits) for one, fit in zip(known.each(), fits)])
    b_bias, bias = b.mean() - weights.b, entropy.mean() - made.entropy.stream
    return (
        float(mean_error(b, part) + abs(b_bias) + unseen),
        float(mean_error(entropy, part) + abs(bias) + unseen * bits),
    )
