"""From a sketch to the profile of the stream, with the errors of what was estimated."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..models.record import Estimate
from ..profiling import Profile, Weights, profile
from ..profiling.entropy import Entropy, conditional, unconditional
from ..profiling.horizon import LONGEST, Horizon, look_back
from ..profiling.likelihood import likeliest
from ..profiling.popularity import Popularity
from ..profiling.sampled import Curve, SampledDistances, SampledReuse, Sampling
from ..profiling.squares import squares_each
from ..profiling.stretches import Stretches, link
from .curves import joined, random_order, short_depths, short_gaps
from .estimate import mean_error
from .popular import Counted, drawn, estimated, mean_rank, ranks
from .runs import Run
from .sketch import Sketch


def describe(
    sketch: Sketch,
    *,
    h: int | None = None,
    name: str = "stream",
    counted: Counted | None = None,
) -> Profile:
    """Return the profile of the stream that a sketch was made of.

    h: how many tuples the locality model looks back on; None: as many as suffice.
    counted: the popularity, where all keys were counted elsewhere.
    """
    seed = sketch.keys.seed
    runs = sketch.runs.held
    if sketch.runs.covers(sketch.seen):
        key = np.concatenate([sketch.keys.key[:0], *(run.key for run in runs)])
        _check_varied(len(np.unique(key)), sketch.seen)
        made = profile(key, h=h, seed=seed, name=name)
        return replace(made, bursts=sketch.clock.bursts(), skipped=sketch.skipped)
    counted = estimated(sketch) if counted is None else counted
    _check_varied(counted.seen.keys, sketch.seen)
    known = _stretches(sketch.runs.useful(), counted, seed)
    return _assembled(sketch, known, counted, h, name)


def _check_varied(keys: int, seen: int) -> None:
    if keys < 2:
        raise BadInput(
            "keys must take at least two values to have a profile, got one value in all"
            f" {seen:,} rows; choose another column"
        )


def _stretches(runs: list[Run], counted: Counted, seed: int) -> Stretches:
    """Return the runs, with the popularity that their keys have in the stream."""
    starts = np.cumsum([0] + [len(run.key) for run in runs])
    key = np.concatenate([run.key for run in runs])
    value, number, in_runs = np.unique(key, return_inverse=True, return_counts=True)
    seen, often = counted.seen, counted.often(value, in_runs)
    return link(number, starts, often / seen.total, ranks(seen, often, seed), mean_rank(seen))


class Model(NamedTuple):
    """The locality model, what it says of the entropy, and how far both may be off."""

    horizon: Horizon
    likely: Weights
    squares: Weights
    permuted_b: float
    entropy: Entropy
    b_error: float
    entropy_error: float


def _assembled(
    sketch: Sketch, known: Stretches, counted: Counted, h: int | None, name: str
) -> Profile:
    seen, total = counted.seen, sketch.seen
    part = len(known.key) / total
    model = _model(known, counted, h, sketch.keys.seed, part)
    end = Estimate(1 - seen.keys / total, counted.keys_error / total)
    return Profile(
        name=name,
        popularity=seen,
        distances=SampledDistances(_gaps(sketch, known, end, part), total),
        permuted=SampledDistances(random_order(seen), total),
        reuse=SampledReuse(_depths(sketch, known, end, part), total),
        horizon=model.horizon,
        likelihood=model.likely,
        squares=model.squares,
        permuted_b=model.permuted_b,
        entropy=model.entropy,
        bursts=sketch.clock.bursts(),
        sampling=Sampling(
            rate=sketch.keys.rate,
            stretches=len(known.starts) - 1,
            tuples=len(known.key),
            keys_error=counted.keys_error,
            b_error=model.b_error,
            entropy_error=model.entropy_error,
        ),
        skipped=sketch.skipped,
    )


def _model(known: Stretches, counted: Counted, h: int | None, seed: int, part: float) -> Model:
    """Fit the locality model to the runs, which are so large a part of the stream."""
    shortest = int(np.diff(known.starts).min())
    horizon = look_back(known, min(max(h or 0, LONGEST), shortest - 1))
    h = horizon.advice if h is None else h
    likely = dict(zip(horizon.h, horizon.likelihood)).get(h) or likeliest(known, h)
    bits = unconditional(counted.seen.count, counted.seen.alike)
    mixed = _mixed(counted.seen, len(known.key), seed)
    mixed_likely = likeliest(mixed, h)
    given = conditional(known, likely, bits)
    b_error, given_error = _errors(known, likely, bits, given, part)
    return Model(
        horizon,
        likely,
        squares_each(known, [h])[0],
        mixed_likely.b,
        Entropy(bits, given, conditional(mixed, mixed_likely, bits)),
        b_error,
        float(np.hypot(given_error, likely.b * counted.bits_error)),
    )


def _mixed(seen: Popularity, length: int, seed: int) -> Stretches:
    """Return as many tuples as the runs have, drawn independently by popularity."""
    number, share, rank = drawn(seen, length, seed)
    return link(number, np.array([0, length]), share, rank, mean_rank(seen))


def _errors(
    known: Stretches, weights: Weights, bits: float, given: float, part: float
) -> tuple[float, float]:
    """Return how far b and the entropy may be off, by fits to each run alone.

    Where b is near 1 a fit to few tuples errs to one side. That shows in the mean of these fits,
    and is added; so is what may be true of a tuple in n / 3 and be seen in none of n.
    """
    unseen = 3 * weights.h / len(known.key)
    b, entropy = [], []
    for one in known.each():
        alone = likeliest(one, weights.h, weights)
        b.append(alone.b)
        entropy.append(conditional(one, alone, bits))
    b_bias, bias = np.mean(b) - weights.b, np.mean(entropy) - given
    return (
        float(mean_error(np.array(b), part) + abs(b_bias) + unseen),
        float(mean_error(np.array(entropy), part) + abs(bias) + unseen * bits),
    )


def _depths(sketch: Sketch, known: Stretches, end: Estimate, part: float) -> Curve:
    keys = sketch.keys
    short = short_depths(known, keys.rate)
    return joined(short, keys.depth[0], keys.depth[1:], end, part, keys.rate)


def _gaps(sketch: Sketch, known: Stretches, end: Estimate, part: float) -> Curve:
    keys = sketch.keys
    room = min(sketch.near, int(np.diff(known.starts).min()) // 2)
    short = short_gaps(known, room)
    return joined(short, keys.gap.sum(axis=0), keys.gap, end, part, keys.rate)
