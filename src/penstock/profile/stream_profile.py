"""Everything about one stream of keys in one record, and the profile of a stream held in arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Ints, Json
from . import locality
from .bursts import Bursts, bursts
from .distances import Distances, Reuse, distances, reuse
from .locality import Horizon, Weights
from .popularity import Popularity, fit_zipf
from .ranked import Stretches, permuted, rank_keys, whole

POINTS = 60  # of a curve in a report
SHORT = 4  # unless h is given, it is at most 1 / SHORT of the stream

Progress = Callable[[int, int], None]  # called with how many of how many are done


@dataclass(frozen=True)
class Sampling:
    """What was examined, and the errors of the estimates that are not curves."""

    rate: float  # the share of the keys of which all rows were examined
    stretches: int  # of consecutive rows
    tuples: int  # rows in all stretches
    keys_error: float  # of the number of different keys; 0: they were counted
    b_error: float
    entropy_error: float  # of the entropy given the preceding rows


@dataclass(frozen=True, eq=False)
class Profile:
    """What a stream is like."""

    name: str
    popularity: Popularity
    distances: Distances
    permuted: Distances  # of a random permutation of the same rows
    reuse: Reuse
    horizon: Horizon
    likelihood: Weights  # the locality model, for the h given or the h that is enough
    squares: Weights  # the same by the paper's least squares
    permuted_b: float  # the likeliest b of the permutation; 1 up to chance
    entropy: locality.Entropy
    bursts: Bursts | None  # None: no times are known
    sampling: Sampling | None = None  # None: every row was examined
    skipped: int = 0  # rows without a key or a time, which are not part of the profile

    @property
    def length(self) -> int:
        """The number of rows."""
        return self.reuse.total

    @property
    def keys(self) -> int:
        """The number of different keys."""
        return self.popularity.keys

    def to_json(self) -> dict[str, Json]:
        """Return the profile as plain numbers, texts, lists and dictionaries."""
        ranks, places = spread(self.keys), spread(self.length - 1)
        exponent, error = self.popularity.exponent
        report: dict[str, Json] = {
            "name": self.name,
            "tuples": self.length,
            "keys": self.keys,
            "popularity": {
                "zipf": {"exponent": exponent, "error": error, "misfit": self.popularity.misfit},
                "rank": ranks.tolist(),
                "share": self.popularity.share(ranks).tolist(),
            },
            "distance": {
                "median": {"stream": self.distances.median, "permuted": self.permuted.median},
                "k": places.tolist(),
                "stream": self.distances.within(places).tolist(),
                "permuted": self.permuted.within(places).tolist(),
            },
            "lru": {
                "size": ranks.tolist(),
                "hit_ratio": self.reuse.hit_ratio(ranks).tolist(),
                "size_for_90_percent": self.reuse.size_for(0.9),
            },
            "locality": {
                "h": self.likelihood.h,
                "likelihood": {"a": self.likelihood.a.tolist(), "b": self.likelihood.b},
                "least_squares": {"a": self.squares.a.tolist(), "b": self.squares.b},
                "permuted_b": self.permuted_b,
            },
            "horizon": {
                "h": list(self.horizon.h),
                "b": self.horizon.b(),
                "b_least_squares": [each.b for each in self.horizon.squares],
                "suffices": self.horizon.advice,
                "settled": self.horizon.settled,
            },
            "entropy_bits": self.entropy._asdict(),
            "bursts": None,
        }
        if self.bursts is not None:
            scales = [scale._asdict() for scale in self.bursts.scales]
            report["bursts"] = self.bursts._asdict() | {"scales": scales}
        if self.skipped:
            report["skipped"] = self.skipped
        if self.sampling is not None:
            report["sample"] = {
                "rate": self.sampling.rate,
                "stretches": self.sampling.stretches,
                "stretch_tuples": self.sampling.tuples,
                "keys_error": self.sampling.keys_error,
                "distance_error": self.distances.error(places).tolist(),
                "hit_ratio_error": self.reuse.error(ranks).tolist(),
                "b_error": self.sampling.b_error,
                "entropy_bits_error": self.sampling.entropy_error,
            }
        return report


def profile(
    keys: ArrayLike,
    times: ArrayLike | None = None,
    *,
    h: int | None = None,
    seed: int = 0,
    name: str = "stream",
    progress: Progress | None = None,
) -> Profile:
    """Return the profile of a stream.

    keys: one for each row, of any type; they are replaced by their popularity ranks.
    times: the times of the rows, in ascending order: numbers or timestamps.
    h: how many preceding rows the locality model looks back on; None: as many as are enough.
    seed: of the permutation, and of the order among equally popular keys.
    progress: is called with the number of fits done and of all fits, which take most of the time.

    >>> from .locality import Locality
    >>> stream = Locality([0.2, 0.2, 0.2], 0.4, np.full(50, 0.02)).sample(20_000, seed=1)
    >>> found = profile(stream)
    >>> found.keys, found.likelihood.h, round(found.likelihood.b, 1), round(found.permuted_b, 1)
    (50, 3, 0.4, 1.0)
    """
    rank, count = rank_keys(keys, seed)
    known, mixed = whole(rank), whole(permuted(rank, seed))
    if times is not None and len(np.asarray(times)) != len(rank):
        raise BadInput(
            f"there must be as many times as keys, got {len(np.asarray(times))} and {len(rank)}"
        )
    if h is not None:
        known.check_h(h)
    return assembled(
        known,
        mixed,
        h,
        max(h or 0, min(locality.LONGEST, max(1, len(rank) // SHORT))),
        progress,
        name=name,
        popularity=fit_zipf(count),
        distances=distances(rank, known.before),
        permuted=distances(mixed.key, mixed.before),
        reuse=reuse(rank, known.before),
        bursts=_bursts(times),
    )


def assembled(
    known: Stretches,
    mixed: Stretches,
    h: int | None,
    longest: int,
    progress: Progress | None = None,
    *,
    popularity: Popularity,
    **measured: Any,
) -> Profile:
    """Return a profile with the locality model fitted to stretches of a stream.

    mixed: rows of the same popularity in random order.
    longest: the longest h that is tried if none is given.
    measured: the other fields of the profile, which need no model.
    """
    horizon = locality.fit_horizon(known, longest, progress)
    h = horizon.advice if h is None else h
    weights = dict(zip(horizon.h, horizon.likelihood)).get(h) or locality.likeliest(known, h)
    mixed_weights = locality.likeliest(mixed, h)
    bits = locality.unconditional(popularity.count, popularity.alike)
    given = locality.conditional(known, weights, bits)
    mixed_given = locality.conditional(mixed, mixed_weights, bits)
    return Profile(
        popularity=popularity,
        horizon=horizon,
        likelihood=weights,
        squares=locality.least_squares(known, [h])[0],
        permuted_b=mixed_weights.b,
        entropy=locality.Entropy(bits, given, mixed_given),
        **measured,
    )


def spread(last: int, points: int = POINTS) -> Ints:
    """Return whole numbers from 1 to the last, evenly spread on a logarithmic scale.

    >>> spread(1000, points=7).tolist()
    [1, 3, 10, 32, 100, 316, 1000]
    """
    return np.unique(np.rint(np.geomspace(1, max(last, 1), points)).astype(np.int64))


def _bursts(times: ArrayLike | None) -> Bursts | None:
    """Return the bursts; None if all rows have the same time."""
    if times is None or np.asarray(times)[0] == np.asarray(times)[-1]:
        return None
    return bursts(times)
